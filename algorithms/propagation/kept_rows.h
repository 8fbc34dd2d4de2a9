// algorithms/propagation/kept_rows.h - rows of values that a store keeps in place of sums, as
// training reads them.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>

#include "engine/graph/contents.h"
#include "engine/state/rows_level.h"
#include "storage/io/types.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

struct Manifest;

/// Const members may run on any number of threads at once.
class KeptRows {
 public:
  /// Opens the files of all levels of a store that keeps rows; `contents` must outlive this object.
  /// Throws DataError, FormatError.
  KeptRows(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents);

  /// The first level that is kept; the last one is L. There are none where that is above L.
  [[nodiscard]] std::uint32_t first_level() const noexcept { return first_level_; }
  [[nodiscard]] const RowsLevel& level(std::uint32_t l) const { return levels_[l - first_level_]; }

  /// Rows for `nodes`, which are targets: those of an embedding that is kept, or float64 sums over
  /// weights[l] (P^l X) in the order of the levels, rounded once; a single weight of 1 gives the
  /// very bits of its level. `weights` are L + 1 a block. Throws UsageError where an embedding is
  /// kept and these are not its weights; DataError.
  void rows(std::span<const NodeId> nodes, std::span<const double> weights, float* out) const;

 private:
  PropagationSpec spec_;
  const Contents& contents_;
  std::uint32_t first_level_;
  std::deque<RowsLevel> levels_;
};

}  // namespace unweave
