// algorithms/sgd/sgd_schedule.cpp - the steps of all epochs, and where a place is visited.
#include "algorithms/sgd/sgd_schedule.h"

#include <algorithm>
#include <cmath>

#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kPlaces = 0, kPartitions = 1, kRows = 2;  // uses of the key

}  // namespace

SgdSchedule::SgdSchedule(const SgdConstants& constants)
    : constants_(constants),
      places_(std::max<std::uint64_t>(1, constants.slots), random_key(constants.order_key, kPlaces)) {
  if (constants.epochs == 0 || constants.batch_rows == 0 || constants.partition_rows == 0)
    throw UsageError("SGD needs at least one epoch, one row a batch and one row a partition");
  if (constants.slots > kNoNode) throw UsageError("SGD has too many rows");
  if (!(constants.step_size > 0) || !(constants.decay > 0 && constants.decay <= 1) ||
      !std::isfinite(constants.step_size))
    throw UsageError("the step of SGD must be above 0 and finite, its decay above 0 and at most 1");
  for (std::uint64_t epoch = 0; epoch < constants.epochs; ++epoch) {
    const Permutation parts = partition_order(epoch);
    for (std::uint64_t i = 0; i < partitions(); ++i) {
      const std::uint64_t partition = parts.at(i), count = places_of(partition);
      for (std::uint64_t first = 0; first < count; first += constants.batch_rows)
        steps_.push_back({static_cast<std::uint32_t>(partition), static_cast<std::uint32_t>(first),
                          static_cast<std::uint32_t>(std::min(constants.batch_rows, count - first))});
    }
  }
}

std::uint64_t SgdSchedule::partitions() const noexcept {
  return (constants_.slots + constants_.partition_rows - 1) / constants_.partition_rows;
}

std::uint64_t SgdSchedule::first_place(std::uint64_t partition) const noexcept {
  return partition * constants_.partition_rows;
}

std::uint64_t SgdSchedule::places_of(std::uint64_t partition) const noexcept {
  return std::min(constants_.partition_rows, constants_.slots - first_place(partition));
}

Permutation SgdSchedule::partition_order(std::uint64_t epoch) const noexcept {
  return {std::max<std::uint64_t>(1, partitions()), random_key(random_key(constants_.order_key, kPartitions), epoch)};
}

Permutation SgdSchedule::order(std::uint64_t epoch, std::uint64_t partition) const noexcept {
  return {places_of(partition), random_key(random_key(random_key(constants_.order_key, kRows), epoch), partition)};
}

double SgdSchedule::step_size(std::uint64_t step) const noexcept {
  return constants_.step_size * std::pow(constants_.decay, static_cast<double>(step));
}

std::vector<std::uint32_t> SgdSchedule::batch(std::uint64_t step) const {
  const Step& at = steps_[step];
  const Permutation rows = order(step / steps_of_epoch(), at.partition);
  std::vector<std::uint32_t> places(at.count);
  for (std::uint32_t i = 0; i < at.count; ++i)
    places[i] = static_cast<std::uint32_t>(first_place(at.partition) + rows.at(at.first + i));
  return places;
}

std::uint64_t SgdSchedule::visit(std::uint64_t place, std::uint64_t epoch) const noexcept {
  const std::uint64_t partition = place / constants_.partition_rows;
  const std::uint64_t turn = partition_order(epoch).place_of(partition);
  const std::uint64_t whole = (constants_.partition_rows + constants_.batch_rows - 1) / constants_.batch_rows;
  // All partitions before it in this epoch are whole, but perhaps the last one of all partitions.
  const std::uint64_t last = partitions() - 1;
  const std::uint64_t last_steps = (places_of(last) + constants_.batch_rows - 1) / constants_.batch_rows;
  const bool after_last = partition != last && partition_order(epoch).place_of(last) < turn;
  const std::uint64_t before = after_last ? (turn - 1) * whole + last_steps : turn * whole;
  const std::uint64_t place_in = order(epoch, partition).place_of(place - first_place(partition));
  return epoch * steps_of_epoch() + before + place_in / constants_.batch_rows;
}

}  // namespace unweave
