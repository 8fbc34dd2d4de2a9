// algorithms/privacy/accounting/head_constants.h - what every sample's loss obeys, from public
// constants alone, for linear heads and small networks.
//
// heads/loss_constants.h says what the constants are; each head's own file derives them for its
// loss. UsageError for constants that are negative or not finite, X = 0, or no class.
#pragma once

#include <cstddef>
#include <span>

#include "algorithms/learning/heads/loss_constants.h"
#include "algorithms/learning/heads/registry.h"

namespace unweave {

/// Returns the constants of a linear head, regulariser included. UsageError also for too few
/// classes for the head.
[[nodiscard]] LossConstants loss_constants(Head head, const PublicConstants& given);

/// What an activation phi with |phi'| <= 1 obeys; units are the outputs of a hidden layer.
struct ActivationBounds {
  double at_zero = 0;    ///< |phi(0)|
  double curvature = 0;  ///< s >= |phi''|
  double largest = 0;    ///< >= |phi|, perhaps infinite
};
/// phi(0) = 0, s = 4 / 3 sqrt(3), at most 1.
[[nodiscard]] ActivationBounds tanh_bounds();
/// 0 below -beta, the identity above beta, (u + beta)^2 / 4 beta between: phi(0) = beta / 4, s = 1
/// / 2 beta, without bound.
[[nodiscard]] ActivationBounds smelu_bounds(double beta);

/// Softmax cross-entropy behind hidden layers of these widths, h_l = phi(W_l [h_{l-1}; 1]), one or
/// more. Not convex. The input [h_0; 1] is at most X long. With `filtered` h_0 is a weighted sum of
/// blocks of the row, whose weights are part of theta, and X bounds the row of all blocks, without
/// a bias.
/// Layer after layer, A bounds |[h_{l-1}; 1]|, J the derivative of a layer's outputs before phi
/// along a unit direction of theta, Q the second one, J_ and Q_ those of the layer before, c = R (s
/// J_^2 + Q_):
///   J^2 = A^2 + R^2 J_^2,  Q = (c + sqrt(c^2 + 4 J_^2)) / 2,  A = sqrt(1 + min(R A_ + |phi(0)| sqrt(width), largest
///   sqrt(width))^2).
/// Proof: with t^2 the direction's share in the layer's own weights, J <= t A + sqrt(1 - t^2) R J_
/// and Q <= 2 t sqrt(1 - t^2) J_ + (1 - t^2) c, at their largest over t. Data gradient sqrt(2) J, L
/// = J^2 / 2 + sqrt(2) Q + lambda, sqrt(2) and 1/2 being softmax's (heads/softmax.cpp).
/// loss_at_zero is an upper bound at theta = 0: ln C.
[[nodiscard]] LossConstants network_constants(const PublicConstants& given, std::span<const std::size_t> hidden,
                                              const ActivationBounds& activation, bool filtered);

/// B and C of UnprojectedPlan.
struct SecondMoment {
  double relative = 0;
  double constant = 0;
};

/// mu-strongly convex, L-smooth losses l >= 0 with l(z; theta) <= loss for every z at one theta
/// (loss_at_zero, say): B = L / mu, C = 2 L loss. Proof: |grad l|^2 <= 2 L (l - min l) <= 2 L l, so
/// the mean over any data set is at most 2 L (mean loss - its minimum) + 2 L (its minimum), and
/// mean loss - minimum <= |grad mean loss|^2 / 2 mu. (Theorem 26 of Mu and Klabjan prints L in the
/// place of 2 L.)
[[nodiscard]] SecondMoment strongly_convex_second_moment(double smoothness, double strong_convexity, double loss);

}  // namespace unweave
