// algorithms/learning/rank_passes.cpp - makes the passes themselves, of no rows, with ranks that
// only count.
#include "algorithms/learning/rank_passes.h"

#include <numeric>
#include <vector>

#include "algorithms/learning/head.h"
#include "algorithms/learning/objective.h"
#include "algorithms/numerics/rows.h"
#include "engine/ranks/planned_ranks.h"

namespace unweave {
namespace {

template <class Pass>
RankCalls calls_of(std::size_t ranks, const Pass& pass) {
  PlannedRanks job(ranks, 0);
  pass(job);
  return job.calls();
}

}  // namespace

RankPasses plan_passes(std::size_t rows, std::size_t features, std::size_t classes, Head head, std::size_t ranks) {
  const Matrix weights = Matrix::Zero(index_of(features), index_of(classes));
  std::vector<std::size_t> all(classes);
  std::iota(all.begin(), all.end(), std::size_t{0});
  // What a sum says depends on its numbers alone, and not on how many rows it is of.
  const auto objective = [&](Ranks& job) {
    return Objective{{.features = features, .ranks = &job}, classes, head, 1, nullptr};
  };
  return {
      calls_of(ranks, [&](Ranks& job) { static_cast<void>(rough_gradient(objective(job), weights)); }),
      calls_of(ranks,
               [&](Ranks& job) { static_cast<void>(HessianOperator(objective(job), weights).apply(weights, all)); }),
      calls_of(ranks, [&](PlannedRanks& job) {
        count_refresh({.count = rows, .features = features, .ranks = &job}, classes, job);
      })};
}

}  // namespace unweave
