// algorithms/maintenance/purge.h - physical erasure: a store that is, file by file, the one that `import` and
// `propagate` with the same options would have built from what remains.
//
// Requests leave traces beside the contents that they change: shards under a list of changes, sums under runs, the journal,
// orders, norms and counts computed from what was there, models. A purge writes what an import of the present contents
// would write, keeps each file that would come out the same, computes the content digest of both generations, and replaces
// one by the other only where they are equal. Then it removes everything that the new manifest does not name. A canonical
// model (SolverEntry::canonical) is that of a fresh training to the bit: it is brought up to date before, stays, and is
// certified anew afterwards, from itself and the purged rows alone. One whose lambda is the default is trained anew where the purged
// store has another default, since it has more nodes.
//
// Files that stay keep their bytes, and all files get one time in the end (level_times()).
//
// A crash before the new manifest leaves the store as it was; one after it leaves remains that the next writer removes, or
// another purge (engine/generations/store_purge.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "engine/graph/store.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/input/byte_source.h"

namespace unweave {

struct PurgeOptions {
  bool keep_order = false;  ///< the order of the nodes is public, and stays though the graph that gave it is another
  bool always = false;  ///< also where nothing is to be forgotten: private parts and models go, but for canonical ones
  /// How many nodes the purged store has, no fewer than it has now: those that are new have nothing, as in an import that was
  /// told this number. Without it as many as it has.
  std::optional<std::uint64_t> nodes{};
  /// Names of the nodes that are new, that of the first one first (storage/input/name_reader.h); those beyond the file have none. Only with
  /// `nodes`, of a store that has names.
  std::optional<InputFile> names{};
  bool without_feeds = false;   ///< whatever readers of feeds of changes have taken; the store forgets these feeds
  std::filesystem::path key{};  ///< file of the key that signs certificates; empty: the store's own
  std::string program{};        ///< version of this build, for certificates
  /// Is told the models that will go; may be empty.
  std::function<void(const std::vector<std::string>&)> before_removal = nullptr;
};

/// A model and what kept a step from being done with it, a message.
struct ModelFault {
  std::string name;
  std::string text;
};

/// A model of the default lambda, which is another one for the purged store.
struct NewLambda {
  std::string name;
  double before = 0, after = 0;
};

struct PurgeReport {
  bool nothing = false;  ///< nothing was to be forgotten; all else but models to be certified is without meaning
  std::vector<std::string>
      certified_models;  ///< where `nothing`: those that an earlier purge had kept and not certified
  Digest digest{};
  std::uint64_t bytes_written = 0;  ///< files of the purged store that were not in it before
  std::uint64_t bytes_kept = 0;     ///< files that stay
  std::uint64_t bytes_removed = 0;
  std::uint64_t requests = 0;    ///< requests that the store had acknowledged, and forgets
  std::uint64_t stale_rows = 0;  ///< rows that a lazy stream left stale, published first
  std::vector<std::string> kept_models;
  std::vector<ModelFault> lost_models;         ///< canonical ones that could not be brought up to date, and went
  std::vector<ModelFault> gone_models;         ///< all that went, those among them
  std::vector<ModelFault> uncertified_models;  ///< kept ones that a later writer has to certify
  std::vector<NewLambda> new_lambdas;  ///< kept models that were trained anew, with the default of the purged store
  std::vector<std::string>
      trained_models;            ///< models that went and were trained anew since, by whoever asked for the purge
  std::uint64_t times_left = 0;  ///< files that keep the time of their last change, since they are another user's
  std::uint64_t nodes_added = 0;
  bool has_order = false;  ///< nodes lie in another order than that of their ids
  bool order_changed = false;
  std::string order_reason;  ///< which order "auto" took and why, a sentence; else empty
  bool propagated = false;
  bool standardized = false;  ///< features keep the constants by which they were scaled, statistics of all data ever
};

/// Purges the store, unless nothing is to be forgotten: since its import or its last purge no request was acknowledged,
/// whether or not it could be applied, no purge was begun, and the order of the nodes is that of the present graph. What
/// models and private parts of certificates know of are then the present contents alone. Without `keep_order` its order is
/// computed anew; where that moves a node, or nodes are added, all files are written anew and the sums recomputed. Needs the disk that the new
/// files take beside the old ones. Throws what opening a store throws, ResourceError, and DataError where a reader of a feed of changes
/// (algorithms/live/feed_registry.h) lags and `without_feeds` does not say otherwise, UsageError for too few or too many nodes, InputError for names; unless the purge was decided by then,
/// the store is as it was. `lock`: the right to write the store, which nobody else has at any moment in between; with none it is
/// taken.
PurgeReport purge_store(const std::filesystem::path& store, const PurgeOptions& options, MemoryBudget& budget,
                        WorkMeter& meter, std::optional<WriterLock> lock = std::nullopt);

}  // namespace unweave
