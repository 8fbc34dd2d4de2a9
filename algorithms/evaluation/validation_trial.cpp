// algorithms/evaluation/validation_trial.cpp - trains without noise, and counts right predictions
// on the validation split.
#include "algorithms/evaluation/validation_trial.h"

#include <algorithm>
#include <utility>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/learning/dual_preconditioner.h"
#include "algorithms/learning/network_pass.h"
#include "algorithms/learning/newton.h"
#include "algorithms/learning/whole_preconditioner.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/live/live_store.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/noiseless_learning.h"
#include "engine/resources/memory_shares.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kTrialTau = 1e-4;

Objective objective_of(const TrainingSet& set, const SolverOptions& options) {
  return {set.rows(), set.classes(), options.head, strong_convexity(options.lambda, set.size()), nullptr};
}

/// Room for a preconditioner, and where there is some for factors of the whole Hessian: with a
/// small lambda these save hundreds of readings of the rows.
Reservation reserve_minimiser(const TrainingSet& set, const SolverOptions& options, MemoryBudget& budget) {
  const auto share = static_cast<std::size_t>(memory_shares::kSolver.of(budget));
  const Objective objective = objective_of(set, options);
  std::size_t most = working_memory_within(set.rows(), set.classes(), share).total();
  for (const std::size_t factors : {whole_preconditioner_bytes(objective), dual_preconditioner_bytes(objective)}) {
    const std::size_t bytes = factors + set.size() * set.classes() * sizeof(float);
    if (factors > 0 && bytes <= share) most = std::max(most, bytes);
  }
  return budget.reserve(most, "curvatures and preconditioner of a trial");
}

/// The solver whose networks alone have this activation, which is then tried itself; null where
/// there is none.
const SolverEntry* only_solver_of(const SolverOptions& options) {
  const auto all = all_solvers();
  const auto found = std::find_if(all.begin(), all.end(), [&](const SolverEntry* entry) {
    return !options.hidden.empty() && entry->activation == options.activation;
  });
  return found == all.end() ? nullptr : *found;
}

}  // namespace

std::vector<NodeId> validation_keys(const LiveStore& store, const RowProgram& program, const std::string& asked) {
  std::vector<NodeId> keys = row_units(store, program)->labelled(SplitName::valid);
  if (keys.empty())
    throw DataError(store.path().string() + ": " + asked + " needs labelled " + std::string(name_of(program.unit())) +
                    "s in the validation split; import it with " + option("split", "valid=F") + ", or leave out auto");
  return keys;
}

ValidationTrial::ValidationTrial(const LiveStore& store, MemoryBudget& budget, SolverOptions options,
                                 const RowProgram& rows, Ranks* ranks)
    : store_(store), options_(std::move(options)), only_(only_solver_of(options_)), ranks_(ranks) {
  record_.rows = rows;
  if (only_ != nullptr) record_.model.solver = only_->name;
  stand_on(record_, store.embedding().spec());
  options_.blocks = record_.options.blocks;
  if (only_ == nullptr) options_.parameters.clear();  // they are another solver's
  options_.tau = std::max(options_.tau, kTrialTau);
  rows_.emplace(store, rows, RowForm{record_.clip, options_.intercept}, budget, ranks);
  const TrainingSet& set = rows_->set();
  if (set.size() == 0) throw DataError(store.path().string() + ": there is no training row to choose by");
  if (!options_.hidden.empty()) layers_ = reserve_passes(Network(shape_of(options_, set)), set.size(), budget);
  working_ = only_ != nullptr ? only_->reserve(options_, {}, set, budget) : reserve_minimiser(set, options_, budget);
}

std::optional<double> ValidationTrial::accuracy_at(double lambda, const std::vector<NodeId>& keys) {
  const TrainingSet& set = rows_->set();
  options_.lambda = lambda;
  record_.options = options_;
  record_.model = blank_model(retraining_solver().name, options_, set);
  try {
    const auto memory = static_cast<std::size_t>(working_.bytes());
    if (only_ != nullptr) {
      record_.model = only_->make(options_, {memory, {}})->fit(set, {}).model;
    } else if (options_.hidden.empty()) {
      NewtonOptions newton;
      newton.tolerance = options_.tau;
      newton.memory = memory;
      newton.any_way = true;
      const Matrix zero = Matrix::Zero(index_of(set.features()), index_of(set.classes()));
      record_.model.published = minimise(objective_of(set, options_), zero, newton).weights;
    } else {
      record_.model.published = as_published(shape_of(options_, set), learn_weights(options_, {}, set, memory).weights);
    }
  } catch (const UsageError&) {  // the minimiser is not reached, on any rank
    return std::nullopt;
  }
  return accuracy_on(*row_units(store_, record_.rows), record_, keys, ranks_);
}

}  // namespace unweave
