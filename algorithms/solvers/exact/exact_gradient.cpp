// algorithms/solvers/exact/exact_gradient.cpp - passes over the rows by exact products, and the
// sums of the error bounds E0, E1 and Q.
//
// The bounds are those of THEOREMS.md, Lemmas X6 and X7; the names of their parts are theirs.
#include "algorithms/solvers/exact/exact_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/row_sweep.h"
#include "algorithms/numerics/whole_products.h"
#include "algorithms/solvers/exact/exact_slopes.h"
#include "algorithms/solvers/exact/pair.h"
#include "algorithms/solvers/exact/sliced_sum.h"
#include "engine/resources/parallel.h"

namespace unweave {
namespace {

constexpr double kUnit = kUnitRoundoff;
constexpr double kTiny = 0x1p-126;

std::size_t systems_of(const Objective& objective) {
  return couples_classes(objective.head) ? 1 : objective.classes;
}

Vector zeros(std::size_t count) {
  return Vector::Zero(index_of(count));
}

/// sum_j sizes_j |w_jc| of every column c, which no sum of moduli of a row's products exceeds;
/// infinite without sizes.
Vector reach_of_columns(const Matrix& weights, const Vector* sizes) {
  if (sizes == nullptr) return Vector::Constant(weights.cols(), std::numeric_limits<double>::infinity());
  return kBoundSlack * (weights.cwiseAbs().transpose() * *sizes);
}

/// |.|_s of what is known column by column.
Vector reach_of_systems(bool coupled, const Vector& columns) {
  return coupled ? Vector::Constant(1, kBoundSlack * columns.norm()) : columns;
}

/// Parts of a buffer, one after the other.
class Cut {
 public:
  explicit Cut(double* buffer) : next_(buffer) {}
  double* take(std::size_t count) { return std::exchange(next_, next_ + count); }

 private:
  double* next_;
};

struct GradientPart {
  SlicedSum sum;
  Vector row_error;  // sum_i |z_i| (error of the slopes)_s

  template <class See>
  void see_members(const See& see) {
    sum.see_members(see);
    see(row_error);
  }
  GradientPart& operator+=(const GradientPart& other) {
    sum += other.sum;
    row_error += other.row_error;
    return *this;
  }
};

/// Exponents of slices, and what inexact sums of margins cost.
struct Scales {
  int rows = 0;    // |z_ij| <= 2^rows
  int slopes = 0;  // |r_ic| <= 2^slopes
  double margin_error = 0;
};

/// Slopes of least squares are at most 1 + |z||w|, those of the other heads 1.
int slope_exponent(const Objective& objective, double longest_row, double largest_norm) {
  return has_bounded_slope(objective.head) ? 0 : exponent_above(kBoundSlack * (1 + longest_row * largest_norm));
}

Scales scales_of(const Objective& objective, const SlicedWeights& weights, double largest_norm) {
  const Rows& rows = objective.rows;
  const double longest = rows.count == 0 ? 0 : *std::max_element(rows.norms, rows.norms + rows.count);
  Scales out;
  out.rows = exponent_above(longest);
  out.slopes = slope_exponent(objective, longest, largest_norm);
  const auto features = static_cast<double>(rows.features);
  if (2 * kRowBits + kWeightBits * weights.levels + std::log2(features) > kExactBits)
    out.margin_error = 10 * kUnitSquare * 2 * weights.levels * std::ceil(features / kInnerLength);
  return out;
}

std::size_t block_numbers(std::size_t count, std::size_t features, std::size_t classes, int levels) {
  const std::size_t entries = count * classes;
  return 4 * count * features + 2 * (entries + kPairSlack) + slope_scratch(count, classes) + entries +
         SlicedSummation::scratch(count, features, classes, levels);
}

/// One pass of exact_gradient().
class GradientPass {
 public:
  GradientPass(const Objective& objective, const SlicedWeights& weights, double largest_norm, const Vector& reach)
      : objective_(objective),
        weights_(weights),
        scales_(scales_of(objective, weights, largest_norm)),
        sums_(objective.rows, objective.classes, couples_classes(objective.head), scales_.rows, scales_.slopes,
              weights.levels),
        column_norms_(kBoundSlack * weights.value.colwise().norm()),
        joint_norm_(kBoundSlack * weights.value.norm()),
        reach_(reach_of_systems(couples_classes(objective.head), reach)) {}

  [[nodiscard]] GradientPart run() const {
    return sweep_rows<float>(objective_.rows, GradientPart{sums_.zero(), zeros(systems_of(objective_))},
                             [&](const float* block, std::size_t first, std::size_t count, GradientPart& part) {
                               add_block(block, first, count, part);
                             });
  }
  /// The part of the gradient's error that comes from its sum.
  [[nodiscard]] Vector sum_error(const GradientPart& total) const { return sums_.error(total.sum); }

