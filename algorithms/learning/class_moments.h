// algorithms/learning/class_moments.h - counts, means and scatters of rows that leave, and what
// their change does to a density.
#pragma once

#include <optional>
#include <span>

#include "algorithms/numerics/matrix.h"

namespace unweave {

/// Moments of points in k dimensions: scatter is sum (z - mean)(z - mean)^T, k x k.
struct Moments {
  double count = 0;
  Vector mean;
  Eigen::MatrixXd scatter;

  explicit Moments(std::size_t dimensions)
      : mean(Vector::Zero(index_of(dimensions))),
        scatter(Eigen::MatrixXd::Zero(index_of(dimensions), index_of(dimensions))) {}

  /// Adds one more point (Welford).
  void add(const Vector& point);
  /// Adds the points of `other` (Chan, Golub, LeVeque 1983).
  Moments& operator+=(const Moments& other);
  /// The moments of A (z - a) for every point z.
  [[nodiscard]] Moments mapped(const Eigen::MatrixXd& a_matrix, const Vector& a) const;
};

/// The moments of the points of `start` without those of `removed` and with those of `added`;
/// removed points may be added ones. Removed and added moments only grow, and are taken off in one
/// subtraction, so that digits are lost once and not at every batch. The moments are zero where no
/// point is left.
[[nodiscard]] Moments changed(const Moments& start, const Moments& removed, const Moments& added);

/// ln of what a class's posterior gained, up to what all classes share:
///   ln(now.count / start.count) + prior + ln N(z; now) - ln N(z; start),   clamped to [-20, 20]
/// with normal densities of covariance scatter / (count - 1), 1e-9 of its mean eigenvalue added to
/// the diagonal. Without the densities where either has fewer than 2k + 2 points or no positive
/// definite covariance; -20 where no point is left, and `prior` alone where there never was one.
class LogShift {
 public:
  LogShift(const Moments& start, const Moments& now, double prior);
  [[nodiscard]] double at(const Vector& point) const;

 private:
  struct Normal {
    Vector mean;
    Eigen::MatrixXd lower;                                        // Cholesky factor of the covariance
    [[nodiscard]] double log_density(const Vector& point) const;  // without the constant
  };
  static std::optional<Normal> normal_of(const Moments& moments);

  double constant_ = 0;
  std::optional<Normal> start_, now_;
};

}  // namespace unweave
