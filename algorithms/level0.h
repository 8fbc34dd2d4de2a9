// algorithms/level0.h - what a propagation does with the features before it sums anything: constants of their columns, and
// the densities of level 0.
#pragma once

#include "algorithms/propagation_sweep.h"
#include "engine/contents.h"
#include "storage/manifest.h"
#include "storage/types.h"

namespace unweave {

/// Fills in spec.column_norms and spec.code_norm, which scale thresholds: one pass over the features.
void measure_columns(const Contents& contents, PropagationSpec& spec);
/// The work of measure_columns on some rows, for its time.
void try_columns(const Contents& contents, NodeRange rows);

/// t^0 of the present features under spec.rho and spec.scale_bits. `contents` must outlive it.
[[nodiscard]] TileFill level0_fill(const Contents& contents, const PropagationSpec& spec);

}  // namespace unweave
