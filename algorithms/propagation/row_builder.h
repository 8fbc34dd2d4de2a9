// algorithms/propagation/row_builder.h - rows of values in place of sums: a sweep's sums become them at once, and no
// sum is written.
#pragma once

#include <atomic>
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
#include "algorithms/propagation/state_builder.h"
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
  /// threads at most. `begin` is called before the first rows of every level and tile, and may be empty. References
  /// must outlive this object.
  RowConverter(const std::filesystem::path& folder, const Contents& contents, const PropagationSpec& spec,
               const RowMask* targets, std::size_t tile_width, std::size_t batch, RowTaker take,
               std::function<void()> begin = {});
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
  void start(int level, TileColumns columns);
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
  std::function<void()> begin_;
  DegreePower power_;
  TileFill features_;
  std::vector<bool> used_;
  bool is_single_ = false;  ///< a row has one level, that of the sums
  std::optional<RowRanks> ranks_;
  std::optional<File> spool_;
  std::mutex mutex_;                                       ///< guards all below
  std::atomic<std::uint64_t> present_{~std::uint64_t{0}};  ///< level and tile, and may be read by anybody
  std::vector<std::unique_ptr<Work>> idle_;
};

/// The rows that a store keeps beside labels: those of all nodes, or of those with a label.
[[nodiscard]] std::uint64_t kept_rows_of(const Contents& contents, const PropagationSpec& spec);

/// What build_rows() is going to take. `targets` as there. `job.fill` may be empty. Throws ResourceError when a single
/// column does not fit `available` bytes of memory.
[[nodiscard]] StatePlan plan_rows(const Contents& contents, const PropagationSpec& spec, const SweepJob& job,
                                  const RowMask* targets, std::uint64_t available);

/// Computes the rows that spec.kept asks for and writes them as files of `store`, not yet durable, which `levels`, 0 ..
/// L, get. The result has no partitions. `targets`: the rows to keep, or null for all. Throws ResourceError (budget; a
/// disk that has not the room, before anything is computed), DataError, which names node, level and column of a value
/// that 16 bits do not hold.
SweepResult build_rows(const std::filesystem::path& store, const Contents& contents, const PropagationSpec& spec,
                       const SweepJob& job, const RowMask* targets, const StatePlan& plan, MemoryBudget& budget,
                       std::vector<LevelFiles>& levels);

}  // namespace unweave
