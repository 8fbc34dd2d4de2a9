// algorithms/live/change_feed.h - a folder that follows the embedding of a store batch by batch, so
// that an index of vectors elsewhere can follow it too.
//
//   changes.jsonl      one line an entry: "entry", "sequence" (requests that the store has
//                      acknowledged then), "complete", "rows", "removed", "columns"
//   N.ids.npy          int64 [rows]: whose rows changed, ascending; of a complete entry all that
//                      have a row
//   N.rows.npy         float32 [rows, columns]: their rows of Z now
//   N.removed.npy      int64 [removed]: nodes that have no row any more
//   N.ids.txt, N.removed.txt   beside these, of a store whose nodes have names: the names of these
//                              nodes, one a line; a node that
//                      the batch has removed stands there by the name that it has lost
//   readers/NAME       the last entry that a reader has taken, as text; the reader writes it
//   state.json         at which moment of which store the feed ends
//
// Entries are durable before the line that names them. An entry goes when every reader in readers/
// has taken it. A feed that does not end where the store is, since a stream went on without it or a
// crash came between, goes on with a complete entry, in the place of which a reader puts all that
// it had.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/batch_report.h"
#include "storage/io/types.h"

namespace unweave {

class LiveStore;

/// Where a feed ends, and how far its readers are.
struct FeedEnd {
  std::uint64_t entry = 0;                                     ///< number of the last one; 0 without one
  std::uint64_t sequence = 0;                                  ///< requests that the store had acknowledged then
  std::vector<std::pair<std::string, std::uint64_t>> readers;  ///< the last entry that each has taken, by name
};
/// Nothing where there is no feed. Throws DataError.
[[nodiscard]] std::optional<FeedEnd> end_of_feed(const std::filesystem::path& folder);

class ChangeFeed {
 public:
  /// Opens the feed, whose folder is made where it is missing, brings it to the store's present
  /// moment, and notes it in the store (feed_registry.h). `store`, a writer's, outlives it.
  /// Throws UsageError before a propagation or for a folder with other files in it, DataError,
  /// ResourceError.
  ChangeFeed(const LiveStore& store, const std::filesystem::path& folder);

  /// Adds an entry for a batch, after which no level waits. Durable on return.
  void add(const BatchReport& batch);
  /// The store was closed cleanly: the feed ends there.
  void seal() const;

  [[nodiscard]] std::uint64_t entries() const noexcept { return entry_; }  ///< number of the last one

 private:
  [[nodiscard]] std::string state() const;
  [[nodiscard]] std::span<const double> weights() const;
  void add_all_rows();
  void add_line(bool complete, std::uint64_t rows, std::uint64_t removed);
  [[nodiscard]] std::filesystem::path file(std::uint64_t entry, const char* what) const;
  [[nodiscard]] std::filesystem::path names_file(std::uint64_t entry, const char* what) const;
  /// `nameless`: sorted; nodes that lose their names with this entry, where they still have them:
  /// readers know them so.
  void add_ids(const char* what, std::span<const NodeId> ids, std::span<const NodeId> nameless = {});
  void name_rows() const;
  void drop_taken();

  const LiveStore& store_;
  std::filesystem::path folder_;
  std::uint64_t entry_ = 0;    // number of the last one
  std::uint64_t dropped_ = 0;  // number of the last one whose files have gone since it was opened
};

}  // namespace unweave
