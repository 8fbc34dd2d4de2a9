// algorithms/propagation/level0.cpp - measures columns of the features, and normalises rows of them.
#include "algorithms/propagation/level0.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <numeric>
#include <vector>

#include "algorithms/propagation/density.h"
#include "engine/resources/parallel.h"

namespace unweave {
namespace {

constexpr std::uint64_t kReadRows = std::uint64_t{1} << 16;  // rows of features that are asked for at a time
constexpr std::size_t kNormRows = 4096;
constexpr int kNormBits = 36;  // |x| sqrt(d) < 2^14.5 (d < 2^29), so that kNormRows terms stay below 2^63

/// Sums of columns of absolute features, each row weighted by sqrt(d) and by 1, in units of 2^-kNormBits: thresholds
/// are contents, which must not depend on the order of the nodes.
template <class Sum>
struct ColumnSums {
  explicit ColumnSums(std::size_t columns = 0) : by_degree(columns), plain(columns) {}
  std::vector<Sum> by_degree, plain;

  template <class Other>
  ColumnSums& operator+=(const ColumnSums<Other>& other) {
    for (std::size_t c = 0; c < plain.size(); ++c) {
      by_degree[c] += other.by_degree[c];
      plain[c] += other.plain[c];
    }
    return *this;
  }
};

/// The nearest integer, ties to even, of |x| < 2^51: what adding this number leaves in the lowest bits. Compilers turn it
/// into vectors, and a library's rounding into a call a value.
std::int64_t nearest(double x) {
  constexpr double kLowestBitIsOne = 0x1.8p52;
  return std::bit_cast<std::int64_t>(x + kLowestBitIsOne) - std::bit_cast<std::int64_t>(kLowestBitIsOne);
}

ColumnSums<std::int64_t> sums_of(const Contents& contents, NodeRange rows) {
  const std::uint32_t columns = contents.features().columns();
  constexpr double kUnits = std::int64_t{1} << kNormBits;
  ColumnSums<std::int64_t> sums(columns);
  std::vector<float> x(columns);
  contents.features().read_ahead(rows, 0, columns);
  for (NodeId node = rows.first; node < rows.last; ++node) {
    contents.features().read({node, node + 1}, 0, columns, x.data());
    const double root = std::sqrt(static_cast<double>(contents.graph().degree(node)));
    for (std::uint32_t c = 0; c < columns; ++c) {
      const double magnitude = std::fabs(static_cast<double>(x[c])) * kUnits;
      sums.by_degree[c] += nearest(root * magnitude);
      sums.plain[c] += nearest(magnitude);
    }
  }
  return sums;
}

}  // namespace

void measure_columns(const Contents& contents, PropagationSpec& spec) {
  const std::uint32_t columns = contents.features().columns();
  ColumnSums<Int128> total(columns);
  std::mutex mutex;
  parallel_ranges(0, contents.num_nodes(), kNormRows, [&](std::size_t first, std::size_t last) {
    const ColumnSums<std::int64_t> part = sums_of(contents, {static_cast<NodeId>(first), static_cast<NodeId>(last)});
    const std::scoped_lock lock(mutex);
    total += part;
  });
  const auto value = [](Int128 sum) { return std::ldexp(static_cast<double>(sum), -kNormBits); };
  spec.column_norms.clear();
  for (const Int128 sum : total.by_degree) spec.column_norms.push_back(value(sum));
  spec.code_norm = value(std::accumulate(total.plain.begin(), total.plain.end(), Int128{0})) / columns;
}

void try_columns(const Contents& contents, NodeRange rows) {
  for (NodeId first = rows.first; first < rows.last;) {
    const NodeId last = first + std::min<NodeId>(kNormRows, rows.last - first);
    static_cast<void>(sums_of(contents, {first, last}));
    first = last;
  }
}

TileFill level0_rows(const Contents& contents, const PropagationSpec& spec) {
  return [&contents, power = DegreePower(spec.rho), bits = spec.scale_bits](TileColumns tile, NodeRange rows,
                                                                            std::int32_t* out) {
    const auto most = static_cast<NodeId>(std::clamp<std::size_t>(kLevel0Values / tile.count, 1, rows.size()));
    std::vector<float> x(std::size_t{most} * tile.count);
    for (NodeId first = rows.first; first < rows.last;) {
      const NodeId last = first + std::min(most, rows.last - first);
      contents.features().read({first, last}, static_cast<std::uint32_t>(tile.first),
                               static_cast<std::uint32_t>(tile.count), x.data());
      const float* row = x.data();
      for (; first < last; ++first, row += tile.count, out += tile.count)
        power.level0({row, tile.count}, contents.graph().degree(first), bits, out);
    }
  };
}

TileFill level0_fill(const Contents& contents, const PropagationSpec& spec) {
  return [&contents, fill = level0_rows(contents, spec)](TileColumns tile, NodeRange rows, std::int32_t* out) {
    const NodeId nodes = contents.num_nodes();
    // Fills come in ascending order: at the beginning of a piece, the one after the next is asked for.
    if (rows.first % kReadRows < rows.size()) {
      const std::uint64_t from = rows.first / kReadRows * kReadRows + (rows.first < kReadRows ? 0 : kReadRows);
      const std::uint64_t to = (rows.first / kReadRows + 2) * kReadRows;
      if (from < nodes)
        contents.features().read_ahead(
            {static_cast<NodeId>(from), static_cast<NodeId>(std::min<std::uint64_t>(to, nodes))},
            static_cast<std::uint32_t>(tile.first), static_cast<std::uint32_t>(tile.count));
    }
    fill(tile, rows, out);
  };
}

}  // namespace unweave
