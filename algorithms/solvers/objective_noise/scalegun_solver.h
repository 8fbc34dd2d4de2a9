// algorithms/solvers/objective_noise/scalegun_solver.h - one Newton step a batch under noise in the
// objective, as published.
//
// ScaleGUN (Yi and Wei, ICLR 2025, Algorithm 1), CGU (Chien, Pan, Milenkovic, ICLR 2023), CEU (Wu
// et al., KDD 2023). L_b(W) = F(W) + <B, W>, B ~ N(0, alpha^2); a batch adds H^-1 (grad F before -
// grad F after) and charges the residual bound; past the budget the model is trained again with a
// fresh B. Never certified: soundness of the trigger and of the per-class sums is not proved
// (THEOREMS.md, "Not proved here").
//
// The three differ in policy alone:
//   scalegun  lazy embedding, first term charged, H on the data after the batch
//   cgu       exact embedding, H on the data after the batch
//   ceu       exact embedding, edge requests alone (others retrain), H on the data before the
//             batch; the corrected bound charges the difference of the two Hessians with the solver
//             error
//
// These are linear models; networks, of which nothing is claimed, scalegun alone has
// (network_scalegun.h).
#pragma once

#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

extern const SolverEntry kScalegun;
extern const SolverEntry kCgu;
extern const SolverEntry kCeu;

/// What a model keeps beside its weights: the noise, and two accounts of what steps have left of
/// the gradient.
struct ObjectiveNoiseState {
  Matrix noise;                ///< B, F x C
  Vector accumulated;          ///< per class, corrected residual bound since the last training
  Vector accumulated_printed;  ///< per class, that bound by the printed terms
  double spectral_bound = 0;   ///< >= |Z|_2 of the rows absorbed last
  double spectral_fresh = 0;   ///< its value when it was computed from the rows
};

/// Throws UsageError when the model holds no such state in the shape of its weights.
[[nodiscard]] ObjectiveNoiseState objective_noise_state(const Model& model);
void keep_state(const ObjectiveNoiseState& state, Model& model);

/// Checks of all three (objective_noise_checks.cpp), as a SolverKind has them.
void check_objective_noise(const CheckedModel& model, Statements& say);
[[nodiscard]] bool check_gradient(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget,
                                  Statements& say);

}  // namespace unweave
