// algorithms/live/joined_level.h - whole rows of a level of which every rank of a job holds some
// columns: what a checkpoint writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "engine/state/state_level.h"

namespace unweave {

struct Manifest;

/// Every rank calls this with its columns of the level and the manifest of the present generation.
/// Rank 0 gets the level as one process would hold it: the files of that manifest under the rows
/// that have changed on any rank, some megabytes at a time. Where they do not fit the budget, they
/// become partitions in `store`. Others get null. Rows are charged while the level lives. Throws
/// ResourceError, DataError.
[[nodiscard]] std::shared_ptr<const StateLevel> join_level(Ranks& ranks, const StateLevel& mine, std::uint32_t level,
                                                           const std::filesystem::path& store, const Manifest& manifest,
                                                           MemoryBudget& budget);

}  // namespace unweave
