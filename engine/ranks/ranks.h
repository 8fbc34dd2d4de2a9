// engine/ranks/ranks.h - the processes that work on one job together, and the few things that they
// say to each other.
//
// A program that was begun alone is a job of one rank: then every verb returns at once, and costs
// nothing. Under mpirun each of R processes runs the whole program, has a rank 0 .. R-1, and meets
// the others in the verbs below. Every rank must call the verbs in one order with sizes that fit;
// what decides about that, such as times and random numbers, comes from rank 0 by broadcast().
//
// Whatever a rank throws, all ranks learn of it at their next verb, which throws an error of that
// kind and text on each of them. So a program fails as a whole, and says so once. A rank that dies
// is the launcher's affair, which ends the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace unweave {

/// What the verbs of a rank have sent and received so far, without the few words that every verb
/// begins with.
struct RankTraffic {
  std::uint64_t verbs = 0;  ///< calls
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  double seconds = 0;  ///< spent in verbs, waiting for others included
};

/// What the ranks of a job say to each other, as far as it can be known before the job begins: how
/// often, and how much.
struct RankCalls {
  std::uint64_t verbs = 0;  ///< calls of the verbs of ranks.h; all ranks call each one together
  /// How many calls of MPI come one after another because each waits for the one before it, counted
  /// along the longest chain through all ranks. Times the latency of the network, this is the least
  /// that the verbs take.
  std::uint64_t rounds = 0;
  std::uint64_t received_bytes = 0;  ///< by all ranks together, counted as RankTraffic counts them
};

class Ranks {
 public:
  Ranks() = default;
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] virtual std::size_t rank() const noexcept { return 0; }
  [[nodiscard]] virtual std::size_t size() const noexcept { return 1; }
  /// Ranks that share this rank's machine, itself included: its cores and its memory are for all of
  /// them.
  [[nodiscard]] virtual std::size_t on_this_machine() const noexcept { return 1; }
  /// The first of them.
  [[nodiscard]] virtual std::size_t leader_here() const noexcept { return rank(); }
  [[nodiscard]] bool alone() const noexcept { return size() == 1; }
  /// Rank 0 writes what the job writes once, and speaks for it.
  [[nodiscard]] bool first() const noexcept { return rank() == 0; }

  /// Returns when all ranks have called it.
  virtual void barrier() {}  // one rank has nobody to wait for
  /// All ranks get the bytes of rank `root`; as many on every rank.
  virtual void broadcast(std::span<std::byte> /*bytes*/, std::size_t /*root*/ = 0) {}
  /// Rank 0 gets the bytes of all ranks, in the order of ranks, of any number each; others get
  /// nothing.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) {
    return {{bytes.begin(), bytes.end()}};
  }
  /// A sum whose order of additions is fixed, whatever the number of ranks: rank after rank, `add`
  /// is called once on each, and finds in `total` what the ranks before it have left there;
  /// afterwards all ranks have what the last one left. Rank 0 finds in `total` what it has put
  /// there.
  virtual void sum_in_order(std::span<double> /*total*/, const std::function<void()>& add) { add(); }
  /// The greatest of the ranks' numbers.
  [[nodiscard]] virtual std::uint64_t greatest(std::uint64_t number) { return number; }

  /// Lets the others know at their next verb that this rank has failed, and returns when all know;
  /// does nothing where the error is what a verb has told. False where they cannot be told: then
  /// this rank has to speak for itself. No rank calls a verb afterwards.
  virtual bool fail(const std::exception& /*error*/) noexcept { return first(); }

  [[nodiscard]] const RankTraffic& traffic() const noexcept { return traffic_; }
  /// What was said so far is not part of the work.
  void count_from_here() noexcept { traffic_ = {}; }

  /// The job of this process; one rank unless somebody has set another one.
  [[nodiscard]] static Ranks& world() noexcept;
  /// Makes `ranks` the job of this process for the rest of its life, or until it is set back to
  /// null.
  static void set_world(Ranks* ranks) noexcept;

 protected:
  RankTraffic traffic_;
};

/// Rank 0's value on all ranks.
template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] T from_first(T value, Ranks& job = Ranks::world()) {
  job.broadcast(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}
/// Rank 0's text, or values, of any number, on all ranks.
[[nodiscard]] std::string from_first(std::string text, Ranks& job = Ranks::world());
template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::vector<T> from_first(std::vector<T> values, Ranks& job = Ranks::world()) {
  values.resize(static_cast<std::size_t>(from_first(std::uint64_t{values.size()}, job)));
  job.broadcast(std::as_writable_bytes(std::span(values)));
  return values;
}

/// At rank 0, what each rank gives, in their order; nothing at others. All ranks call it.
template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::vector<T> gather_values(const T& mine, Ranks& job = Ranks::world()) {
  std::vector<T> all;
  for (const std::vector<std::byte>& one : job.gather(std::as_bytes(std::span(&mine, 1))))
    std::memcpy(&all.emplace_back(), one.data(), sizeof(T));
  return all;
}
[[nodiscard]] std::vector<std::string> gather_texts(const std::string& mine, Ranks& job = Ranks::world());

/// Throws DataError, on all ranks, where one of them knows another text of `what` there, such as
/// "contents", than rank 0: then they do not see one folder, or not at one moment. All ranks call
/// it.
void require_same(const std::filesystem::path& folder, std::string_view what, const std::string& text,
                  Ranks& job = Ranks::world());

/// Adds what one rank has said, and takes the longest wait.
void add_traffic(const RankTraffic& one, RankTraffic& all) noexcept;
/// What all ranks together have said by now, and the most that one of them has waited; at rank 0.
/// All ranks call it.
[[nodiscard]] RankTraffic traffic_of_all(Ranks& job = Ranks::world());

/// Part `index` of `items` things cut into `parts` consecutive parts that are about as large.
struct RankShare {
  std::size_t begin = 0, end = 0;
};
[[nodiscard]] constexpr RankShare share_of(std::size_t items, std::size_t index, std::size_t parts) noexcept {
  return {items * index / parts, items * (index + 1) / parts};
}

}  // namespace unweave
