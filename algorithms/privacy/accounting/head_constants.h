// algorithms/privacy/accounting/head_constants.h - what every sample's loss obeys, from public constants alone.
//
// A sample is a row x, |x| <= X, any bias column of ones included, with its target; a loss is that of all weights theta
// (flattened, |theta| <= R on the feasible set) plus lambda |theta|^2 / 2, the regulariser inside every sample's loss.
// The constants are suprema over all samples and theta, never estimates from data: estimates leak and fall short.
// UsageError for constants that are negative or not finite, X = 0, or no class.
#pragma once

#include <cstddef>
#include <span>

namespace unweave {

struct PublicConstants {
  double row_norm = 1;  ///< X > 0: the clip, sqrt(clip^2 + 1) with a bias column
  double radius = 0;    ///< R >= |theta|: of the projection, or largest_regularised_travel() from theta_0 = 0
  double lambda = 0;
  std::size_t classes = 1;  ///< outputs: of softmax, or heads of one-vs-rest that share theta
};

struct LossConstants {
  double smoothness = 0;     ///< L
  double gradient = 0;       ///< G >= |grad l| on |theta| <= R, regulariser included
  double data_gradient = 0;  ///< the same without the regulariser: enough where only differences of samples count
  double row_lipschitz = 0;  ///< L_x: |grad l(x; theta) - grad l(x'; theta)| <= L_x |x - x'| on |theta| <= R
  double loss_at_zero = 0;   ///< >= l(z; 0)
};

/// One-vs-rest ln(1 + exp(-y x.w)), C heads: L = X^2/4 + lambda, data gradient sqrt(C) X, L_x = sqrt(C) + X R / 4,
/// loss at zero C ln 2. (Each head's slope is at most 1 and its curvature at most 1/4; heads are orthogonal blocks.)
[[nodiscard]] LossConstants logistic_constants(const PublicConstants& given);

/// Softmax cross-entropy, C >= 2 classes: L = X^2/2 + lambda, data gradient sqrt(2) X, L_x = sqrt(2) + X R / 2, loss at
/// zero ln C. (Probabilities less the target have norm at most sqrt(2); softmax has Lipschitz constant 1/2.)
[[nodiscard]] LossConstants softmax_constants(const PublicConstants& given);

/// |W^T x - y|^2 / 2 with |y| <= Y over all outputs: L = X^2 + lambda, data gradient X (X R + Y), L_x = 2 X R + Y, loss at
/// zero Y^2 / 2. Every gradient bound needs R.
[[nodiscard]] LossConstants least_squares_constants(const PublicConstants& given, double target_norm);

/// What an activation phi with |phi'| <= 1 obeys; units are the outputs of a hidden layer.
struct ActivationBounds {
  double at_zero = 0;    ///< |phi(0)|
  double curvature = 0;  ///< s >= |phi''|
  double largest = 0;    ///< >= |phi|, perhaps infinite
};
/// phi(0) = 0, s = 4 / 3 sqrt(3), at most 1.
[[nodiscard]] ActivationBounds tanh_bounds();
/// 0 below -beta, the identity above beta, (u + beta)^2 / 4 beta between: phi(0) = beta / 4, s = 1 / 2 beta, without bound.
[[nodiscard]] ActivationBounds smelu_bounds(double beta);

/// Softmax cross-entropy behind hidden layers of these widths, h_l = phi(W_l [h_{l-1}; 1]), one or more. Not convex. The
/// input [h_0; 1] is at most X long. With `filtered` h_0 is a weighted sum of blocks of the row, whose weights are part of
/// theta, and X bounds the row of all blocks, without a bias.
/// Layer after layer, A bounds |[h_{l-1}; 1]|, J the derivative of a layer's outputs before phi along a unit direction of
/// theta, Q the second one, J_ and Q_ those of the layer before, c = R (s J_^2 + Q_):
///   J^2 = A^2 + R^2 J_^2,  Q = (c + sqrt(c^2 + 4 J_^2)) / 2,  A = sqrt(1 + min(R A_ + |phi(0)| sqrt(width), largest
///   sqrt(width))^2).
/// Proof: with t^2 the direction's share in the layer's own weights, J <= t A + sqrt(1 - t^2) R J_ and
/// Q <= 2 t sqrt(1 - t^2) J_ + (1 - t^2) c, at their largest over t. Data gradient sqrt(2) J, L = J^2 / 2 + sqrt(2) Q +
/// lambda, sqrt(2) and 1/2 being softmax's as above. loss_at_zero is an upper bound at theta = 0: ln C. row_lipschitz is not
/// derived: infinity.
[[nodiscard]] LossConstants network_constants(const PublicConstants& given, std::span<const std::size_t> hidden,
                                              const ActivationBounds& activation, bool filtered);

/// B and C of UnprojectedPlan.
struct SecondMoment {
  double relative = 0;
  double constant = 0;
};

/// mu-strongly convex, L-smooth losses l >= 0 with l(z; theta) <= loss for every z at one theta (loss_at_zero, say):
/// B = L / mu, C = 2 L loss. Proof: |grad l|^2 <= 2 L (l - min l) <= 2 L l, so the mean over any data set is at most
/// 2 L (mean loss - its minimum) + 2 L (its minimum), and mean loss - minimum <= |grad mean loss|^2 / 2 mu.
/// (Theorem 26 of Mu and Klabjan prints L in the place of 2 L.)
[[nodiscard]] SecondMoment strongly_convex_second_moment(double smoothness, double strong_convexity, double loss);

}  // namespace unweave
