// algorithms/rows/pool.cpp - whole numbers of rows, added up and divided once.
#include "algorithms/rows/pool.h"

#include <cmath>
#include <cstddef>

namespace unweave {
namespace {

constexpr double kUnits = 0x1p24;  // that make a 1 in a row

}  // namespace

void add_to_pool(std::span<const float> row, std::span<std::int64_t> sums) noexcept {
  for (std::size_t j = 0; j < row.size(); ++j)
    sums[j] += static_cast<std::int64_t>(std::nearbyint(static_cast<double>(row[j]) * kUnits));
}

void divide_pool(std::span<const std::int64_t> sums, std::uint64_t nodes, const Pool& pool, float* out) noexcept {
  const auto count = static_cast<double>(nodes);
  const double divisor = pool.by == Pool::By::nodes  ? count
                         : pool.by == Pool::By::root ? std::sqrt(count)
                                                     : static_cast<double>(pool.divisor);
  for (std::size_t j = 0; j < sums.size(); ++j)
    out[j] = static_cast<float>(static_cast<double>(sums[j]) * (1 / kUnits) / divisor);
}

}  // namespace unweave
