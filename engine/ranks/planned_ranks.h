// engine/ranks/planned_ranks.h - a job of ranks that is only planned: its verbs say nothing, and count what they would
// take.
//
// Code that meets other ranks can be called with such a job, so that a plan counts what that code does, or the verbs be
// counted by their sizes alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/ranks/ranks.h"

namespace unweave {

/// What ranks say to each other.
struct RankCalls {
  std::uint64_t verbs = 0;  ///< calls in which a rank meets the others
  /// Calls of MPI that wait for each other, on the longest way through all ranks: each takes the latency of the network
  /// at least once.
  std::uint64_t rounds = 0;
  std::uint64_t received_bytes = 0;  ///< by all ranks, as RankTraffic counts them
};

/// This object is rank `rank` of `size`, and stands for all of them. In the place of what others would send, it gets its own
/// bytes.
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
  /// Rank after rank adds, and the last one tells all whether that went well, and the sum.
  void sum_in_order(std::span<double> total, const std::function<void()>& add_own) override {
    add_own();
    add(size_ + 2, others() * (2 * total.size_bytes() + sizeof(std::uint64_t)));
  }
  [[nodiscard]] std::uint64_t greatest(std::uint64_t number) override {
    add(2, size_ * sizeof number);
    return number;
  }

  void count_broadcast(std::uint64_t bytes) { add(bytes > 0 ? 2 : 1, others() * bytes); }
  /// Rank 0 gets the sizes of the others one by one, then their bytes; `bytes`: from each.
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
