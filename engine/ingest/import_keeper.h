// engine/ingest/import_keeper.h - keeps what is finished of an import, so that another process can go on with it.
//
// A save makes durable what is finished and then replaces the record of storage/formats/import_record.h, on a thread of
// its own: the import goes on meanwhile. Saves come at a pace at which a tenth of the work is lost at most, and imports
// of seconds have none.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/ingest/arc_sort.h"
#include "engine/ingest/row_sorter.h"
#include "engine/resources/clock.h"
#include "storage/formats/import_record.h"

namespace unweave {

class ImportKeeper {
 public:
  /// Keeps nothing where `keeps` is false. `pace_seconds`: work after which it is worth a save; 0: any. `by_ids`: the
  /// folder of the graph's files before it is ordered, relative to the store; "" where it is not to be. `record`: what
  /// is kept already, if `written`.
  ImportKeeper(std::filesystem::path store, bool keeps, double pace_seconds, std::string by_ids, ImportRecord record,
               bool written);
  ~ImportKeeper();
  ImportKeeper(const ImportKeeper&) = delete;
  ImportKeeper& operator=(const ImportKeeper&) = delete;

  /// The folder of records and arcs.
  [[nodiscard]] std::filesystem::path folder() const;
  [[nodiscard]] bool keeps() const noexcept { return keeps_; }
  /// Whether a record lies on the disk, with which another process can go on.
  [[nodiscard]] bool is_written() const noexcept { return written_.load(); }
  /// Why no more is kept, if so. After wait().
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

  /// Whether enough was done since the last save, and none is under way. Cheap.
  [[nodiscard]] bool is_due() const noexcept;
  /// Begins a save: change(record) makes durable what it adds, but for files that the record names, and runs on another
  /// thread, so that it must own what it uses. Where it fails the record stays as it was, and no more is saved.
  void save(std::function<void(ImportRecord& record)> change);
  /// Ends the save that is under way. Throws what a sync of the store's files or of arcs has thrown, now and from then
  /// on: what these hold may be lost, and no later sync would tell.
  void wait();
  /// Likewise, but throws nothing.
  void join() noexcept;
  /// Changes what is kept at the end of a step, after which files go that the record named until then. Where a record
  /// lies on the disk, or one is due, it is written; what cannot be written is not kept. Throws as wait() does.
  void settle(const std::function<void(ImportRecord& record)>& change);
  /// What is kept. Not while a save is under way.
  [[nodiscard]] const ImportRecord& record() const noexcept { return record_; }

  /// All files of a record, relative to the store.
  [[nodiscard]] std::vector<FileEntry> files(const ImportRecord& record) const;
  /// Throws ResourceError unless the disk has room for so many bytes more than those of `later`, which the import
  /// itself will need.
  void require_room(std::uint64_t bytes, std::uint64_t later) const;

 private:
  void write(const std::function<void(ImportRecord&)>& change) noexcept;

  std::filesystem::path store_;
  std::atomic<bool> keeps_;
  double pace_seconds_;
  std::string by_ids_;
  ImportRecord record_;
  std::atomic<bool> written_;
  std::set<std::string> durable_;  // files, relative to the store
  std::string trouble_;
  std::exception_ptr lost_;  // what a sync has thrown
  Clock::time_point begun_ = Clock::now();
  std::atomic<Clock::time_point> last_ = begun_;  // the end of the last save
  std::atomic<double> cost_seconds_ = 0;          // what the last save took
  std::atomic<bool> busy_ = false;
  std::thread thread_;
};

/// Keeps one graph on its way from edges to shards.
class GraphKeeper {
 public:
  /// `graph`: a member of the record. `step` names its files.
  GraphKeeper(ImportKeeper& keeper, KeptGraph ImportRecord::*graph, std::string step)
      : keeper_(keeper), graph_(graph), step_(std::move(step)) {}

  /// What is there of it.
  [[nodiscard]] const KeptGraph& kept() const {
    keeper_.wait();
    return keeper_.record().*graph_;
  }
  /// Arcs that are there, and the file where others go. Throws DataError where the lists of chunks are damaged.
  [[nodiscard]] NamedArcs arcs() const;
  [[nodiscard]] bool is_due() const noexcept { return keeper_.is_due(); }
  /// Saves all arcs that the sorter has, of the edges before `place`. While nobody adds to it.
  void keep_arcs(ArcSorter& sorter, const EdgePlace& place) { take_arcs(sorter, place, false, true); }
  /// Before the end of the sorter, which has all arcs: saves them if that is due.
  void keep_all_arcs(ArcSorter& sorter, const EdgePlace& place) { take_arcs(sorter, place, true, keeper_.is_due()); }
  /// Saves shards, if that is due, and arcs that are not saved yet.
  void keep_shards(std::span<const CountedShard> finished);
  /// All shards are there: arcs are of no use any more.
  void finish(std::vector<CountedShard> shards, NodeId nodes, const ArcCounts& counts);

 private:
  void take_arcs(ArcSorter& sorter, const EdgePlace& place, bool whole, bool is_due);
  void save(std::vector<CountedShard> shards);

  ImportKeeper& keeper_;
  KeptGraph ImportRecord::*graph_;
  std::string step_;
  std::shared_ptr<ChunkStore> store_;
  std::vector<ArcChunk> unsaved_;
  KeptArcs counts_;  // counts of all arcs, saved or not
};

/// Keeps the statistics of columns while they are measured.
class StatisticsKeeper {
 public:
  explicit StatisticsKeeper(ImportKeeper& keeper) : keeper_(keeper) {}
  /// What is there of them.
  [[nodiscard]] std::optional<KeptStatistics> kept() const {
    keeper_.wait();
    return keeper_.record().statistics;
  }
  /// Saves them, if that is due.
  void keep(const KeptStatistics& now) {
    if (keeper_.is_due()) keeper_.save([now](ImportRecord& record) { record.statistics = now; });
  }
  /// At the end of a pass.
  void settle(const KeptStatistics& now) {
    keeper_.settle([&](ImportRecord& record) { record.statistics = now; });
  }

 private:
  ImportKeeper& keeper_;
};

/// Keeps features on their way to their files.
class FeatureKeeper {
 public:
  explicit FeatureKeeper(ImportKeeper& keeper) : keeper_(keeper) {}

  /// The first files, which are there.
  [[nodiscard]] std::vector<KeptFeatures> files() const;
  /// Rows that are there on their way to their positions.
  [[nodiscard]] std::optional<WaitingRows> rows() const;
  /// Where they lie, and where others go. Throws DataError where the lists of them are damaged.
  [[nodiscard]] NamedRows named_rows() const;
  [[nodiscard]] bool is_due() const noexcept { return keeper_.is_due(); }
  /// Saves files, if that is due.
  void keep_files(std::span<const KeptFeatures> finished);
  /// Saves all rows that the sorter has; `counts` is without what says where they lie.
  void keep_rows(RowSorter& sorter, WaitingRows counts);

 private:
  ImportKeeper& keeper_;
};

/// Counts as a record has them, and back.
[[nodiscard]] KeptArcs kept_counts(const ArcCounts& counts, const EdgePlace& place);
[[nodiscard]] ArcCounts counts_of(const KeptArcs& kept);

/// What is left of a record when files that are missing or damaged, every byte of them checked, and what needs them, is
/// taken out. Tells `damaged` of each such file.
[[nodiscard]] ImportRecord checked_record(const std::filesystem::path& store, const std::string& by_ids,
                                          ImportRecord record,
                                          const std::function<void(const std::string& file)>& damaged);

}  // namespace unweave
