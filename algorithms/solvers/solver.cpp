// algorithms/solvers/solver.cpp - the registry of solvers and the checks that they share.
#include "algorithms/solvers/solver.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/learning/working_memory.h"
#include "algorithms/solvers/descent/descent_solver.h"
#include "algorithms/solvers/hessian_free/hessian_free_solver.h"
#include "algorithms/solvers/langevin/langevin_constants.h"
#include "algorithms/solvers/langevin/langevin_solver.h"
#include "algorithms/solvers/newton/newton_solver.h"
#include "algorithms/solvers/newton_step/newton_step_solver.h"
#include "algorithms/solvers/objective_noise/scalegun_solver.h"
#include "algorithms/solvers/references/sgd_solvers.h"
#include "algorithms/solvers/rewind/rewind_account.h"
#include "algorithms/solvers/rewind/rewind_solver.h"
#include "algorithms/solvers/streaming/streaming_solver.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"

namespace unweave {
namespace {

using Factory = std::unique_ptr<Solver> (*)(const SolverOptions&);
struct Entry {
  std::string_view name;
  Factory make;
  std::span<const Parameter> parameters = {};
  bool networks = false;     ///< trains models with hidden layers too
  bool reference = false;    ///< claims nothing, whatever it trains
  bool printed = true;       ///< has a bound in print, other than the one that certifies
  bool intercept = true;     ///< of linear models
  bool first_order = false;  ///< its steps, or its bounds, grow with 1 / lambda
};
constexpr Entry kSolvers[] = {
    {"newton", make_newton_solver, {}, false, false, false},
    {"retrain", make_retrain_solver, kRetrainParameters, true, false, false},
    {"scalegun", make_scalegun_solver, kScalegunParameters, true, false, true, false, true},
    {"cgu", make_cgu_solver, {}, false, false, true, false, true},
    {"ceu", make_ceu_solver, {}, false, false, true, false, true},
    {"newton-step", make_newton_step_solver, kNewtonStepParameters, true},
    {"jackknife", make_jackknife_solver, kNewtonStepParameters, true},
    {"langevin", make_langevin_solver, kLangevinParameters, false, false, true, true, true},
    {"langevin-full", make_langevin_full_solver, std::span(kLangevinParameters).first(5), false, false, true, true,
     true},
    {"descent-to-delete", make_descent_solver, kDescentParameters, false, false, true, true, true},
    {"rewind", make_rewind_solver, kRewindParameters, false, false, true, true, true},
    {"descend", make_descend_solver, kRewindParameters, false, false, true, true, true},
    {"hessian-free", make_hessian_free_solver, kHessianFreeParameters, true, false, true, true, true},
    {"streaming", make_streaming_solver, kStreamingParameters, true, true, false},
    {"finetune", make_finetune_solver, kFinetuneParameters, true, true, false},
    {"neggrad", make_neggrad_solver, kNeggradParameters, true, true, false},
};

const Entry& entry_of(std::string_view solver) {
  for (const Entry& entry : kSolvers)
    if (entry.name == solver) return entry;
  throw UsageError(unknown_name("solver", solver, solver_names()));
}

void check_parameters(const Entry& entry, const SolverOptions& options) {
  std::string known;
  std::vector<std::string_view> names;
  for (const Parameter& own : entry.parameters) {
    known += (known.empty() ? "" : ", ") + std::string(own.name);
    names.push_back(own.name);
  }
  for (const auto& given : options.parameters) {
    const std::string& name = given.first;
    if (std::none_of(entry.parameters.begin(), entry.parameters.end(),
                     [&](const Parameter& p) { return p.name == name; })) {
      if (known.empty())
        throw UsageError(std::string(entry.name) + " has no parameters of its own; leave out --set " + name);
      throw UsageError(std::string(entry.name).append(" has no parameter \"").append(name) + "\"" +
                       did_you_mean(name, names) + "; it has " + known);
    }
    if (!std::isfinite(given.second)) throw UsageError("--set " + name + " must be finite");
  }
}

void check_options(const SolverOptions& options) {
  const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
  if (!positive(options.epsilon)) throw UsageError("--epsilon must be above 0 and finite");
  if (!(options.delta > 0 && options.delta < 1)) throw UsageError("--delta must lie strictly between 0 and 1");
  if (!positive(options.lambda)) throw UsageError("--lambda must be above 0 and finite");
  if (!positive(options.tau)) throw UsageError("--tau must be above 0 and finite");
  if (!(options.alpha >= 0) || !std::isfinite(options.alpha)) throw UsageError("--alpha must be at least 0 and finite");
}

void check_network(const Entry& entry, const SolverOptions& options) {
  if (options.hidden.empty()) return;
  std::string takers;
  for (const Entry& other : kSolvers)
    if (other.networks) takers += (takers.empty() ? "" : ", ") + std::string(other.name);
  if (!entry.networks)
    throw UsageError(std::string(entry.name) + " trains linear models alone; --head mlp is for " + takers);
  if (options.head != Head::kSoftmax) throw UsageError("hidden layers go with the softmax loss");
  static_cast<void>(Network({options.head, 1, 1, options.hidden, options.activation}));
}

}  // namespace

BoundRule parse_bound(std::string_view name) {
  if (name == "corrected") return BoundRule::kCorrected;
  if (name == "paper") return BoundRule::kPaper;
  throw UsageError(unknown_name("bound", name, std::array<std::string_view, 2>{"corrected", "paper"}));
}

std::unique_ptr<Solver> make_solver(std::string_view name, const SolverOptions& options) {
  const Entry& entry = entry_of(name);
  check_options(options);
  if (options.bound == BoundRule::kPaper && !entry.printed)
    throw UsageError(std::string(entry.name) + " has no printed bound; leave --bound paper away");
  check_network(entry, options);
  if (options.intercept && !entry.intercept)
    throw UsageError(std::string(entry.name) + " is as published, without an intercept");
  if (options.intercept && !options.hidden.empty())
    throw UsageError("hidden layers have biases of their own, and no intercept beside");
  check_parameters(entry, options);
  return entry.make(options);
}

double weakest_default_lambda(std::string_view solver) {
  return entry_of(solver).first_order ? 1e-3 : 0;
}

bool takes_intercept(std::string_view solver) {
  return entry_of(solver).intercept;
}

void withdraw_claims_of_seed(StepReport& report) {
  if (!report.for_tests) return;
  report.certified = false;
  report.claim.reset();
}

std::span<const Parameter> solver_parameters(std::string_view solver) {
  return entry_of(solver).parameters;
}

std::optional<double> parameter(const SolverOptions& options, const Parameter& of) noexcept {
  const auto given = options.parameters.find(of.name);
  return given == options.parameters.end() ? of.standard : given->second;
}

std::optional<std::uint64_t> count_setting(const SolverOptions& options, std::string_view name, std::uint64_t most) {
  const auto given = options.parameters.find(name);
  if (given == options.parameters.end()) return std::nullopt;
  const double value = given->second;
  if (!(value >= 1) || value > static_cast<double>(most) || value != std::floor(value))
    throw UsageError("--set " + std::string(name) + " must be a whole number from 1 to " + std::to_string(most));
  return static_cast<std::uint64_t>(value);
}

std::optional<double> positive_setting(const SolverOptions& options, std::string_view name) {
  const auto given = options.parameters.find(name);
  if (given == options.parameters.end()) return std::nullopt;
  if (!(given->second > 0)) throw UsageError("--set " + std::string(name) + " must be above 0");
  return given->second;
}

Reservation Solver::reserve(const Model&, const TrainingSet& rows, MemoryBudget& budget) const {
  return reserve_working_memory(rows.rows(), rows.classes(), budget);
}

std::vector<std::string_view> solver_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kSolvers) names.push_back(entry.name);
  return names;
}

