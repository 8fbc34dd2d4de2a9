// algorithms/learning/dual_preconditioner.cpp - Gram matrices of rows, and Cholesky factors of what
// classes make of them.
#include "algorithms/learning/dual_preconditioner.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "algorithms/learning/whole_preconditioner.h"
#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/numerics/row_sweep.h"

namespace unweave {
namespace {

constexpr std::size_t kMostDualBytes = std::size_t{256} << 20;
constexpr std::size_t kPanelRows = 128, kPanelFeatures = 256;

/// Classes whose curvatures differ.
std::size_t factors_of(const Objective& objective) {
  return constant_curvature(objective.head) ? 1 : objective.classes;
}

/// Some features of some rows, one feature after the other.
void put_transposed(const Rows& rows, std::size_t first_row, std::size_t count, std::size_t first_feature,
                    std::size_t features, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const float* const row = rows.row(first_row + i) + first_feature;
    for (std::size_t f = 0; f < features; ++f) out[f * count + i] = row[f];
  }
}

/// Z Z^T, of which the lower triangle is filled.
Matrix gram_of(const Rows& rows) {
  Matrix gram(index_of(rows.count), index_of(rows.count));
  parallel_ranges(0, (rows.count + kPanelRows - 1) / kPanelRows, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t panel = begin; panel < end; ++panel) {
      const std::size_t first = panel * kPanelRows, last = std::min(rows.count, first + kPanelRows);
      double* const out = block_buffer<double, BlockUse::product>(kPanelRows * last);
      for (std::size_t f = 0; f < rows.features; f += kPanelFeatures) {
        const std::size_t features = std::min(kPanelFeatures, rows.features - f);
        double* const own = block_buffer<double, BlockUse::squares>(kPanelRows * features);
        double* const all = block_buffer<double, BlockUse::rows>(last * features);
        put_transposed(rows, first, last - first, f, features, own);
        put_transposed(rows, 0, last, f, features, all);
        multiply_transposed(own, all, out, last - first, features, last, f > 0);
      }
      for (std::size_t i = first; i < last; ++i)
        std::copy_n(out + (i - first) * last, last, gram.data() + i * rows.count);
    }
  });
  return gram;
}

class DualPreconditioner final : public Preconditioner {
 public:
  DualPreconditioner(const Objective& objective, const Matrix& weights)
      : rows_(objective.rows), mu_(objective.mu), factors_(factors_of(objective)) {
    roots_ = Matrix::Ones(index_of(rows_.count), index_of(factors_.size()));
    if (!constant_curvature(objective.head)) {
      const std::vector<double> curvatures = curvatures_at(objective, weights);
      for (Eigen::Index k = 0; k < roots_.size(); ++k) roots_.data()[k] = std::sqrt(curvatures[size_of(k)]);
    }
    factorise();
  }

  /// It is made for one point.
  void refresh(const HessianOperator&) override {}
  [[nodiscard]] bool reads_rows() const noexcept override { return true; }

  [[nodiscard]] Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const override {
    const std::size_t features = rows_.features, width = classes.size();
    Matrix image(index_of(rows_.count), index_of(width));
    static_cast<void>(
        sweep_rows<double>(rows_, NoSum(), [&](const double* block, std::size_t first, std::size_t count, NoSum&) {
          multiply(block, residual.data(), image.data() + first * width, count, features, width, false);
        }));
    parallel_ranges(0, width, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) {
        const std::size_t of = factors_.size() == 1 ? 0 : classes[j];
        const Vector roots = roots_.col(index_of(of));
        Vector values = image.col(index_of(j)).cwiseProduct(roots);
        factors_[of].triangularView<Eigen::Lower>().solveInPlace(values);
        factors_[of].triangularView<Eigen::Lower>().transpose().solveInPlace(values);
        image.col(index_of(j)) = values.cwiseProduct(roots);
      }
    });
    const Matrix back = sweep_rows<double>(
        rows_, Matrix(Matrix::Zero(residual.rows(), residual.cols())),
        [&](const double* block, std::size_t first, std::size_t count, Matrix& part) {
          multiply_transposed(block, image.data() + first * width, part.data(), features, count, width, true);
        });
    return (residual - back) / mu_;
  }

 private:
  void factorise() {
    const Matrix gram = gram_of(rows_);
    std::atomic<bool> is_definite = true;
    parallel_ranges(0, factors_.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        Eigen::MatrixXd& matrix = factors_[k];
        const Vector roots = roots_.col(index_of(k));
        matrix.resize(gram.rows(), gram.cols());
        for (Eigen::Index j = 0; j < gram.cols(); ++j)
          for (Eigen::Index i = j; i < gram.rows(); ++i) matrix(i, j) = roots[i] * gram(i, j) * roots[j];
        matrix.diagonal().array() += mu_;
        const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> in_place(matrix);
        if (in_place.info() != Eigen::Success) is_definite = false;
      }
    });
    if (is_definite) return;
    // What rounding has left indefinite says nothing: then it multiplies by 1 / mu.
    for (Eigen::MatrixXd& matrix : factors_) matrix = Eigen::MatrixXd::Identity(gram.rows(), gram.cols());
    roots_.setZero();
  }

  Rows rows_;
  double mu_;
  std::vector<Eigen::MatrixXd> factors_;  // their lower triangles
  Matrix roots_;                          // those of curvatures, n x factors
};

}  // namespace

std::unique_ptr<Preconditioner> make_dual_preconditioner(const Objective& objective, const Matrix& weights) {
  return std::make_unique<DualPreconditioner>(objective, weights);
}

double dual_preconditioner_cost(const Objective& objective) {
  const auto rows = static_cast<double>(objective.rows.count), features = static_cast<double>(objective.rows.features),
             factors = static_cast<double>(factors_of(objective));
  const double gram = kDoubleWork * 2 * rows * rows * features,
               factorising = kFactorWork * factors * rows * rows * rows / 3;
  return (gram + factorising) / product_work(objective);
}

std::size_t dual_preconditioner_bytes(const Objective& objective) {
  const std::size_t rows = objective.rows.count, factors = factors_of(objective);
  if (objective.rows.ranks != nullptr || couples_classes(objective.head) || rows > 8192 ||
      (factors + 1) * rows * rows * sizeof(double) > kMostDualBytes)
    return 0;
  const std::size_t panels = (kPanelRows * rows + kPanelFeatures * (rows + kPanelRows)) * active_threads();
  return sizeof(double) * ((factors + 1) * rows * rows + 2 * rows * objective.classes + panels);
}

}  // namespace unweave
