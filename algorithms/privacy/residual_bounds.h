// algorithms/privacy/residual_bounds.h - what a gradient residual is at most after a step, and what
// a budget allows.
//
// Notation of ScaleGUN (Yi and Wei, ICLR 2025): Zhat the approximate training rows, s the Newton
// step of one class, w the weights after it, R the residues of the lazy propagation. "Printed" is
// as in the paper; "corrected" holds always: the printed first term lets residues of opposite sign
// cancel, and the printed second one needs rows of norm at most 1.
#pragma once

#include <span>

#include "algorithms/learning/head.h"
#include "algorithms/numerics/matrix.h"

namespace unweave {

/// What lazy propagation left out, per feature column j; empty vectors mean the exact embedding.
struct ApproximationError {
  Vector euclidean;    ///< >= |zhat_j - z_j|_2 over the training rows
  Vector absolute;     ///< >= |zhat_j - z_j|_1 over the training rows
  Vector residue_sum;  ///< signed column sums 1^T R of all residues, for the printed bound
  bool lazy = false;   ///< LiveStore::lazy(), a public choice: without it the rest is exact

  /// Whether this store's rows are exact. The answer depends on removed data.
  [[nodiscard]] bool exact() const { return euclidean.size() == 0 || (euclidean.isZero(0) && absolute.isZero(0)); }
  /// Whether rows may not be exact, whatever they are: what a public line may follow.
  [[nodiscard]] bool may_be_lazy() const { return lazy || !exact(); }
};

/// alpha epsilon / sqrt(2 ln(1.5 / delta)): the residual that noise N(0, alpha^2) in the objective
/// allows.
[[nodiscard]] double objective_noise_budget(double alpha, double epsilon, double delta);

/// First term, printed (Theorem 4.5): 2 c1 |1^T R|_2, for one class.
[[nodiscard]] double printed_approximation_term(Head head, const ApproximationError& error);

/// First term, corrected: c1 min(|rho|_2, sqrt(n) |eps|_2) + gamma1 |Zhat|_2 |w|_2 |eps|_2. For
/// least squares, whose slope has no bound, c1 sqrt(n) is the measured |l'(Zhat w)|_2 + gamma1
/// |eps|_2 |w|_2.
[[nodiscard]] double corrected_approximation_term(Head head, const ApproximationError& error, std::size_t rows,
                                                  double spectral_norm, double weight_norm, double slope_norm);

/// Second term, printed: gamma2 |Zhat|_2 |s|_2 |Zhat s|_2.
[[nodiscard]] double printed_step_term(Head head, double spectral_norm, double step_norm, double image_norm);

/// Second term, corrected: gamma2* / 2 |Zhat|_2 |(Zhat s) o (Zhat s)|_2 + |e|_2, e the measured
/// solver error.
[[nodiscard]] double corrected_step_term(Head head, double spectral_norm, double squared_image_norm,
                                         double solver_error);

/// All classes at once, for any head, with E = Z - Zhat, |E|_F <= e, R the n x C slopes on Zhat:
///   |Z^T R(Z) - Zhat^T R(Zhat)|_F <= |E^T R(Z)|_F + |Zhat^T (R(Z) - R(Zhat))|_F
///                                 <= e (|R|_F + gamma1 e |W|_F) + gamma1 |Zhat|_2 e |W|_F.
/// e is |eps|_2 plus the float32 rounding of both sets of rows, 2^-20 |Zhat|_F in all. 0 when the
/// error is exact().
[[nodiscard]] double gradient_gap(Head head, const ApproximationError& error, double frobenius, double slope_norm,
                                  double weight_norm);

/// Worst-case bounds of Theorems 4.2-4.4, main text, c = c1 = 1: valid under the paper's column
/// scaling |D^(1/2) x|_1 <= 1 and ||z_i|| <= 1 alone. Degrees are those after the removal; n_t the
/// training rows before it.
struct WorstCase {
  std::size_t features;
  std::size_t training_rows;
  double lambda;
  double approximation;  ///< eps_1 >= |zhat_j - z_j|_2 for every column

  [[nodiscard]] double feature(double degree) const;
  [[nodiscard]] double edge(double degree_u, double degree_v) const;
  [[nodiscard]] double node(double degree, std::span<const double> neighbour_degrees) const;
};

}  // namespace unweave
