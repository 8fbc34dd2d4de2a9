// algorithms/learning/class_moments.cpp - moments that are added, merged and taken off; ratios of
// normal densities.
#include "algorithms/learning/class_moments.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "algorithms/numerics/matrix.h"

namespace unweave {
namespace {

constexpr double kClamp = 20, kRidge = 1e-9;

}  // namespace

void Moments::add(const Vector& point) {
  const Vector off = point - mean;
  count += 1;
  mean += off / count;
  scatter += (1 - 1 / count) * off * off.transpose();
}

Moments& Moments::operator+=(const Moments& other) {
  if (other.count == 0) return *this;
  const double both = count + other.count;
  const Vector off = other.mean - mean;
  scatter += other.scatter + count * other.count / both * off * off.transpose();
  mean += other.count / both * off;
  count = both;
  return *this;
}

Moments Moments::mapped(const Eigen::MatrixXd& a_matrix, const Vector& a) const {
  Moments out = *this;
  if (count > 0) out.mean = a_matrix * (mean - a);
  out.scatter = a_matrix * scatter * a_matrix.transpose();
  return out;
}

Moments changed(const Moments& start, const Moments& removed, const Moments& added) {
  Moments now(size_of(start.mean.size()));
  now.count = start.count - removed.count + added.count;
  if (!(now.count > 0)) {
    now.count = 0;
    return now;
  }
  const auto off = [&](const Moments& part) -> Vector { return part.mean - start.mean; };
  now.mean = start.mean + (added.count * off(added) - removed.count * off(removed)) / now.count;
  // About the new mean every set's scatter is its own plus count times the square of its mean's
  // distance.
  now.scatter = start.scatter - removed.scatter + added.scatter;
  for (const auto& [part, sign] : {std::pair{&start, 1.0}, {&removed, -1.0}, {&added, 1.0}}) {
    const Vector distance = part->mean - now.mean;
    if (part->count > 0) now.scatter += sign * part->count * distance * distance.transpose();
  }
  return now;
}

std::optional<LogShift::Normal> LogShift::normal_of(const Moments& moments) {
  const double dimensions = static_cast<double>(moments.mean.size());
  if (moments.count < 2 * dimensions + 2) return std::nullopt;
  Eigen::MatrixXd covariance = moments.scatter / (moments.count - 1);
  covariance.diagonal().array() += kRidge * covariance.trace() / dimensions;
  const Eigen::LLT<Eigen::MatrixXd> factors(covariance);
  if (factors.info() != Eigen::Success) return std::nullopt;
  return Normal{moments.mean, factors.matrixL()};
}

double LogShift::Normal::log_density(const Vector& point) const {
  const Vector solved = lower.triangularView<Eigen::Lower>().solve(point - mean);
  return -solved.squaredNorm() / 2 - lower.diagonal().array().log().sum();
}

LogShift::LogShift(const Moments& start, const Moments& now, double prior) : constant_(prior) {
  if (start.count == 0) return;
  constant_ = now.count > 0 ? prior + std::log(now.count / start.count) : -kClamp;
  if (now.count == 0) return;
  start_ = normal_of(start);
  now_ = normal_of(now);
}

double LogShift::at(const Vector& point) const {
  double value = constant_;
  if (start_ && now_) value += now_->log_density(point) - start_->log_density(point);
  return std::isfinite(value) ? std::clamp(value, -kClamp, kClamp) : 0;
}

}  // namespace unweave
