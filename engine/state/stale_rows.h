// engine/state/stale_rows.h - the rows of one level whose published normalised sums lag behind the
// present ones.
//
// A stale row stores delta = t - published, packed into the fewest of 1, 2 or 4 bytes a value. Sums
// of d * delta^2 per column, as exact integers, are the whole error of a lazy embedding. Rows lie
// in memory or, after spill() or load(), in files. Tasks may set() and erase() at once, as long as
// no two of them do so in one aligned block of 64 nodes (NodeMap::kPageNodes).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/graph/node_map.h"
#include "engine/resources/row_arena.h"
#include "engine/state/spooled_rows.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"
#include "storage/types/file_entry.h"

namespace unweave {

class StaleRows {
 public:
  StaleRows(NodeId nodes, std::uint32_t columns);
  /// Reads the stale rows of a checkpoint; degree(node) gives current degrees. Throws DataError,
  /// FormatError.
  void load(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level,
            const std::function<std::uint32_t(NodeId)>& degree);

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] bool contains(NodeId node) const noexcept { return rows_.find(node) != nullptr; }
  /// Asks for a row that will be read soon.
  void prefetch(NodeId node) const noexcept;
  /// Adds sign * delta of the node to out[columns]; nothing when it is not stale.
  void add_to(NodeId node, std::int32_t sign, std::int32_t* out) const;
  /// Replaces the row of a node whose degree is `degree`; an all-zero delta removes it.
  void set(NodeId node, std::uint32_t degree, const std::int32_t* delta);
  /// Adds a delta to what the row has.
  void add(NodeId node, std::uint32_t degree, const std::int32_t* delta);
  void erase(NodeId node);
  void clear();
  /// The stale nodes, sorted.
  [[nodiscard]] std::vector<NodeId> nodes() const;
  /// Sums over the stale rows, per column: exact integers in units of 2^-scale_bits (squares: of
  /// its square).
  struct Totals {
    std::vector<UInt128> squares;    ///< d * delta^2
    std::vector<Int128> magnitudes;  ///< d * |delta|
    std::vector<Int128> sums;        ///< d * delta
  };
  /// The first call of either passes over all stale rows; from then on what was asked for follows
  /// every change, and a call after which no row changed costs nothing. Not thread-safe.
  [[nodiscard]] const Totals& totals() const;
  [[nodiscard]] const std::vector<UInt128>& squares() const;
  /// How often changes were added up into totals, which takes a pass over the columns.
  [[nodiscard]] std::uint64_t folds() const noexcept { return folds_; }
  /// Memory of so many rows at most, and that of those that there are.
  [[nodiscard]] static std::uint64_t most_bytes(std::uint64_t rows, std::uint32_t columns) noexcept {
    return rows * columns * sizeof(std::int32_t) + NodeMap<Row>::bytes(rows);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// Memory without rows, and of so many that lie in files.
  [[nodiscard]] static std::uint64_t map_bytes(NodeId nodes) noexcept { return NodeMap<Row>::empty_bytes(nodes); }
  [[nodiscard]] static std::uint64_t stored_bytes(std::uint64_t rows) noexcept { return NodeMap<Row>::bytes(rows); }
  /// What spill() would give back of it.
  [[nodiscard]] std::uint64_t bytes_in_memory() const noexcept;
  /// Puts the values of the rows that lie in memory into a file without a name in `folder`, at
  /// times with those of earlier files; stored_bytes() of the rows stay. Throws ResourceError,
  /// DataError, std::bad_alloc; the rows are then as before.
  void spill(const std::filesystem::path& folder);
  [[nodiscard]] std::optional<FileEntry> checkpoint(const std::filesystem::path& store, std::uint32_t level) const;

 private:
  static constexpr std::int32_t kMaxDelta = std::int32_t{1} << 30;  ///< twice the largest t at 29 scale bits
  struct Row {
    const std::byte* values = nullptr;
    std::uint32_t degree = 0;
    std::uint8_t width = 0;
    bool in_memory = false;  ///< in the arena of its width, else in one of the files
  };
  static constexpr double kRecentRoom = 0x1p53;
  /// Changes that totals_ lacks, of some pages of nodes. Integers that float64 holds exactly: those
  /// of most rows, and of many of them.
  struct Recent {
    std::mutex mutex;
    std::vector<double> squares, magnitudes, sums;
    double room = kRecentRoom;  ///< what the largest of them may still grow by
  };
  static constexpr std::size_t kRecents = 4;  ///< more than tasks are likely to want at a time
  enum class Tracked { nothing, squares, all };
  [[nodiscard]] static std::uint8_t width_of(std::int32_t largest) noexcept;
  /// The arena of rows of 1, 2 or 4 bytes a value.
  [[nodiscard]] RowArena& arena(std::uint8_t width) noexcept { return arenas_[width / 2]; }
  void give_back(const Row& row);
  void add_unpacked(std::uint8_t width, const std::byte* values, std::int32_t sign, std::int32_t* out) const;
  void track(Tracked what) const;
  void account(NodeId node, const Row& row, int sign) const;
  void fold(Recent& recent) const;

  NodeId nodes_;
  std::uint32_t columns_;
  NodeMap<Row> rows_;
  mutable Tracked tracked_ = Tracked::nothing;  ///< streams without a learner need no totals
  mutable std::mutex totals_mutex_;             ///< guards totals_ while rows change
  mutable Totals totals_;
  mutable std::uint64_t folds_ = 0;  ///< under totals_mutex_
  mutable std::array<Recent, kRecents> recents_;
  std::array<RowArena, 3> arenas_;
  std::vector<SealedFile> loaded_;
  SpooledRows spools_;
};

}  // namespace unweave
