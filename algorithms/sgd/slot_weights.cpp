// algorithms/sgd/slot_weights.cpp - distances of moved rows and what they weigh.
#include "algorithms/sgd/slot_weights.h"

#include <algorithm>
#include <cmath>

#include "algorithms/numerics/matrix.h"
#include "algorithms/sgd/slots.h"

namespace unweave {
namespace {

/// Covers the roundings of sums over slots and batches, and of the account that adds such shifts
/// up.
constexpr double kRoundedUp = 1 + 1e-9;

double distance_between(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t f = 0; f < a.size(); ++f) {
    const double difference = static_cast<double>(a[f]) - static_cast<double>(b[f]);
    sum += difference * difference;
  }
  return std::sqrt(sum) * (1 + rounding_gamma(static_cast<double>(a.size()) + 4));
}

}  // namespace

std::vector<SlotWeight> weights_of(std::span<const NodeId> slots, const NoisySgd& sgd, Head head,
                                   const BatchChange& change) {
  std::vector<SlotWeight> weights;
  for (const std::size_t slot : slots_of(slots, change.removed.nodes()))
    weights.push_back({slot, sgd.zeroed_row_weight(), true});
  const std::vector<std::size_t> moved = slots_of(slots, change.moved_from.nodes());
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const double distance = distance_between(change.moved_from.row(i), change.moved_to.row(i));
    weights.push_back({moved[i], moved_row_weight(sgd, smoothness(head).curvature, distance), false});
  }
  return weights;
}

double shift_of(const NoisySgd& sgd, const SlotRun& run, std::span<const SlotWeight> changes) {
  const SlotOrder order(run);
  std::vector<double> sums(sgd.batches(), 0.0);
  for (const SlotWeight& change : changes) sums[order.batch_of(change.slot)] += change.weight;
  std::vector<ChangedBatch> changed;
  for (std::uint64_t batch = 0; batch < sgd.batches(); ++batch)
    if (sums[batch] > 0) changed.push_back({batch, sums[batch]});
  return placed_shift(sgd, changed) * kRoundedUp;
}

}  // namespace unweave
