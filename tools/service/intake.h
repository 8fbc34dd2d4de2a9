// tools/service/intake.h - requests from many senders at once: made durable in groups, then applied
// in batches.
//
// Memory for what is submitted is set aside before it is taken: what does not fit is refused, and
// whatever is acknowledged can be applied (algorithms/live/request_room.h).
//
// Two threads work on one stream session. One gathers what senders have submitted meanwhile, makes
// it durable with a single sync, and answers. The other one applies batches: as soon as enough
// requests wait, or the oldest has waited long enough. So an answer never waits for a model. The
// second one also makes the requests that remove edges, nodes and features whose time has come, and
// purges the store: then no request is taken, those that are acknowledged are applied first, and
// what comes meanwhile is refused before it is acknowledged, to be sent again. So it is while room
// is made for more nodes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/time_text.h"
#include "unweave/stream.h"

namespace unweave {

struct IntakeOptions {
  std::size_t batch = 100;                ///< requests that are applied together
  std::chrono::milliseconds every{5000};  ///< how long one waits for others
  std::size_t most_waiting = 100'000;     ///< requests; beyond it none are taken
  std::size_t remembered = 100'000;       ///< requests that were applied whose state is answered from memory, at most
  std::chrono::milliseconds checkpoint{600'000};  ///< after so long the journal begins anew
  /// The store is purged when its oldest request that no purge has reached is so old; 0: not by
  /// time.
  std::chrono::milliseconds purge_every{0};
  std::uint64_t purge_after = 0;                   ///< and when there are so many of these; 0: not by number
  std::chrono::milliseconds purge_again{300'000};  ///< after a purge that could not be done, and was nobody's order
  std::filesystem::path key{};                     ///< as PurgeOptions has it, for purges that nobody orders
  std::uint64_t most_nodes = 0;  ///< requests that insert nodes make room for so many in all; 0: for none
  std::function<void(const GrowReport&)> tell_growth{};  ///< hears of room that was made; may be empty
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

/// A purge that was done.
struct StorePurge {
  PurgeReport report;
  std::vector<std::string> removed_models;  ///< those that went; PurgeReport::trained_models are there again
  double seconds = 0;                       ///< in which no request was taken
};

/// What its sender hears of a call when it is durable.
struct Acknowledgement {
  std::uint64_t last = 0;   ///< number of its last request
  std::vector<bool> known;  ///< for each of its requests, whether an earlier one has its id, and counts in its place
};

struct IntakeCounts {
  std::uint64_t acknowledged = 0, applied = 0, rejected = 0, waiting = 0, batches = 0, groups = 0;
  std::uint64_t overdue = 0;  ///< nodes whose time has come, and which have more edges than there is memory for
  double sync_seconds = 0, batch_seconds = 0;  ///< together
  // Purges. Requests wait for one from the moment when they are acknowledged.
  std::uint64_t unpurged = 0;              ///< requests that no purge has reached
  std::optional<Millis> unpurged_since{};  ///< when the first one of these was acknowledged
  std::optional<Millis> purge_due{};       ///< when it is to be gone from the disk
  bool purging = false;                    ///< no request is taken, since one is under way
  bool growing = false;                    ///< no request is taken, since room is made for nodes
  std::uint64_t purges = 0, failed_purges = 0;
  std::vector<std::pair<std::string, std::string>> stuck_models{};  ///< as StreamSession has them
  double purge_seconds = 0;                                         ///< together
  std::optional<Millis> last_purge{};                               ///< when the last one of this service ended
  std::string purge_error{};  ///< why the last one could not be done, a message; empty: it was
};

class Intake {
 public:
  static constexpr std::chrono::milliseconds kNoEnd = std::chrono::milliseconds::max();

  /// Memory for the states of requests that were applied, a share of the budget. Throws
  /// ResourceError.
  [[nodiscard]] static Reservation reserve_told(MemoryBudget& budget);

  /// `tell` hears of every batch, on the thread that applies; the session outlives the intake and
  /// is used by nobody else meanwhile. `tell_purge` hears of every purge that was done, likewise
  /// and before requests are taken again; may be empty.
  Intake(StreamSession& session, Reservation told_room, const IntakeOptions& options,
         std::function<void(std::uint64_t batch, const AppliedBatch&)> tell,
         std::function<void(const StorePurge&)> tell_purge = {});
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;
  ~Intake();

  /// Returns when all of the requests are durable. Any thread. Throws IdConflictError, where the id
  /// of one stands for another request, and nothing was taken; BusyError; TooLargeError for more
  /// than ever fits the memory; FullError; and whatever has ended the service. What a request asked
  /// for that is purged nobody knows, so that its id is refused whatever comes with it.
  Acknowledgement submit(std::vector<Request> requests);
  /// Purges the store once all that is acknowledged is applied, and returns when it is done. Any
  /// thread. Throws BusyError while another purge is under way, and what a purge throws: then the
  /// service goes on with the store as it was.
  StorePurge purge(const PurgeOptions& options);
  /// While one lives no batch is applied and no purge begins: what reads the whole store takes
  /// memory on which these count, and each waits for the other. There is one at a time.
  class Reading {
   public:
    /// Throws BusyError where `ends()` says so meanwhile.
    Reading(Intake& intake, const std::function<bool()>& ends);
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    Intake& intake_;
  };
  /// The state of a request that was submitted here under this id, while it is remembered.
  [[nodiscard]] std::optional<RequestState> find(const std::string& id) const;
  /// Ids of those that wait to be applied, the newest first, at most so many.
  [[nodiscard]] std::vector<std::string> waiting_ids(std::size_t most) const;
  [[nodiscard]] IntakeCounts counts() const;
  /// Whether requests are taken.
  [[nodiscard]] bool ready() const;
  /// Takes no more, applies those that wait, but begins no batch when `most` is over, and ends both
  /// threads. What is left then is in the journal, for the next process. Throws what ended one of
  /// them.
  void finish(std::chrono::milliseconds most = kNoEnd);
  /// Is called, on one of the threads, when one of them ends by an error.
  void on_failure(std::function<void()> call);

 private:
  struct Group {
    std::vector<Request> requests;
    std::size_t size = 0;  ///< how many these were
    Reservation room;
    Acknowledgement answer;
    bool done = false;
    std::exception_ptr error;
  };
  /// Whoever has one uses the session: it stays as it is.
  class Sender {
   public:
    /// Throws BusyError, and whatever has ended the service.
    explicit Sender(Intake& intake);
    ~Sender();
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

   private:
    Intake& intake_;
  };
  /// What the thread that applies does with the store, in turns with Reading.
  class Work {
   public:
    explicit Work(Intake& intake);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    Intake& intake_;
  };
  /// A purge that somebody waits for.
  struct PurgeOrder {
    const PurgeOptions& options;
    StorePurge purge;
    bool done = false;
    std::exception_ptr error;
  };
  /// Room for nodes that somebody waits for.
  struct GrowOrder {
    std::uint64_t nodes = 0;
    bool done = false;
    std::exception_ptr error{};
  };
  static constexpr Millis kNoExpiry = std::numeric_limits<Millis>::max();
  /// Requests of several calls that are made durable together.
  struct Round {
    std::vector<Group*> groups;
    std::vector<Request> requests;  ///< those of the groups, in order
    std::vector<IdUse> uses;        ///< what their ids say; empty: none has one
    std::vector<Group*> refused;    ///< groups whose ids stand for other requests,
    std::vector<Group*> deferred;   ///< or may do so when those of other groups of the round are durable
  };
  void acknowledge_groups();
  struct Share;
  void gather(Round& round) const;
  bool part(Round& round) const;
  /// Whether memory is for what these leave behind.
  [[nodiscard]] bool has_share(std::span<const Request> requests, std::span<const IdUse> uses) const;
  void without_lock(std::unique_lock<std::mutex>& lock, void (Intake::*work)());
  void apply_batches();
  void apply_next();
  void expire();
  [[nodiscard]] std::optional<Millis> purge_due() const;
  void count_unpurged(std::uint64_t count);
  void purge_now(std::unique_lock<std::mutex>& lock);
  StorePurge purge_session(const PurgeOptions& options);
  /// How many nodes a store needs room for so that these can be applied; nothing where it has it,
  /// or does not make it.
  [[nodiscard]] std::optional<std::uint64_t> wanted_nodes(std::span<const Request> requests) const;
  void make_room_for(std::uint64_t nodes);
  void grow_now(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] std::chrono::milliseconds time_left() const;
  void fail(std::exception_ptr error);
  void remember(const std::vector<std::string>& ids, std::uint64_t first, const std::vector<IdUse>& uses);
  void note(const AppliedBatch& applied);
  void forget_oldest();

  StreamSession& session_;
  const Reservation told_room_;
  const IntakeOptions options_;
  std::function<void(std::uint64_t, const AppliedBatch&)> tell_;
  std::function<void(const StorePurge&)> tell_purge_;
  std::function<void()> failed_;

  /// From the moment when requests become durable until they are counted: those that are applied
  /// first are those that were counted first. Taken before mutex_.
  std::mutex order_mutex_;
  mutable std::mutex mutex_;
  // Turns of a reader and of the thread that applies. Taken with none of the others held.
  std::mutex turn_mutex_;
  std::condition_variable turn_over_;
  bool reads_ = false, works_ = false, work_waits_ = false;
  std::list<Reading*> readers_;  ///< those that wait, the first one first
  bool reader_is_next_ = false;  ///< a batch was applied while one waited
  std::condition_variable submitted_, answered_, waiting_, left_;
  std::size_t senders_ = 0;                                      ///< how many use the session
  PurgeOrder* order_ = nullptr;                                  ///< a purge that was ordered
  GrowOrder* grow_order_ = nullptr;                              ///< room that was asked for
  std::uint64_t nodes_ = 0;                                      ///< that there is room for
  std::uint64_t most_nodes_ = 0;                                 ///< that room can be made for
  bool purge_begun_ = false;                                     ///< the store has the mark of one that was cut
  Millis purge_not_before_ = 0;                                  ///< after one that failed
  std::deque<Group*> groups_;                                    ///< whose senders wait for an answer
  std::size_t gathered_ = 0;                                     ///< requests in these
  std::unordered_map<std::string, RequestState> states_;         ///< those that wait, and some that were applied
  std::deque<const std::string*> known_;                         ///< ids of states_, the oldest first
  std::size_t told_ = 0;                                         ///< how many of these were applied
  std::uint64_t told_bytes_ = 0;                                 ///< memory of the latter
  std::optional<std::chrono::steady_clock::time_point> oldest_;  ///< since when a request waits to be applied
  IntakeCounts counts_;
  // The thread that applies has these for itself.
  Millis expiry_ = kNoExpiry;      ///< when the next one is to go whose removal does not wait already
  std::uint64_t last_expiry_ = 0;  ///< last request that an expiry has made
  std::chrono::steady_clock::time_point last_ =
      std::chrono::steady_clock::time_point::max();                                 ///< when no batch begins any more
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();  ///< the last checkpoint
  bool ending_ = false;                                                             ///< no more are taken
  bool all_taken_ = false;                                                          ///< and all that were are durable
  std::exception_ptr error_;
  std::thread acknowledger_, applier_;
};

}  // namespace unweave
