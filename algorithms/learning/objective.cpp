// algorithms/learning/objective.cpp - passes over the rows: gradient with its error, float64
// Hessian action.
#include "algorithms/learning/objective.h"

#include <algorithm>
#include <cmath>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/row_sweep.h"

namespace unweave {
namespace {

constexpr double kInflate = 1 + 1e-6;  // covers the rounding of the error terms themselves: sums of nonnegative numbers

struct GradientPart {
  Matrix sum;
  Vector slope_squares;
  Vector curvature;      // float32 alone: sum_i |z_i|^2 s_ic, estimated
  double row_error = 0;  // sum_i |z_i| * (error of the slopes of row i)
  double absolute = 0;   // sum_i |z_i| |r_i|

  template <class See>
  void see_members(const See& see) {
    see(sum);
    see(slope_squares);
    see(curvature);
    see(row_error);
    see(absolute);
  }
  GradientPart& operator+=(const GradientPart& other) {
    sum += other.sum;
    slope_squares += other.slope_squares;
    curvature += other.curvature;
    row_error += other.row_error;
    absolute += other.absolute;
    return *this;
  }
};

}  // namespace

Curvatures curvatures_within(const Objective& objective, std::size_t bytes) {
  const std::size_t entries = own_rows(objective.rows) * objective.classes;
  Curvatures curvatures;
  if (entries <= bytes / sizeof(float))
    curvatures.values = std::make_unique_for_overwrite<float[]>(entries + kSlopeSlack);
  return curvatures;
}

namespace {

float* place_in(Curvatures* keep, const Objective& objective, std::size_t row) {
  if (keep == nullptr || keep->values == nullptr) return nullptr;
  return keep->values.get() + (row - objective.rows.first) * objective.classes;
}

MarginBlock margin_block(const Objective& objective, std::size_t first, std::size_t count) {
  return {objective.head, objective.rows.labels + first, objective.rows.norms + first, count, objective.classes};
}

/// Adds mu W and B to the sum over rows; returns the norms of the parts.
double finish(const Objective& objective, const Matrix& weights, const GradientPart& total, Gradient& gradient) {
  gradient.value = total.sum + objective.mu * weights;
  double parts = total.sum.norm() + objective.mu * weights.norm();
  if (objective.linear != nullptr) {
    gradient.value += *objective.linear;
    parts += objective.linear->norm();
  }
  gradient.class_norm = gradient.value.colwise().norm();
  gradient.norm = gradient.value.norm() * kInflate;
  gradient.class_slope_norm = total.slope_squares.cwiseSqrt().head(index_of(objective.classes));
  gradient.slope_norm = gradient.class_slope_norm.norm() * kInflate;
  return parts;
}

GradientPart zero_part(const Matrix& weights) {
  GradientPart zero;
  zero.sum = Matrix::Zero(weights.rows(), weights.cols());
  zero.slope_squares = Vector::Zero(weights.cols() + index_of(kSlopeSlack));
  return zero;
}

/// What times |z_i| bounds the error of each margin, of a coupled head of its difference to the
/// largest one.
Vector margin_errors(Head head, const Matrix& weights) {
  const Vector norms = weights.colwise().norm();
  const double terms = static_cast<double>(weights.rows());
  Vector errors = Vector::Zero(norms.size() + index_of(kSlopeSlack));
  if (couples_classes(head))
    errors.head(norms.size()).array() =
        kInflate * (rounding_gamma(terms + 1) * norms.array() + rounding_gamma(1) * norms.maxCoeff());
  else
    errors.head(norms.size()) = rounding_gamma(terms) * kInflate * norms;
  return errors;
}

}  // namespace

Gradient gradient_with_error(const Objective& objective, const Matrix& weights, Curvatures* keep) {
  const Rows& rows = objective.rows;
  const std::size_t classes = objective.classes, features = rows.features;
  const Vector margin_error = margin_errors(objective.head, weights);

  const GradientPart total = sweep_rows<double>(
      rows, zero_part(weights), [&](const double* block, std::size_t first, std::size_t count, GradientPart& part) {
        double* const slopes = block_buffer<double, BlockUse::margins>(count * classes + kSlopeSlack);
        multiply(block, weights.data(), slopes, count, features, classes, false);
        const SlopeSums sums = slopes_in_place(margin_block(objective, first, count), margin_error.data(), slopes,
                                               part.slope_squares.data(), place_in(keep, objective, first));
        part.absolute += sums.absolute;
        part.row_error += sums.row_error;
        // Through a temporary, so that the summation tree is the one whose depth is charged
        // whatever the BLAS does.
        double* const product = block_buffer<double, BlockUse::product>(features * classes);
        multiply_transposed(block, slopes, product, features, count, classes, false);
        part.sum += Eigen::Map<const Matrix>(product, weights.rows(), weights.cols());
      });

  Gradient gradient;
  const double parts = finish(objective, weights, total, gradient);
  const double depth = cut_rows(rows.count, features).depth();
  gradient.error =
      kInflate * (total.row_error + rounding_gamma(depth) * total.absolute + rounding_gamma(3) * parts) + 1e-290;
  return gradient;
}

namespace {

/// Adds sum_i |z_i|^2 s_ic over a block, estimated from every eighth row, to `sum`.
void add_curvature(const MarginBlock& block, const float* slopes, Vector& sum) {
  constexpr std::size_t kEvery = 8;
  for (std::size_t i = 0; i < block.count; i += kEvery) {
    const double weight = block.norms[i] * block.norms[i] * static_cast<double>(std::min(kEvery, block.count - i));
    add_curvatures(block.head, slopes + i * block.classes, block.classes, weight, sum.data());
  }
}

/// What rounding does to a float32 gradient. Products of one block drift like the square root of
/// its length, the blocks independently of each other. Weights that are rounded move all margins
/// together, along Z^T S Z: by 2^-25 |w_c|, in a direction of which rows have a share of 1 /
/// sqrt(F); the rounding of margins, sqrt(F) 2^-25 |w_c| each, averages out.
double rough_error(const Rows& rows, const Matrix& weights, const GradientPart& total, double slope_norm) {
  const double count = static_cast<double>(std::max<std::size_t>(1, rows.count));
  const double features = static_cast<double>(rows.features);
  double squares = 0;
  for (std::size_t i = 0; i < rows.count; ++i) squares += rows.norms[i] * rows.norms[i];
  const double block_rows = static_cast<double>(cut_rows(rows.count, rows.features).block_rows);
  const double products = 0x1p-24 * std::sqrt(block_rows * squares / count) * slope_norm;
  const double reach = total.curvature.cwiseProduct(weights.colwise().norm().transpose()).norm();
  return products + 0x1p-25 * std::sqrt(1 / features + features / count) * reach;
}

}  // namespace

Gradient rough_gradient(const Objective& objective, const Matrix& weights, Curvatures* keep) {
  const Rows& rows = objective.rows;
  const std::size_t classes = objective.classes, features = rows.features;
  const FloatMatrix narrow = weights.cast<float>();
  GradientPart zero = zero_part(weights);
  zero.curvature = Vector::Zero(weights.cols());
  const GradientPart total =
      sweep_rows<float>(rows, zero, [&](const float* block, std::size_t first, std::size_t count, GradientPart& part) {
        float* const slopes = block_buffer<float, BlockUse::margins>(count * classes + kSlopeSlack);
        multiply(block, narrow.data(), slopes, count, features, classes, false);
        const MarginBlock margins = margin_block(objective, first, count);
        slopes_in_place(margins, slopes, place_in(keep, objective, first));
        add_curvature(margins, slopes, part.curvature);
        const Eigen::Map<const Eigen::VectorXf> all(slopes, index_of(count * classes));
        part.slope_squares[0] += static_cast<double>(all.squaredNorm());
        float* const product = block_buffer<float, BlockUse::product>(features * classes);
        multiply_transposed(block, slopes, product, features, count, classes, false);
        part.sum += Eigen::Map<const FloatMatrix>(product, weights.rows(), weights.cols()).cast<double>();
      });
  Gradient gradient;
  finish(objective, weights, total, gradient);
  gradient.class_slope_norm = Vector();
  gradient.error = rough_error(rows, weights, total, gradient.slope_norm);
  return gradient;
}

namespace {

struct ActionPart {
  Matrix sum;
  Vector squares, fourths;

