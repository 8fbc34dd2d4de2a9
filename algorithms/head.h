// algorithms/head.h - losses of one margin m = z.w and one target y = +1 or -1, one-vs-rest over the classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

namespace unweave {

enum class Head {
  kLogistic,      ///< l = ln(1 + exp(-y m))
  kLeastSquares,  ///< l = (m - y)^2 / 2
};

/// "logistic" or "least-squares". Throws UsageError for other names.
[[nodiscard]] Head parse_head(std::string_view name);
[[nodiscard]] std::string_view name_of(Head head) noexcept;

/// Bounds over all margins. slope is infinite for least squares.
struct Smoothness {
  double slope;          ///< c1 >= |l'|
  double curvature;      ///< gamma1 >= l''
  double third_printed;  ///< gamma2 >= |l'''| as papers print it
  double third;          ///< max |l'''|: 1/(6 sqrt 3) for the logistic loss
};
[[nodiscard]] Smoothness smoothness(Head head) noexcept;

/// Derivatives of l by the margin. Float64 values: slope and curvature have relative error <= kPointwiseUlps * u, and
/// absolute error 1e-300 where they underflow, given exp within 2 ulp.
struct Pointwise {
  double slope;
  double curvature;
};
inline constexpr double kPointwiseUlps = 16;

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

[[nodiscard]] inline Pointwise derivatives(Head head, double margin, double target) noexcept {
  return head == Head::kLogistic ? logistic_at(margin, target) : Pointwise{margin - target, 1.0};
}

[[nodiscard]] inline double loss(Head head, double margin, double target) noexcept {
  return head == Head::kLogistic ? logistic_loss(margin, target) : (margin - target) * (margin - target) / 2;
}

}  // namespace unweave
