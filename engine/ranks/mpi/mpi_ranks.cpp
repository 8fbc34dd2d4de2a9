// engine/ranks/mpi/mpi_ranks.cpp - the verbs over MPI.
//
// Every verb begins with one all-reduce of a few words: whether some rank has failed, and that all
// mean the same verb. So a rank that has thrown meets the others wherever they are, and a program
// that has come apart says so and does not hang.
//
// Waiting is polling with pauses: a rank that waits for a sweep of another one does not take its
// core. The bytes that follow the all-reduce go without pauses: every rank is there by then, and a
// library moves a piece of them only when it is polled. A sum is the exception, since each rank
// waits for the work of the one before it.
#define OMPI_SKIP_MPICXX 1  // the bindings for C are enough
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "engine/ranks/join.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // MPI counts in int
constexpr auto kBusyWait = std::chrono::microseconds(100);
constexpr long kPauseNanoseconds = 50'000;
constexpr int kTagBytes = 1, kTagFailed = 2;

/// Whether a wait is for another rank's work, or for bytes that are under way.
enum class Wait { for_work, for_bytes };

enum class Verb : std::int64_t { barrier = 1, broadcast, gather, sum, greatest };

/// An exit code of storage/io/error.h.
enum class Kind : std::int64_t { usage = 1, data = 2, resource = 3, check = 4 };

Kind kind_of(const std::exception& error) {
  if (dynamic_cast<const UsageError*>(&error) != nullptr) return Kind::usage;
  if (dynamic_cast<const DataError*>(&error) != nullptr) return Kind::data;
  if (dynamic_cast<const CheckError*>(&error) != nullptr) return Kind::check;
  return Kind::resource;
}

