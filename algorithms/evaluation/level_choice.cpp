// algorithms/evaluation/level_choice.cpp - tries weights of the levels on the validation split.
#include "algorithms/evaluation/level_choice.h"

#include <algorithm>

#include "algorithms/evaluation/validation_trial.h"
#include "algorithms/live/live_store.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/rows/row_maker.h"
#include "storage/io/error.h"

namespace unweave {

std::vector<std::vector<double>> candidate_weights(std::uint32_t levels, const std::vector<double>& propagated) {
  const std::size_t count = std::size_t{levels} + 1;
  if (propagated.size() != count)
    throw UsageError(option("weights", "auto") +
                     ": the rows of this store have blocks in the place of levels, and a model "
                     "learns their weights; leave it out");
  std::vector<std::vector<double>> candidates;
  const auto add = [&](std::vector<double> weights) {
    if (std::find(candidates.begin(), candidates.end(), weights) == candidates.end())
      candidates.push_back(std::move(weights));
  };
  constexpr std::size_t kAllAlone = 4;  // levels up to which each is tried
  add(propagated);
  for (std::size_t level = 0; level < count; level += levels <= kAllAlone ? 1 : std::max<std::size_t>(level, 1)) {
    std::vector<double> alone(count);
    alone[level] = 1;
    add(std::move(alone));
  }
  add(scheme_weights("sgc", levels, {}));
  add(std::vector<double>(count, 1.0));
  add(scheme_weights("ppr:0.15", levels, {}));
  return candidates;
}

ChosenWeights choose_weights(const LiveStore& store, MemoryBudget& budget, const SolverOptions& options,
                             const RowProgram& program, const std::vector<std::vector<double>>& candidates,
                             const std::function<void(const WeightsTrial&)>& told, Ranks* ranks) {
  const std::vector<NodeId> keys = validation_keys(store, program, option("weights", "auto"));
  ChosenWeights chosen;
  for (const std::vector<double>& weights : candidates) {
    RowProgram rows = program;
    rows.weights = weights;
    hold_level_0_once(rows, store.embedding().levels());
    ValidationTrial trial(store, budget, options, rows, ranks);
    chosen.trials.push_back({weights, trial.accuracy_at(options.lambda, keys)});
    if (told) told(chosen.trials.back());
  }
  const auto best =
      std::max_element(chosen.trials.begin(), chosen.trials.end(),
                       [](const WeightsTrial& a, const WeightsTrial& b) { return a.accuracy < b.accuracy; });
  if (!best->accuracy)
    throw UsageError(option("weights", "auto") + ": no trial came to its end; give a larger " + option("lambda"));
  chosen.weights = best->weights;
  return chosen;
}

}  // namespace unweave
