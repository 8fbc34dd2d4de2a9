// algorithms/solvers/exact/exact_gradient.h - the gradient of the objective at a point, with far
// less error than float64 arithmetic has, and how it continues from there to first order
// (THEOREMS.md, T0).
//
// "System": what strong convexity speaks of, a class of a one-vs-rest head, or all classes of a
// coupled one together. Vectors of one number a system have C entries, or one. |.|_s is the 2-norm
// of a column, or the Frobenius norm.
#pragma once

#include "algorithms/learning/objective.h"
#include "algorithms/solvers/exact/exact_products.h"

namespace unweave {

/// |.|_s of every system of an F x C matrix, rounded up.
[[nodiscard]] Vector system_norms(Head head, const Matrix& matrix);

/// >= every eigenvalue of the Hessian, wherever it is taken, but for rounding.
[[nodiscard]] double steepest_curvature(const Objective& objective);

struct ExactGradient {
  Matrix point;         ///< where it was taken: near the weights that were asked for
  Matrix value;         ///< F x C, rounded to float64
  Vector error;         ///< E0, a system: >= |value - gradient|_s
  Vector point_norm;    ///< |point|_s
  double largest_norm;  ///< >= |column|_2 of every column of the point
  double reach;         ///< >= sum_j max_i |z_ij| |w_jc| of every column; infinite where column sizes are not known
};

/// max_i |z_ij| of every feature j. One reading of the rows.
[[nodiscard]] Vector column_sizes(const Rows& rows);

/// The gradient at the nearest point that `levels` slices hold, 2 or more. With `sizes`, those of
/// the columns, bounds of margins do not suffer from features that are small and have large
/// weights. The objective has no linear term, its head exact slopes. One reading of the rows and 4
/// levels + 1 products with them; memory beside them: 3 F C numbers a lane (row_sweep.h). Throws
/// ResourceError where the BLAS is not fit for it.
[[nodiscard]] ExactGradient exact_gradient(const Objective& objective, const Matrix& weights, int levels,
                                           const Vector* sizes = nullptr);

/// >= the Frobenius norm of the gradient at `weights` themselves, however far slices stand from
/// them: proved, and of finite weights up to 1e15 hardly more than 1.01 times the norm. Costs,
/// conditions and errors are those of exact_gradient().
[[nodiscard]] double gradient_norm_bound(const Objective& objective, const Matrix& weights);

/// The gradient at point + step, of a step so short that its second order hardly matters.
struct FirstOrder {
  Matrix residual;  ///< F x C: value + Hessian at the point times step, in float64
  Vector norm;      ///< |residual|_s, rounded up
  Vector error;     ///< E0 + E1 + Q, a system: >= |residual - gradient(point + step)|_s
};
/// One reading of the rows and three products with them, two where the curvature is constant.
[[nodiscard]] FirstOrder first_order(const Objective& objective, const ExactGradient& gradient, const Matrix& step,
                                     const Vector* sizes = nullptr);

/// Bytes that these take beside the rows, at most.
[[nodiscard]] std::size_t exact_gradient_bytes(const Rows& rows, std::size_t classes);

}  // namespace unweave
