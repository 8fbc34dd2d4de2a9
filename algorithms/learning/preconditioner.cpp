// algorithms/learning/preconditioner.cpp - diagonal and spectral preconditioners, and the choice of
// one.
#include "algorithms/learning/preconditioner.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "algorithms/learning/rank_passes.h"
#include "algorithms/learning/row_sample.h"
#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/matrix.h"
#include "engine/ranks/planned_ranks.h"

namespace unweave {
namespace {

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

/// Per class, sum_i s_ic |z_i|^2 / sum_i |z_i|^2 over the sample; 0 without rows.
Vector mean_curvature(const HessianOperator& hessian, const RowSample& sample) {
  const std::size_t width = hessian.objective().classes;
  std::vector<std::size_t> classes(width);
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  const Vector sum = sample.sweep(Vector(Vector::Zero(index_of(width + 1))),  // the weight of the rows comes last
                                  [&](const float* block, std::size_t first, std::size_t count, Vector& part) {
                                    float* const curvatures =
                                        block_buffer<float, BlockUse::product>(count * width + kSlopeSlack);
                                    hessian.curvatures(block, count, classes, curvatures);
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
  explicit SpectralPreconditioner(const HessianOperator& hessian)
      : mu_(hessian.objective().mu), sample_(hessian.objective().rows, kSampledRows) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(gram_of(sample_));
    basis_ = eigen.eigenvectors();
    values_ = eigen.eigenvalues().cwiseMax(0.0);
    curvature_ = mean_curvature(hessian, sample_);
  }

  void refresh(const HessianOperator& hessian) override {
    // Rows that ranks share stay where they are; others may lie elsewhere now.
    if (!sample_.over_ranks()) sample_ = RowSample(hessian.objective().rows, kSampledRows);
    curvature_ = mean_curvature(hessian, sample_);
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
  RowSample sample_;  // where ranks share the rows, those of others are sent once
  Matrix basis_;
  Vector values_, curvature_;
};

/// The preconditioner for a head that couples the classes, made from one that takes each class by
/// itself. What is equal in all classes lies in the null space of every row's diag(p) - p p^T:
/// there the Hessian is mu I, where the other one sees curvature.
class CenteredPreconditioner final : public Preconditioner {
 public:
  CenteredPreconditioner(std::unique_ptr<Preconditioner> each, double mu) : each_(std::move(each)), mu_(mu) {}

  void refresh(const HessianOperator& hessian) override { each_->refresh(hessian); }

  Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const override {
    const Vector mean = residual.rowwise().mean();
    Matrix out = each_->apply(residual.colwise() - mean, classes);
    const Vector shift = mean / mu_ - out.rowwise().mean();
    out.colwise() += shift;
    return out;
  }

 private:
  std::unique_ptr<Preconditioner> each_;
  double mu_;
};

}  // namespace

std::unique_ptr<Preconditioner> make_diagonal_preconditioner(const HessianOperator& hessian) {
  return std::make_unique<DiagonalPreconditioner>(hessian);
}

std::unique_ptr<Preconditioner> make_spectral_preconditioner(const HessianOperator& hessian) {
  return std::make_unique<SpectralPreconditioner>(hessian);
}

namespace {

constexpr std::size_t kMostFeatures = 512;  // past it F x F problems and their memory dominate

/// As many picks a class as cost a quarter of a Hessian product, or as pay.
SampledForm one_time_form(const Rows& rows) {
  constexpr std::size_t kDirections = 128;
  const std::size_t directions = rows.features <= kMostFeatures ? rows.features : kDirections;
  return {directions, std::min(64 * directions, rows.count * rows.features / (directions * directions))};
}

/// Hessian products that it costs to make one of this form.
double cost_of(const SampledForm& form, const Rows& rows, std::size_t classes) {
  constexpr double kBasisRows = 8192, kGramRows = 32768;
  const auto features = static_cast<double>(rows.features), columns = static_cast<double>(classes),
             directions = static_cast<double>(form.directions), count = static_cast<double>(rows.count),
             from = static_cast<double>(std::min(rows.count, form.picked_from));
  // Sums in float64, here of an orthonormal basis, cost several times as much.
  constexpr double kOrthonormal = 40;
  const double along =
      form.directions < rows.features
          ? 2 * features * directions * (4 * std::min(count, kBasisRows) + from + kOrthonormal * directions)
          : features * features * std::min(count, std::max(kGramRows, 2 * columns * count / features));
  const double picked =
      directions * directions * columns * (static_cast<double>(std::min(rows.count, form.picks)) + directions);
  return (along + 2 * from * features * columns + picked) / (4 * count * features * columns);
}

/// What may be made, the strongest first. `worth`: as make_preconditioner() takes it.
std::vector<SampledForm> sampled_forms(const Rows& rows, std::size_t classes, double worth) {
  std::vector<SampledForm> forms;
  const auto add_often = [&](const SampledForm& form) {
    if (rows.ranks == nullptr && rows.count >= form.directions && cost_of(form, rows, classes) <= worth)
      forms.push_back(form);
  };
  constexpr std::size_t kPicks = 4096;
  if (rows.features <= kMostFeatures) {
    add_often({rows.features, 64 * rows.features, rows.count});
    add_often({rows.features, 64 * rows.features});
  } else {
    for (const std::size_t directions : {512, 256, 128}) add_often({directions, kPicks});
  }
  // Fewer than a few picks a direction say nothing, and are soon enough made anew.
  constexpr std::size_t kMostFactors = std::size_t{64} << 20;
  const SampledForm once = one_time_form(rows);
  const std::size_t factors = classes * once.directions * once.directions * sizeof(double);
  if (once.picks >= 4 * once.directions && rows.count >= 4 * once.directions && factors <= kMostFactors)
    forms.push_back(once);
  return forms;
}

std::optional<SampledForm> sampled_form(const Rows& rows, std::size_t classes, std::size_t bytes, double worth) {
  for (const SampledForm& form : sampled_forms(rows, classes, worth))
    if (sampled_preconditioner_bytes(rows, classes, form) <= bytes) return form;
  return std::nullopt;
}

}  // namespace

std::size_t preconditioner_bytes(const Rows& rows, std::size_t classes, std::size_t bytes, double worth) {
  const std::optional<SampledForm> form = sampled_form(rows, classes, bytes, worth);
  return form ? sampled_preconditioner_bytes(rows, classes, *form) : 0;
}

namespace {

enum class Kind { spectral, diagonal };

/// The preconditioner for these rows where none is sampled. A kind other than the diagonal is
/// chosen where it costs less than the Hessian products that it saves.
Kind kind_for(const Rows& rows, std::size_t classes) {
  constexpr double kSavedPasses = 10;
  if (rows.features > kMostFeatures) return Kind::diagonal;
  const double n = static_cast<double>(rows.count), features = static_cast<double>(rows.features);
  const double pass = 4 * n * features * static_cast<double>(classes);
  const double sampled = static_cast<double>(std::min(rows.count, kSampledRows));
  const double factorisation = 2 * sampled * features * features + 20 * features * features * features;
  return factorisation <= kSavedPasses * pass ? Kind::spectral : Kind::diagonal;
}

std::unique_ptr<Preconditioner> make_class_preconditioner(const HessianOperator& hessian, std::size_t bytes,
                                                          double worth) {
  const Rows& rows = hessian.objective().rows;
  const std::size_t classes = hessian.objective().classes;
  if (const std::optional<SampledForm> form = sampled_form(rows, classes, bytes, worth))
    return make_sampled_preconditioner(hessian, *form);
  return kind_for(rows, classes) == Kind::spectral ? make_spectral_preconditioner(hessian)
                                                   : make_diagonal_preconditioner(hessian);
}

}  // namespace

void count_refresh(const Rows& rows, std::size_t classes, PlannedRanks& job) {
  if (const auto form = sampled_form(rows, classes, std::numeric_limits<std::size_t>::max(), 0))
    return count_sampled_refresh(rows, classes, form->directions, job);
  if (kind_for(rows, classes) == Kind::spectral) return job.count_sum((classes + 1) * sizeof(double));
  job.count_sum(rows.features * classes * sizeof(float));
}

std::unique_ptr<Preconditioner> make_preconditioner(const HessianOperator& hessian, std::size_t bytes, double worth) {
  std::unique_ptr<Preconditioner> each = make_class_preconditioner(hessian, bytes, worth);
  if (!couples_classes(hessian.objective().head)) return each;
  return std::make_unique<CenteredPreconditioner>(std::move(each), hessian.objective().mu);
}

}  // namespace unweave
