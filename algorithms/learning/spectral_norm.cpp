// algorithms/learning/spectral_norm.cpp - Lanczos on Z^T Z.
#include "algorithms/learning/spectral_norm.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/numerics/row_sweep.h"
#include "algorithms/random/random_source.h"

namespace unweave {
namespace {

Vector gram_times(const Rows& rows, const Vector& v) {
  const Eigen::VectorXf narrow = v.cast<float>();
  const Eigen::VectorXf sum =
      sweep_rows<float>(rows, Eigen::VectorXf(Eigen::VectorXf::Zero(v.size())),
                        [&](const float* block, std::size_t, std::size_t count, Eigen::VectorXf& part) {
                          std::vector<float> image(count);
                          multiply(block, narrow.data(), image.data(), count, rows.features, 1, false);
                          multiply_transposed(block, image.data(), part.data(), rows.features, count, 1, true);
                        });
  return sum.cast<double>();
}

}  // namespace

double frobenius_norm(const Rows& rows) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.count; ++i) sum += rows.norms[i] * rows.norms[i];
  return std::sqrt(sum) * (1 + 1e-6);
}

double spectral_norm_above(const Rows& rows) {
  constexpr int kSteps = 32;
  constexpr double kMargin = 0.1 + 1e-3;  // the last part for float32 products
  const double frobenius = frobenius_norm(rows);
  if (rows.count <= 1 || rows.features == 1) return frobenius;

  RandomSource random = RandomSource::from_seed(0x5bec7a1, rows.features);
  Vector now(index_of(rows.features)), last = Vector::Zero(now.size());
  for (double& x : now) x = random.gaussian();
  now.normalize();
  std::vector<double> diagonal, beside;
  double coupling = 0;
  while (diagonal.size() < static_cast<std::size_t>(kSteps)) {
    Vector next = gram_times(rows, now) - coupling * last;
    diagonal.push_back(next.dot(now));
    next -= diagonal.back() * now;
    coupling = next.norm();
    if (!(coupling > 1e-6 * diagonal.front())) break;
    beside.push_back(coupling);
    last = std::move(now);
    now = next / coupling;
  }
  const Eigen::Index size = index_of(diagonal.size());
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> ritz;
  ritz.computeFromTridiagonal(Eigen::Map<Vector>(diagonal.data(), size),
                              size > 1 ? Vector(Eigen::Map<Vector>(beside.data(), size - 1)) : Vector(0),
                              Eigen::EigenvaluesOnly);
  const double estimate = std::sqrt(std::max(0.0, ritz.eigenvalues().maxCoeff()) / (1 - kMargin));
  return std::min(frobenius, estimate);
}

}  // namespace unweave
