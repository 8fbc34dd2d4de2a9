// algorithms/evaluation/stated_run.cpp - the loop, its slopes and its noise, from the public terms
// alone.
#include "algorithms/evaluation/stated_run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/privacy/output_noise.h"
#include "algorithms/sgd/sgd_schedule.h"
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

/// The slot of each present row, which is the place of its node among those that were learnt.
std::vector<std::size_t> slots_of_rows(const TrainingSet& learnt, const TrainingSet& present) {
  std::vector<std::size_t> slots(present.size());
  for (std::size_t i = 0; i < slots.size(); ++i)
    slots[i] = static_cast<std::size_t>(
        std::lower_bound(learnt.nodes().begin(), learnt.nodes().end(), present.nodes()[i]) - learnt.nodes().begin());
  return slots;
}

std::uint64_t whole(const StepReport& report, const char* name) {
  return static_cast<std::uint64_t>(report.terms.at(name));
}

/// Weights on their way from 0, and the rows that move them.
class PlainRun {
 public:
  PlainRun(const TrainingSet& present, Head head)
      : present_(present),
        head_(head),
        rows_(present.size()),
        weights_(Matrix::Zero(index_of(present.features()), index_of(present.classes()))) {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      rows_[i] = Eigen::Map<const Eigen::VectorXf>(present.row(i).data(), weights_.rows()).cast<double>();
  }

  /// W <- W - share G - pull W, G the sum of the gradients of the batch.
  void step(const std::vector<std::size_t>& batch, double share, double pull) {
    Matrix gradient = Matrix::Zero(weights_.rows(), weights_.cols());
    for (const std::size_t i : batch) add_gradient(head_, rows_[i], present_.labels()[i], weights_, gradient);
    weights_ -= share * gradient + pull * weights_;
  }

  [[nodiscard]] Matrix& weights() noexcept { return weights_; }

 private:
  const TrainingSet& present_;
  Head head_;
  std::vector<Eigen::VectorXd> rows_;
  Matrix weights_;
};

/// T2 and T4: batches in their order, again and again, or of T4 with `sampling` slots drawn with
/// replacement, afresh at every step.
void run_over_slots(const StepReport& report, const TrainingSet& learnt, const TrainingSet& present,
                    RandomSource& random, PlainRun& run) {
  const Terms& terms = report.terms;
  SlotRun slots;
  slots.slots = whole(report, "slots");
  slots.batch_rows = whole(report, "batch_rows");
  slots.order_key = whole(report, "order_key");
  const SlotOrder order(slots);
  const std::vector<std::size_t> slot = slots_of_rows(learnt, present);
  std::vector<std::vector<std::size_t>> batches(whole(report, "batches"));
  for (std::size_t i = 0; i < slot.size(); ++i) batches.at(order.batch_of(slot[i])).push_back(i);
  const bool drawn = *report.claim == "T4" && terms.at("sampling") != 0;
  std::vector<std::size_t> row_of_slot(batches.size() * slots.batch_rows, present.size());
  for (std::size_t i = 0; i < slot.size(); ++i) row_of_slot.at(slot[i]) = i;

  const double step = terms.at("step_size"), lambda = terms.at("strong_convexity"), radius = terms.at("radius");
  const double scale = *report.claim == "T2" ? std::sqrt(2 * step) * terms.at("sigma") : 0;
  std::mt19937_64 bits(random.bits());
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<std::size_t> any_slot(0, row_of_slot.size() - 1);
  Matrix& weights = run.weights();
  for (std::uint64_t epoch = 0; epoch < whole(report, "learning_epochs"); ++epoch)
    for (std::vector<std::size_t>& batch : batches) {
      if (drawn) {
        batch.clear();
        for (std::uint64_t k = 0; k < slots.batch_rows; ++k)
          if (const std::size_t row = row_of_slot[any_slot(bits)]; row < present.size()) batch.push_back(row);
      }
      run.step(batch, step / terms.at("batch_rows"), step * lambda);
      if (scale > 0)
        for (Eigen::Index k = 0; k < weights.size(); ++k) weights.data()[k] += scale * normal(bits);
      if (const double norm = weights.norm(); norm > radius) weights *= radius / norm;
    }
}

/// T3: every step of the public schedule, of its own size, over batches that shrink by nothing when
/// a slot is emptied.
void run_schedule(const StepReport& report, double lambda, const TrainingSet& learnt, const TrainingSet& present,
                  PlainRun& run) {
  SgdConstants constants;
  constants.slots = whole(report, "slots");
  constants.partition_rows = whole(report, "partition_rows");
  constants.batch_rows = whole(report, "batch_rows");
  constants.epochs = whole(report, "epochs");
  constants.step_size = report.terms.at("step_size");
  constants.decay = report.terms.at("decay");
  constants.order_key = whole(report, "order_key");
  const SgdSchedule schedule(constants);
  constexpr std::size_t kEmpty = static_cast<std::size_t>(-1);
  const std::vector<std::size_t> slot = slots_of_rows(learnt, present);
  std::vector<std::size_t> row_of_slot(constants.slots, kEmpty);
  for (std::size_t i = 0; i < slot.size(); ++i) row_of_slot.at(slot[i]) = i;

  double size = constants.step_size;
  for (std::uint64_t t = 0; t < schedule.steps(); ++t, size *= constants.decay) {
    std::vector<std::size_t> batch;
    const std::vector<std::uint32_t> places = schedule.batch(t);
    for (const std::uint32_t place : places)
      if (const std::size_t row = row_of_slot[schedule.slot_of(place)]; row != kEmpty) batch.push_back(row);
    const double share = size / static_cast<double>(places.size());
    run.step(batch, share, share * static_cast<double>(batch.size()) * lambda);
  }
}

}  // namespace

bool states_run(const StepReport& report) {
  if (!report.certified || !report.claim) return false;
  const std::string_view claim = *report.claim;
  return claim == "T2" || claim == "T3" || claim == "T4";
}

Matrix stated_run(const StepReport& report, const SolverOptions& options, const TrainingSet& learnt,
                  const TrainingSet& present, RandomSource& random) {
  const std::string_view claim = *report.claim;
  PlainRun run(present, options.head);
  if (claim == "T3")
    run_schedule(report, options.lambda, learnt, present, run);
  else
    run_over_slots(report, learnt, present, random, run);
  Matrix& weights = run.weights();
  if (claim == "T2") return std::move(weights);
  const OutputNoise noise = plan_output_noise(report.terms.at(claim == "T3" ? "s_max" : "distance"),
                                              size_of(weights.size()), options.epsilon, options.delta);
  return publish(weights, noise, random);
}

}  // namespace unweave
