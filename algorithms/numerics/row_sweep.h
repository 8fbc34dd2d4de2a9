// algorithms/numerics/row_sweep.h - one parallel pass over training rows whose sums do not depend on the number of threads.
//
// Rows are cut into lanes, lanes into blocks; the cut is a function of the shape alone. A lane adds its blocks in order
// into its own part, the first into the sum itself, and the parts are added in lane order. Memory beside the rows: one part a lane, and what
// one block needs (block_buffer()) a thread.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/numerics/rows.h"
#include "engine/resources/parallel.h"

namespace unweave {

struct RowCut {
  std::size_t lanes = 0;
  std::size_t lane_rows = 0;
  std::size_t block_rows = 0;

  /// Roundings on the path of one product z_i * r_i into a sum over all rows.
  [[nodiscard]] double depth() const noexcept {
    const std::size_t blocks = block_rows == 0 ? 0 : (lane_rows + block_rows - 1) / block_rows;
    return static_cast<double>(block_rows + blocks + lanes + 1);
  }
};

[[nodiscard]] inline RowCut cut_rows(std::size_t count, std::size_t features) {
  constexpr std::size_t kBlockBytes = std::size_t{2} << 20;  // a float64 block stays near the cores
  constexpr std::size_t kMinLane = 256, kMinManyLanes = 4096;
  if (count == 0) return {};
  RowCut cut;
  cut.lanes = std::min<std::size_t>(16, (count + kMinLane - 1) / kMinLane);
  cut.lanes = std::max(cut.lanes, std::min<std::size_t>(64, count / kMinManyLanes));
  cut.lane_rows = (count + cut.lanes - 1) / cut.lanes;
  cut.block_rows = std::clamp<std::size_t>(kBlockBytes / (features * sizeof(double)), 64, 512);
  cut.block_rows = std::min(cut.block_rows, cut.lane_rows);
  return cut;
}

/// What a block needs memory for at the same time.
enum class BlockUse { rows, squares, margins, curvatures, product };

/// Room for `count` values, with whatever they hold, which the calling thread takes again for its next block: fresh memory for
/// each of thousands of blocks would have to be cleared by the kernel. Kept until the thread ends.
template <class Scalar, BlockUse use>
[[nodiscard]] Scalar* block_buffer(std::size_t count) {
  thread_local std::vector<Scalar> values;
  if (values.size() < count) values = std::vector<Scalar>(count);
  return values.data();
}

/// Adds body(block, first, count, part) over all blocks of `count` rows: `block` holds rows first..first+count-1, which
/// load(first, count) returned. `total` is zero; Part is copyable from it and has +=. Who moves it in and takes it back needs no
/// fresh memory for few rows.
template <class Scalar, class Part, class Load, class Body>
[[nodiscard]] Part sweep_blocks(std::size_t count, std::size_t features, Part total, const Load& load,
                                const Body& body) {
  const RowCut cut = cut_rows(count, features);
  std::vector<Part> others(cut.lanes > 1 ? cut.lanes - 1 : 0, total);
  parallel_ranges(0, cut.lanes, 1, [&](std::size_t first_lane, std::size_t last_lane) {
    for (std::size_t lane = first_lane; lane < last_lane; ++lane) {
      Part& part = lane == 0 ? total : others[lane - 1];
      const std::size_t end = std::min(count, (lane + 1) * cut.lane_rows);
      for (std::size_t first = lane * cut.lane_rows; first < end; first += cut.block_rows) {
        const std::size_t rows = std::min(cut.block_rows, end - first);
        body(load(first, rows), first, rows, part);
      }
    }
  });
  for (const Part& part : others) total += part;
  return total;
}

/// Sums over blocks of borrowed rows as sweep_blocks() does. Under Scalar float a block is the rows themselves, under
/// double an exact copy.
template <class Scalar, class Part, class Body>
[[nodiscard]] Part sweep_rows(const Rows& rows, Part zero, const Body& body) {
  static_assert(std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double>);
  const auto load = [&](std::size_t first, std::size_t count) -> const Scalar* {
    const float* source = rows.values + first * rows.features;
    if constexpr (std::is_same_v<Scalar, float>) {
      static_cast<void>(count);
      return source;
    } else {
      Scalar* const copy = block_buffer<Scalar, BlockUse::rows>(count * rows.features);
      std::copy_n(source, count * rows.features, copy);
      return copy;
    }
  };
  return sweep_blocks<Scalar>(rows.count, rows.features, std::move(zero), load, body);
}

}  // namespace unweave
