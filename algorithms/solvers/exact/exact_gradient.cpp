// algorithms/solvers/exact/exact_gradient.cpp - passes over the rows by exact products, and the sums of the error bounds E0, E1 and Q.
//
// The bounds are those of THEOREMS.md, Lemmas X6 and X7; the names of their parts are theirs.
#include "algorithms/solvers/exact/exact_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/row_sweep.h"
#include "algorithms/solvers/exact/exact_slopes.h"
#include "algorithms/solvers/exact/pair.h"
#include "engine/resources/parallel.h"

namespace unweave {
namespace {

constexpr double kUnit = kUnitRoundoff, kSquare = kUnitRoundoff * kUnitRoundoff;
constexpr double kTiny = 0x1p-126;
constexpr double kExactBits = 104;  // sums of at most so many bits in pairs are exact

std::size_t systems_of(const Objective& objective) {
  return couples_classes(objective.head) ? 1 : objective.classes;
}

Vector zeros(std::size_t count) {
  return Vector::Zero(index_of(count));
}

/// Parts of a buffer, one after the other.
class Cut {
 public:
  explicit Cut(double* buffer) : next_(buffer) {}
  double* take(std::size_t count) { return std::exchange(next_, next_ + count); }

 private:
  double* next_;
};

/// Rows of one block that are summed into bounds: for each system the size of a row's entries.
class RowSums {
 public:
  RowSums(bool coupled, std::size_t classes) : coupled_(coupled), classes_(classes) {}

  /// sum[s] += factor |values|_s of a row.
  void add(const double* values, double factor, Vector& sum) const {
    if (coupled_) {
      double squares = 0;
      for (std::size_t c = 0; c < classes_; ++c) squares += values[c] * values[c];
      sum[0] += factor * std::sqrt(squares);
      return;
    }
    double* const out = sum.data();
    for (std::size_t c = 0; c < classes_; ++c) out[c] += factor * std::abs(values[c]);
  }

 private:
  bool coupled_;
  std::size_t classes_;
};

struct GradientPart {
  Matrix high, low;  // sum of exact products, in pairs
  Matrix tail;       // what lies below slices, in float64
  Vector row_error;  // sum_i |z_i| (error of the slopes)_s
  Vector absolute;   // sum_i |z_i| |r_i|_s
  Vector below;      // sum_i |z_i| |t_i|_s, t what lies below the slices of slopes
  Vector rest;       // sum_i |rest of z_i| |r_i|_s

  template <class See>
  void see_members(const See& see) {
    see(high);
    see(low);
    see(tail);
    see(row_error);
    see(absolute);
    see(below);
    see(rest);
  }
  GradientPart& operator+=(const GradientPart& other) {
    for (Eigen::Index k = 0; k < high.size(); ++k) {
      // By two steps: a sum of two pairs would not be exact.
      accumulate(high.data()[k], low.data()[k], other.high.data()[k]);
      accumulate(high.data()[k], low.data()[k], other.low.data()[k]);
    }
    tail += other.tail;
    row_error += other.row_error;
    absolute += other.absolute;
    below += other.below;
    rest += other.rest;
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
    out.margin_error = 10 * kSquare * 2 * weights.levels * std::ceil(features / kInnerLength);
  return out;
}

std::size_t block_numbers(std::size_t count, std::size_t features, std::size_t classes, int levels) {
  const std::size_t entries = count * classes, wide = entries * static_cast<std::size_t>(levels);
  const std::size_t product =
      std::max(count, std::min(features, kInnerLength)) * classes * static_cast<std::size_t>(levels);
  return 4 * count * features + 2 * (entries + kPairSlack) + slope_scratch(count, classes) + 3 * entries + wide +
         product;
}

/// One pass of exact_gradient().
class GradientPass {
 public:
  GradientPass(const Objective& objective, const SlicedWeights& weights, double largest_norm)
      : objective_(objective),
        weights_(weights),
        scales_(scales_of(objective, weights, largest_norm)),
        sums_(couples_classes(objective.head), objective.classes),
        column_norms_(kBoundSlack * weights.value.colwise().norm()),
        joint_norm_(kBoundSlack * weights.value.norm()) {}

  [[nodiscard]] GradientPart run() const {
    const Matrix zero = Matrix::Zero(weights_.value.rows(), weights_.value.cols());
    const Vector none = zeros(systems_of(objective_));
    return sweep_rows<float>(objective_.rows, GradientPart{zero, zero, zero, none, none, none, none},
                             [&](const float* block, std::size_t first, std::size_t count, GradientPart& part) {
                               add_block(block, first, count, part);
                             });
  }

