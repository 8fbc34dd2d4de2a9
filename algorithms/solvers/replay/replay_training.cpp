// algorithms/solvers/replay/replay_training.cpp - exact sums over blocks, threads and ranks, and
// the step that they make.
#include "algorithms/solvers/replay/replay_training.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "algorithms/numerics/row_sweep.h"
#include "algorithms/numerics/whole_products.h"
#include "algorithms/random/counter_random.h"
#include "algorithms/solvers/replay/whole_network.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kBatchUse = std::uint64_t{1} << 32;  // a use of the key beside those of the layers
constexpr double kFirstDecay = 0.9, kSecondDecay = 0.999, kSmallest = 1e-8;

/// Whole numbers that add up to the same in any order.
class WholeSums {
 public:
  explicit WholeSums(std::size_t size) : values_(size) {}
  [[nodiscard]] std::vector<std::int64_t>& values() noexcept { return values_; }
  [[nodiscard]] std::int64_t* data() noexcept { return values_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  WholeSums& operator+=(const WholeSums& other) {
    for (std::size_t k = 0; k < values_.size(); ++k) values_[k] += other.values_[k];
    return *this;
  }

 private:
  std::vector<std::int64_t> values_;
};

std::size_t block_of(const Network& network) {
  constexpr std::size_t kBlockBytes = std::size_t{16} << 20;
  const std::size_t row = whole_pass_bytes(network, 1) - whole_pass_bytes(network, 0);
  return std::clamp<std::size_t>(kBlockBytes / row, 64, 512);
}

/// The rows of each batch of an epoch that lie here, and how many each has on all ranks.
struct Epoch {
  std::vector<std::vector<std::uint32_t>> here;
  std::vector<std::size_t> sizes;

  Epoch(const TrainingSet& rows, const ReplayPlan& plan, std::uint64_t epoch)
      : here(plan.batches), sizes(plan.batches) {
    const RankShare own = rows.ranks() == nullptr ? RankShare{0, rows.size()} : rows.own();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint64_t batch = batch_of(plan, epoch, rows.nodes()[i]);
      ++sizes[batch];
      if (i >= own.begin && i < own.end) here[batch].push_back(static_cast<std::uint32_t>(i));
    }
  }
};

class Training {
 public:
  Training(const Network& network, const TrainingSet& rows, const ReplayPlan& plan, double lambda, const ReplayCut& cut)
      : network_(network),
        rows_(rows),
        plan_(plan),
        lambda_(lambda),
        cut_(cut),
        weights_(first_weights(network, plan.key)),
        mean_(Vector::Zero(weights_.size())),
        square_(Vector::Zero(weights_.size())),
        gradient_(network.size()) {
    for (std::size_t i = 0; i < cut.workers; ++i) passes_.emplace_back(network, cut.block);
  }

  void step(std::uint64_t number) {
    if (plan_.batches == 1) {
      const RankShare own = rows_.ranks() == nullptr ? RankShare{0, rows_.size()} : rows_.own();
      add_rows(ChosenRows(rows_), own);
      return move_weights(rows_.size());
    }
    const std::uint64_t batch = number % plan_.batches;
    if (batch == 0) epoch_.emplace(rows_, plan_, number / plan_.batches);
    const std::vector<std::uint32_t>& here = epoch_->here[batch];
    add_rows(ChosenRows(rows_, here), {0, here.size()});
    move_weights(epoch_->sizes[batch]);
  }

  [[nodiscard]] Vector published() const { return weights_ / kWeightUnit; }

 private:
  /// The gradient over rows of this rank, and of the others.
  void add_rows(const ChosenRows& rows, RankShare own) {
    const WholeWeights weights(network_, weights_);
    const std::size_t count = own.end - own.begin, blocks = (count + cut_.block - 1) / cut_.block;
    run_items(blocks, passes_.size(), [&](std::size_t block, std::size_t worker) {
      const std::size_t first = own.begin + block * cut_.block;
      passes_[worker].add(weights, rows, first, std::min(cut_.block, own.end - first));
    });
    std::fill(gradient_.values().begin(), gradient_.values().end(), std::int64_t{0});
    for (WholePass& pass : passes_) pass.take_into(gradient_.values());
    std::vector<WholeSums> none;
    if (rows_.ranks() != nullptr) add_over_ranks(*rows_.ranks(), rows_.ranks()->first(), gradient_, none, true);
  }

