// algorithms/propagation/row_converter.h - rows of values in place of sums: a sweep's sums become
// them at once, and no sum is written.
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
#include "algorithms/propagation/level_sink.h"
#include "engine/graph/contents.h"
#include "engine/graph/row_mask.h"
#include "engine/resources/memory.h"
#include "storage/io/file.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

/// Takes columns of rows of a kept level: nodes x columns.count values, row-major. Called from any
/// thread; the nodes are consecutive targets of one span.
using RowTaker =
    std::function<void(std::uint32_t level, TileColumns columns, std::span<const NodeId> nodes, const float* values)>;

/// The blocks of a kept row, side by side: one but for schemes of several.
[[nodiscard]] std::size_t blocks_of_rows(const PropagationSpec& spec);
/// The first level that has kept rows.
[[nodiscard]] std::uint32_t first_kept_level(const PropagationSpec& spec) noexcept;

/// Turns the sums of a sweep into the rows that a store keeps of them, with the bits that
/// Embedding::rows() gives for the sums.
///
/// For an embedding that uses several levels, their normalised sums of the present tile wait in a
/// file without a name until those of the last level come: 4 bytes for each used level between 0
/// and L, row and column of a tile.
class RowConverter {
 public:
  /// `targets`: the rows that are kept, or null for all. `batch`: rows that a thread converts at a
  /// time, of `workers` threads at most. References must outlive this object.
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

  /// As LevelSink has it.
  void put(std::uint32_t level, TileColumns columns, const SumRows& rows);
  /// The rows of an embedding without hops, of nodes of one span.
  void put_features(NodeRange nodes);

 private:
  struct Work;
  struct Loan;
  void load_targets(const SumRows& rows, std::size_t& at, Work& w) const;
  void spool(std::uint32_t level, TileColumns columns, Work& w) const;
  void combine(std::uint32_t level, TileColumns columns, Work& w) const;
  void add_features(TileColumns columns, Work& w) const;
  [[nodiscard]] std::uint64_t spool_at(std::uint32_t level, TileColumns columns, NodeId first) const;

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

}  // namespace unweave
