// algorithms/learning/objective.h - the strongly convex objective of every linear solver, its
// derivatives and their float error.
//
//   F(W) = sum_i l(W^T z_i, label_i) + (mu/2) |W|_F^2 + <B, W>,   l the loss of a row over its classes (head.h).
//
// Shapes: Z is n x F float32, W and B are F x C float64. All passes are parallel and equal to the
// bit for any number of threads, and of ranks that share the rows; memory beside the rows is O(F C
// lanes + block) with at most 64 lanes (row_sweep.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "algorithms/learning/head.h"
#include "algorithms/learning/slopes.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/numerics/matrix.h"

namespace unweave {

struct Objective {
  Rows rows;
  std::size_t classes = 1;
  Head head = Head::kLogistic;
  double mu = 0;                   ///< strong convexity: lambda * max(1, n)
  const Matrix* linear = nullptr;  ///< B of objective perturbation, or none
};

struct Gradient {
  Matrix value;             ///< computed gradient
  double error = 0;         ///< >= |computed - exact|_F
  double slope_norm = 0;    ///< |R|_F, R_ic = dl/dm_c of row i, rounded up
  double norm = 0;          ///< |computed|_F, rounded up
  Vector class_norm;        ///< |computed column|_2
  Vector class_slope_norm;  ///< |R column|_2
};

/// Curvatures of all rows and classes at one W, n x C, for softmax the probabilities of which they
/// are made; kept for Hessian products: 4 bytes each, less than a product with the rows costs to
/// form them again.
struct Curvatures {
  std::unique_ptr<float[]> values;  ///< null: not kept. First touched by the passes, in parallel; kSlopeSlack more
};

/// Room for an objective's curvatures when those of a rank need no more than `bytes`, else none.
[[nodiscard]] Curvatures curvatures_within(const Objective& objective, std::size_t bytes);

/// Gradient with a rigorous bound of its rounding error. With u = 2^-53, gamma_n = n u / (1 - n u),
/// margins m_ic and computed slopes r_ic:
///   margins  |fl(m_ic) - m_ic| <= gamma_F |z_i| |w_c|                       (inner products of length F in any order)
///   slopes   |fl(r_ic) - r_ic| <= 16 u |r_ic| + 1e-300 + 1.01 s_ic gamma_F |z_i| |w_c|, since |d
///            ln l''/dm| <= 1 moves the curvature s_ic by a factor of at most 1.01 over an interval
///            of 0.009 (beyond it: max l'' instead)
///   softmax  |fl(r_i) - r_i|_2 <= (16 + C) u |r_i| + 2C 1e-300 + |p(m') - p(m)|_2, derived below
///   sum      |fl(Z^T r) - Z^T r|_F <= gamma_D sum_i |z_i| |r_i|, D the depth of the fixed
///            summation tree (row_sweep.h)
///   rest     mu W and B: gamma_3 (|Z^T r| + |mu W| + |B|)
/// and an error of r_i reaches the gradient times |z_i|. The bound itself is inflated for its own
/// rounding.
///
/// Softmax. With t the class of the largest computed margin, x_c = exp(fl(m_c - m_t)), S = 1 +
/// sum_{c != t} x_c, the computed probabilities are x_c / S, and 1 - p_t = (S - 1) / S is formed
/// from the sum, never as a difference.
///   margins  fl(m_c - m_t) is an exact difference of margins m', |m'_ic - m_ic| <= e_ic: the error
///            of the product and u (|m_c| + |m_t|), so that e_ic = |z_i| (gamma_{F+1} |w_c| +
///            gamma_1 max_k |w_k|) covers both
///   slopes   exp (2 ulp), at most C sums of nonnegative numbers, 1 / S and a product make relative
///            errors of p_c and of 1 - p_t = R / (1 + R), R = S - 1, below (C + 12) u; the slope of
///            the label is p - 1 with p <= 1/2, whose error is then relative too, or -(1 - p_t)
///   p(m')    On the segment from m to m', if every e_ic <= 0.0024, probabilities and their
///            complements are within a factor of e^0.0048, products of two within 1.01. The
///            Jacobian diag(p) - p p^T has entries of modulus p_c (1 - p_c) and p_c p_k. Hence with
///            A = sum_k p_k e_k the c-th entry of p(m') - p(m) is at most 1.01 p_c ((1 - p_c) e_c +
///            A), that of t at most 1.01 ((1 - p_t) e_t + sum_{k != t} p_k e_k): near 0 where a row
///            is sure of its class. For larger errors |e_i|_2 / 2, the eigenvalues being at most
///            1/2 everywhere.
/// Fills `keep`, where given and not null, with the curvatures at these weights.
[[nodiscard]] Gradient gradient_with_error(const Objective& objective, const Matrix& weights,
                                           Curvatures* keep = nullptr);

/// The gradient by products in float32, at less than half the cost, to steer by: `error` is what
/// their rounding, and that of W to float32, usually comes to. It is no bound. class_slope_norm is
/// empty.
[[nodiscard]] Gradient rough_gradient(const Objective& objective, const Matrix& weights, Curvatures* keep = nullptr);

/// Hessian of F at fixed weights, for all classes at once. Products with rows run in float32: they
/// steer conjugate gradients. What a step found is measured by a gradient, in the end always in
/// float64.
class HessianOperator {
 public:
  /// `curvatures` are those at `weights`, and must outlive the operator; when null they are formed
  /// again in every product, from margins.
  HessianOperator(const Objective& objective, const Matrix& weights, const Curvatures* curvatures = nullptr);

  /// Column j of `direction` belongs to class classes[j]; returns (Z^T S_c Z + mu I) d_c for each.
  /// For softmax, whose classes must all be there in order, Z^T (P o (V - v)) + mu D with V = Z D
  /// and v_i = sum_c p_ic V_ic.
  [[nodiscard]] Matrix apply(const Matrix& direction, std::span<const std::size_t> classes) const;
  /// Diagonal of every class, F x C.
  [[nodiscard]] Matrix diagonal() const;
  /// Curvatures of `count` rows, any of this many features, in `classes`: `out` has room for count
  /// x classes and kSlopeSlack more.
  void curvatures(const float* rows, std::size_t count, std::span<const std::size_t> classes, float* out) const;
  [[nodiscard]] const Objective& objective() const noexcept { return objective_; }

 private:
  void scale_by_curvatures(const float* block, std::size_t first, std::size_t count,
                           std::span<const std::size_t> classes, const FloatMatrix& weights, float* values) const;
  void couple(const float* block, std::size_t first, std::size_t count, float* values) const;
  void coupled_curvatures(const float* block, std::size_t first, std::size_t count, float* out) const;
  [[nodiscard]] const float* kept_curvatures(std::size_t first) const noexcept;
  [[nodiscard]] const float* probabilities(const float* block, std::size_t count) const;
  [[nodiscard]] FloatMatrix columns(std::span<const std::size_t> classes) const;

  Objective objective_;
  FloatMatrix weights_;
  const Curvatures* curvatures_;
};

/// Float64 action of the Hessian at `weights` on `step` and what the second-order bounds need of
/// it.
struct CurvatureAction {
  Matrix product;             ///< H step
  Vector image_norm;          ///< per class |Z s_c|_2
  Vector squared_image_norm;  ///< per class |(Z s_c) o (Z s_c)|_2
};
[[nodiscard]] CurvatureAction curvature_action(const Objective& objective, const Matrix& weights, const Matrix& step);

}  // namespace unweave
