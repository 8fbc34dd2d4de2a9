// algorithms/solvers/sgd.cpp - plans, epochs, learning to the end.
#include "algorithms/solvers/sgd.h"

#include <algorithm>
#include <cmath>

#include "algorithms/learning/newton.h"
#include "algorithms/random/permutation.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kStartKey = 1, kOrderKey = 2;  // public

}  // namespace

void require_finite(const Vector& weights) {
  if (!weights.allFinite())
    throw UsageError("the weights have left the finite numbers; lower the step size that --set gives");
}

std::uint64_t count_of(const SolverOptions& options, const Parameter& of) {
  const double value = parameter(options, of).value_or(0);
  if (!(value >= 1 && value <= 0x1p40) || value != std::floor(value))
    throw UsageError("--set " + std::string(of.name) + " must be a whole number from 1 on");
  return static_cast<std::uint64_t>(value);
}

double positive_of(const SolverOptions& options, const Parameter& of) {
  const double value = parameter(options, of).value_or(0);
  if (!(value > 0)) throw UsageError("--set " + std::string(of.name) + " must be above 0");
  return value;
}

SgdPlan sgd_plan(const SolverOptions& options) {
  const SgdPlan plan{count_of(options, kEpochs), count_of(options, kBatchRows), positive_of(options, kStepSize),
                     positive_of(options, kDecay)};
  if (plan.decay > 1) throw UsageError("--set decay must be at most 1");
  return plan;
}

void run_sgd(const Network& network, const TrainingSet& rows, const SgdPlan& plan, double lambda, std::uint64_t key,
             Vector& weights, const Vector* linear) {
  if (rows.size() == 0) return;
  std::vector<std::uint32_t> order(rows.size());
  double step = plan.step_size;
  const WatchedStep watched("training", plan.epochs * rows.size(), "rows");
  for (std::uint64_t epoch = 0; epoch < plan.epochs; ++epoch, step *= plan.decay) {
    const Permutation permutation(rows.size(), random_key(key, epoch));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(permutation.at(i));
    for (std::size_t first = 0; first < order.size(); first += plan.batch_rows) {
      const std::size_t count = std::min<std::size_t>(plan.batch_rows, order.size() - first);
      const ChosenRows batch(rows, std::span(order).subspan(first, count));
      const Vector gradient = network.gradient({weights.data(), size_of(weights.size())}, batch);
      weights = (1 - step * lambda) * weights - step / static_cast<double>(count) * gradient;
      if (linear != nullptr) weights -= step / static_cast<double>(rows.size()) * *linear;
      watched.advance(count);
    }
  }
  require_finite(weights);
}

Learnt learn_weights(const SolverOptions& options, const TrainingSet& rows, std::size_t memory, const Vector* linear) {
  Learnt learnt;
  if (!options.hidden.empty()) {
    const Network network(shape_of(options, rows));
    const SgdPlan plan = sgd_plan(options);
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

Model blank_model(std::string_view solver, const SolverOptions& options, const TrainingSet& rows) {
  Model model;
  model.solver = solver;
  model.head = options.head;
  if (!options.hidden.empty()) model.network = shape_of(options, rows);
  return model;
}

Matrix as_published(const NetworkShape& shape, const Vector& weights) {
  if (!shape.hidden.empty()) return weights;
  return Eigen::Map<const Matrix>(weights.data(), index_of(shape.features), index_of(shape.classes));
}

Vector as_vector(const Matrix& published) {
  return Eigen::Map<const Vector>(published.data(), published.size());
}

StepReport uncertified(const SolverOptions& options) {
  StepReport report;
  report.epsilon = options.epsilon;
  report.delta = options.delta;
  report.for_tests = options.seed.has_value();
  return report;
}

}  // namespace unweave
