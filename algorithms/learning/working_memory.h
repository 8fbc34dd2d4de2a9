// algorithms/learning/working_memory.h - memory that spares a minimisation readings of its rows,
// and how much of it there is.
#pragma once

#include <cstddef>

#include "algorithms/learning/training_set.h"
#include "engine/resources/memory.h"

namespace unweave {

/// Bytes, each of them all that is useful or 0.
struct WorkingMemory {
  std::size_t preconditioner = 0;  ///< as make_preconditioner() takes them
  std::size_t curvatures = 0;      ///< as curvatures_within() takes them
  [[nodiscard]] std::size_t total() const noexcept { return preconditioner + curvatures; }
};

/// What of it fits into `bytes` where a preconditioner may cost `worth` products
/// (make_preconditioner()), on every rank where ranks share the rows: then all of them must ask
/// together. The preconditioner, which saves more, comes first.
[[nodiscard]] WorkingMemory working_memory_within(const Rows& rows, std::size_t classes, std::size_t bytes,
                                                  double worth = 0);

/// Sets aside what of it fits into half of what is left: the other half is for updates of the
/// store.
[[nodiscard]] Reservation reserve_working_memory(const Rows& rows, std::size_t classes, MemoryBudget& budget);

}  // namespace unweave
