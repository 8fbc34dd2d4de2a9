// algorithms/privacy/accounting/search.h - the searches of accountants for a least count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace unweave {

/// Least count in first .. last that `suffices`, which holds from some count on; `last` itself is
/// not asked and taken to.
template <class Suffices>
[[nodiscard]] std::uint64_t least_count(std::uint64_t first, std::uint64_t last, const Suffices& suffices) {
  while (first < last) {
    const std::uint64_t middle = first + (last - first) / 2;
    if (suffices(middle))
      last = middle;
    else
      first = middle + 1;
  }
  return last;
}

/// Least count in [1, most], most <= 2^62, that `holds`, a predicate that stays true once it is;
/// nothing where it does not hold at most.
template <class Predicate>
[[nodiscard]] std::optional<std::uint64_t> fewest(std::uint64_t most, const Predicate& holds) {
  std::uint64_t fails = 0, high = 1;
  while (high < most && !holds(high)) {
    fails = high;
    high *= 2;
  }
  if (high >= most && !holds(most)) return std::nullopt;
  return least_count(fails + 1, std::min(high, most), holds);
}

/// Searches for counts end here: as float64 every count up to it is exact.
inline constexpr std::uint64_t kMostCount = std::uint64_t{1} << 53;

}  // namespace unweave