  template <class See>
  void see_members(const See& see) {
    see(sum);
    see(squares);
    see(fourths);
  }
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
  const bool curved = !constant_curvature(objective.head);
  const ActionPart zero{Matrix::Zero(step.rows(), step.cols()), Vector::Zero(step.cols()), Vector::Zero(step.cols())};
  const ActionPart total =
      sweep_rows<double>(rows, zero, [&](const double* block, std::size_t, std::size_t count, ActionPart& part) {
        double* const margins = block_buffer<double, BlockUse::margins>(count * classes);
        double* const image = block_buffer<double, BlockUse::product>(count * classes);
        if (curved) multiply(block, weights.data(), margins, count, features, classes, false);
        multiply(block, step.data(), image, count, features, classes, false);
        for (std::size_t i = 0; i < count; ++i)
          for (std::size_t c = 0; c < classes; ++c) {
            const double square = image[i * classes + c] * image[i * classes + c];
            part.squares[index_of(c)] += square;
            part.fourths[index_of(c)] += square * square;
          }
        if (curved) {
          curvatures_in_place(objective.head, margins, count, classes);
          multiply_by_curvatures(objective.head, margins, image, count, classes);
        }
        multiply_transposed(block, image, part.sum.data(), features, count, classes, true);
      });
  return {total.sum + objective.mu * step, total.squares.cwiseSqrt(), total.fourths.cwiseSqrt()};
}

}  // namespace unweave
