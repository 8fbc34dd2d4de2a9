// algorithms/learning/heads/head_entry.h - all that the project knows of a head, the loss of a
// linear model: an entry of the registry.
//
// There are two kinds. One-vs-rest heads sum a loss of one margin and one target over the classes:
// y_c = +1 for the row's class, else -1; the Hessian of a row's loss by its margins is diagonal.
// Coupled heads have one loss of all margins of a row, whose Hessian is diag(p) - p p^T with
// numbers p >= 0 that sum to 1. Rows of margins m_c = z.w_c have one number a class; label <
// classes.
#pragma once

#include <cstddef>
#include <string_view>

#include "algorithms/learning/heads/loss_constants.h"
#include "algorithms/learning/heads/margin_block.h"

namespace unweave {

/// Float64 slopes and curvatures have relative error <= kPointwiseUlps * u, and absolute error
/// 1e-300 where they underflow, given exp within 2 ulp.
inline constexpr double kPointwiseUlps = 16;

/// Bounds over all margins. With F of objective.h the gradient of the sum over rows is Lipschitz
/// with constant curvature |Z|_2^2, and F is mu-strongly convex. Bounds of a row's gradient are
/// HeadEntry::constants.
struct Smoothness {
  double slope;          ///< c1 >= |dl/dm_c| for every class; infinite where slopes have no bound
  double curvature;      ///< gamma1 >= the largest eigenvalue of the Hessian of l by the margins
  double third_printed;  ///< gamma2 >= |l'''| as papers print it; infinite for coupled heads, which no paper bounds
  double third;          ///< max |l'''|; infinite for coupled heads
};

/// Every member is set by the head's own file; no member has a default, so that the compiler names
/// one that is missing.
struct HeadEntry {
  Head key;
  std::string_view name;       ///< in options, models and certificates
  std::string_view loss_text;  ///< for certificates: the loss of all rows z_i under columns w_c of W
  bool couples_classes;        ///< the kind, see above
  bool constant_curvature;     ///< the Hessian of l by the margins is the identity, whatever they are
  bool has_probabilities;      ///< the loss is -ln of a model's probability of the targets
  Smoothness smoothness;
  double joint_third;    ///< |r(m + x) - r(m) - H(m) x| <= joint_third |x|^2 / 2, r the slopes, H the Hessian of a row
  double slope_at_zero;  ///< >= |r(0)|: of all margins of a coupled head, of each one of a one-vs-rest head
  std::size_t least_classes;  ///< below which `constants` do not hold

  /// Returns what the loss without the regulariser obeys; `gradient` is left 0. Arguments are in
  /// range.
  LossConstants (*constants)(const PublicConstants& given);

  /// The loss of a row.
  double (*row_loss)(const double* margins, std::size_t classes, std::size_t label);
  /// Margins of a row become its slopes dl/dm_c.
  void (*slopes)(double* margins, std::size_t classes, std::size_t label);
  /// Margins, rows x classes, become what the Hessians are made of: the diagonal of a one-vs-rest
  /// head, p of a coupled one. They do not depend on labels.
  void (*curvatures)(double* margins, std::size_t rows, std::size_t classes);
  /// Margins of a row become probabilities of its classes, of sum 1.
  void (*probabilities)(double* margins, std::size_t classes);
  /// The logarithms of these, finite where the probabilities of a likelihood vanish in float64.
  void (*log_probabilities)(double* margins, std::size_t classes);

  /// slopes_in_place() of slopes.h in float64, with their error.
  SlopeSums (*block_slopes)(const MarginBlock& block, const double* margin_error, double* margins,
                            double* class_squares, float* curvatures);
  /// slopes_in_place() of slopes.h in float32.
  void (*rough_block_slopes)(const MarginBlock& block, float* margins, float* curvatures);
  /// curvatures_in_place() of slopes.h: float32 margins, rows x classes, become curvatures, or p of
  /// a coupled head.
  void (*rough_block_curvatures)(float* margins, std::size_t rows, std::size_t classes);
  /// Adds weight times the diagonal of a row's Hessian, made of its float32 slopes, to sum[c]: an
  /// estimate.
  void (*add_rough_curvatures)(const float* slopes, std::size_t classes, double weight, double* sum);
};

}  // namespace unweave