 private:
  void add_block(const float* block, std::size_t first, std::size_t count, GradientPart& part) const {
    const std::size_t features = objective_.rows.features, classes = objective_.classes, entries = count * classes;
    const int levels = weights_.levels;
    Cut cut(block_buffer<double, BlockUse::rows>(block_numbers(count, features, classes, levels)));
    RowSlices z{cut.take(count * features), cut.take(count * features), cut.take(count * features),
                cut.take(count * features)};
    double *const high = cut.take(entries + kPairSlack), *const low = cut.take(entries + kPairSlack);
    double *const scratch = cut.take(slope_scratch(count, classes)), *const errors = cut.take(entries);
    double *const summing = cut.take(0), *const rough = summing, *const product = summing + entries;

    slice_rows(block, count, features, scales_.rows, z);
    std::fill_n(high, entries, 0.0);
    std::fill_n(low, entries, 0.0);
    const int first_unit = scales_.rows - kRowBits, second_unit = scales_.rows - 2 * kRowBits;
    const double* const parts = weights_.slices.data();
    add_margins(z.first, count, features, parts, classes, levels, first_unit + weights_.exponent, product, high, low);
    add_margins(z.second, count, features, parts, classes, levels, second_unit + weights_.exponent, product, high, low);
    if (z.has_rest) {
      std::fill_n(rough, entries, 0.0);
      add_product(z.rest, count, features, weights_.value.data(), classes, rough);
      for (std::size_t k = 0; k < entries; ++k) {
        const Pair margin = add(Pair{high[k], low[k]}, Pair{rough[k], 0});
        high[k] = margin.high;
        low[k] = margin.low;
      }
    }

    slopes_in_pairs({objective_.head, objective_.rows.labels + first, count, classes, high, low}, scratch, errors);
    add_bounds(z, first, count, errors, part);
    sums_.add(z, first, count, high, low, summing, part.sum);
  }

  void add_bounds(const RowSlices& z, std::size_t first, std::size_t count, const double* errors,
                  GradientPart& part) const {
    const std::size_t features = objective_.rows.features, classes = objective_.classes;
    const bool coupled = couples_classes(objective_.head);
    const double steepest = smoothness(objective_.head).curvature;
    for (std::size_t i = 0; i < count; ++i) {
      const double norm = objective_.rows.norms[first + i], rest = rest_norm(z, i, count, features);
      // What times |w| bounds the error of a margin, beside sums of slices.
      const double margin =
          z.has_rest ? rounding_gamma(static_cast<double>(features) + 1) * rest + 4 * kUnitSquare * norm : 0;
      const auto margin_bound = [&](double weight_norm, double reach) {
        return margin * weight_norm + scales_.margin_error * std::min(norm * weight_norm, reach);
      };
      if (coupled)
        part.row_error[0] += norm * (errors[i] + steepest * margin_bound(joint_norm_, reach_[0]));
      else
        for (std::size_t c = 0; c < classes; ++c)
          part.row_error[index_of(c)] +=
              norm *
              (errors[i * classes + c] + steepest * margin_bound(column_norms_[index_of(c)], reach_[index_of(c)]));
    }
  }

  const Objective& objective_;
  const SlicedWeights& weights_;
  Scales scales_;
  SlicedSummation sums_;
  Vector column_norms_;
  double joint_norm_;
  Vector reach_;
};

}  // namespace

Vector system_norms(Head head, const Matrix& matrix) {
  if (couples_classes(head)) return Vector::Constant(1, kBoundSlack * matrix.norm());
  return kBoundSlack * matrix.colwise().norm();
}

namespace {

struct ColumnSizes {
  Vector most;

