// algorithms/preconditioner.cpp - diagonal, spectral and sampled preconditioners and the choice between them.
#include "algorithms/preconditioner.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>

#include "algorithms/blas.h"
#include "algorithms/row_sweep.h"

namespace unweave {
namespace {

constexpr std::size_t kSampledRows = 32768;  // of which a matrix for all classes is made
constexpr std::size_t kPickedFrom = 65536;   // of which each class picks its own

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

/// Evenly spread rows, copied where they are not all. A preconditioner needs a few hundred rows a feature, no more.
class RowSample {
 public:
  RowSample(const Rows& all, std::size_t most) : rows_(all) {
    if (all.count <= most) return;
    values_.reserve(most * all.features);
    for (std::size_t k = 0; k < most; ++k) {
      const std::size_t i = k * all.count / most;
      values_.insert(values_.end(), all.values + i * all.features, all.values + (i + 1) * all.features);
      labels_.push_back(all.labels[i]);
      norms_.push_back(all.norms[i]);
    }
    rows_ = {values_.data(), labels_.data(), norms_.data(), most, all.features};
  }

  [[nodiscard]] const Rows& rows() const noexcept { return rows_; }

 private:
  std::vector<float> values_;
  std::vector<ClassId> labels_;
  std::vector<double> norms_;
  Rows rows_;
};

class SpectralPreconditioner final : public Preconditioner {
 public:
  explicit SpectralPreconditioner(const HessianOperator& hessian) : mu_(hessian.objective().mu) {
    const Rows& all = hessian.objective().rows;
    const RowSample sample(all, kSampledRows);
    const Rows& rows = sample.rows();
    const FloatMatrix zero = FloatMatrix::Zero(index_of(rows.features), index_of(rows.features));
    const FloatMatrix gram =
        sweep_rows<float>(rows, zero, [&](const float* block, std::size_t, std::size_t count, FloatMatrix& part) {
          multiply_transposed(block, block, part.data(), rows.features, count, rows.features, true);
        });
    const double spread = rows.count == 0 ? 1 : static_cast<double>(all.count) / static_cast<double>(rows.count);
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(spread * gram.cast<double>());
    basis_ = eigen.eigenvectors();
    values_ = eigen.eigenvalues().cwiseMax(0.0);
    curvature_ = hessian.mean_curvature(rows);
  }

  void refresh(const HessianOperator& hessian) override {
    curvature_ = hessian.mean_curvature(RowSample(hessian.objective().rows, kSampledRows).rows());
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
    const Rows& all = hessian.objective().rows;
    const RowSample sample(all, kPickedFrom);
    const Rows& rows = sample.rows();
    const double spread = rows.count == 0 ? 1 : static_cast<double>(all.count) / static_cast<double>(rows.count);
    const std::vector<float> curvatures = hessian.curvatures(rows);
    parallel_ranges(0, factors_.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t c = first; c < last; ++c)
        factors_[c].compute(hessian_of(hessian.objective(), rows, curvatures, c, picks_, spread));
    });
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
  static Eigen::MatrixXd hessian_of(const Objective& objective, const Rows& rows, const std::vector<float>& curvatures,
                                    std::size_t c, std::size_t picks, double spread) {
    const std::size_t features = rows.features;
    std::vector<double> share(rows.count);
    double total = 0;
    for (std::size_t i = 0; i < rows.count; ++i) {
      share[i] = static_cast<double>(curvatures[i * objective.classes + c]) * rows.norms[i] * rows.norms[i];
      total += share[i];
    }
    const double step = total / static_cast<double>(picks);
    std::vector<float> picked;
    double sum = 0, next = step / 2;
    for (std::size_t i = 0; i < rows.count; ++i) {
      sum += share[i];
      if (!(sum > next)) continue;
      const double times = std::ceil((sum - next) / step);
      next += times * step;
      const auto scale = static_cast<float>(std::sqrt(times * step * spread) / rows.norms[i]);
      const float* row = rows.values + i * features;
      for (std::size_t f = 0; f < features; ++f) picked.push_back(scale * row[f]);
    }
    FloatMatrix gram = FloatMatrix::Zero(index_of(features), index_of(features));
    if (!picked.empty())
      multiply_transposed(picked.data(), picked.data(), gram.data(), features, picked.size() / features, features,
                          false);
    Eigen::MatrixXd out = gram.cast<double>();
    out.diagonal().array() += objective.mu;
    return out;
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

std::unique_ptr<Preconditioner> make_preconditioner(const HessianOperator& hessian) {
  constexpr double kSavedPasses = 10, kMostBytes = 64 << 20;
  constexpr std::size_t kMostFeatures = 512;  // past it F x F problems and their memory dominate
  const Rows& rows = hessian.objective().rows;
  const std::size_t width = rows.features;
  if (width > kMostFeatures) return make_diagonal_preconditioner(hessian);
  const double n = static_cast<double>(rows.count), features = static_cast<double>(width);
  const double classes = static_cast<double>(hessian.objective().classes);
  const double pass = 4 * n * features * classes;
  // n / F picks a class cost half a Hessian product; fewer than a few a feature say nothing.
  const std::size_t picks = std::min(16 * width, rows.count / width);
  if (picks >= 4 * width && classes * features * features * sizeof(double) <= kMostBytes)
    return make_sampled_preconditioner(hessian, picks);
  const double sampled = static_cast<double>(std::min(rows.count, kSampledRows));
  const double factorisation = 2 * sampled * features * features + 20 * features * features * features;
  if (factorisation <= kSavedPasses * pass) return make_spectral_preconditioner(hessian);
  return make_diagonal_preconditioner(hessian);
}

}  // namespace unweave
