// engine/ranks/planned_ranks.h - a job of ranks that does not exist yet: its verbs send nothing and
// count what they would send.
//
// A plan gets its figures in one of two ways. It calls the code that a real job would run, with a
// PlannedRanks in the place of the job's ranks; then the figures follow whatever that code does.
// Or, where that code needs data that a plan does not have, it names each verb with the bytes that
// would be sent, by the functions whose names begin with count_.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/ranks/ranks.h"

namespace unweave {

/// One object stands for all `size` ranks: the code that is called with it does the part of the
/// rank `rank`, and what is counted is what all ranks together would say. Verbs that bring bytes of
/// other ranks bring copies of this rank's own bytes, so that their number is right and their
/// values mean nothing.
class PlannedRanks final : public Ranks {
 public:
  PlannedRanks(std::size_t size, std::size_t rank) : size_(size), rank_(rank) {}

  [[nodiscard]] std::size_t rank() const noexcept override { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] const RankCalls& calls() const noexcept { return calls_; }

  void barrier() override { add(1, 0); }
  void broadcast(std::span<std::byte> bytes, std::size_t /*root*/ = 0) override { count_broadcast(bytes.size()); }
  [[nodiscard]] std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    count_gather(bytes.size());
    return {size_, {bytes.begin(), bytes.end()}};
  }
  /// The sum passes from rank to rank, each of which adds to it. The last rank then tells all
  /// others whether that went well, and the sum.
  void sum_in_order(std::span<double> total, const std::function<void()>& add_own) override {
    add_own();
    count_sum(total.size_bytes());
  }
  [[nodiscard]] std::uint64_t greatest(std::uint64_t number) override {
    add(2, size_ * sizeof number);
    return number;
  }

  /// Counts a sum in order of so many bytes, which fill whole numbers of 64 bits.
  void count_sum(std::uint64_t bytes) {
    const std::uint64_t whole = (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    add(size_ + 2, others() * (2 * whole + sizeof(std::uint64_t)));
  }
  /// Counts a broadcast of so many bytes, of which nobody has the values yet.
  void count_broadcast(std::uint64_t bytes) { add(bytes > 0 ? 2 : 1, others() * bytes); }
  /// Counts a gather to which each rank gives `bytes` bytes. Rank 0 first receives the size of what
  /// each other rank gives, one rank after another, and then the bytes themselves.
  void count_gather(std::uint64_t bytes) { add(2 * size_, others() * (sizeof bytes + bytes)); }

 private:
  [[nodiscard]] std::uint64_t others() const noexcept { return size_ - 1; }
  void add(std::uint64_t rounds, std::uint64_t received_bytes) {
    ++calls_.verbs;
    calls_.rounds += rounds;
    calls_.received_bytes += received_bytes;
  }

  std::size_t size_, rank_;
  RankCalls calls_;
};

}  // namespace unweave