  template <class See>
  void see_members(const See& see) {
    see(most);
  }
  ColumnSizes& operator+=(const ColumnSizes& other) {
    most = most.cwiseMax(other.most);
    return *this;
  }
};

}  // namespace

double steepest_curvature(const Objective& objective) {
  double steepest = objective.mu;
  for (std::size_t i = 0; i < objective.rows.count; ++i)
    steepest += smoothness(objective.head).curvature * objective.rows.norms[i] * objective.rows.norms[i];
  return steepest;
}

Vector column_sizes(const Rows& rows) {
  return sweep_rows<float>(rows, ColumnSizes{zeros(rows.features)},
                           [&](const float* block, std::size_t, std::size_t count, ColumnSizes& part) {
                             for (std::size_t i = 0; i < count; ++i, block += rows.features)
                               for (std::size_t j = 0; j < rows.features; ++j)
                                 part.most[index_of(j)] =
                                     std::max(part.most[index_of(j)], static_cast<double>(std::abs(block[j])));
                           })
      .most;
}

ExactGradient exact_gradient(const Objective& objective, const Matrix& weights, int levels, const Vector* sizes) {
  require_exact_products();
  const SlicedWeights sliced = slice_weights(weights, levels);
  ExactGradient out;
  out.point = sliced.value;
  out.point_norm = system_norms(objective.head, out.point);
  out.largest_norm = out.point.size() == 0 ? 0 : kBoundSlack * out.point.colwise().norm().maxCoeff();
  const Vector reach = reach_of_columns(out.point, sizes);
  out.reach = reach.size() == 0 ? 0 : reach.maxCoeff();
  const GradientPass pass(objective, sliced, out.largest_norm, reach);
  const GradientPart total = pass.run();

  out.value.resize(out.point.rows(), out.point.cols());
  for (Eigen::Index k = 0; k < out.value.size(); ++k)
    out.value.data()[k] = add(total.sum.at(k), two_product(objective.mu, out.point.data()[k])).high;

  out.error = kBoundSlack * (total.row_error + pass.sum_error(total) + 0x1p-102 * objective.mu * out.point_norm +
                             kUnit * system_norms(objective.head, out.value));
  out.error.array() += 1e-200;
  return out;
}

double gradient_norm_bound(const Objective& objective, const Matrix& weights) {
  constexpr int kMostLevels = 3;
  const ExactGradient near = exact_gradient(objective, weights, kMostLevels);
  const double steepest = steepest_curvature(objective);
  const Vector rest = system_norms(objective.head, weights - near.point);
  const Vector systems = system_norms(objective.head, near.value) + near.error + kBoundSlack * steepest * rest;
  return kBoundSlack * systems.norm();
}

namespace {

struct ActionPart {
  Matrix sum;
  Vector
      // sum_i |z_i| s_ic k_is, k_is >= sum_j |z_ij| |d_j|_s, of a coupled head at most half of
      // sum_i |z_i| k_i
      curvature;
  Vector action;   // sum_i |z_i| |x_i|_s, x the curvature times the image
  Vector rough;    // sum_i |z_i| kappa_i |x_i|_s, of a coupled head |v_i| in place of |x_i|
  Vector image;    // sum_i |z_i| (|v_i|_s + slack_i)
  Vector squares;  // sum_i |z_i| (|v_i|_s + slack_i)^2

  template <class See>
  void see_members(const See& see) {
    see(sum);
    see(curvature);
    see(action);
    see(rough);
    see(image);
    see(squares);
  }
  ActionPart& operator+=(const ActionPart& other) {
    sum += other.sum;
    curvature += other.curvature;
    action += other.action;
    rough += other.rough;
    image += other.image;
    squares += other.squares;
    return *this;
  }
};

/// One pass of first_order(). Curvatures come from float64 margins, which err by kappa_i =
/// gamma_{F+2} |z_i| max_c |w_c|, or what the sizes of columns tell, if that is less: the curvature
/// of a margin is then wrong by a factor of at most 1 + 1.01 kappa, |d ln l''/dm| being at most 1,
/// and so are probabilities by 1 + 2.02 kappa, for kappa <= 0.004.
class ActionPass {
 public:
  ActionPass(const Objective& objective, const ExactGradient& gradient, const Matrix& step, const Vector* sizes)
      : objective_(objective),
        gradient_(gradient),
        step_(step),
        step_norm_(system_norms(objective.head, step)),
        step_reach_(reach_of_systems(couples_classes(objective.head), reach_of_columns(step, sizes))),
        terms_(static_cast<double>(objective.rows.features)) {}

  [[nodiscard]] ActionPart run() const {
    const Vector none = zeros(systems_of(objective_));
    return sweep_rows<double>(objective_.rows,
                              ActionPart{Matrix::Zero(step_.rows(), step_.cols()), none, none, none, none, none},
                              [&](const double* block, std::size_t first, std::size_t count, ActionPart& part) {
                                add_block(block, first, count, part);
                              });
  }

 private:
  void add_block(const double* block, std::size_t first, std::size_t count, ActionPart& part) const {
    const std::size_t features = objective_.rows.features, classes = objective_.classes, entries = count * classes;
    const Head head = objective_.head;
    double* const curvatures = block_buffer<double, BlockUse::curvatures>(entries + kPairSlack);
    double* const image = block_buffer<double, BlockUse::margins>(entries);
    double* const product = block_buffer<double, BlockUse::product>(features * classes);
    if (!constant_curvature(head)) multiply(block, gradient_.point.data(), curvatures, count, features, classes, false);
    curvatures_by_own_exp(head, curvatures, count, classes);
    multiply(block, step_.data(), image, count, features, classes, false);
    const RowSums sums(couples_classes(head), classes);
    for (std::size_t i = 0; i < count; ++i) {
      const double norm = objective_.rows.norms[first + i];
      add_image(image + i * classes, curvatures + i * classes, norm, part);
      multiply_by_curvatures(head, curvatures + i * classes, image + i * classes, 1, classes);
      sums.add(image + i * classes, norm, part.action);
      if (!couples_classes(head)) sums.add(image + i * classes, norm * (20 * kUnit + 1.02 * kappa(norm)), part.rough);
    }
    multiply_transposed(block, image, product, features, count, classes, false);
    part.sum += Eigen::Map<const Matrix>(product, step_.rows(), step_.cols());
  }

