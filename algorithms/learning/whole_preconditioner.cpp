// algorithms/learning/whole_preconditioner.cpp - Hessians of whole systems in float64, and their
// Cholesky factors.
#include "algorithms/learning/whole_preconditioner.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/numerics/row_sweep.h"

namespace unweave {
namespace {

constexpr std::size_t kMostWholeBytes = std::size_t{256} << 20;

/// Whether the rounding of sums in float32 is small beside mu, so that a factor of them is as good.
bool suffices_in_float(const Objective& objective) {
  double trace = 0;
  for (std::size_t i = 0; i < objective.rows.count; ++i)
    trace += smoothness(objective.head).curvature * objective.rows.norms[i] * objective.rows.norms[i];
  return objective.mu >= 0x1p-24 * trace;
}

/// Unknowns that one system couples.
std::size_t unknowns_of(const Objective& objective) {
  return objective.rows.features * (couples_classes(objective.head) ? objective.classes : 1);
}

/// Systems that differ: one of a head that couples the classes, and of one whose curvatures are
/// constant.
std::size_t systems_of(const Objective& objective) {
  return couples_classes(objective.head) || constant_curvature(objective.head) ? 1 : objective.classes;
}

/// Float64 copies of the rows, block by block, in a buffer of the calling thread.
template <class Use>
void for_each_block(const Rows& rows, const Use& use) {
  const RowCut cut = cut_rows(rows.count, rows.features);
  for (std::size_t first = 0; first < rows.count; first += cut.block_rows) {
    const std::size_t count = std::min(cut.block_rows, rows.count - first);
    double* const block = block_buffer<double, BlockUse::rows>(count * rows.features);
    std::copy_n(rows.row(first), count * rows.features, block);
    use(block, first, count);
  }
}

class WholePreconditioner final : public Preconditioner {
 public:
  WholePreconditioner(const Objective& objective, const Matrix& weights)
      : features_(index_of(objective.rows.features)),
        coupled_(couples_classes(objective.head)),
        mu_(objective.mu),
        factors_(systems_of(objective)) {
    factorise(objective, weights);
  }

  /// It is made for one point.
  void refresh(const HessianOperator&) override {}

  Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const override {
    if (coupled_) return apply_coupled(residual);
    Matrix out(residual.rows(), residual.cols());
    for (std::size_t j = 0; j < classes.size(); ++j)
      out.col(index_of(j)) = solved(factors_[factors_.size() == 1 ? 0 : classes[j]], residual.col(index_of(j)));
    return out;
  }

 private:
  [[nodiscard]] static Vector solved(const Eigen::MatrixXd& factor, Vector right) {
    factor.triangularView<Eigen::Lower>().solveInPlace(right);
    factor.triangularView<Eigen::Lower>().transpose().solveInPlace(right);
    return right;
  }

  /// Along what is equal in all classes the Hessian is mu I exactly, of which rounding may have
  /// left little.
  [[nodiscard]] Matrix apply_coupled(const Matrix& residual) const {
    const Vector mean = residual.rowwise().mean();
    Vector right(residual.size());
    for (Eigen::Index c = 0; c < residual.cols(); ++c) right.segment(c * features_, features_) = residual.col(c) - mean;
    right = solved(factors_.front(), std::move(right));
    Matrix out(residual.rows(), residual.cols());
    for (Eigen::Index c = 0; c < residual.cols(); ++c) out.col(c) = right.segment(c * features_, features_);
    const Vector shift = mean / mu_ - out.rowwise().mean();
    out.colwise() += shift;
    return out;
  }

  /// Entry (c, d) of the Hessian of a row's loss by its margins.
  [[nodiscard]] double curvature(const double* row, std::size_t classes, std::size_t c, std::size_t d) const {
    if (!coupled_) return row[c];
    if (c != d) return -row[c] * row[d];
    double others = 0;  // 1 - p_c as a sum: a difference would be what rounding left of it
    for (std::size_t k = 0; k < classes; ++k)
      if (k != c) others += row[k];
    return row[c] * others;
  }

  /// sum_i curvature_i(c, d) z_i z_i^T; where c = d its lower triangle is enough.
  [[nodiscard]] Eigen::MatrixXd sum_of(const Objective& objective, const std::vector<double>& curvatures, std::size_t c,
                                       std::size_t d) const {
    const std::size_t features = objective.rows.features, classes = objective.classes;
    Eigen::MatrixXd out = Eigen::MatrixXd::Zero(features_, features_);
    for_each_block(objective.rows, [&](const double* block, std::size_t first, std::size_t count) {
      double* const scaled = block_buffer<double, BlockUse::squares>(count * features);
      for (std::size_t i = 0; i < count; ++i) {
        const double scale = curvature(curvatures.data() + (first + i) * classes, classes, c, d);
        for (std::size_t j = 0; j < features; ++j) scaled[i * features + j] = scale * block[i * features + j];
      }
      multiply_transposed(block, scaled, out.data(), features, count, features, true);
    });
    return out;
  }

