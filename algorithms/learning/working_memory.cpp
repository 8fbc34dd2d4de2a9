// algorithms/learning/working_memory.cpp - divides what the budget has for a solver between
// curvatures and preconditioner.
#include "algorithms/learning/working_memory.h"

#include <limits>

#include "algorithms/learning/preconditioner.h"
#include "algorithms/learning/slopes.h"
#include "algorithms/numerics/row_sweep.h"
#include "engine/resources/memory_shares.h"

namespace unweave {

namespace {

/// What it takes; 0 where it does not fit, or not on every rank: all must go one way.
std::size_t where_it_fits(const Rows& rows, std::size_t needed, std::size_t bytes) {
  const bool fits = needed <= bytes;
  const bool everywhere = rows.ranks == nullptr ? fits : rows.ranks->greatest(fits ? 0 : 1) == 0;
  return everywhere ? needed : 0;
}

}  // namespace

WorkingMemory working_memory_within(const Rows& rows, std::size_t classes, std::size_t bytes, double worth) {
  WorkingMemory memory;
  // Ranks choose one form, and all or none of them take it.
  const std::size_t most = rows.ranks == nullptr ? bytes : std::numeric_limits<std::size_t>::max();
  memory.preconditioner = where_it_fits(rows, preconditioner_bytes(rows, classes, most, worth), bytes);
  memory.curvatures =
      where_it_fits(rows, most_rows_of_a_rank(rows) * classes * sizeof(float), bytes - memory.preconditioner);
  return memory;
}

Reservation reserve_working_memory(const Rows& rows, std::size_t classes, MemoryBudget& budget) {
  const std::uint64_t share = memory_shares::kSolver.of(budget);
  return budget.reserve(working_memory_within(rows, classes, static_cast<std::size_t>(share)).total(),
                        "curvatures and preconditioner of a model");
}

}  // namespace unweave
