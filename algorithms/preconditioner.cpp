// algorithms/preconditioner.cpp - diagonal, spectral and sampled preconditioners and the choice between them.
#include "algorithms/preconditioner.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/blas.h"
#include "algorithms/row_sweep.h"

namespace unweave {
namespace {

constexpr std::size_t kSampledRows = 32768;  // of which a matrix for all classes is made
constexpr std::size_t kPickedFrom = 65536;   // of which each class picks its own
constexpr std::size_t kClassesAtOnce = 32;   // whose curvatures on these are held
constexpr std::size_t kPicksAtOnce = 256;    // copied for one product

class DiagonalPreconditioner final : public Preconditioner {
 public:
  explicit DiagonalPreconditioner(const HessianOperator& hessian) { DiagonalPreconditioner::refresh(hessian); }

  void refresh(const HessianOperator& hessian) override { inverse_ = hessian.diagonal().cwiseInverse(); }

  Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const override {
    Matrix out(residual.rows(), residual.cols());
    for (Eigen::Index f = 0; f < out.rows(); ++f)
      for (std::size_t j = 0; j < classes.size(); ++j)
        out(f, index_of(j)) = residual(f, index_of(j)) * inverse_(f, index_of(classes[j]));
    return out;
  }

 private:
  Matrix inverse_;
};

/// Evenly spread rows, read where they lie. A preconditioner needs a few hundred rows a feature, no more.
class RowSample {
 public:
  RowSample(const Rows& all, std::size_t most) : all_(all), count_(std::min(all.count, most)) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t features() const noexcept { return all_.features; }
  [[nodiscard]] const float* row(std::size_t k) const noexcept { return all_.values + place(k) * all_.features; }
  [[nodiscard]] double norm(std::size_t k) const noexcept { return all_.norms[place(k)]; }
  /// Rows for each one of the sample.
  [[nodiscard]] double spread() const noexcept {
    return count_ == 0 ? 1 : static_cast<double>(all_.count) / static_cast<double>(count_);
  }

  /// As sweep_rows(), over the sample.
  template <class Part, class Body>
  [[nodiscard]] Part sweep(const Part& zero, const Body& body) const {
    if (count_ == all_.count) return sweep_rows<float>(all_, zero, body);
    const auto load = [&](std::size_t first, std::size_t count, std::vector<float>& copy) -> const float* {
      copy.resize(count * all_.features);
      for (std::size_t k = 0; k < count; ++k)
        std::copy_n(row(first + k), all_.features, copy.data() + k * all_.features);
      return copy.data();
    };
    return sweep_blocks<float>(count_, all_.features, zero, load, body);
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t k) const noexcept { return k * all_.count / count_; }

  Rows all_;
  std::size_t count_;
};

/// Per class, sum_i s_ic |z_i|^2 / sum_i |z_i|^2 over the sample; 0 without rows.
Vector mean_curvature(const HessianOperator& hessian, const RowSample& sample) {
  const std::size_t width = hessian.objective().classes;
  std::vector<std::size_t> classes(width);
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  const Vector sum = sample.sweep(Vector(Vector::Zero(index_of(width + 1))),  // the weight of the rows comes last
                                  [&](const float* block, std::size_t first, std::size_t count, Vector& part) {
                                    std::vector<float> curvatures(count * width + kSlopeSlack);
                                    hessian.curvatures(block, count, classes, curvatures.data());
                                    for (std::size_t i = 0; i < count; ++i) {
                                      const double square = sample.norm(first + i) * sample.norm(first + i);
                                      for (std::size_t c = 0; c < width; ++c)
                                        part[index_of(c)] += square * static_cast<double>(curvatures[i * width + c]);
                                      part[index_of(width)] += square;
                                    }
                                  });
  const double weight = sum[index_of(width)];
  return sum.head(index_of(width)) / (weight > 0 ? weight : 1);
}

class SpectralPreconditioner final : public Preconditioner {
 public:
  explicit SpectralPreconditioner(const HessianOperator& hessian) : mu_(hessian.objective().mu) {
    const RowSample sample(hessian.objective().rows, kSampledRows);
    const std::size_t features = sample.features();
    const FloatMatrix zero = FloatMatrix::Zero(index_of(features), index_of(features));
    const FloatMatrix gram =
        sample.sweep(zero, [&](const float* block, std::size_t, std::size_t count, FloatMatrix& part) {
          multiply_transposed(block, block, part.data(), features, count, features, true);
        });
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(sample.spread() * gram.cast<double>());
    basis_ = eigen.eigenvectors();
    values_ = eigen.eigenvalues().cwiseMax(0.0);
    curvature_ = mean_curvature(hessian, sample);
  }

