// algorithms/solvers/exact/least_squares_sums.cpp - exact sums over rows, and the minimiser that
// they give.
#include "algorithms/solvers/exact/least_squares_sums.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/numerics/matrix.h"
#include "algorithms/numerics/row_sweep.h"
#include "algorithms/numerics/whole_products.h"
#include "algorithms/solvers/exact/exact_products.h"
#include "algorithms/solvers/exact/grid_rounding.h"
#include "algorithms/solvers/exact/pair.h"
#include "algorithms/solvers/exact/sliced_sum.h"
#include "engine/resources/parallel.h"
#include "storage/io/checksum.h"

namespace unweave {
namespace {

constexpr std::size_t kMostSummedFeatures = 512;
constexpr int kSumLevels = 3;  // slices of the second factor: 60 bits

double longest_row(const Rows& rows) {
  return rows.count == 0 ? 0 : *std::max_element(rows.norms, rows.norms + rows.count);
}

std::size_t scratch_numbers(std::size_t count, std::size_t features, std::size_t columns) {
  return 4 * count * features + 2 * count * columns + SlicedSummation::scratch(count, features, columns, kSumLevels);
}

/// Hashes of the bytes and the label of each row, added up.
std::uint64_t sum_of_hashes(const Rows& rows) {
  return sweep_rows<float>(rows, std::uint64_t{0},
                           [&](const float* block, std::size_t first, std::size_t count, std::uint64_t& part) {
                             for (std::size_t i = 0; i < count; ++i, block += rows.features) {
                               const std::array<std::uint64_t, 2> row{
                                   checksum64(std::as_bytes(std::span(block, rows.features))), rows.labels[first + i]};
                               part += checksum64(std::as_bytes(std::span(row)));
                             }
                           });
}

/// The residual B - (A + mu I) W of all classes at one point, in pairs, and what is wrong with it.
struct PairResidual {
  Matrix value;  ///< rounded
  Vector error;  ///< a class: >= |value - residual of the sums as they are kept|_2
};

/// One factor and what it is the factor of.
class System {
 public:
  System(const Matrix& high, const Matrix& low, std::size_t classes, double mu)
      : features_(size_of(high.rows())),
        classes_(classes),
        mu_(mu),
        high_(high),
        low_(low),
        matrix_(high.leftCols(high.rows())),
        moduli_(matrix_.cwiseAbs()) {
    factor_.compute(matrix_ + mu * Eigen::MatrixXd::Identity(matrix_.rows(), matrix_.cols()));
  }

  [[nodiscard]] bool is_there() const { return factor_.info() == Eigen::Success; }
  [[nodiscard]] Matrix solve(const Matrix& right) const { return factor_.solve(Eigen::MatrixXd(right)); }

  /// By three sums in pairs a product: each errs by 2.2 u^2 times a partial sum at most, and the
  /// low word's product by u of itself.
  [[nodiscard]] PairResidual residual(const Matrix& point) const {
    Matrix value(point.rows(), point.cols());
    parallel_ranges(0, features_, 8, [&](std::size_t begin, std::size_t end) {
      std::vector<double> high(classes_), low(classes_);
      for (std::size_t j = begin; j < end; ++j) {
        const double *const row = high_.data() + j * (features_ + classes_), *const rest = low_.data() +
                                                                                           j * (features_ + classes_);
        std::copy_n(row + features_, classes_, high.data());
        std::copy_n(rest + features_, classes_, low.data());
        const auto subtract = [&](double a, double b, const double* weights) {
          for (std::size_t c = 0; c < classes_; ++c) {
            const Pair product = two_product(a, weights[c]);
            accumulate(high[c], low[c], -product.high);
            accumulate(high[c], low[c], -(product.low + b * weights[c]));
          }
        };
        for (std::size_t k = 0; k < features_; ++k) subtract(row[k], rest[k], point.data() + k * classes_);
        subtract(mu_, 0, point.data() + j * classes_);
        for (std::size_t c = 0; c < classes_; ++c) value.data()[j * classes_ + c] = high[c] + low[c];
      }
    });
    const Matrix sizes =
        high_.rightCols(index_of(classes_)).cwiseAbs() + moduli_ * point.cwiseAbs() + mu_ * point.cwiseAbs();
    const double steps = static_cast<double>(features_) + 2;
    PairResidual out{std::move(value), {}};
    out.error = kBoundSlack * (8 * steps * kUnitSquare * Vector(sizes.colwise().norm()) +
                               kUnitRoundoff * Vector(out.value.colwise().norm()));
    out.error.array() += 1e-200;
    return out;
  }

  /// residual - (A + mu I) step in float64, of which `error` grows by the rounding.
  [[nodiscard]] Matrix after(const PairResidual& residual, const Matrix& step, Vector& error) const {
    const Matrix image = matrix_ * step;
    Matrix out = residual.value - (image + mu_ * step);
    const Matrix sizes = moduli_ * step.cwiseAbs() + mu_ * step.cwiseAbs();
    error = residual.error + kBoundSlack * rounding_gamma(static_cast<double>(features_) + 6) *
                                 (Vector(sizes.colwise().norm()) + Vector(residual.value.colwise().norm()));
    return out;
  }

