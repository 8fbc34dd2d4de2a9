// algorithms/solver.cpp - the registry of solvers and the checks that they share.
#include "algorithms/solver.h"

#include <cmath>

#include "algorithms/langevin_solver.h"
#include "algorithms/newton_solver.h"
#include "algorithms/scalegun_solver.h"
#include "storage/error.h"

namespace unweave {
namespace {

using Factory = std::unique_ptr<Solver> (*)(const SolverOptions&);
struct Entry {
  std::string_view name;
  Factory make;
};
constexpr Entry kSolvers[] = {
    {"newton", make_newton_solver},
    {"retrain", make_retrain_solver},
    {"scalegun", make_scalegun_solver},
    {"cgu", make_cgu_solver},
    {"ceu", make_ceu_solver},
    {"langevin", make_langevin_solver},
    {"langevin-full", make_langevin_full_solver},
};

void check_options(const SolverOptions& options) {
  const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
  if (!positive(options.epsilon)) throw UsageError("--epsilon must be above 0 and finite");
  if (!(options.delta > 0 && options.delta < 1)) throw UsageError("--delta must lie strictly between 0 and 1");
  if (!positive(options.lambda)) throw UsageError("--lambda must be above 0 and finite");
  if (!positive(options.tau)) throw UsageError("--tau must be above 0 and finite");
  if (!(options.alpha >= 0) || !std::isfinite(options.alpha)) throw UsageError("--alpha must be at least 0 and finite");
}

}  // namespace

BoundRule parse_bound(std::string_view name) {
  if (name == "corrected") return BoundRule::kCorrected;
  if (name == "paper") return BoundRule::kPaper;
  throw UsageError("unknown bound \"" + std::string(name) + "\"; use corrected or paper");
}

std::unique_ptr<Solver> make_solver(std::string_view name, const SolverOptions& options) {
  check_options(options);
  std::string known;
  for (const Entry& entry : kSolvers) {
    if (entry.name == name) return entry.make(options);
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw UsageError("unknown solver \"" + std::string(name) + "\"; known are " + known);
}

std::vector<std::string_view> solver_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kSolvers) names.push_back(entry.name);
  return names;
}

RandomSource noise_source(const SolverOptions& options, std::uint64_t release) {
  return options.seed ? RandomSource::from_seed(*options.seed, release) : RandomSource::from_system();
}

void check_shape(const Model& model, std::string_view name, const TrainingSet& rows) {
  if (model.solver != name)
    throw UsageError("the model was trained by " + model.solver + ", not by " + std::string(name) + "; train it again");
  if (size_of(model.published.rows()) != rows.features() || size_of(model.published.cols()) != rows.classes())
    throw UsageError("the model has another shape than the training rows; train it again");
}

void check_model(const Model& model, std::string_view name, const TrainingSet& after, const BatchChange& change) {
  check_shape(model, name, after);
  if (model.trained_rows != after.size() + change.removed.size())
    throw UsageError("the batch does not lead from the model's training rows to these; train the model again");
}

}  // namespace unweave
