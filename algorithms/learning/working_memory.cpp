// algorithms/learning/working_memory.cpp - divides what the budget has for a solver between curvatures and
// preconditioner.
#include "algorithms/learning/working_memory.h"

#include "algorithms/learning/preconditioner.h"
#include "algorithms/learning/slopes.h"
#include "engine/resources/memory_shares.h"

namespace unweave {

WorkingMemory working_memory_within(const Rows& rows, std::size_t classes, std::size_t bytes) {
  WorkingMemory memory;
  const std::size_t preconditioner = preconditioner_bytes(rows, classes);
  if (preconditioner <= bytes) memory.preconditioner = preconditioner;
  const std::size_t curvatures = rows.count * classes * sizeof(ShortFloat);
  if (curvatures <= bytes - memory.preconditioner) memory.curvatures = curvatures;
  return memory;
}

Reservation reserve_working_memory(const Rows& rows, std::size_t classes, MemoryBudget& budget) {
  const std::uint64_t share = memory_shares::kSolver.of(budget);
  return budget.reserve(working_memory_within(rows, classes, static_cast<std::size_t>(share)).total(),
                        "curvatures and preconditioner of a model");
}

}  // namespace unweave