 private:
  std::size_t features_, classes_;
  double mu_;
  const Matrix &high_, &low_;
  Matrix matrix_, moduli_;  // A without its low words, and |A|
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace

bool LeastSquaresSums::serve(const Objective& objective) noexcept {
  return constant_curvature(objective.head) && objective.linear == nullptr &&
         objective.rows.features <= kMostSummedFeatures;
}

std::size_t LeastSquaresSums::bytes(const Rows& rows, std::size_t classes) {
  const RowCut cut = cut_rows(rows.count, rows.features);
  const std::size_t columns = rows.features + classes, sum = 3 * rows.features * columns;
  const std::size_t threads = std::min<std::size_t>(std::max<std::size_t>(1, cut.lanes), active_threads());
  const std::size_t making = (std::max<std::size_t>(1, cut.lanes) + 1) * sum +
                             threads * scratch_numbers(cut.block_rows, rows.features, columns);
  const std::size_t solving = 6 * rows.features * rows.features + 12 * rows.features * classes;
  return sizeof(double) * (2 * rows.features * columns + std::max(making, solving));
}

LeastSquaresSums::LeastSquaresSums(const Objective& objective)
    : features_(objective.rows.features),
      classes_(objective.classes),
      high_(Matrix::Zero(index_of(features_), index_of(features_ + classes_))),
      low_(high_),
      error_(Vector::Zero(index_of(features_ + classes_))) {
  require_exact_products();
  add(objective.rows, 1);
}

void LeastSquaresSums::follow(const BatchChange& change) {
  add(change.removed.rows(), -1);
  add(change.moved_from.rows(), -1);
  add(change.moved_to.rows(), 1);
}

bool LeastSquaresSums::are_of(const Rows& rows) const {
  return rows.count == rows_ && sum_of_hashes(rows) == hashes_;
}

void LeastSquaresSums::add(const Rows& rows, double sign) {
  if (rows.count == 0) return;
  rows_ = sign > 0 ? rows_ + rows.count : rows_ - rows.count;
  if (rows.ranks == nullptr) hashes_ += sign > 0 ? sum_of_hashes(rows) : -sum_of_hashes(rows);
  const std::size_t columns = features_ + classes_;
  const int exponent = exponent_above(longest_row(rows));
  const SlicedSummation how(rows, columns, false, exponent, std::max(exponent, 0), kSumLevels);
  const SlicedSum total = sweep_rows<float>(
      rows, how.zero(), [&](const float* block, std::size_t first, std::size_t count, SlicedSum& part) {
        double* next = block_buffer<double, BlockUse::rows>(scratch_numbers(count, features_, columns));
        const auto take = [&](std::size_t numbers) { return std::exchange(next, next + numbers); };
        RowSlices z{take(count * features_), take(count * features_), take(count * features_), take(count * features_)};
        double *const high = take(count * columns), *const low = take(count * columns);
        slice_rows(block, count, features_, exponent, z);
        std::fill_n(low, count * columns, 0.0);
        for (std::size_t i = 0; i < count; ++i) {
          double* const second = high + i * columns;
          for (std::size_t j = 0; j < features_; ++j) second[j] = sign * static_cast<double>(block[i * features_ + j]);
          std::fill_n(second + features_, classes_, -sign);
          second[features_ + rows.labels[first + i]] = sign;
        }
        how.add(z, first, count, high, low, next, part);
      });
  Vector sizes(index_of(columns));
  for (std::size_t c = 0; c < columns; ++c) {
    const auto at = index_of(c);
    sizes[at] = high_.col(at).norm() + total.high.col(at).norm() + total.tail.col(at).norm();
  }
  error_ += kBoundSlack * (how.error(total) + 8 * kUnitSquare * sizes);
  for (Eigen::Index k = 0; k < high_.size(); ++k) {
    const Pair sum = unweave::add(Pair{high_.data()[k], low_.data()[k]}, total.at(k));
    high_.data()[k] = sum.high;
    low_.data()[k] = sum.low;
  }
}

std::optional<ExactMinimiser> LeastSquaresSums::minimise(double mu, int grid_bits) const {
  constexpr int kMostPoints = 3, kMostSteps = 4;
  const System system(high_, low_, classes_, mu);
  if (!system.is_there()) return std::nullopt;
  ExactMinimiser out;
  Matrix point = system.solve(high_.rightCols(index_of(classes_)));
  for (; out.exact_gradients < kMostPoints && point.allFinite();) {
    const PairResidual residual = system.residual(point);
    const double start = (Vector(residual.value.colwise().norm()) + residual.error).norm();
    if (++out.exact_gradients == 1) out.start_norm = start;
    Matrix step = system.solve(residual.value);
    for (int again = 0; again < kMostSteps; ++again) {
      ++out.corrections;
      Vector error;
      const Matrix left = system.after(residual, step, error);
      // What is wrong with the sums themselves, at this point.
      const Matrix reach = point.cwiseAbs() + step.cwiseAbs();
      error += kBoundSlack *
               (Vector(reach.transpose() * error_.head(index_of(features_))) + Vector(error_.tail(index_of(classes_))));
      const Vector radius = kBoundSlack * (Vector(left.colwise().norm()) + error) / mu;
      const GridRounding rounding = round_to_grid(point, step, radius, grid_bits);
      std::size_t doubts = 0;
      for (const std::size_t undecided : rounding.undecided) doubts += undecided;
      out.doubts += doubts;
      if (doubts == 0) {
        out.weights = std::ldexp(1.0, -grid_bits) * rounding.whole;
        out.radius = radius.size() == 0 ? 0 : radius.maxCoeff();
        return out;
      }
      const Matrix more = system.solve(left);
      if (!more.allFinite()) return std::nullopt;
      step += more;
    }
    point += step;
  }
  return std::nullopt;
}

}  // namespace unweave
