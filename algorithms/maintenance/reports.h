// algorithms/maintenance/reports.h - how purge and repair are done, and what they have done or are
// going to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "storage/input/input_file.h"

namespace unweave {

struct PurgeOptions {
  bool keep_order = false;  ///< the order of the nodes is public, and stays though the graph that gave it is another
  bool always = false;  ///< also where nothing is to be forgotten: private parts and models go, but for canonical ones
  /// How many nodes the purged store has, no fewer than it has now: those that are new have
  /// nothing, as in an import that was told this number. Without it as many as it has.
  std::optional<std::uint64_t> nodes{};
  /// Names of the nodes that are new, that of the first one first
  /// (storage/input/nodes/name_reader.h); those beyond the file have none. Only with `nodes`, of a
  /// store that has names.
  std::optional<InputFile> names{};
  bool without_feeds = false;   ///< whatever readers of feeds of changes have taken; the store forgets these feeds
  std::filesystem::path key{};  ///< file of the key that signs certificates; empty: the store's own
  std::string program{};        ///< version of this build, for certificates
  /// Is told the models that will go; may be empty.
  std::function<void(const std::vector<std::string>&)> before_removal = nullptr;
  /// Bytes of new files that lie beside those that they replace, unless one file alone has more;
  /// without it those of kFoldStep. Where the purged store has more new files the purge goes in
  /// steps (algorithms/live/stepwise_fold.h), but for a purge that gives the nodes another order or
  /// adds some.
  std::optional<std::uint64_t> step_bytes{};
};

/// What became of a store of an earlier release: versions of its manifest.
struct UpgradeReport {
  std::int64_t version_before = 0, version = 0;
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

/// Upper bounds, but for what codecs make of other lists.
struct PurgePlan {
  std::uint64_t written_bytes = 0;    ///< new files
  std::uint64_t room_bytes = 0;       ///< those of them that lie beside the old ones at a time
  std::uint64_t temporary_bytes = 0;  ///< unlinked files and the graph by ids, at a time, beside them
  /// Canonical models (SolverEntry::canonical) that stay, or that an earlier purge left without a
  /// certificate; and the trainings that bring outdated ones up to date, and those after the
  /// removal, which certify each.
  std::vector<std::string> models;
  std::uint64_t trainings = 0;
  std::uint64_t training_memory_bytes = 0;  ///< the largest of them, beside the store; part of it merely saves time
  bool computes_order = false;  ///< the bytes are for another order of nodes; an order that stays takes far less

  /// Free disk that the purge needs.
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept { return room_bytes + temporary_bytes; }
};

struct GrowOptions {
  std::uint64_t nodes = 0;  ///< how many the store has afterwards, no fewer than it has now
  /// Names of the nodes that are new, as PurgeOptions::names.
  std::optional<InputFile> names{};
};

struct GrowReport {
  std::uint64_t nodes = 0;        ///< in all
  std::uint64_t nodes_added = 0;  ///< 0 where the store stays as it was
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_kept = 0;  ///< files that stay
};

struct RepairOptions {
  bool cut_journal = false;
  std::string program{};  ///< named in the certificates of models that are trained again
};

struct RepairedFile {
  std::string file;
  std::string damage;  ///< one line
  std::string remedy;  ///< what was done, or what remains to be done
  bool lost = false;   ///< still damaged
};

}  // namespace unweave