  /// Likewise in float32, of a head that does not couple the classes.
  [[nodiscard]] Eigen::MatrixXd rough_sum_of(const Objective& objective, const std::vector<double>& curvatures,
                                             std::size_t c) const {
    using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Rows& rows = objective.rows;
    const std::size_t features = rows.features;
    const RowCut cut = cut_rows(rows.count, features);
    FloatMatrix out = FloatMatrix::Zero(features_, features_);
    for (std::size_t first = 0; first < rows.count; first += cut.block_rows) {
      const std::size_t count = std::min(cut.block_rows, rows.count - first);
      float* const scaled = block_buffer<float, BlockUse::squares>(count * features);
      for (std::size_t i = 0; i < count; ++i) {
        const auto root = static_cast<float>(std::sqrt(curvatures[(first + i) * objective.classes + c]));
        const float* const row = rows.row(first + i);
        for (std::size_t j = 0; j < features; ++j) scaled[i * features + j] = root * row[j];
      }
      add_gram(scaled, out.data(), count, features);
    }
    return out.cast<double>();
  }

  void form(const Objective& objective, const std::vector<double>& curvatures) {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;  // the lower triangle
    for (std::size_t c = 0; c < (coupled_ ? objective.classes : factors_.size()); ++c)
      for (std::size_t d = coupled_ ? 0 : c; d <= c; ++d) pairs.emplace_back(c, d);
    const auto size = index_of(unknowns_of(objective));
    for (Eigen::MatrixXd& matrix : factors_) matrix.resize(size, size);
    const bool rough = !coupled_ && suffices_in_float(objective);
    parallel_ranges(0, pairs.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const auto [c, d] = pairs[k];
        Eigen::MatrixXd& to = factors_[coupled_ ? 0 : c];
        const Eigen::Index down = coupled_ ? index_of(c) * features_ : 0,
                           right = coupled_ ? index_of(d) * features_ : 0;
        to.block(down, right, features_, features_) =
            rough ? rough_sum_of(objective, curvatures, c) : sum_of(objective, curvatures, c, d);
      }
    });
  }

  void factorise(const Objective& objective, const Matrix& weights) {
    constexpr int kMostAttempts = 8;
    const std::vector<double> curvatures = curvatures_at(objective, weights);
    double shift = 0;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      form(objective, curvatures);
      std::atomic<bool> definite = true;
      double trace = 0;
      for (const Eigen::MatrixXd& matrix : factors_) trace = std::max(trace, matrix.trace());
      parallel_ranges(0, factors_.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
          factors_[k].diagonal().array() += mu_ + shift;
          const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> in_place(factors_[k]);
          if (in_place.info() != Eigen::Success) definite = false;
        }
      });
      if (definite) return;
      shift = shift > 0 ? 16 * shift : 4 * kUnitRoundoff * trace;
    }
    for (Eigen::MatrixXd& matrix : factors_) matrix = Eigen::MatrixXd::Identity(matrix.rows(), matrix.cols());
  }

  Eigen::Index features_;
  bool coupled_;
  double mu_;
  std::vector<Eigen::MatrixXd> factors_;  // their lower triangles
};

}  // namespace

std::vector<double> curvatures_at(const Objective& objective, const Matrix& weights) {
  const std::size_t classes = objective.classes;
  std::vector<double> out(objective.rows.count * classes);
  for_each_block(objective.rows, [&](const double* block, std::size_t first, std::size_t count) {
    double* const to = out.data() + first * classes;
    multiply(block, weights.data(), to, count, objective.rows.features, classes, false);
    curvatures_in_place(objective.head, to, count, classes);
  });
  return out;
}

std::unique_ptr<Preconditioner> make_whole_preconditioner(const Objective& objective, const Matrix& weights) {
  return std::make_unique<WholePreconditioner>(objective, weights);
}

double product_work(const Objective& objective) {
  constexpr double kColumnsAtFullSpeed = 16;
  return 4 * static_cast<double>(objective.rows.count) * static_cast<double>(objective.rows.features) *
         std::max(static_cast<double>(objective.classes), kColumnsAtFullSpeed);
}

double whole_preconditioner_cost(const Objective& objective) {
  const auto rows = static_cast<double>(objective.rows.count), features = static_cast<double>(objective.rows.features),
             classes = static_cast<double>(objective.classes), unknowns = static_cast<double>(unknowns_of(objective)),
             systems = static_cast<double>(systems_of(objective));
  const bool coupled = couples_classes(objective.head);
  const double work = !coupled && suffices_in_float(objective) ? 1 : 2 * kDoubleWork;
  const double sums = work * rows * features * features * (coupled ? classes * (classes + 1) / 2 : systems),
               factors = kFactorWork * systems * unknowns * unknowns * unknowns / 3;
  return (sums + factors) / product_work(objective);
}

std::size_t whole_preconditioner_bytes(const Objective& objective) {
  const std::size_t features = objective.rows.features, classes = objective.classes, unknowns = unknowns_of(objective);
  const std::size_t systems = systems_of(objective);
  if (objective.rows.ranks != nullptr || unknowns > 8192 ||
      systems * unknowns * unknowns * sizeof(double) > kMostWholeBytes)
    return 0;
  const std::size_t sums = 2 * features * features * std::min(active_threads(), classes * classes);
  const std::size_t blocks = 2 * cut_rows(objective.rows.count, features).block_rows * features * active_threads();
  return sizeof(double) *
         (systems * unknowns * unknowns + objective.rows.count * classes + sums + blocks + 4 * unknowns);
}

}  // namespace unweave
