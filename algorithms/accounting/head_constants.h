// algorithms/accounting/head_constants.h - what every sample's loss obeys, from public constants alone.
//
// A sample is a row x, |x| <= X, any bias column of ones included, with its target; a loss is that of all weights theta
// (flattened, |theta| <= R on the feasible set) plus lambda |theta|^2 / 2, the regulariser inside every sample's loss.
// The constants are suprema over all samples and theta, never estimates from data: estimates leak and fall short.
// UsageError for constants that are negative or not finite, X = 0, or no class.
#pragma once

#include <cstddef>

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

/// Softmax cross-entropy of W_2 [phi(W_1 x); 1] with `hidden` units phi = SmeLU of half-width beta: 0 below -beta, the
/// identity above beta, (u + beta)^2 / 4 beta between. Not convex. With s = 1 / 2 beta >= |phi''|,
///   J^2 = (R X + beta sqrt(hidden) / 4)^2 + 1 + R^2 X^2,  Q = (R s X^2 + sqrt(R^2 s^2 X^4 + 4 X^2)) / 2,
/// data gradient sqrt(2) J and L = J^2 / 2 + sqrt(2) Q + lambda: J bounds the Jacobian of the outputs, Q their second
/// derivative, sqrt(2) and 1/2 are softmax's as above. loss_at_zero is ln C; row_lipschitz is not derived: infinity.
[[nodiscard]] LossConstants smelu_network_constants(const PublicConstants& given, std::size_t hidden, double beta);

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
