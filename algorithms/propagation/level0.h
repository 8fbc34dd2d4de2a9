// algorithms/propagation/level0.h - what a propagation does with the features before it sums
// anything: constants of their columns, and the normalised features of level 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/propagation/propagation_sweep.h"
#include "engine/graph/contents.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

/// Sums of the columns of the features, which scale thresholds. They are exact, so that no order of
/// the rows changes them. add() may run on any number of threads.
class ColumnNorms {
 public:
  static constexpr std::size_t kMostRows = 4096;  ///< that one call of add() takes
  explicit ColumnNorms(std::uint32_t columns);
  ~ColumnNorms();
  ColumnNorms(const ColumnNorms&) = delete;
  ColumnNorms& operator=(const ColumnNorms&) = delete;
  /// Columns `tile` of the nodes of `rows`, at most kMostRows, row-major; each value once.
  void add(const Contents& contents, TileColumns tile, NodeRange rows, const float* x);
  /// What was added of these columns, all of whose rows were: kTileNormBytes each, for set().
  [[nodiscard]] std::vector<std::byte> bytes(TileColumns tile) const;
  /// The columns as another process has added them, in the place of what was added here.
  void set(TileColumns tile, std::span<const std::byte> bytes);
  /// Adds what bytes() of another process says of other rows of these columns.
  void add(TileColumns tile, std::span<const std::byte> bytes);
  void clear();
  /// As if nothing was added of these columns: their features are going to be read.
  void forget(TileColumns tile);
  /// Fills in spec.column_norms and spec.code_norm.
  void finish(PropagationSpec& spec) const;

 private:
  struct Sums;
  std::unique_ptr<Sums> sums_;
};

/// Measures the features anew: one pass over them.
void measure_columns(const Contents& contents, ColumnNorms& norms);
/// Fills in spec.column_norms and spec.code_norm: one pass over the features. A propagation needs
/// none, since level0_fill() measures what it reads.
void measure_columns(const Contents& contents, PropagationSpec& spec);
/// Likewise, and tells of each span whether one of its rows has a zero with a sign.
[[nodiscard]] std::vector<bool> survey_columns(const Contents& contents, PropagationSpec& spec);

inline constexpr std::size_t kLevel0Values = std::size_t{1} << 18;  ///< features read at a time, or one row

/// t^0 of the present features under spec.rho and spec.scale_bits, for rows in any order.
/// `contents` must outlive it. Takes 4 bytes for each of kLevel0Values on every thread. `norms`
/// gets what is read and may be null; it must outlive the fill.
[[nodiscard]] TileFill level0_rows(const Contents& contents, const PropagationSpec& spec, ColumnNorms* norms = nullptr,
                                   PageCache cache = PageCache::used);
/// Fills as level0_rows() does, and asks the disk for rows long before their turn. `once`: no other
/// tile and nobody after it will soon read what it has read, or memory has no room for it: then
/// dense features come past the page cache, where it is asked for many rows at a time.
[[nodiscard]] TileFill level0_fill(const Contents& contents, const PropagationSpec& spec, ColumnNorms* norms = nullptr,
                                   bool once = false);
/// Whether calls of such a fill wait for the disk: see LevelSource.
[[nodiscard]] bool fill_waits(const Contents& contents, bool once);

}  // namespace unweave
