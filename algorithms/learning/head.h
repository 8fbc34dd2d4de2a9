// algorithms/learning/head.h - losses of a row by its margins m_c = z.w_c, and their constants.
//
// One-vs-rest heads sum a loss of one margin and one target over the classes: y_c = +1 for the row's class, else -1.
// Softmax has one loss of all margins of a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace unweave {

enum class Head {
  kLogistic,      ///< l = ln(1 + exp(-y m)), one-vs-rest
  kLeastSquares,  ///< l = (m - y)^2 / 2, one-vs-rest
  kSoftmax,       ///< l = ln sum_c exp(m_c) - m_label: multinomial logistic regression
};

/// True when the classes share one loss, and the Hessian has entries between them.
[[nodiscard]] constexpr bool couples_classes(Head head) noexcept {
  return head == Head::kSoftmax;
}

/// "logistic", "least-squares" or "softmax". Throws UsageError for other names.
[[nodiscard]] Head parse_head(std::string_view name);
[[nodiscard]] std::string_view name_of(Head head) noexcept;

/// Bounds over all margins. With F of objective.h the gradient of the sum over rows is Lipschitz with constant curvature
/// |Z|_2^2, and F is mu-strongly convex. Bounds of a row's gradient are in accounting/head_constants.h.
struct Smoothness {
  double slope;          ///< c1 >= |dl/dm_c| for every class; infinite for least squares
  double curvature;      ///< gamma1 >= the largest eigenvalue of the Hessian of l by the margins
  double third_printed;  ///< gamma2 >= |l'''| as papers print it; infinite for softmax, which no paper bounds
  double third;          ///< max |l'''|: 1/(6 sqrt 3) for the logistic loss; infinite for softmax
};
[[nodiscard]] Smoothness smoothness(Head head) noexcept;

/// mu of a training set: lambda * n, and lambda when no row is left, so that the minimiser is 0 and not undefined.
[[nodiscard]] double strong_convexity(double lambda, std::size_t rows) noexcept;

/// Derivatives of l by the margin, for one-vs-rest heads. Float64 values: slope and curvature have relative error
/// <= kPointwiseUlps * u, and absolute error 1e-300 where they underflow, given exp within 2 ulp.
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

/// Loss of one row with these margins, over all its classes. label < classes.
[[nodiscard]] double row_loss(Head head, const double* margins, std::size_t classes, std::size_t label) noexcept;

/// Margins of one row become its slopes dl/dm_c. label < classes.
void slopes_in_place(Head head, double* margins, std::size_t classes, std::size_t label) noexcept;

/// Margins of one row become exp(m_c) / sum_k exp(m_k). classes > 0.
void softmax_in_place(double* margins, std::size_t classes) noexcept;

/// Margins of one row become probabilities of its classes, of sum 1: softmax as above; one-vs-rest each class's own,
/// 1 / (1 + exp(-m)) or, for least squares, (m + 1) / 2 kept within [0, 1], divided by their sum; all alike where that is
/// 0. classes > 0.
void probabilities_in_place(Head head, double* margins, std::size_t classes) noexcept;

}  // namespace unweave
