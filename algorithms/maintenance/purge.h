// algorithms/maintenance/purge.h - physical erasure: a store that is, file by file, the one that
// `import` and `propagate` with the same options would have built from what remains.
//
// Requests leave traces beside the contents that they change: shards under a list of changes, sums
// under runs, the journal, orders, norms and counts computed from what was there, models. A purge
// writes what an import of the present contents would write, keeps each file that would come out
// the same, computes the content digest of both generations, and replaces one by the other only
// where they are equal. Then it removes everything that the new manifest does not name. A canonical
// model (SolverEntry::canonical) is that of a fresh training to the bit: it is brought up to date
// before, stays, and is certified anew afterwards, from itself and the purged rows alone. One whose
// lambda is the default is trained anew where the purged store has another default, since it has
// more nodes.
//
// Files that stay keep their bytes, and all files get one time in the end (level_times()).
//
// A large store needs not have room for all new files beside the old ones: where the order stays,
// files are replaced in steps before (algorithms/live/stepwise_fold.h).
//
// A crash before the new manifest leaves the store as it was, or as a step has left it, with the
// same contents; one after it leaves remains that the next writer removes, or another purge
// (engine/generations/store_purge.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/maintenance/reports.h"
#include "engine/graph/store.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"

namespace unweave {

/// Purges the store, unless nothing is to be forgotten: since its import or its last purge no
/// request was acknowledged, whether or not it could be applied, no purge was begun, and the order
/// of the nodes is that of the present graph. What models and private parts of certificates know of
/// are then the present contents alone. Without `keep_order` its order is computed anew; where that
/// moves a node, or nodes are added, all files are written anew and the sums recomputed. Needs the
/// disk of PurgePlan::disk_bytes(). Throws what opening a store throws, ResourceError, and
/// DataError where a reader of a feed of changes (algorithms/live/feed_registry.h) lags and
/// `without_feeds` does not say otherwise, UsageError for too few or too many nodes, InputError for
/// names; unless the purge was decided by then, the store has the same contents and requests, and
/// is as it was but for what was done in steps (PurgeOptions::step_bytes). `lock`: the right to
/// write the store, which nobody else has at any moment in between; with none it is taken.
PurgeReport purge_store(const std::filesystem::path& store, const PurgeOptions& options, MemoryBudget& budget,
                        WorkMeter& meter, std::optional<WriterLock> lock = std::nullopt);

}  // namespace unweave
