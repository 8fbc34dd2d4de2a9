// algorithms/unlearning/noiseless_learning.h - learning without noise: SGD, and whatever finishes
// the learning of a shape.
//
//   w <- w - eta_e (G_B / |B| + lambda w + b / n),   G_B the sum of batch B's loss gradients, eta_e = step_size decay^e
//
// on (1/n) (sum_i l_i(w) + <b, w>) + (lambda / 2) |w|^2, b = 0 where none is given. An epoch takes
// all rows once, in an order that a public key and the epoch give.
// Deterministic, and equal to the bit for any number of threads.
#pragma once

#include "algorithms/learning/network.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/unlearning/options.h"
#include "algorithms/unlearning/parameters.h"
#include "storage/io/message.h"

namespace unweave {

/// How SGD goes over the rows of a network.
struct SgdPlan {
  std::uint64_t epochs = 20;
  std::uint64_t batch_rows = 32;
  double step_size = 1;
  double decay = 0.9;
};

/// Adds the four parameters of a plan to the table of a solver whose struct is one.
template <class P>
ParametersOf<P>& add_sgd(ParametersOf<P>& table) {
  return table
      .template add<&P::epochs>("epochs", Values::whole(1),
                                "times that SGD takes all rows (" + option("head", "mlp") + ")")
      .template add<&P::batch_rows>("batch-rows", Values::whole(1), "rows of a step of SGD")
      .template add<&P::step_size>("step-size", Values::positive(),
                                   "step of SGD in its first epoch (" + option("head", "mlp") + ")")
      .template add<&P::decay>("decay", Values::fraction(),
                               "factor of the step from epoch to epoch (" + option("head", "mlp") + ")");
}

/// Runs whole epochs on `weights`, network.size() numbers as `linear`, b, is. Throws UsageError
/// where they leave the finite numbers.
void run_sgd(const Network& network, const TrainingSet& rows, const SgdPlan& plan, double lambda, std::uint64_t key,
             Vector& weights, const Vector* linear = nullptr);

/// Throws UsageError that names the step size where weights have left the finite numbers.
void require_finite(const Vector& weights);

struct Learnt {
  Vector weights;
  int passes = 0;
  int steps = 0;  ///< Newton steps
};

/// Weights of a model that knows nothing but these rows: linear shapes minimised to tau (newton.h)
/// with `memory` bytes to spare, networks by SGD from where their key lets them start, which alone
/// may have `linear`.
[[nodiscard]] Learnt learn_weights(const SolverOptions& options, const SgdPlan& plan, const TrainingSet& rows,
                                   std::size_t memory, const Vector* linear = nullptr);

}  // namespace unweave
