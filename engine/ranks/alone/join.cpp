// engine/ranks/alone/join.cpp - a program without MPI works alone, and says so where a launcher has
// begun several.
#include "engine/ranks/join.h"

#include "storage/io/error.h"

namespace unweave {

std::unique_ptr<Ranks> join_ranks() {
  if (launched_ranks() > 1)
    throw UsageError(
        "this program was built without MPI, and " + std::to_string(launched_ranks()) +
        " processes of it would get in each other's way; build it where MPI is installed, or start it alone");
  return nullptr;
}

std::string ranks_library() {
  return "none";
}

}  // namespace unweave