bool claims_nothing(const Model& model) {
  const std::string& solver = model.solver;
  return entry_of(solver).reference || (model.network && (solver == "retrain" || solver == "scalegun" ||
                                                          solver == "newton-step" || solver == "jackknife"));
}

std::string_view head_name(const SolverOptions& options) noexcept {
  return options.hidden.empty() ? name_of(options.head) : "mlp";
}

NetworkShape shape_of(const SolverOptions& options, const TrainingSet& rows) {
  return {options.head,   rows.features(),    rows.classes(),
          options.hidden, options.activation, options.hidden.empty() ? 1 : options.blocks};
}

NetworkShape shape_of(const Model& model) {
  if (model.network) return *model.network;
  return {model.head, size_of(model.published.rows()), size_of(model.published.cols()), {}, Activation::kTanh, 1};
}

void margins_of(const Model& model, const float* rows, std::size_t count, double* out) {
  const Network network(shape_of(model));
  network.margins({model.published.data(), size_of(model.published.size())}, rows, count, out);
}

RandomSource noise_source(const SolverOptions& options, std::uint64_t release) {
  return options.seed ? RandomSource::from_seed(*options.seed, release) : RandomSource::from_system();
}

void check_shape(const Model& model, std::string_view name, const TrainingSet& rows) {
  if (model.solver != name)
    throw UsageError("the model was trained by " + model.solver + ", not by " + std::string(name) + "; train it again");
  const NetworkShape shape = shape_of(model);
  if (shape.features != rows.features() || shape.classes != rows.classes())
    throw UsageError("the model has another shape than the training rows; train it again");
}

void check_model(const Model& model, std::string_view name, const TrainingSet& after, const BatchChange& change) {
  check_shape(model, name, after);
  if (model.trained_rows != after.size() + change.removed.size())
    throw UsageError("the batch does not lead from the model's training rows to these; train the model again");
}

}  // namespace unweave
