// algorithms/propagation/row_builder.h - rows of values in place of sums: a sweep's sums become them at once, and no
// sum is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/propagation/density.h"
#include "algorithms/propagation/tile_folder.h"
#include "algorithms/propagation/tile_sums.h"
#include "engine/graph/contents.h"
#include "engine/graph/row_mask.h"
#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"
#include "storage/io/file.h"

namespace unweave {

/// Takes columns of rows of a kept level: nodes x columns.count values, row-major. Called from any thread; the nodes
/// are consecutive targets of one span.
using RowTaker =
    std::function<void(std::uint32_t level, TileColumns columns, std::span<const NodeId> nodes, const float* values)>;

/// Turns the sums of a sweep into the rows that a store keeps of them, with the bits that Embedding::rows() gives for
/// the sums.
///
/// For an embedding that uses several levels, their normalised sums of the present tile wait in a file without a name
/// until those of the last level come: 4 bytes for each used level between 0 and L, row and column of a tile.
class RowConverter {
 public:
  /// `targets`: the rows that are kept, or null for all. `batch`: rows that a thread converts at a time, of `workers`
  /// threads at most. References must outlive this object.
  RowConverter(const std::filesystem::path& folder, const Contents& contents, const PropagationSpec& spec,
               const RowMask* targets, std::size_t tile_width, std::size_t batch, RowTaker take);
  ~RowConverter();
  RowConverter(const RowConverter&) = delete;
  RowConverter& operator=(const RowConverter&) = delete;

  /// Memory of a thread that converts `batch` rows of a tile of `width` columns at a time.
  [[nodiscard]] static std::uint64_t worker_bytes(const PropagationSpec& spec, std::size_t width, std::size_t batch);
  /// Memory besides.
  [[nodiscard]] static std::uint64_t rank_bytes(const PropagationSpec& spec, NodeId nodes) noexcept;
  /// Bytes of the file without a name, for so many rows.
  [[nodiscard]] static std::uint64_t spool_bytes(const PropagationSpec& spec, std::uint64_t rows, std::size_t width);

  /// A LevelSink.
  void put(int level, TileColumns columns, const SumRows& rows);
  /// The rows of an embedding without hops, of nodes of one span.
  void put_features(NodeRange nodes);

 private:
  struct Work;
  struct Loan;
  void load_targets(const SumRows& rows, std::size_t& at, Work& w) const;
  void spool(int level, TileColumns columns, Work& w) const;
  void combine(int level, TileColumns columns, Work& w) const;
  void add_features(TileColumns columns, Work& w) const;
  [[nodiscard]] std::uint64_t spool_at(int level, TileColumns columns, NodeId first) const;

  const Contents& contents_;
  const PropagationSpec& spec_;
  const RowMask* targets_;
  std::size_t tile_width_, batch_;
  RowTaker take_;
  DegreePower power_;
  TileFill features_;
  std::vector<bool> used_;
  bool is_single_ = false;  ///< a row has one level, that of the sums
  std::optional<RowRanks> ranks_;
  std::optional<File> spool_;
  std::mutex mutex_;  ///< guards the next
  std::vector<std::unique_ptr<Work>> idle_;
};

/// The rows that a store keeps beside labels: those of all nodes, or of those with a label.
[[nodiscard]] std::uint64_t kept_rows_of(const Contents& contents, const PropagationSpec& spec);

/// The form of the tiles of a propagation's kept rows.
[[nodiscard]] TileForm rows_form(const Contents& contents, const PropagationSpec& spec);

/// What build_rows() is going to take. `targets` as there. `job.fill` may be empty. Throws ResourceError when a single
/// column does not fit `available` bytes of memory.
[[nodiscard]] StatePlan plan_rows(const Contents& contents, const PropagationSpec& spec, const SweepJob& job,
                                  const RowMask* targets, std::uint64_t available);

/// Computes the kept rows of the columns of a range that are not there yet, and writes them as tiles of the folder, as sum_tiles() does
/// with sums.
SweepResult row_tiles(const TileFolder& folder, const Contents& contents, const PropagationSpec& spec,
                      const SweepJob& job, const RowMask* targets, TileColumns range, const StatePlan& plan,
                      MemoryBudget& budget, ColumnNorms* norms);

/// Computes the rows that spec.kept asks for and writes them as files of `store`, not yet durable, which `levels`, 0 ..
/// L, get. The result has no partitions. `targets`: the rows to keep, or null for all. Where the folder, which may be null, has tiles,
/// the others are written to it, too, and all are joined; else rows go to their place at once. Throws
/// ResourceError (budget; a disk that has not the room, before anything is computed), DataError, which names node, level
/// and column of a value that 16 bits do not hold.
SweepResult build_rows(const std::filesystem::path& store, const Contents& contents, const PropagationSpec& spec,
                       const SweepJob& job, const RowMask* targets, const StatePlan& plan, MemoryBudget& budget,
                       std::vector<LevelFiles>& levels, const TileFolder* folder, TileUse use, ColumnNorms* norms);

}  // namespace unweave
