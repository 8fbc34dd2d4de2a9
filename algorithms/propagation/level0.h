// algorithms/propagation/level0.h - what a propagation does with the features before it sums anything: constants of
// their columns, and the normalised features of level 0.
#pragma once

#include <cstddef>

#include "algorithms/propagation/propagation_sweep.h"
#include "engine/graph/contents.h"
#include "storage/formats/manifest.h"
#include "storage/io/types.h"

namespace unweave {

/// Fills in spec.column_norms and spec.code_norm, which scale thresholds: one pass over the features.
void measure_columns(const Contents& contents, PropagationSpec& spec);
/// The work of measure_columns on some rows, for its time.
void try_columns(const Contents& contents, NodeRange rows);

inline constexpr std::size_t kLevel0Values = std::size_t{1} << 18;  ///< features read at a time, or one row

/// t^0 of the present features under spec.rho and spec.scale_bits, for rows in any order. `contents` must outlive it. Takes
/// 4 bytes for each of kLevel0Values on every thread.
[[nodiscard]] TileFill level0_rows(const Contents& contents, const PropagationSpec& spec);
/// Fills as level0_rows() does, and asks the disk for rows long before their turn.
[[nodiscard]] TileFill level0_fill(const Contents& contents, const PropagationSpec& spec);

}  // namespace unweave
