// algorithms/evaluation/likeness.h - how alike the predictions of two models are.
#pragma once

namespace unweave {

struct Likeness {
  /// Mean over the rows of sum_c f_c ln(f_c / g_c), in nats, f and g the probabilities (head.h) of `model` and `other`:
  /// their Kullback-Leibler divergence. Infinite where g excludes a class of a row and f does not.
  double divergence = 0;
  double agreement = 0;  ///< share of the rows of which both predict the same class
};

}  // namespace unweave
