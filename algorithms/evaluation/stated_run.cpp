// algorithms/evaluation/stated_run.cpp - the loop, its slopes and its noise, from the public terms alone.
#include "algorithms/evaluation/stated_run.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "algorithms/privacy/output_noise.h"
#include "algorithms/sgd/slots.h"

namespace unweave {
namespace {

/// Adds the gradient of one row's loss at `weights`.
void add_gradient(Head head, const Eigen::VectorXd& row, ClassId label, const Matrix& weights, Matrix& gradient) {
  const Eigen::VectorXd margins = weights.transpose() * row;
  Eigen::VectorXd slopes(margins.size());
  if (head == Head::kSoftmax) {
    slopes = (margins.array() - margins.maxCoeff()).exp();
    slopes /= slopes.sum();
    slopes[label] -= 1;
  } else {
    for (Eigen::Index c = 0; c < margins.size(); ++c) {
      const double sign = c == static_cast<Eigen::Index>(label) ? 1 : -1;
      slopes[c] = head == Head::kLeastSquares ? margins[c] - sign : -sign / (1 + std::exp(sign * margins[c]));
    }
  }
  gradient += row * slopes.transpose();
}

/// Positions of the rows of each batch.
std::vector<std::vector<std::size_t>> batches_of(const StepReport& report, const TrainingSet& learnt,
                                                 const TrainingSet& present) {
  const auto whole = [&](const char* name) { return static_cast<std::uint64_t>(report.terms.at(name)); };
  SlotRun run;
  run.slots = whole("slots");
  run.batch_rows = whole("batch_rows");
  run.order_key = whole("order_key");
  const SlotOrder order(run);
  std::vector<std::vector<std::size_t>> batches(whole("batches"));
  for (std::size_t i = 0; i < present.size(); ++i) {
    const auto slot = std::lower_bound(learnt.nodes().begin(), learnt.nodes().end(), present.nodes()[i]);
    batches.at(order.batch_of(static_cast<std::size_t>(slot - learnt.nodes().begin()))).push_back(i);
  }
  return batches;
}

}  // namespace

bool states_run(const StepReport& report) {
  if (!report.certified || !report.claim) return false;
  return *report.claim == "T2" || (*report.claim == "T4" && report.terms.at("sampling") == 0);
}

Matrix stated_run(const StepReport& report, const SolverOptions& options, const TrainingSet& learnt,
                  const TrainingSet& present, RandomSource& random) {
  const Terms& terms = report.terms;
  const double step = terms.at("step_size"), lambda = terms.at("strong_convexity"), radius = terms.at("radius");
  const bool noisy_steps = *report.claim == "T2";
  const double scale = noisy_steps ? std::sqrt(2 * step) * terms.at("sigma") : 0;
  const std::vector<std::vector<std::size_t>> batches = batches_of(report, learnt, present);
  std::vector<Eigen::VectorXd> rows(present.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = Eigen::Map<const Eigen::VectorXf>(present.row(i).data(), index_of(present.features())).cast<double>();
  std::mt19937_64 bits(random.bits());
  std::normal_distribution<double> normal;

  Matrix weights = Matrix::Zero(index_of(present.features()), index_of(present.classes()));
  const auto epochs = static_cast<std::uint64_t>(terms.at("learning_epochs"));
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
    for (const std::vector<std::size_t>& batch : batches) {
      Matrix gradient = Matrix::Zero(weights.rows(), weights.cols());
      for (const std::size_t i : batch) add_gradient(options.head, rows[i], present.labels()[i], weights, gradient);
      weights -= step * (gradient / terms.at("batch_rows") + lambda * weights);
      if (scale > 0)
        for (Eigen::Index k = 0; k < weights.size(); ++k) weights.data()[k] += scale * normal(bits);
      if (const double norm = weights.norm(); norm > radius) weights *= radius / norm;
    }
  if (noisy_steps) return weights;
  const OutputNoise noise =
      plan_output_noise(terms.at("distance"), size_of(weights.size()), options.epsilon, options.delta);
  return publish(weights, noise, random);
}

}  // namespace unweave
