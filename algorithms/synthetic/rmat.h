// algorithms/synthetic/rmat.h - edges of a recursive-matrix (R-MAT) graph, each computed from its
// index alone.
//
// source   Chakrabarti, Zhan, Faloutsos, R-MAT, SDM 2004; parameters of the Graph 500 benchmark:
//          a, b, c, d = 0.57, 0.19, 0.19, 0.05, with permuted ids so that a hub's id says nothing.
#pragma once

#include <cstdint>

#include "storage/io/types.h"

namespace unweave {

/// Edge `index` of the R-MAT graph of 2^scale nodes (scale 0..31) that `seed` names: a pure
/// function, so any part of the list can be made on any thread. Directions, duplicates and self
/// loops are as they fall.
[[nodiscard]] Edge rmat_edge(std::uint64_t seed, std::uint64_t index, int scale) noexcept;

}  // namespace unweave
