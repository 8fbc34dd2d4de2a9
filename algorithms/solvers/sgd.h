// algorithms/solvers/sgd.h - learning without noise: SGD, and whatever finishes the learning of a shape.
//
//   w <- w - eta_e (G_B / |B| + lambda w + b / n),   G_B the sum of batch B's loss gradients, eta_e = step_size decay^e
//
// on (1/n) (sum_i l_i(w) + <b, w>) + (lambda / 2) |w|^2, b = 0 where none is given. An epoch takes all rows once, in an
// order that a public key and the epoch give.
// Deterministic, and equal to the bit for any number of threads.
#pragma once

#include "algorithms/solvers/solver.h"

namespace unweave {

struct SgdPlan {
  std::uint64_t epochs = 0;
  std::uint64_t batch_rows = 0;
  double step_size = 0;
  double decay = 1;
};

inline constexpr Parameter kEpochs{"epochs", 20, "times that SGD takes all rows (--head mlp)"};
inline constexpr Parameter kBatchRows{"batch-rows", 32, "rows of a step of SGD"};
inline constexpr Parameter kStepSize{"step-size", 1, "step of SGD in its first epoch (--head mlp)"};
inline constexpr Parameter kDecay{"decay", 0.9, "factor of the step from epoch to epoch (--head mlp)"};

/// Of the four parameters. Throws UsageError for a number of epochs or rows that is no whole number from 1 to 2^40, a
/// step that is not positive and a decay outside (0, 1].
[[nodiscard]] SgdPlan sgd_plan(const SolverOptions& options);
/// A parameter that counts something. Throws UsageError unless it is a whole number from 1 to 2^40.
[[nodiscard]] std::uint64_t count_of(const SolverOptions& options, const Parameter& of);
/// A parameter that must be positive. Throws UsageError.
[[nodiscard]] double positive_of(const SolverOptions& options, const Parameter& of);

/// Runs whole epochs on `weights`, network.size() numbers as `linear`, b, is. Throws UsageError where they leave the
/// finite numbers.
void run_sgd(const Network& network, const TrainingSet& rows, const SgdPlan& plan, double lambda, std::uint64_t key,
             Vector& weights, const Vector* linear = nullptr);

/// Throws UsageError that names the step size.
void require_finite(const Vector& weights);

struct Learnt {
  Vector weights;
  int passes = 0;
  int steps = 0;  ///< of Newton
};

/// Weights of a model that knows nothing but these rows: linear shapes minimised to tau (newton.h) with `memory` bytes to
/// spare, networks by SGD from where their key lets them start, which alone may have `linear`.
[[nodiscard]] Learnt learn_weights(const SolverOptions& options, const TrainingSet& rows, std::size_t memory,
                                   const Vector* linear = nullptr);

/// A model of this shape without weights.
[[nodiscard]] Model blank_model(std::string_view solver, const SolverOptions& options, const TrainingSet& rows);
/// F x C for linear shapes, else size() x 1.
[[nodiscard]] Matrix as_published(const NetworkShape& shape, const Vector& weights);
[[nodiscard]] Vector as_vector(const Matrix& published);
/// Claims nothing.
[[nodiscard]] StepReport uncertified(const SolverOptions& options);

}  // namespace unweave