  void refresh(const HessianOperator& hessian) override {
    curvature_ = mean_curvature(hessian, RowSample(hessian.objective().rows, kSampledRows));
  }

  Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const override {
    Matrix coefficients(residual.rows(), residual.cols()), out(residual.rows(), residual.cols());
    const std::size_t features = size_of(residual.rows()), width = classes.size();
    multiply_transposed(basis_.data(), residual.data(), coefficients.data(), features, features, width, false);
    for (Eigen::Index f = 0; f < out.rows(); ++f)
      for (std::size_t j = 0; j < width; ++j)
        coefficients(f, index_of(j)) /= curvature_[index_of(classes[j])] * values_[f] + mu_;
    multiply(basis_.data(), coefficients.data(), out.data(), features, features, width, false);
    return out;
  }

 private:
  double mu_;
  Matrix basis_;
  Vector values_, curvature_;
};

/// (sum over picked rows + mu I)^-1 per class: rows picked in proportion to their share s_ic |z_i|^2 of the class's
/// curvature, at even steps along its running sum, so that the few rows near a class's border are not missed.
class SampledPreconditioner final : public Preconditioner {
 public:
  SampledPreconditioner(const HessianOperator& hessian, std::size_t picks)
      : picks_(picks), factors_(hessian.objective().classes) {
    SampledPreconditioner::refresh(hessian);
  }

  void refresh(const HessianOperator& hessian) override {
    const RowSample sample(hessian.objective().rows, kPickedFrom);
    std::vector<float> curvatures;
    for (std::size_t first = 0; first < factors_.size(); first += kClassesAtOnce) {
      std::vector<std::size_t> classes(std::min(kClassesAtOnce, factors_.size() - first));
      std::iota(classes.begin(), classes.end(), first);
      fill_curvatures(hessian, sample, classes, curvatures);
      parallel_ranges(0, classes.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; ++j)
          factorise(hessian_of(sample, curvatures.data() + j, classes.size()), hessian.objective().mu,
                    factors_[first + j]);
      });
    }
  }

  Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const override {
    Matrix out(residual.rows(), residual.cols());
    parallel_ranges(0, classes.size(), 4, [&](std::size_t first, std::size_t last) {
      for (std::size_t j = first; j < last; ++j)
        out.col(index_of(j)) = factors_[classes[j]].solve(Vector(residual.col(index_of(j))));
    });
    return out;
  }

 private:
  static void fill_curvatures(const HessianOperator& hessian, const RowSample& sample,
                              std::span<const std::size_t> classes, std::vector<float>& out) {
    const std::size_t width = classes.size();
    out.resize(sample.size() * width);
    static_cast<void>(sample.sweep(0, [&](const float* block, std::size_t first, std::size_t count, int&) {
      std::vector<float> curvatures(count * width + kSlopeSlack);
      hessian.curvatures(block, count, classes, curvatures.data());
      std::copy_n(curvatures.data(), count * width, out.data() + first * width);
    }));
  }

