// algorithms/learning/rank_passes.h - what ranks that share the rows of a training say to each other in its passes.
// How many passes there are depends on the rows.
#pragma once

#include <cstddef>

#include "algorithms/learning/head.h"
#include "algorithms/numerics/rows.h"
#include "engine/ranks/planned_ranks.h"

namespace unweave {

struct RankPasses {
  RankCalls gradient;  ///< in float32; one in float64 says a number a class less
  RankCalls product;   ///< a Hessian product with all classes; classes that are done are left out
  RankCalls refresh;   ///< when the preconditioner for these rows and ample memory follows other weights
};

[[nodiscard]] RankPasses plan_passes(std::size_t rows, std::size_t features, std::size_t classes, Head head,
                                     std::size_t ranks);

/// Counts a refresh of the preconditioner that make_preconditioner() makes of these rows with enough memory.
void count_refresh(const Rows& rows, std::size_t classes, PlannedRanks& job);
/// Counts a refresh of a sampled one: each rank sends the curvatures of its rows of the sample.
void count_sampled_refresh(const Rows& rows, std::size_t classes, PlannedRanks& job);

}  // namespace unweave
