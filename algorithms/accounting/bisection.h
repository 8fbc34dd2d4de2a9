// algorithms/accounting/bisection.h - the inverse of a bound that falls with a count.
#pragma once

#include <cstdint>

namespace unweave {

/// Least count in 0 .. last that `suffices`, which holds from some count on; `last` itself is not asked and taken to.
template <class Suffices>
[[nodiscard]] std::uint64_t least_count(std::uint64_t last, const Suffices& suffices) {
  std::uint64_t low = 0, high = last;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (suffices(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

}  // namespace unweave