  /// Z^T S Z of one class, whose curvatures lie `stride` apart, from its picks.
  [[nodiscard]] Eigen::MatrixXd hessian_of(const RowSample& sample, const float* curvatures, std::size_t stride) const {
    const std::size_t features = sample.features();
    std::vector<double> share(sample.size());
    double total = 0;
    for (std::size_t i = 0; i < share.size(); ++i) {
      share[i] = static_cast<double>(curvatures[i * stride]) * sample.norm(i) * sample.norm(i);
      total += share[i];
    }
    const double step = total / static_cast<double>(picks_);
    FloatMatrix gram = FloatMatrix::Zero(index_of(features), index_of(features));
    std::vector<float> picked;
    const auto add_picked = [&] {
      if (!picked.empty())
        multiply_transposed(picked.data(), picked.data(), gram.data(), features, picked.size() / features, features,
                            true);
      picked.clear();
    };
    double sum = 0, next = step / 2;
    for (std::size_t i = 0; i < share.size(); ++i) {
      sum += share[i];
      if (!(sum > next) || !(share[i] > 0)) continue;  // `next` may round to below a sum that no longer grows
      const double times = std::ceil((sum - next) / step);
      next += times * step;
      const auto scale = static_cast<float>(std::sqrt(times * step * sample.spread()) / sample.norm(i));
      const float* row = sample.row(i);
      for (std::size_t f = 0; f < features; ++f) picked.push_back(scale * row[f]);
      if (picked.size() >= kPicksAtOnce * features) add_picked();
    }
    add_picked();
    return gram.cast<double>();
  }

  /// Factorises gram + mu I, or what is near to it and positive definite: the gram matrix was summed in float32, whose
  /// rounding may leave eigenvalues around 0 where mu is small. Pivots of that size say nothing.
  static void factorise(Eigen::MatrixXd gram, double mu, Eigen::LLT<Eigen::MatrixXd>& factor) {
    const double least = 0x1p-23 * gram.trace();
    gram.diagonal().array() += mu;
    double shift = 32 * least;
    for (int attempt = 0; attempt < 4; ++attempt, shift *= 16) {
      factor.compute(gram);
      if (factor.info() == Eigen::Success && factor.matrixLLT().diagonal().cwiseAbs2().minCoeff() >= least) return;
      gram.diagonal().array() += shift;
    }
    factor.compute(Eigen::MatrixXd(gram.diagonal().asDiagonal()));
  }

  std::size_t picks_;
  std::vector<Eigen::LLT<Eigen::MatrixXd>> factors_;
};

}  // namespace

std::unique_ptr<Preconditioner> make_diagonal_preconditioner(const HessianOperator& hessian) {
  return std::make_unique<DiagonalPreconditioner>(hessian);
}

std::unique_ptr<Preconditioner> make_spectral_preconditioner(const HessianOperator& hessian) {
  return std::make_unique<SpectralPreconditioner>(hessian);
}

std::unique_ptr<Preconditioner> make_sampled_preconditioner(const HessianOperator& hessian, std::size_t picks) {
  return std::make_unique<SampledPreconditioner>(hessian, picks);
}

namespace {

constexpr std::size_t kMostFeatures = 512;  // past it F x F problems and their memory dominate

/// n / F picks a class cost half a Hessian product.
std::size_t picks_of(const Rows& rows) {
  return std::min(16 * rows.features, rows.count / rows.features);
}

}  // namespace

std::size_t preconditioner_bytes(const Rows& rows, std::size_t classes) {
  constexpr std::size_t kMostFactors = std::size_t{64} << 20;
  if (rows.features > kMostFeatures) return 0;
  const std::size_t factors = classes * rows.features * rows.features * sizeof(double);
  // Fewer than a few picks a feature say nothing.
  if (picks_of(rows) < 4 * rows.features || factors > kMostFactors) return 0;
  return factors + std::min(rows.count, kPickedFrom) * std::min(classes, kClassesAtOnce) * sizeof(float);
}

std::unique_ptr<Preconditioner> make_preconditioner(const HessianOperator& hessian, std::size_t bytes) {
  constexpr double kSavedPasses = 10;
  const Rows& rows = hessian.objective().rows;
  if (rows.features > kMostFeatures) return make_diagonal_preconditioner(hessian);
  const std::size_t needed = preconditioner_bytes(rows, hessian.objective().classes);
  if (needed > 0 && needed <= bytes) return make_sampled_preconditioner(hessian, picks_of(rows));
  const double n = static_cast<double>(rows.count), features = static_cast<double>(rows.features);
  const double pass = 4 * n * features * static_cast<double>(hessian.objective().classes);
  const double sampled = static_cast<double>(std::min(rows.count, kSampledRows));
  const double factorisation = 2 * sampled * features * features + 20 * features * features * features;
  if (factorisation <= kSavedPasses * pass) return make_spectral_preconditioner(hessian);
  return make_diagonal_preconditioner(hessian);
}

}  // namespace unweave
