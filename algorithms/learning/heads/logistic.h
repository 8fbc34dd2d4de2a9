// algorithms/learning/heads/logistic.h - the logistic loss of one margin and one target.
#pragma once

#include <algorithm>
#include <cmath>

#include "algorithms/learning/heads/one_vs_rest.h"

namespace unweave {

[[nodiscard]] inline Pointwise logistic_at(double margin, double target) noexcept {
  const double agreement = target * margin;
  const double e = std::exp(-std::abs(agreement));
  const double wrong = (agreement >= 0 ? e : 1.0) / (1 + e);  // probability of the other side
  return {-target * wrong, e / ((1 + e) * (1 + e))};
}

[[nodiscard]] inline double logistic_loss(double margin, double target) noexcept {
  const double agreement = target * margin;
  return std::max(0.0, -agreement) + std::log1p(std::exp(-std::abs(agreement)));
}

}  // namespace unweave
