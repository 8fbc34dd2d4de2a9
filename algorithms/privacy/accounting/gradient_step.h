// algorithms/privacy/accounting/gradient_step.h - how far one gradient step can drive two points
// apart.
//
// The map theta -> theta - eta grad l(z; theta) has a Lipschitz constant gamma; a mean over a batch
// keeps it, and so does a Euclidean projection onto a convex set, which does not expand.
#pragma once

#include <cstdint>

namespace unweave {

/// A constant step size with its factor gamma for strongly convex losses. L >= Lipschitz constant
/// of the gradient of every l(z; .), mu > 0 its strong convexity, the regulariser included in every
/// l(z; .). Throws UsageError when a constant is not finite and above 0, mu is above L, or the size
/// is outside the condition.
class GradientStep {
 public:
  /// For eta <= 2 / (L + mu): gamma = 1 - eta mu, the default.
  /// Proof: with g the difference of the gradients at u and v, d = u - v and <g, d> >= (mu L |d|^2
  /// + |g|^2) / (mu + L) (Nesterov, Introductory Lectures, Theorem 2.1.12), |d - eta g|^2 <= (1 - 2
  /// eta mu L / (mu + L)) |d|^2 + eta (eta - 2 / (mu + L)) |g|^2. The last factor is not positive
  /// and |g| >= mu |d|, which gives (1 - eta mu)^2.
  [[nodiscard]] static GradientStep strongly_convex(double size, double smoothness, double strong_convexity);
  /// For eta <= mu / L^2: gamma = sqrt(1 - eta mu), as Lemma 15 of Mu and Klabjan, "Descend or
  /// Rewind?", has it; it holds too, but is larger.
  [[nodiscard]] static GradientStep strongly_convex_lemma15(double size, double smoothness, double strong_convexity);

  [[nodiscard]] double size() const noexcept { return size_; }
  [[nodiscard]] double smoothness() const noexcept { return smoothness_; }
  [[nodiscard]] double strong_convexity() const noexcept { return strong_convexity_; }
  [[nodiscard]] bool by_lemma15() const noexcept { return by_lemma15_; }
  [[nodiscard]] double excess() const noexcept { return excess_; }  ///< gamma - 1, without cancellation
  /// ln gamma; -infinity for gamma = 0, which a step of 1 / mu with L = mu has.
  [[nodiscard]] double log_factor() const noexcept;

 private:
  GradientStep(double size, double smoothness, double strong_convexity, double excess) noexcept;

  double size_;
  double smoothness_;
  double strong_convexity_;
  double excess_;
  bool by_lemma15_ = false;
};

/// ln of sum over j = first .. last - 1 of gamma^j, -infinity for an empty sum (or gamma = 0 and
/// first > 0), for any counts. Throws UsageError when first > last.
[[nodiscard]] double log_power_sum(const GradientStep& step, std::uint64_t first, std::uint64_t last);

/// Bounds below this count as this: a distance that is not 0 never underflows to "no noise is
/// needed".
inline constexpr double kLeastBound = 1e-290;

/// exp of the logarithm of an upper bound: 0 for -infinity, else at least kLeastBound; infinity
/// beyond a double's range.
[[nodiscard]] double bound_from_log(double logarithm) noexcept;

}  // namespace unweave
