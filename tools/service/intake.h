// tools/service/intake.h - requests from many senders at once: made durable in groups, then applied in batches.
//
// Two threads work on one stream session. One gathers what senders have submitted meanwhile, makes it durable with a single
// sync, and answers. The other one applies batches: as soon as enough requests wait, or the oldest has waited long enough. So
// an answer never waits for a model. The second one also makes the requests that remove edges whose time has come.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/time_text.h"
#include "unweave/stream.h"

namespace unweave {

struct IntakeOptions {
  std::size_t batch = 100;                        ///< requests that are applied together
  std::chrono::milliseconds every{5000};          ///< how long one waits for others
  std::size_t most_waiting = 100'000;             ///< requests; beyond it none are taken
  std::size_t remembered = 100'000;               ///< requests whose state is answered from memory
  std::chrono::milliseconds checkpoint{600'000};  ///< after so long the journal begins anew
};

/// No request is taken now: too many wait, or the service ends. It may be sent again later.
struct BusyError final : ResourceError {
  using ResourceError::ResourceError;
};

/// What is known of a request.
struct RequestState {
  std::uint64_t sequence = 0;
  bool applied = false;     ///< it was decided: applied or rejected
  std::string status;       ///< then "applied", or why it was rejected
  std::uint64_t batch = 0;  ///< then number of its batch, from 1
};

/// What its sender hears of a call when it is durable.
struct Acknowledgement {
  std::uint64_t last = 0;   ///< number of its last request
  std::vector<bool> known;  ///< for each of its requests, whether an earlier one has its id, and counts in its place
};

struct IntakeCounts {
  std::uint64_t acknowledged = 0, applied = 0, rejected = 0, waiting = 0, batches = 0, groups = 0;
  double sync_seconds = 0, batch_seconds = 0;  ///< together
};

class Intake {
 public:
  /// `told` hears of every batch, on the thread that applies; the session outlives the intake and is used by nobody else
  /// meanwhile.
  Intake(StreamSession& session, const IntakeOptions& options,
         std::function<void(std::uint64_t batch, const AppliedBatch&)> told);
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;
  ~Intake();

  /// Returns when the requests are durable. Any thread. Throws BusyError, and whatever has ended the service.
  Acknowledgement submit(std::vector<Request> requests);
  /// The state of a request that was submitted here under this id, while it is remembered.
  [[nodiscard]] std::optional<RequestState> find(const std::string& id) const;
  [[nodiscard]] IntakeCounts counts() const;
  /// Whether requests are taken.
  [[nodiscard]] bool ready() const;
  /// Takes no more, applies all that wait, and ends both threads. Throws what ended one of them.
  void finish();
  /// Is called, on one of the threads, when one of them ends by an error.
  void on_failure(std::function<void()> call);

 private:
  struct Group {
    std::vector<Request> requests;
    Acknowledgement answer;
    bool done = false;
    std::exception_ptr error;
  };
  static constexpr Millis kNoExpiry = std::numeric_limits<Millis>::max();
  void acknowledge_groups();
  void apply_batches();
  void apply_next();
  void expire_edges();
  [[nodiscard]] std::chrono::milliseconds time_left() const;
  void fail(std::exception_ptr error);
  void remember(const std::vector<Request>& requests, std::uint64_t first, std::vector<bool>& known);
  void note(const AppliedBatch& applied);

  StreamSession& session_;
  const IntakeOptions options_;
  std::function<void(std::uint64_t, const AppliedBatch&)> told_;
  std::function<void()> failed_;

  mutable std::mutex mutex_;
  std::condition_variable submitted_, answered_, waiting_;
  std::deque<Group*> groups_;  ///< whose senders wait for an answer
  std::size_t gathered_ = 0;   ///< requests in these
  std::unordered_map<std::string, RequestState> states_;
  std::deque<std::string> order_;                                ///< ids of states_, the oldest first
  std::optional<std::chrono::steady_clock::time_point> oldest_;  ///< since when a request waits to be applied
  IntakeCounts counts_;
  // The thread that applies has these for itself.
  Millis expiry_ = kNoExpiry;      ///< when the next edge is to go whose removal does not wait already
  std::uint64_t last_expiry_ = 0;  ///< last request that an expiry has made
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();  ///< the last checkpoint
  bool ending_ = false;                                                             ///< no more are taken
  bool all_taken_ = false;                                                          ///< and all that were are durable
  std::exception_ptr error_;
  std::thread acknowledger_, applier_;
};

}  // namespace unweave
