// algorithms/sgd/sgd_schedule.h - which rows a step of plain SGD reads, and how far it goes: public
// numbers alone.
//
// Training fixes n slots, one a training row. A permutation gives each slot a place; consecutive
// places form partitions, and an epoch goes through the partitions in an order of its own, through
// each in batches of a random order of its own. A row that leaves empties its slot: schedule and
// batch sizes stay. All orders are functions of one public key.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/random/permutation.h"

namespace unweave {

/// Public constants of a run, fixed at training.
struct SgdConstants {
  std::uint64_t slots = 0;           ///< n
  std::uint64_t partition_rows = 1;  ///< places of a partition, the last one perhaps fewer
  std::uint64_t batch_rows = 1;      ///< slots of a batch, the last one of a partition perhaps fewer
  std::uint64_t epochs = 0;
  double step_size = 0;  ///< eta_0
  double decay = 1;      ///< q: eta_t = eta_0 q^t
  std::uint64_t order_key = 0;

  friend bool operator==(const SgdConstants&, const SgdConstants&) = default;
};

/// Steps 0 .. steps() - 1. Immutable; any number of threads at once. 12 bytes a step.
class SgdSchedule {
 public:
  /// Throws UsageError for no batches, partitions of no rows, a step or decay that is not positive
  /// and finite.
  explicit SgdSchedule(const SgdConstants& constants);

  [[nodiscard]] const SgdConstants& constants() const noexcept { return constants_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_.size(); }
  [[nodiscard]] std::uint64_t steps_of_epoch() const noexcept { return steps_.size() / constants_.epochs; }
  [[nodiscard]] std::uint64_t partitions() const noexcept;
  /// Places [first, first + count) of a partition.
  [[nodiscard]] std::uint64_t first_place(std::uint64_t partition) const noexcept;
  [[nodiscard]] std::uint64_t places_of(std::uint64_t partition) const noexcept;

  [[nodiscard]] std::uint64_t slot_of(std::uint64_t place) const noexcept { return places_.at(place); }
  [[nodiscard]] std::uint64_t place_of(std::uint64_t slot) const noexcept { return places_.place_of(slot); }

  [[nodiscard]] double step_size(std::uint64_t step) const noexcept;
  [[nodiscard]] std::uint64_t partition_of(std::uint64_t step) const noexcept { return steps_[step].partition; }
  /// Places of the batch, |B_t| of them.
  [[nodiscard]] std::vector<std::uint32_t> batch(std::uint64_t step) const;
  [[nodiscard]] std::uint64_t batch_size(std::uint64_t step) const noexcept { return steps_[step].count; }
  /// The step of an epoch that reads a place.
  [[nodiscard]] std::uint64_t visit(std::uint64_t place, std::uint64_t epoch) const noexcept;

 private:
  struct Step {
    std::uint32_t partition;
    std::uint32_t first;  ///< in the partition's order
    std::uint32_t count;
  };
  [[nodiscard]] Permutation order(std::uint64_t epoch, std::uint64_t partition) const noexcept;
  [[nodiscard]] Permutation partition_order(std::uint64_t epoch) const noexcept;

  SgdConstants constants_;
  Permutation places_;
  std::vector<Step> steps_;
};

}  // namespace unweave
