// tests/support/slow_slopes.h - slopes of one row in extended precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/learning/head.h"

namespace unweave::testing {

/// dl/dm_c of a row with these margins, each from its definition.
inline std::vector<long double> slow_slopes(Head head, const std::vector<long double>& margins, std::size_t label) {
  std::vector<long double> slopes(margins.size());
  for (std::size_t c = 0; c < margins.size(); ++c) {
    const long double y = c == label ? 1 : -1;
    if (head == Head::kSoftmax) {
      long double others = 0, all = 0;  // relative to exp(m_c): p_c = 1 / all, 1 - p_c = others / all
      for (std::size_t k = 0; k < margins.size(); ++k) {
        const long double x = std::exp(margins[k] - margins[c]);
        all += x;
        if (k != c) others += x;
      }
      slopes[c] = 1 / all;
      if (c == label) slopes[c] = std::isinf(all) ? -1 : -others / all;
    } else {
      slopes[c] = head == Head::kLogistic ? -y / (1 + std::exp(y * margins[c])) : margins[c] - y;
    }
  }
  return slopes;
}

}  // namespace unweave::testing