[[noreturn]] void throw_as(Kind kind, const std::string& message) {
  switch (kind) {
    case Kind::usage:
      throw UsageError(message);
    case Kind::data:
      throw DataError(message);
    case Kind::check:
      throw CheckError(message);
    case Kind::resource:
      break;
  }
  throw ResourceError(message);
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED)
      throw ResourceError(ranks_library() +
                          " does not start, or has no threads; try a program of MPI of your own with this mpirun");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Comm_dup(MPI_COMM_WORLD, &job_), "a communicator");
    MPI_Comm_set_errhandler(job_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(job_, &rank_);
    MPI_Comm_size(job_, &size_);
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(job_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine), "a communicator");
    MPI_Comm_size(machine, &here_);
    leader_ = rank_;
    MPI_Bcast(&leader_, 1, MPI_INT, 0, machine);
    MPI_Comm_free(&machine);
    if (launched_ranks() > 1 && size_ == 1) {
      MPI_Finalize();
      throw UsageError("the launcher has begun " + std::to_string(launched_ranks()) +
                       " processes, which do not find each other: this program was built with " + ranks_library() +
                       "; use the mpirun of that library");
    }
  }
  ~MpiRanks() override {
    if (broken_) MPI_Abort(job_, static_cast<int>(Kind::resource));
    MPI_Comm_free(&job_);
    MPI_Finalize();
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  [[nodiscard]] std::size_t rank() const noexcept override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t size() const noexcept override { return static_cast<std::size_t>(size_); }
  [[nodiscard]] std::size_t on_this_machine() const noexcept override { return static_cast<std::size_t>(here_); }

  [[nodiscard]] std::size_t leader_here() const noexcept override { return static_cast<std::size_t>(leader_); }

  void barrier() override {
    const Timed timed(traffic_);
    meet(Verb::barrier, 0);
  }

  void broadcast(std::span<std::byte> bytes, std::size_t root) override {
    const Timed timed(traffic_);
    meet(Verb::broadcast, bytes.size());
    send_all(bytes, static_cast<int>(root));
  }

  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    const Timed timed(traffic_);
    meet(Verb::gather, 0);
    if (rank_ != 0) {
      const std::uint64_t size = bytes.size();
      send(std::as_bytes(std::span(&size, 1)), 0, kTagBytes);
      meet(Verb::gather, 1);  // rank 0 has room for all
      send(bytes, 0, kTagBytes, Wait::for_bytes);
      return {};
    }
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size_), bytes.size());
    for (int from = 1; from < size_; ++from)
      receive(std::as_writable_bytes(std::span(&sizes[static_cast<std::size_t>(from)], 1)), from);
    std::vector<std::vector<std::byte>> all;
    all.reserve(sizes.size());
    for (const std::uint64_t size : sizes) all.emplace_back(static_cast<std::size_t>(size));
    std::copy(bytes.begin(), bytes.end(), all[0].begin());
    meet(Verb::gather, 1);
    for (int from = 1; from < size_; ++from) receive(all[static_cast<std::size_t>(from)], from, Wait::for_bytes);
    return all;
  }

  void sum_in_order(std::span<double> total, const std::function<void()>& add) override {
    const Timed timed(traffic_);
    meet(Verb::sum, total.size());
    std::exception_ptr failure;
    bool failed = rank_ > 0 && !receive(std::as_writable_bytes(total), rank_ - 1);
    if (!failed) {
      try {
        add();
      } catch (...) {
        failure = std::current_exception();
        failed = true;
      }
    }
    if (rank_ + 1 < size_)
      send(failed ? std::span<const std::byte>() : std::as_bytes(total), rank_ + 1, failed ? kTagFailed : kTagBytes);
    std::uint64_t lost = failed ? 1 : 0;
    send_all(std::as_writable_bytes(std::span(&lost, 1)), size_ - 1, Wait::for_work);
    if (failure) std::rethrow_exception(failure);
    if (lost != 0) {
      meet(Verb::sum, total.size());  // where whoever has failed says why
      throw std::logic_error("a sum over ranks was not finished");
    }
    send_all(std::as_writable_bytes(total), size_ - 1);
  }

  std::uint64_t greatest(std::uint64_t number) override {
    const Timed timed(traffic_);
    meet(Verb::greatest, 0);
    std::uint64_t most = number;
    MPI_Request request{};
    check(MPI_Iallreduce(&number, &most, 1, MPI_UINT64_T, MPI_MAX, job_, &request), "all-reduce");
    wait(request, "all-reduce");
    traffic_.sent_bytes += sizeof(number);
    traffic_.received_bytes += sizeof(number);
    return most;
  }

  bool fail(const std::exception& error) noexcept override {
    if (ended_) return true;
    if (broken_) return false;
    try {
      failing_.emplace(kind_of(error), message_of(error));
      meet(Verb::barrier, 0);
    } catch (const std::exception&) {
      // The error of the lowest rank that has failed, which may be this one.
    }
    return !broken_;
  }

 private:
  /// Counts a verb, and the time in it.
  class Timed {
   public:
    explicit Timed(RankTraffic& traffic) : traffic_(traffic) { ++traffic_.verbs; }
    ~Timed() { traffic_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

   private:
    RankTraffic& traffic_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };

  void check(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    broken_ = true;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw ResourceError("rank " + std::to_string(rank_) + " of " + std::to_string(size_) + ": MPI: " + what + ": " +
                        std::string(text.data(), static_cast<std::size_t>(length)) +
                        "; what was acknowledged is kept: start the job again");
  }

  MPI_Status wait(MPI_Request& request, const char* what, Wait way = Wait::for_work) {
    MPI_Status status{};
    int done = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      check(MPI_Test(&request, &done, &status), what);
      if (done != 0) return status;
      if (way == Wait::for_bytes || std::chrono::steady_clock::now() - begin < kBusyWait) {
        std::this_thread::yield();
      } else {
        const timespec pause{0, kPauseNanoseconds};
        ::nanosleep(&pause, nullptr);
      }
    }
  }

  /// All ranks mean this verb with so many bytes, and none has failed; else throws what the lowest
  /// that has failed says.
  void meet(Verb verb, std::uint64_t bytes) {
    if (ended_ && !told_.empty()) throw_as(told_kind_, told_);  // somebody has passed over it
    if (ended_ || broken_) throw std::logic_error("a verb of ranks after the end of their job");
    const auto word = static_cast<std::int64_t>(verb), size = static_cast<std::int64_t>(bytes);
    // A rank that fails has no say about the verb.
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
    std::array<std::int64_t, 5> mine{failing_ ? std::int64_t{size_} - rank_ : 0, word, -word, size, -size};
    if (failing_) std::fill(mine.begin() + 1, mine.end(), kNone);
    std::array<std::int64_t, 5> all{};
    MPI_Request request{};
    check(MPI_Iallreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_INT64_T, MPI_MAX, job_, &request),
          "all-reduce");
    wait(request, "all-reduce");
    if (all[0] > 0) take_failure(static_cast<int>(size_ - all[0]));
    if (all[1] != -all[2] || all[3] != -all[4]) {
      ended_ = true;  // on every rank, since all have the same words
      throw std::logic_error("ranks of a job do different things: verbs " + std::to_string(-all[2]) + " and " +
                             std::to_string(all[1]) + ", sizes " + std::to_string(-all[4]) + " and " +
                             std::to_string(all[3]));
    }
  }

  [[noreturn]] void take_failure(int from) {
    std::array<std::int64_t, 2> words{};
    std::string text;
    if (rank_ == from) {
      text = failing_->second;
      words = {static_cast<std::int64_t>(failing_->first), static_cast<std::int64_t>(text.size())};
    }
    send_all(std::as_writable_bytes(std::span(words)), from);
    text.resize(static_cast<std::size_t>(words[1]));
    send_all(std::as_writable_bytes(std::span(text)), from);
    ended_ = true;
    told_kind_ = static_cast<Kind>(words[0]);
    told_ = text;
    throw_as(told_kind_, told_);
  }

  void send_all(std::span<std::byte> bytes, int root, Wait way = Wait::for_bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += kMostBytes) {
      const std::size_t some = std::min(kMostBytes, bytes.size() - at);
      MPI_Request request{};
      check(MPI_Ibcast(bytes.data() + at, static_cast<int>(some), MPI_BYTE, root, job_, &request), "broadcast");
      wait(request, "broadcast", way);
    }
    (rank_ == root ? traffic_.sent_bytes : traffic_.received_bytes) += bytes.size();
  }

  void send(std::span<const std::byte> bytes, int to, int tag, Wait way = Wait::for_work) {
    std::size_t at = 0;
    do {
      const std::size_t some = std::min(kMostBytes, bytes.size() - at);
      MPI_Request request{};
      check(MPI_Isend(bytes.data() + at, static_cast<int>(some), MPI_BYTE, to, tag, job_, &request), "send");
      wait(request, "send", way);
      at += some;
    } while (at < bytes.size());
    traffic_.sent_bytes += bytes.size();
  }

  /// False where the other rank has sent that it has failed.
  bool receive(std::span<std::byte> bytes, int from, Wait way = Wait::for_work) {
    std::size_t at = 0;
    do {
      const std::size_t some = std::min(kMostBytes, bytes.size() - at);
      MPI_Request request{};
      check(MPI_Irecv(bytes.data() + at, static_cast<int>(some), MPI_BYTE, from, MPI_ANY_TAG, job_, &request),
            "receive");
      if (wait(request, "receive", way).MPI_TAG == kTagFailed) return false;
      at += some;
    } while (at < bytes.size());
    traffic_.received_bytes += bytes.size();
    return true;
  }

  MPI_Comm job_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, here_ = 1, leader_ = 0;
  std::optional<std::pair<Kind, std::string>> failing_;
  bool ended_ = false;  ///< all ranks know of a failure
  Kind told_kind_ = Kind::resource;
  std::string told_;     ///< which one
  bool broken_ = false;  ///< MPI itself has failed
};

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
  if (launched_ranks() < 2) return nullptr;
  return std::make_unique<MpiRanks>();
}

std::string ranks_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string whole(text.data(), static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace unweave