 private:
  void add_block(const float* block, std::size_t first, std::size_t count, GradientPart& part) const {
    const std::size_t features = objective_.rows.features, classes = objective_.classes, entries = count * classes;
    const int levels = weights_.levels;
    Cut cut(block_buffer<double, BlockUse::rows>(block_numbers(count, features, classes, levels)));
    RowSlices z{cut.take(count * features), cut.take(count * features), cut.take(count * features),
                cut.take(count * features)};
    double *const high = cut.take(entries + kPairSlack), *const low = cut.take(entries + kPairSlack);
    double *const scratch = cut.take(slope_scratch(count, classes)), *const errors = cut.take(entries);
    double *const below = cut.take(entries), *const rough = cut.take(entries);
    double *const slices = cut.take(entries * static_cast<std::size_t>(levels)), *const product = cut.take(0);

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
    slice_slopes(high, low, count, classes, scales_.slopes, levels, slices, below);
    add_bounds(z, first, count, high, below, errors, part);

    const int exponent = scales_.slopes;
    add_gradients(z.first, count, features, slices, classes, levels, first_unit + exponent, product, part.high.data(),
                  part.low.data());
    add_gradients(z.second, count, features, slices, classes, levels, second_unit + exponent, product, part.high.data(),
                  part.low.data());
    add_transposed_product(z.whole, count, features, below, classes, product, part.tail.data());
    if (z.has_rest) {  // times the slices of the slopes: the row times what lies below them is there
      for (std::size_t k = 0; k < entries; ++k) rough[k] = high[k] - below[k];
      add_transposed_product(z.rest, count, features, rough, classes, product, part.tail.data());
    }
  }

  /// Norms of what slices of rows leave.
  [[nodiscard]] static double rest_norm(const RowSlices& z, std::size_t row, std::size_t count, std::size_t features) {
    if (!z.has_rest) return 0;
    double squares = 0;
    for (std::size_t first = 0; first < features; first += kInnerLength) {
      const std::size_t width = std::min(kInnerLength, features - first);
      const double* const rest = z.rest + count * first + row * width;
      for (std::size_t j = 0; j < width; ++j) squares += rest[j] * rest[j];
    }
    return kBoundSlack * std::sqrt(squares) + 1e-300;
  }

  void add_bounds(const RowSlices& z, std::size_t first, std::size_t count, const double* slopes, const double* below,
                  const double* errors, GradientPart& part) const {
    const std::size_t features = objective_.rows.features, classes = objective_.classes;
    const bool coupled = couples_classes(objective_.head);
    const double steepest = smoothness(objective_.head).curvature;
    for (std::size_t i = 0; i < count; ++i) {
      const double norm = objective_.rows.norms[first + i], rest = rest_norm(z, i, count, features);
      double margin = scales_.margin_error * norm;  // what times |w| bounds the error of a margin
      if (z.has_rest) margin += rounding_gamma(static_cast<double>(features) + 1) * rest + 4 * kSquare * norm;
      if (coupled)
        part.row_error[0] += norm * (errors[i] + steepest * margin * joint_norm_);
      else
        for (std::size_t c = 0; c < classes; ++c)
          part.row_error[index_of(c)] +=
              norm * (errors[i * classes + c] + steepest * margin * column_norms_[index_of(c)]);
      sums_.add(slopes + i * classes, norm, part.absolute);
      sums_.add(below + i * classes, norm, part.below);
      if (z.has_rest) sums_.add(slopes + i * classes, rest, part.rest);
    }
  }

