// algorithms/maintenance/purge_plan.h - what a purge is going to write, before it begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/maintenance/reports.h"

namespace unweave {

class LiveStore;
class MemoryBudget;
struct ModelRecord;

/// The lambda with which a canonical model has to be trained anew, since a training on the purged
/// store takes it where none is given; nothing where the model has it, or another one that somebody
/// or the validation split has chosen. Throws what default_lambda() throws.
[[nodiscard]] std::optional<double> lambda_of_purged(const LiveStore& store, const ModelRecord& record,
                                                     const PurgeOptions& options);

/// Whether this purge goes in steps, of so many bytes (PurgeOptions::step_bytes): the files that it
/// writes take more, and none of them is written for another order or for new nodes.
[[nodiscard]] bool goes_in_steps(const LiveStore& store, const PurgeOptions& options);

/// Throws ResourceError where the disk has not the room for the files that this purge writes at a
/// time, as far as that is known before: not of another order or with new nodes, nor before stale
/// rows are published.
void require_purge_room(const LiveStore& store, const PurgeOptions& options);

/// Likewise of every purge, before a writer's session is closed for it: the least that it writes,
/// and a little beside it.
void require_room_to_begin_purge(const LiveStore& store);

/// Reads the training rows where there are such models. Throws ResourceError where a training would
/// for want of memory.
[[nodiscard]] PurgePlan plan_purge(const LiveStore& store, const PurgeOptions& options, MemoryBudget& budget);

}  // namespace unweave
