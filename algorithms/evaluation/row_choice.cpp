// algorithms/evaluation/row_choice.cpp - tries programs of rows on the validation split.
#include "algorithms/evaluation/row_choice.h"

#include <algorithm>

#include "algorithms/evaluation/regularisation.h"
#include "algorithms/evaluation/validation_trial.h"
#include "algorithms/live/live_store.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/rows/row_maker.h"
#include "storage/io/error.h"

namespace unweave {

std::vector<RowProgram> candidate_programs(const PropagationSpec& spec, std::size_t columns, std::size_t classes,
                                           std::uint32_t copies, const std::optional<Pool>& pool) {
  if (!spec.kept.has_sums())
    throw UsageError(option("rows-of", "auto") + ": the store keeps rows in place of sums, of which other rows " +
                     "cannot be made; propagate without " + option("keep") + ", or leave it out");
  std::vector<RowProgram> candidates{RowProgram(spec.weights)};
  candidates.front().copies = copies;
  candidates.front().pool = pool;
  hold_level_0_once(candidates.front(), spec.levels);
  const auto add = [&](std::vector<std::string> blocks, RowScale scale, std::optional<Lift> lift) {
    RowProgram program(scheme_weights("stack", spec.levels, {}));
    program.copies = copies;
    program.pool = pool;
    program.blocks = std::move(blocks);
    program.scale = scale;
    hold_level_0_once(program, spec.levels);
    if (lift && width_of(program, spec.levels, columns, classes) > lift->width) return;  // the lift would be wider, too
    program.lift = lift;
    if (std::find(candidates.begin(), candidates.end(), program) == candidates.end())
      candidates.push_back(std::move(program));
  };
  add({}, RowScale::clip, {});
  add({}, RowScale::unit, {});
  if (pool) {  // labels are those of graphs, which no node has
    add({"degree"}, RowScale::unit, {});
    if (spec.rho == 1 && spec.levels > 0) add({"open", "degree"}, RowScale::unit, {});
  } else {
    add({"labels"}, RowScale::unit, {});
    if (spec.rho == 1 && spec.levels > 0) add({"open", "labels"}, RowScale::unit, {});
  }
  add({}, RowScale::unit, Lift());
  add({pool ? std::vector<std::string>{"degree"} : std::vector<std::string>{"labels", "degree"}}, RowScale::unit,
      Lift());
  return candidates;
}

ChosenProgram choose_rows(const LiveStore& store, MemoryBudget& budget, const SolverOptions& options,
                          const std::vector<RowProgram>& candidates, bool tunes_lambda,
                          const std::function<void(const RowsTrial&)>& told, Ranks* ranks) {
  const std::vector<NodeId> keys = validation_keys(store, candidates.front(), option("rows-of", "auto"));
  ChosenProgram chosen;
  for (const RowProgram& rows : candidates) {
    RowsTrial trial{rows, options.lambda, {}};
    if (tunes_lambda) {
      for (const LambdaTrial& one : tune_lambda(store, budget, options, rows, {}, ranks).trials)
        if (!trial.accuracy || one.accuracy > trial.accuracy) {
          trial.accuracy = one.accuracy;
          trial.lambda = one.lambda;
        }
    } else {
      trial.accuracy = ValidationTrial(store, budget, options, rows, ranks).accuracy_at(options.lambda, keys);
    }
    chosen.trials.push_back(std::move(trial));
    if (told) told(chosen.trials.back());
  }
  const auto best = std::max_element(chosen.trials.begin(), chosen.trials.end(),
                                     [](const RowsTrial& a, const RowsTrial& b) { return a.accuracy < b.accuracy; });
  if (!best->accuracy)
    throw UsageError(option("rows-of", "auto") + ": no trial came to its end; give a larger " + option("lambda"));
  chosen.rows = best->rows;
  chosen.lambda = best->lambda;
  return chosen;
}

}  // namespace unweave
