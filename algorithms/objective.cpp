// algorithms/objective.cpp - passes over the rows: value, gradient with its error, float64 Hessian action.
#include "algorithms/objective.h"

#include <cmath>

#include "algorithms/blas.h"
#include "algorithms/row_sweep.h"

namespace unweave {
namespace {

constexpr double kInflate = 1 + 1e-6;  // covers the rounding of the error terms themselves: sums of nonnegative numbers

double target(const Rows& rows, std::size_t row, std::size_t c) {
  return rows.labels[row] == c ? 1.0 : -1.0;
}

struct GradientPart {
  Matrix sum;
  Vector slope_squares;
  double row_error = 0;  // sum_i |z_i| * (error of the slopes of row i)
  double absolute = 0;   // sum_i |z_i| |r_i|

  GradientPart& operator+=(const GradientPart& other) {
    sum += other.sum;
    slope_squares += other.slope_squares;
    row_error += other.row_error;
    absolute += other.absolute;
    return *this;
  }
};

}  // namespace

double strong_convexity(double lambda, std::size_t rows) noexcept {
  return lambda * static_cast<double>(std::max<std::size_t>(1, rows));
}

double objective_value(const Objective& objective, const Matrix& weights) {
  const std::size_t classes = objective.classes;
  double sum = sweep_rows<double>(
      objective.rows, 0.0, [&](const double* block, std::size_t first, std::size_t count, double& part) {
        std::vector<double> margins(count * classes);
        multiply(block, weights.data(), margins.data(), count, objective.rows.features, classes, false);
        for (std::size_t i = 0; i < count; ++i)
          for (std::size_t c = 0; c < classes; ++c)
            part += loss(objective.head, margins[i * classes + c], target(objective.rows, first + i, c));
      });
  sum += objective.mu / 2 * weights.squaredNorm();
  if (objective.linear != nullptr) sum += objective.linear->cwiseProduct(weights).sum();
  return sum;
}

Gradient gradient_with_error(const Objective& objective, const Matrix& weights) {
  const Rows& rows = objective.rows;
  const std::size_t classes = objective.classes, features = rows.features;
  const Vector weight_norm = weights.colwise().norm();
  const double margin_gamma = rounding_gamma(static_cast<double>(features));
  const double steepest = smoothness(objective.head).curvature;

  GradientPart zero;
  zero.sum = Matrix::Zero(weights.rows(), weights.cols());
  zero.slope_squares = Vector::Zero(weights.cols());
  const GradientPart total = sweep_rows<double>(
      rows, zero, [&](const double* block, std::size_t first, std::size_t count, GradientPart& part) {
        std::vector<double> slopes(count * classes);
        multiply(block, weights.data(), slopes.data(), count, features, classes, false);
        for (std::size_t i = 0; i < count; ++i) {
          const double norm = rows.norms[first + i];
          double squares = 0, moved = 0;
          for (std::size_t c = 0; c < classes; ++c) {
            double& entry = slopes[i * classes + c];
            const Pointwise at = derivatives(objective.head, entry, target(rows, first + i, c));
            const double margin_error = margin_gamma * norm * weight_norm[index_of(c)];
            const double slope_error = (margin_error <= 0.009 ? 1.01 * at.curvature : steepest) * margin_error;
            moved += slope_error * slope_error;
            squares += at.slope * at.slope;
            part.slope_squares[index_of(c)] += at.slope * at.slope;
            entry = at.slope;
          }
          const double slope_norm = std::sqrt(squares);
          part.absolute += norm * slope_norm;
          part.row_error += norm * (std::sqrt(moved) + kPointwiseUlps * kUnitRoundoff * slope_norm +
                                    1e-300 * static_cast<double>(classes));
        }
        // Through a temporary, so that the summation tree is the one whose depth is charged whatever the BLAS does.
        Matrix product(weights.rows(), weights.cols());
        multiply_transposed(block, slopes.data(), product.data(), features, count, classes, false);
        part.sum += product;
      });

  Gradient gradient;
  gradient.value = total.sum + objective.mu * weights;
  double rest = total.sum.norm() + objective.mu * weights.norm();
  if (objective.linear != nullptr) {
    gradient.value += *objective.linear;
    rest += objective.linear->norm();
  }
  const double depth = cut_rows(rows.count, features).depth();
  gradient.error =
      kInflate * (total.row_error + rounding_gamma(depth) * total.absolute + rounding_gamma(3) * rest) + 1e-290;
  gradient.class_norm = gradient.value.colwise().norm();
  gradient.norm = gradient.value.norm() * kInflate;
  gradient.class_slope_norm = total.slope_squares.cwiseSqrt();
  gradient.slope_norm = gradient.class_slope_norm.norm() * kInflate;
  return gradient;
}

namespace {

struct ActionPart {
  Matrix sum;
  Vector squares, fourths;

  ActionPart& operator+=(const ActionPart& other) {
    sum += other.sum;
    squares += other.squares;
    fourths += other.fourths;
    return *this;
  }
};

}  // namespace

CurvatureAction curvature_action(const Objective& objective, const Matrix& weights, const Matrix& step) {
  const Rows& rows = objective.rows;
  const std::size_t classes = objective.classes, features = rows.features;
  const ActionPart zero{Matrix::Zero(step.rows(), step.cols()), Vector::Zero(step.cols()), Vector::Zero(step.cols())};
  const ActionPart total =
      sweep_rows<double>(rows, zero, [&](const double* block, std::size_t first, std::size_t count, ActionPart& part) {
        std::vector<double> margins(count * classes), image(count * classes);
        multiply(block, weights.data(), margins.data(), count, features, classes, false);
        multiply(block, step.data(), image.data(), count, features, classes, false);
        for (std::size_t i = 0; i < count; ++i)
          for (std::size_t c = 0; c < classes; ++c) {
            double& entry = image[i * classes + c];
            const double square = entry * entry;
            part.squares[index_of(c)] += square;
            part.fourths[index_of(c)] += square * square;
            entry *= derivatives(objective.head, margins[i * classes + c], target(rows, first + i, c)).curvature;
          }
        multiply_transposed(block, image.data(), part.sum.data(), features, count, classes, true);
      });
  return {total.sum + objective.mu * step, total.squares.cwiseSqrt(), total.fourths.cwiseSqrt()};
}

}  // namespace unweave
