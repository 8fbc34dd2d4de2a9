// algorithms/sgd/descent.h - the one loop of SGD: whoever learns by SGD says which rows a step
// reads, how their gradients are summed, and what follows a step.
#pragma once

#include <cstdint>
#include <span>

namespace unweave {

/// One step: w <- decay w - share (sum of the loss gradients of `rows` at w).
struct DescentStep {
  std::span<const std::uint32_t> rows;  ///< positions in the training set; valid until the next step
  double decay = 1;                     ///< 1 - step size x regularisation
  double share = 0;                     ///< step size / rows that the batch counts
};

/// Steps [first, last) of a run, on `weights`.
///
/// schedule  schedule(step) -> DescentStep
/// gradient  gradient(rows, weights) -> the sum of the loss gradients, of the shape of `weights`
/// finish    finish(taken): noise, projection, progress
///
/// Deterministic where these are: each coordinate is one product, one product and one difference.
template <class Weights, class Schedule, class Gradient, class Finish>
void descend(std::uint64_t first, std::uint64_t last, Weights& weights, const Schedule& schedule,
             const Gradient& gradient, const Finish& finish) {
  for (std::uint64_t step = first; step < last; ++step) {
    const DescentStep now = schedule(step);
    weights = now.decay * weights - now.share * gradient(now.rows, weights);
    finish(now);
  }
}

}  // namespace unweave