  void move_weights(std::size_t count) {
    first_power_ *= kFirstDecay;
    second_power_ *= kSecondDecay;
    const double rows = static_cast<double>(std::max<std::size_t>(1, count));
    constexpr std::size_t kGrain = 1 << 14;
    for (const Layer& layer : network_.layers()) {
      const double unit = 1 / ((layer.first == 0 ? kRowUnit : kHiddenUnit) * kSlopeUnit);
      parallel_ranges(layer.first, layer.first + layer.size(), kGrain, [&](std::size_t first, std::size_t last) {
        for (std::size_t k = first; k < last; ++k) move_weight(index_of(k), unit, rows);
      });
    }
  }

  void move_weight(Eigen::Index k, double unit, double rows) {
    const double sum = static_cast<double>(gradient_.data()[k]) * unit;
    const double g = sum / rows + lambda_ * (weights_[k] / kWeightUnit);
    mean_[k] = kFirstDecay * mean_[k] + kFirstShare * g;
    square_[k] = kSecondDecay * square_[k] + kSecondShare * (g * g);
    const double step =
        plan_.rate * (mean_[k] / (1 - first_power_)) / (std::sqrt(square_[k] / (1 - second_power_)) + kSmallest);
    weights_[k] = std::clamp(whole_of(weights_[k] - step * kWeightUnit), -kLargestWeight, kLargestWeight);
  }

  static constexpr double kFirstShare = 0.1, kSecondShare = 0.001;

  const Network& network_;
  const TrainingSet& rows_;
  const ReplayPlan plan_;
  const double lambda_;
  const ReplayCut cut_;
  Vector weights_, mean_, square_;
  WholeSums gradient_;
  std::vector<WholePass> passes_;
  std::optional<Epoch> epoch_;
  double first_power_ = 1, second_power_ = 1;
};

}  // namespace

std::uint64_t batch_of(const ReplayPlan& plan, std::uint64_t epoch, NodeId node) {
  return random_key(random_key(random_key(plan.key, kBatchUse), epoch), node) % plan.batches;
}

std::size_t replay_bytes(const Network& network, const TrainingSet& rows, std::size_t workers) {
  // Weights, their transposes, two moments and sums, which ranks copy twice; a batch of an epoch
  // for each row.
  const std::size_t arrays = rows.ranks() == nullptr ? 5 : 7;
  return arrays * network.size() * sizeof(double) + rows.size() * sizeof(std::uint32_t) +
         workers * whole_pass_bytes(network, block_of(network));
}

ReplayCut choose_cut(const Network& network, const TrainingSet& rows, std::size_t memory) {
  const std::size_t shared = replay_bytes(network, rows, 0), one = replay_bytes(network, rows, 1) - shared;
  const std::size_t served = memory > shared ? (memory - shared) / one : 0;
  return {block_of(network), std::clamp<std::size_t>(served, 1, active_threads())};
}

Vector train_exactly(const Network& network, const TrainingSet& rows, const ReplayPlan& plan, double lambda,
                     const ReplayCut& cut) {
  require_exact_shape(network.shape(), rows.size());
  if (!(rows.form().norm_bound() <= 1)) throw UsageError("an exact network is one of rows that are clipped to norm 1");
  require_exact_products();
  Training training(network, rows, plan, lambda, cut);
  const WatchedStep watched("training", plan.steps, "steps");
  for (std::uint64_t step = 0; step < plan.steps; ++step) {
    training.step(step);
    watched.advance(1);
  }
  return training.published();
}

}  // namespace unweave
