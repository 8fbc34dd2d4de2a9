// algorithms/privacy/accounting/search.h - the searches of accountants: a minimum over Renyi orders, a least count.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace unweave {

/// Least value found of a quasiconvex `f` near its minimum, from `start` on, where f must be finite: steps downhill
/// that double, then golden sections. An upper bound of the minimum whatever f is; infinite values of f are passed over.
template <class Function>
[[nodiscard]] double minimise(const Function& f, double start) {
  constexpr double kGolden = 0.3819660112501051;
  double middle = start, best = f(start);
  double low = start - 1, high = start + 1;
  for (double step = 1; step < 1e6 && f(high) < best; high = middle + (step *= 2)) {
    low = middle;
    best = f(middle = high);
  }
  for (double step = 1; step < 1e6 && f(low) < best; low = middle - (step *= 2)) {
    high = middle;
    best = f(middle = low);
  }
  while (high - low > 1e-9 * (1 + std::abs(middle))) {
    const bool upper = high - middle > middle - low;
    const double probe = upper ? middle + kGolden * (high - middle) : middle - kGolden * (middle - low);
    const double value = f(probe);
    if (value < best) {
      (upper ? low : high) = middle;
      middle = probe;
      best = value;
    } else {
      (upper ? high : low) = probe;
    }
  }
  return best;
}

/// Least count in first .. last that `suffices`, which holds from some count on; `last` itself is not asked and taken to.
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

/// Least count in [1, most], most <= 2^62, that `holds`, a predicate that stays true once it is; nothing where it does
/// not hold at most.
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
