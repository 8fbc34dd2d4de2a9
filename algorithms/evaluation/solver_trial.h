// algorithms/evaluation/solver_trial.h - what a solver costs on the rows of a store, tried on some
// of them.
//
// How many readings of the rows a minimisation takes depends on the data (the spectrum of the
// Hessian), and hardly on how many rows of one kind there are; the time of a reading is
// proportional to these.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/unlearning/options.h"
#include "engine/resources/memory.h"

namespace unweave {

class LiveStore;

/// Trains on up to `most_rows` of the present training rows, evenly spaced, and removes twice the
/// share of them that `removed` rows are of all, one at least. All rows are read once before, to
/// see what they take: what does not fit the memory lies in an unlinked file meanwhile, and nothing
/// else is written. Work that tells how far it has come ends after two minutes, by a UsageError
/// that says so. Throws DataError where there are fewer than four training rows, UsageError as the
/// solver does, ResourceError; Cancelled.
[[nodiscard]] SolverTrial try_solver(const LiveStore& store, MemoryBudget& budget, std::string_view solver,
                                     const SolverOptions& options, const RowProgram& rows, std::size_t removed,
                                     std::size_t most_rows = 8192);

}  // namespace unweave