  const Objective& objective_;
  const SlicedWeights& weights_;
  Scales scales_;
  RowSums sums_;
  Vector column_norms_;
  double joint_norm_;
};

}  // namespace

Vector system_norms(Head head, const Matrix& matrix) {
  if (couples_classes(head)) return Vector::Constant(1, kBoundSlack * matrix.norm());
  return kBoundSlack * matrix.colwise().norm();
}

ExactGradient exact_gradient(const Objective& objective, const Matrix& weights, int levels) {
  require_exact_products();
  const SlicedWeights sliced = slice_weights(weights, levels);
  ExactGradient out;
  out.point = sliced.value;
  out.point_norm = system_norms(objective.head, out.point);
  out.largest_norm = out.point.size() == 0 ? 0 : kBoundSlack * out.point.colwise().norm().maxCoeff();
  const GradientPart total = GradientPass(objective, sliced, out.largest_norm).run();

  out.value.resize(out.point.rows(), out.point.cols());
  for (Eigen::Index k = 0; k < out.value.size(); ++k) {
    const Pair data = add(Pair{total.high.data()[k], total.low.data()[k]}, Pair{total.tail.data()[k], 0});
    out.value.data()[k] = add(data, two_product(objective.mu, out.point.data()[k])).high;
  }

  const RowCut cut = cut_rows(objective.rows.count, objective.rows.features);
  const double lanes = static_cast<double>(cut.lanes);
  const double blocks =
      std::ceil(static_cast<double>(cut.lane_rows) / std::max(1.0, static_cast<double>(cut.block_rows)));
  const double depth = static_cast<double>(cut.block_rows) + 2 * blocks + lanes + 4;  // two products a block
  const double bits =
      2 * kRowBits + kWeightBits * levels + std::log2(std::max(1.0, static_cast<double>(objective.rows.count)));
  const double sum_error = bits <= kExactBits ? 0 : 10 * kSquare * (2 * levels * blocks + 2 * lanes);
  out.error =
      kBoundSlack * (total.row_error + rounding_gamma(depth) * (total.below + total.rest) +
                     kUnit * (total.below + 3 * total.rest) + (sum_error + 0x1p-102) * total.absolute +
                     0x1p-102 * objective.mu * out.point_norm + kUnit * system_norms(objective.head, out.value));
  out.error.array() += 1e-200;
  return out;
}

double gradient_norm_bound(const Objective& objective, const Matrix& weights) {
  constexpr int kMostLevels = 3;
  const ExactGradient near = exact_gradient(objective, weights, kMostLevels);
  double steepest = objective.mu;  // no eigenvalue of the Hessian is larger, wherever it is taken
  for (std::size_t i = 0; i < objective.rows.count; ++i)
    steepest += smoothness(objective.head).curvature * objective.rows.norms[i] * objective.rows.norms[i];
  const Vector rest = system_norms(objective.head, weights - near.point);
  const Vector systems = system_norms(objective.head, near.value) + near.error + kBoundSlack * steepest * rest;
  return kBoundSlack * systems.norm();
}

namespace {

struct ActionPart {
  Matrix sum;
  Vector curvature;  // sum_i |z_i|^2 s_ic, of a coupled head half of sum_i |z_i|^2
  Vector action;     // sum_i |z_i| |x_i|_s, x the curvature times the image
  Vector rough;      // sum_i |z_i| kappa_i |x_i|_s, of a coupled head |v_i| in place of |x_i|
  Vector image;      // sum_i |z_i| (|v_i|_s + slack_i)
  Vector squares;    // sum_i |z_i| (|v_i|_s + slack_i)^2

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

/// One pass of first_order(). Curvatures come from float64 margins, which err by kappa_i = gamma_{F+2} |z_i| max_c |w_c|: the
/// curvature of a margin is then wrong by a factor of at most 1 + 1.01 kappa, |d ln l''/dm| being at most 1, and so are
/// probabilities by 1 + 2.02 kappa, for kappa <= 0.004.
class ActionPass {
 public:
  ActionPass(const Objective& objective, const ExactGradient& gradient, const Matrix& step)
      : objective_(objective),
        gradient_(gradient),
        step_(step),
        step_norm_(system_norms(objective.head, step)),
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
    const double kappa = rounding_gamma(terms_ + 2) * norm * gradient_.largest_norm;
    if (constant_curvature(objective_.head)) return 0;
    return kappa <= 0.004 ? kappa : std::numeric_limits<double>::infinity();
  }

  /// Sums over what is not multiplied by curvatures yet.
  void add_image(const double* image, const double* curvatures, double norm, ActionPart& part) const {
    const double slack = rounding_gamma(terms_) * norm;
    if (couples_classes(objective_.head)) {
      double squares = 0;
      for (std::size_t c = 0; c < objective_.classes; ++c) squares += image[c] * image[c];
      const double size = std::sqrt(squares), width = static_cast<double>(objective_.classes);
      const double sum = size + slack * step_norm_[0];
      part.curvature[0] += norm * norm / 2;
      part.rough[0] += norm * ((5 * width + 60) * kUnit + 6.2 * kappa(norm)) * size;
      part.image[0] += norm * sum;
      part.squares[0] += norm * sum * sum;
      return;
    }
    for (std::size_t c = 0; c < objective_.classes; ++c) {
      const double sum = std::abs(image[c]) + slack * step_norm_[index_of(c)];
      part.curvature[index_of(c)] += norm * norm * curvatures[c] * 1.02;
      part.image[index_of(c)] += norm * sum;
      part.squares[index_of(c)] += norm * sum * sum;
    }
  }

  const Objective& objective_;
  const ExactGradient& gradient_;
  const Matrix& step_;
  Vector step_norm_;
  double terms_;
};

}  // namespace

FirstOrder first_order(const Objective& objective, const ExactGradient& gradient, const Matrix& step) {
  const ActionPart total = ActionPass(objective, gradient, step).run();
  const Head head = objective.head;
  FirstOrder out;
  out.residual = gradient.value + (total.sum + objective.mu * step);
  out.norm = system_norms(head, out.residual);
  const double features = static_cast<double>(objective.rows.features),
               classes = static_cast<double>(objective.classes);
  const double depth = cut_rows(objective.rows.count, objective.rows.features).depth();
  const Vector length = system_norms(head, step);
  const Vector parts = system_norms(head, gradient.value) + system_norms(head, total.sum) + objective.mu * length;
  const Vector first = 1.01 * rounding_gamma(features) * total.curvature.cwiseProduct(length) + total.rough +
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
