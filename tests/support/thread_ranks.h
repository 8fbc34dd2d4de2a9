// tests/support/thread_ranks.h - a job of several ranks that are threads of the test, in the place
// of processes.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/ranks/ranks.h"

namespace unweave::testing {

/// What the ranks of one job share.
class RankMeeting {
 public:
  explicit RankMeeting(std::size_t size) : parts(size), size_(size) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns when all ranks have come; throws what a rank has failed with.
  void meet() {
    std::unique_lock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    const std::size_t round = round_;
    if (++here_ == size_) {
      here_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return round_ != round || error_; });
    if (round_ == round) std::rethrow_exception(error_);
  }
  void fail(std::exception_ptr error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = std::move(error);
    changed_.notify_all();
  }

  std::vector<std::vector<std::byte>> parts;  ///< what each rank gives; read between two meetings alone
  std::vector<double> total;

 private:
  const std::size_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t here_ = 0, round_ = 0;
  std::exception_ptr error_;
};

/// One rank of the job. Its verbs are for one thread.
class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(RankMeeting& meeting, std::size_t rank) : meeting_(meeting), rank_(rank) {}

  [[nodiscard]] std::size_t rank() const noexcept override { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept override { return meeting_.size(); }

  void barrier() override {
    exchange({}, [] {});
  }
  void broadcast(std::span<std::byte> bytes, std::size_t root) override {
    exchange(rank_ == root ? bytes : std::span<std::byte>(), [&] {
      const auto& given = meeting_.parts[root];
      if (rank_ != root && !given.empty()) std::memcpy(bytes.data(), given.data(), bytes.size());
      (rank_ == root ? traffic_.sent_bytes : traffic_.received_bytes) += bytes.size();
    });
  }
  [[nodiscard]] std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    std::vector<std::vector<std::byte>> all;
    exchange(bytes, [&] {
      if (first()) all = meeting_.parts;
      if (!first()) traffic_.sent_bytes += bytes.size();
      for (std::size_t i = 1; i < all.size(); ++i) traffic_.received_bytes += all[i].size();
    });
    return all;
  }
  void sum_in_order(std::span<double> total, const std::function<void()>& add) override {
    ++traffic_.verbs;
    for (std::size_t turn = 0; turn < size(); ++turn) {
      if (turn == rank_) {
        if (turn > 0) std::copy(meeting_.total.begin(), meeting_.total.end(), total.begin());
        add();
        meeting_.total.assign(total.begin(), total.end());
      }
      meeting_.meet();
    }
    std::copy(meeting_.total.begin(), meeting_.total.end(), total.begin());
    meeting_.meet();
  }
  [[nodiscard]] std::uint64_t greatest(std::uint64_t number) override {
    const auto bytes = std::as_bytes(std::span(&number, 1));
    std::uint64_t most = 0;
    exchange(bytes, [&] {
      for (const auto& part : meeting_.parts) {
        std::uint64_t one = 0;
        std::memcpy(&one, part.data(), sizeof one);
        most = std::max(most, one);
      }
    });
    return most;
  }
  /// Called while the error is handled.
  bool fail(const std::exception& /*error*/) noexcept override {
    meeting_.fail(std::current_exception());
    return true;
  }

 private:
  template <class Read>
  void exchange(std::span<const std::byte> mine, const Read& read) {
    ++traffic_.verbs;
    meeting_.parts[rank_].assign(mine.begin(), mine.end());
    meeting_.meet();
    read();
    meeting_.meet();
  }
  RankMeeting& meeting_;
  std::size_t rank_;
};

/// What Ranks::world() is while a job of threads runs: on each thread that is a rank, that rank;
/// else a job of one.
class WorldOfThreads final : public Ranks {
 public:
  WorldOfThreads() { set_world(this); }
  ~WorldOfThreads() override { set_world(nullptr); }
  [[nodiscard]] static Ranks*& mine() noexcept {
    thread_local Ranks* rank = nullptr;
    return rank;
  }
  [[nodiscard]] std::size_t rank() const noexcept override { return mine() ? mine()->rank() : Ranks::rank(); }
  [[nodiscard]] std::size_t size() const noexcept override { return mine() ? mine()->size() : Ranks::size(); }
  void barrier() override {
    if (mine()) mine()->barrier();
  }
  void broadcast(std::span<std::byte> bytes, std::size_t root) override {
    if (mine()) mine()->broadcast(bytes, root);
  }
  [[nodiscard]] std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    return mine() ? mine()->gather(bytes) : Ranks::gather(bytes);
  }
  void sum_in_order(std::span<double> total, const std::function<void()>& add) override {
    mine() ? mine()->sum_in_order(total, add) : add();
  }
  [[nodiscard]] std::uint64_t greatest(std::uint64_t number) override {
    return mine() ? mine()->greatest(number) : number;
  }
  bool fail(const std::exception& error) noexcept override { return mine() ? mine()->fail(error) : Ranks::fail(error); }
};

/// Runs `work` as each rank of a job of `size`, which Ranks::world() is, too. What one throws ends
/// all, and is thrown when they have ended.
inline void run_ranks(std::size_t size, const std::function<void(Ranks&)>& work) {
  RankMeeting meeting(size);
  const WorldOfThreads world;
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRanks ranks(meeting, rank);
      WorldOfThreads::mine() = &ranks;
      try {
        work(ranks);
      } catch (const std::exception& error) {
        ranks.fail(error);
        const std::scoped_lock lock(mutex);
        if (!first) first = std::current_exception();
      }
      WorldOfThreads::mine() = nullptr;
    });
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace unweave::testing
