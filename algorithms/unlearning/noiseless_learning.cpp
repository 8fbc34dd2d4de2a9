// algorithms/unlearning/noiseless_learning.cpp - runs epochs of SGD, and finishes the learning of
// each shape.
#include "algorithms/unlearning/noiseless_learning.h"

#include <algorithm>
#include <cmath>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/no_model_error.h"
#include "algorithms/random/permutation.h"
#include "algorithms/sgd/descent.h"
#include "algorithms/unlearning/model.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kStartKey = 1, kOrderKey = 2;  // public

}  // namespace

void require_finite(const Vector& weights) {
  if (!weights.allFinite())
    throw NoModelError("the weights have left the finite numbers; lower the step size that " + option("set") +
                       " gives");
}

void run_sgd(const Network& network, const TrainingSet& rows, const SgdPlan& plan, double lambda, std::uint64_t key,
             Vector& weights, const Vector* linear) {
  if (rows.size() == 0) return;
  std::vector<std::uint32_t> order(rows.size());
  double step_size = plan.step_size;
  const std::uint64_t steps_of_epoch = (rows.size() + plan.batch_rows - 1) / plan.batch_rows;
  const WatchedStep watched("training", plan.epochs * rows.size(), "rows");
  descend(
      0, plan.epochs * steps_of_epoch, weights,
      [&](std::uint64_t step) -> DescentStep {
        if (step % steps_of_epoch == 0) {
          if (step > 0) step_size *= plan.decay;
          const Permutation permutation(rows.size(), random_key(key, step / steps_of_epoch));
          for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(permutation.at(i));
        }
        const std::size_t first = step % steps_of_epoch * plan.batch_rows;
        const std::size_t count = std::min<std::size_t>(plan.batch_rows, order.size() - first);
        return {std::span(order).subspan(first, count), 1 - step_size * lambda, step_size / static_cast<double>(count)};
      },
      [&](std::span<const std::uint32_t> some, const Vector& at) {
        return network.gradient({at.data(), size_of(at.size())}, ChosenRows(rows, some));
      },
      [&](const DescentStep& taken) {
        if (linear != nullptr) weights -= step_size / static_cast<double>(rows.size()) * *linear;
        watched.advance(taken.rows.size());
      });
  require_finite(weights);
}

Learnt learn_weights(const SolverOptions& options, const SgdPlan& plan, const TrainingSet& rows, std::size_t memory,
                     const Vector* linear) {
  Learnt learnt;
  if (!options.hidden.empty()) {
    const Network network(shape_of(options, rows));
    learnt.weights = network.initial(kStartKey);
    run_sgd(network, rows, plan, options.lambda, kOrderKey, learnt.weights, linear);
    learnt.passes = static_cast<int>(std::min<std::uint64_t>(plan.epochs, 1 << 30));
    return learnt;
  }
  NewtonOptions newton;
  newton.tolerance = options.tau;
  newton.memory = memory;
  const double mu = strong_convexity(options.lambda, rows.size());
  const Matrix zero = Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
  const NewtonResult done = minimise({rows.rows(), rows.classes(), options.head, mu, nullptr}, zero, newton);
  return {as_vector(done.weights), done.passes, done.steps};
}

}  // namespace unweave