  [[nodiscard]] double kappa(double norm) const {
    const double kappa = rounding_gamma(terms_ + 2) * std::min(norm * gradient_.largest_norm, gradient_.reach);
    if (constant_curvature(objective_.head)) return 0;
    return kappa <= 0.004 ? kappa : std::numeric_limits<double>::infinity();
  }

  /// What a sum of moduli of the products that make v_is does not exceed.
  [[nodiscard]] double moduli_of(double norm, Eigen::Index system) const {
    return std::min(norm * step_norm_[system], step_reach_[system]);
  }

  /// >= 1 - p of the likeliest class, from computed probabilities of a row.
  [[nodiscard]] double unsureness(const double* probabilities) const {
    const double* const top = std::max_element(probabilities, probabilities + objective_.classes);
    const double others =
        std::accumulate(probabilities, top, 0.0) + std::accumulate(top + 1, probabilities + objective_.classes, 0.0);
    return 1.02 * others / (others + *top) + kTiny;
  }

  /// Sums over what is not multiplied by curvatures yet.
  void add_image(const double* image, const double* curvatures, double norm, ActionPart& part) const {
    if (couples_classes(objective_.head)) {
      double squares = 0;
      for (std::size_t c = 0; c < objective_.classes; ++c) squares += image[c] * image[c];
      const double size = std::sqrt(squares), width = static_cast<double>(objective_.classes);
      const double moduli = moduli_of(norm, 0), sum = size + rounding_gamma(terms_) * moduli;
      const double unsure = unsureness(curvatures);
      part.curvature[0] += norm * moduli * std::min(0.5, 2 * unsure);
      part.rough[0] += norm * unsure * ((10 * width + 135) * kUnit + 14.6 * kappa(norm)) * size;
      part.image[0] += norm * sum;
      part.squares[0] += norm * sum * sum;
      return;
    }
    for (std::size_t c = 0; c < objective_.classes; ++c) {
      const double moduli = moduli_of(norm, index_of(c)), sum = std::abs(image[c]) + rounding_gamma(terms_) * moduli;
      part.curvature[index_of(c)] += norm * moduli * curvatures[c] * 1.02;
      part.image[index_of(c)] += norm * sum;
      part.squares[index_of(c)] += norm * sum * sum;
    }
  }

  const Objective& objective_;
  const ExactGradient& gradient_;
  const Matrix& step_;
  Vector step_norm_, step_reach_;
  double terms_;
};

}  // namespace

FirstOrder first_order(const Objective& objective, const ExactGradient& gradient, const Matrix& step,
                       const Vector* sizes) {
  const ActionPart total = ActionPass(objective, gradient, step, sizes).run();
  const Head head = objective.head;
  FirstOrder out;
  out.residual = gradient.value + (total.sum + objective.mu * step);
  out.norm = system_norms(head, out.residual);
  const double features = static_cast<double>(objective.rows.features),
               classes = static_cast<double>(objective.classes);
  const double depth = cut_rows(objective.rows.count, objective.rows.features).depth();
  const Vector length = system_norms(head, step);
  const Vector parts = system_norms(head, gradient.value) + system_norms(head, total.sum) + objective.mu * length;
  const Vector first = 1.01 * rounding_gamma(features) * total.curvature + total.rough +
                       rounding_gamma(depth) * total.action + rounding_gamma(4) * parts +
                       2 * classes * kTiny * total.image;
  const Vector second = entry_of(head).joint_third / 2 * total.squares;
  out.error = gradient.error + kBoundSlack * first + kBoundSlack * second;
  return out;
}

std::size_t exact_gradient_bytes(const Rows& rows, std::size_t classes) {
  constexpr int kMostLevels = 3;
  const RowCut cut = cut_rows(rows.count, rows.features);
  const std::size_t weights = rows.features * classes;
  const std::size_t lanes = 3 * std::max<std::size_t>(1, cut.lanes) * weights;
  const std::size_t points = 10 * weights;  // the point and its slices, gradient, step, residuals
  const std::size_t threads = std::min<std::size_t>(std::max<std::size_t>(1, cut.lanes), active_threads());
  return sizeof(double) *
         (lanes + points + threads * block_numbers(cut.block_rows, rows.features, classes, kMostLevels));
}

}  // namespace unweave
