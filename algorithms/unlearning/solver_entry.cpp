// algorithms/unlearning/solver_entry.cpp - the memory that most solvers ask for.
#include "algorithms/unlearning/solver_entry.h"

#include "algorithms/learning/working_memory.h"

namespace unweave {

Reservation reserve_minimisation(const SolverOptions&, const Model&, const TrainingSet& rows, MemoryBudget& budget) {
  return reserve_working_memory(rows.rows(), rows.classes(), budget);
}

}  // namespace unweave
