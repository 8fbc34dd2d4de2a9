// engine/ranks/join.h - takes part in the job that a launcher has begun this process for. The
// program links one of the folders that do so: mpi/ with the library of MPI, alone/ without.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/ranks/ranks.h"

namespace unweave {

/// The job of several ranks, for as long as it lives, which is nearly as long as the process; null
/// where no launcher has begun several. Throws UsageError where one has that this program cannot
/// work under, naming both; ResourceError where MPI does not start.
[[nodiscard]] std::unique_ptr<Ranks> join_ranks();

/// What `version` prints of it: the library's name and version, or "none".
[[nodiscard]] std::string ranks_library();

/// How many processes the launcher says that it has begun, from the environment; 0 where there is
/// none, or it does not say.
[[nodiscard]] std::size_t launched_ranks();

}  // namespace unweave
