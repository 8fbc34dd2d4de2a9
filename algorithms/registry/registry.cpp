// algorithms/registry/registry.cpp - the list of solvers, and the checks of options that all of
// them share.
#include "algorithms/registry/registry.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "algorithms/learning/network.h"
#include "algorithms/solvers/descent/descent_solver.h"
#include "algorithms/solvers/exact/exact_solver.h"
#include "algorithms/solvers/hessian_free/hessian_free_solver.h"
#include "algorithms/solvers/langevin/langevin_solver.h"
#include "algorithms/solvers/newton/newton_solver.h"
#include "algorithms/solvers/newton_step/newton_step_solver.h"
#include "algorithms/solvers/objective_noise/scalegun_solver.h"
#include "algorithms/solvers/references/reference_solvers.h"
#include "algorithms/solvers/replay/replay_solver.h"
#include "algorithms/solvers/rewind/rewind_solver.h"
#include "algorithms/solvers/streaming/streaming_solver.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"

namespace unweave {
namespace {

// The first is the default.
constexpr const SolverEntry* kSolvers[] = {
    &kExactSolver, &kReplay,     &kNewton,      &kRetrain,   &kScalegun,     &kCgu,
    &kCeu,         &kNewtonStep, &kJackknife,   &kLangevin,  &kLangevinFull, &kDescentToDelete,
    &kRewind,      &kDescend,    &kHessianFree, &kStreaming, &kFinetune,     &kNeggrad,
};

void check_options(const SolverEntry& entry, const SolverOptions& options) {
  const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
  if (entry.noisy) {
    if (!positive(options.epsilon)) throw UsageError(option("epsilon") + " must be above 0 and finite");
    if (!(options.delta > 0 && options.delta < 1))
      throw UsageError(option("delta") + " must lie strictly between 0 and 1");
  }
  if (!positive(options.lambda)) throw UsageError(option("lambda") + " must be above 0 and finite");
  if (!positive(options.tau)) throw UsageError(option("tau") + " must be above 0 and finite");
  if (!(options.alpha >= 0) || !std::isfinite(options.alpha))
    throw UsageError(option("alpha") + " must be at least 0 and finite");
}

void check_network(const SolverEntry& entry, const SolverOptions& options) {
  if (options.hidden.empty()) {
    if (entry.linear.trained) return;
    throw UsageError(std::string(entry.name) + " trains networks alone; give " + option("head", "mlp"));
  }
  if (!entry.networks.trained)
    throw UsageError(std::string(entry.name) + " trains linear models alone; " + option("head", "mlp") + " is for " +
                     solvers_with([](const SolverEntry& other) { return other.networks.trained; }));
  if (options.head != Head::kSoftmax) throw UsageError("hidden layers go with the softmax loss");
  if (options.activation != entry.activation.value_or(options.activation) ||
      (options.activation == Activation::kRelu && !entry.activation))
    throw UsageError(std::string(entry.name) + " trains no network of " + std::string(name_of(options.activation)) +
                     "; " + (entry.activation ? "leave " : "choose another ") + option("activation") +
                     (entry.activation ? " away" : ""));
  static_cast<void>(Network({options.head, 1, 1, options.hidden, options.activation}));
}

void check_head(const SolverEntry& entry, const SolverOptions& options) {
  if (entry.coupled_heads || !options.hidden.empty() || !couples_classes(options.head)) return;
  throw UsageError(std::string(entry.name) + " bounds its steps for one-vs-rest heads alone; " +
                   option("head", name_of(options.head)) + " is for " +
                   solvers_with([](const SolverEntry& other) { return other.coupled_heads; }));
}

void check_unit(const SolverEntry& entry, const SolverOptions& options) {
  if (entry.any_unit || options.unit == RowUnit::node) return;
  throw UsageError(std::string(entry.name) + " learns on rows of nodes alone; rows of " +
                   std::string(name_of(options.unit)) + "s, all of which any batch may change, are for " +
                   solvers_with([](const SolverEntry& other) { return other.any_unit; }));
}

}  // namespace

std::span<const SolverEntry* const> all_solvers() noexcept {
  return kSolvers;
}

std::vector<std::string_view> solver_names() {
  std::vector<std::string_view> names;
  for (const SolverEntry* const entry : kSolvers) names.push_back(entry->name);
  return names;
}

const SolverEntry* find_solver(std::string_view name) noexcept {
  for (const SolverEntry* const entry : kSolvers)
    if (entry->name == name) return entry;
  return nullptr;
}

const SolverEntry& solver_entry(std::string_view name) {
  if (const SolverEntry* const entry = find_solver(name)) return *entry;
  throw UsageError(unknown_name("solver", name, solver_names()));
}

const SolverEntry& default_solver() noexcept {
  return *kSolvers[0];
}

const SolverEntry& retraining_solver() noexcept {
  return **std::find_if(std::begin(kSolvers), std::end(kSolvers),
                        [](const SolverEntry* entry) { return entry->retrains; });
}

const SolverKind& kind_of(const Model& model) {
  return solver_entry(model.solver).kind(model.network.has_value());
}

std::string solvers_with(bool (*holds)(const SolverEntry&)) {
  std::string names;
  for (const SolverEntry* const entry : kSolvers)
    if (holds(*entry)) names += (names.empty() ? "" : ", ") + std::string(entry->name);
  return names;
}

std::unique_ptr<Solver> make_solver(std::string_view name, const SolverOptions& options,
                                    const SolverResources& resources) {
  const SolverEntry& entry = solver_entry(name);
  check_options(entry, options);
  if (options.bound == BoundRule::kPaper && !entry.printed)
    throw UsageError(std::string(entry.name) + " has no printed bound; leave " + option("bound", "paper") + " away");
  check_network(entry, options);
  if (options.intercept && !entry.intercept)
    throw UsageError(std::string(entry.name) + " is as published, without an intercept");
  if (options.intercept && !options.hidden.empty())
    throw UsageError("hidden layers have biases of their own, and no intercept beside");
  require_parameters(entry.name, entry.parameters(), options.parameters, !options.hidden.empty());
  check_head(entry, options);
  check_unit(entry, options);
  return entry.make(options, resources);
}

void require_options(std::string_view name, const SolverOptions& options) {
  static_cast<void>(make_solver(name, options));
}

void require_read(std::string_view name, const SolverOptions& options, std::span<const std::string_view> given) {
  const SolverEntry& entry = solver_entry(name);
  const bool network = !options.hidden.empty();
  for (const std::string_view key : given) {
    if (key == "head" && !network && !entry.linear.trained)
      throw UsageError(std::string(name) + " trains networks alone; give " + option("head", "mlp"));
    if (key == "activation" && options.activation != entry.activation.value_or(options.activation))
      throw UsageError(std::string(name) + " trains networks of " + std::string(name_of(*entry.activation)) +
                       " alone; leave " + option("activation") + " away");
    if ((key == "hidden" || key == "activation") && !network)
      throw UsageError(option(key) + " is for " + option("head", "mlp"));
    if ((key == "epsilon" || key == "delta") && !entry.noisy)
      throw UsageError(std::string(name) + " draws no noise, so that epsilon and delta are 0; leave " + option(key) +
                       " away");
    if ((key == "tau" && !entry.tau) || (key == "alpha" && !entry.alpha))
      throw UsageError(std::string(name) + " has no use for " + option(key) + ", which is for " +
                       (key == "tau" ? solvers_with([](const SolverEntry& other) { return other.tau; })
                                     : solvers_with([](const SolverEntry& other) { return other.alpha; })) +
                       "; leave it out");
  }
}

void require_over_ranks(std::string_view name, const SolverOptions& options) {
  if (solver_entry(name).kind(!options.hidden.empty()).over_ranks) return;
  throw UsageError(std::string(name) + (options.hidden.empty() ? "" : " with hidden layers") +
                   " does not train over several ranks; start it alone, or choose a linear head and one of " +
                   solvers_with([](const SolverEntry& entry) { return entry.linear.over_ranks; }));
}

SolverOptions taken_options(std::string_view name, SolverOptions options) {
  const SolverEntry& entry = solver_entry(name);
  if (!entry.noisy) options.epsilon = options.delta = 0;
  if (!entry.linear.trained && options.hidden.empty()) {
    options.head = Head::kSoftmax;
    options.hidden = {kHiddenUnits};
    options.intercept = false;
  }
  if (entry.activation) options.activation = *entry.activation;
  return options;
}

double weakest_default_lambda(std::string_view solver) {
  return solver_entry(solver).first_order ? 1e-3 : 0;
}

}  // namespace unweave
