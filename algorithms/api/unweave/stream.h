// algorithms/api/unweave/stream.h - a stream of requests to an open store: batch after batch, each
// durable before its outcome is known.
//
//   unweave::Writer writer("papers.store", resources);
//   unweave::StreamSession session(writer, {.model = {.solver = "newton"}});
//   const unweave::BatchOutcome outcome = session.send(requests);
//   ...                    // tell the senders
//   session.close();
//
// What happens to a batch, in this order; a crash between two steps loses nothing that was
// acknowledged, because whoever opens the store next goes on from there:
//
//   resolve   each request is applied or rejected, as if those before it had been applied; nothing
//             changes yet
//   decided   the caller hears of it, and makes durable what must not be lost once the batch is
//             acknowledged
//   journal   the batch becomes durable: from here on it is acknowledged
//   apply     graph, features and sums follow
//   absorb    the model forgets; its file and its receipts are durable
//   feed      the feed of changes has the rows that changed, where there is one
//   outcome   send() returns
//   settle    the log of certificates becomes durable, at the latest before the next model replaces
//             this one
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/live/batch_report.h"
#include "algorithms/maintenance/reports.h"
#include "algorithms/unlearning/report.h"
#include "engine/ranks/ranks.h"
#include "storage/io/time_text.h"
#include "unweave/models.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// A batch whose requests are decided and not yet acknowledged.
struct DecidedBatch {
  std::span<const Request> requests;
  std::span<const RequestStatus> statuses;  ///< one a request
  std::uint64_t after = 0;                  ///< requests that the store has acknowledged before them
  bool refused = false;                     ///< StreamOptions::strict refuses it
};

/// The request that a line says, as a file of requests has it. `words`: what names mean in the
/// store (request_words()). Throws UsageError that says what a request may look like.
[[nodiscard]] Request request_of_line(std::string_view line, const RequestWords& words = {});

struct StreamOptions {
  StreamMode mode{};            ///< exact unless r_max is above 0
  Plan plan = Plan::automatic;  ///< how levels follow a batch; the bits are the same
  bool strict = false;          ///< a batch with a rejected request is refused whole
  /// acknowledge() is going to be used: its memory is set aside before the model's, and that of the
  /// work on a batch while none is done.
  bool service = false;
  ModelSelection model{};                     ///< model that follows the stream; without one, the last level waits
  std::vector<ModelSelection> more_models{};  ///< others that follow it, too; without a threshold alone
  /// A model that a purge has removed is trained anew, by what its last certificate says; else it
  /// is an error.
  bool train_purged = false;
  bool adaptive = true;         ///< requests may be chosen after looking at releases
  std::filesystem::path key{};  ///< as TrainOptions has it
  std::filesystem::path
      /// file that gets a receipt for every request; of several models each has FILE.NAME; empty:
      /// there are none
      receipts{};
  std::filesystem::path
      changes{};  ///< folder that follows the rows of Z (algorithms/live/change_feed.h); empty: none does
  std::optional<std::uint64_t> seed{};  ///< seed of noise, for tests: what is released is not certified

  /// Called before anything of a batch is durable. What it throws refuses the batch. All three may
  /// be empty.
  std::function<void(const DecidedBatch&)> decided{};
  /// Called right before the batch becomes durable, and right after.
  std::function<void()> before_acknowledged{}, acknowledged{};
};

/// What the ranks of a job have said to each other.
struct RankTalk {
  std::size_t ranks = 1;
  RankTraffic traffic;  ///< all of them together, and the most that one has waited
};

/// The step of a model that follows a stream.
struct ModelStep {
  std::string name, solver;
  StepReport report;  ///< the first one counts what the model had missed before
  /// Why the present rows have no such model, in a service alone: the one of before stays, has not
  /// forgotten the batch, and is tried again at the next one. Empty: there is a release.
  std::string stuck{};
  double seconds_unlearn = 0;
  std::optional<double> seconds_catch_up{};  ///< only in the first step of a model that had missed requests
  /// Likewise: how many of those get no receipts, although these are asked for: the journal has
  /// them no more, or memory lacks.
  std::uint64_t without_receipts = 0;
};

/// What became of a batch.
struct BatchOutcome {
  bool refused = false;              ///< nothing was changed; `batch` knows only the changes that would have been made
  std::uint64_t after = 0;           ///< requests that the store had acknowledged before it
  BatchReport batch;                 ///< statuses and counts of its requests, work on graph and sums
  double seconds = 0;                ///< from requests to sums, the model not counted
  double seconds_predicted = 0;      ///< for journal and levels, by the pace of the session's batches before
  std::vector<ModelStep> steps{};    ///< one of each model that follows, in the order of StreamOptions
  std::optional<StepReport> step{};  ///< that of the first model, again
  double seconds_unlearn = 0;        ///< likewise
  std::optional<std::uint64_t> changes_entry{};  ///< number of the entry of the feed of changes that holds its rows
  RankTalk talk{};                               ///< about this batch
  std::optional<double> seconds_catch_up{};      ///< what the first model took
};

/// A batch of apply_acknowledged().
struct AppliedBatch {
  std::vector<Request> requests;
  BatchOutcome outcome;
};

/// What a purge would have to forget.
struct PurgeNeed {
  std::uint64_t requests = 0;     ///< acknowledged since the import or the last purge
  std::optional<Millis> since{};  ///< when the first one that has an id became durable; none: there is none
  bool begun = false;             ///< a purge was begun and cut before it was decided
};

/// What close() did.
struct CloseReport {
  UpdateReport update;  ///< work on a last level that was put off
  double seconds = 0;   ///< how long it took
  RankTalk talk{};      ///< about this work and the generation
};

/// The stream of one writer, which outlives it and may be moved meanwhile. A writer has one at a
/// time. Not for two threads at once. Destroyed without close(), it leaves the store as a killed
/// process would: all that is acknowledged is there.
class StreamSession {
 public:
  /// Opens the models that follow, and lets them absorb what they have missed. Throws UsageError
  /// where a session is open, for a model that was never trained, a threshold out of range or
  /// before a propagation; DataError, ResourceError.
  explicit StreamSession(Writer& writer, StreamOptions options = {});
  StreamSession(StreamSession&&) noexcept;
  ~StreamSession();

  /// Sets memory aside for a batch of so many requests that is being collected, with so many bytes
  /// of words (text_bytes()); it is given back by settle() after the batch, by close(), or for the
  /// room of the next batch. Throws ResourceError.
  void make_room(std::size_t requests, std::uint64_t text = 0);

  /// One batch; one without requests does nothing. Throws IdConflictError where the id of a request
  /// stands for another one (algorithms/updates/id_conflict.h). Where it throws before anything was
  /// written, and where `decided` refuses it, the session goes on. Where it throws later,
  /// everything of this session throws DataError from then on, and the next session goes on from
  /// what is durable: what was acknowledged is absorbed there. Nobody can cancel a batch in its
  /// midst.
  BatchOutcome send(std::span<const Request> requests);
  /// For a service, in two steps. First: makes requests durable, which acknowledges them, and
  /// returns the number of the last one. May run on any thread while another one is in
  /// apply_acknowledged(): who sends need not wait for the model. Nothing is decided yet, and
  /// `decided` is never called. Exact mode without `strict` only. Where it throws, nothing was
  /// acknowledged, and after a NoRoomError or an IdConflictError the session goes on.
  /// What is acknowledged can be applied: its memory is set aside before. `rooms`: what
  /// make_room_to_wait() has given for them.
  std::uint64_t acknowledge(std::vector<Request>&& requests, std::vector<Reservation> rooms);
  std::uint64_t acknowledge(std::span<const Request> requests);
  /// Room for requests that are going to be acknowledged, until they are applied; the session
  /// outlives it. Any thread. Throws NoRoomError where there is none now, TooLargeError where there
  /// never is within this memory.
  [[nodiscard]] Reservation make_room_to_wait(std::span<const Request> requests);
  /// Throws FullError where the ids of so many requests more, or notes of what expires of so many
  /// bytes, are beyond what memory is for, and where what a store keeps in memory has grown into
  /// that of the work on a batch. Any thread.
  void require_share(std::uint64_t ids, std::uint64_t note_bytes) const;
  /// Throws TooLargeError where one of these takes a node away, now or at a time, that has more
  /// edges than there is memory for. Any thread.
  void require_removable(std::span<const Request> requests) const;
  /// For each of these, whether an earlier request, of these or before them, has its id: a known
  /// one is going to be rejected as such, and any other is refused. Any thread; nothing where none
  /// has an id.
  [[nodiscard]] std::vector<IdUse> id_uses(std::span<const Request> requests) const;
  /// What the id of a request of these stands for, where it is refused. Any thread.
  [[nodiscard]] IdConflict conflict(std::span<const Request> requests, std::size_t index) const;
  /// Second: applies the oldest requests that are acknowledged and wait, `most` at most and no more
  /// than there is room for, those of one acknowledge() together where they are not more, and lets
  /// the model absorb them; a batch without requests where nothing waits. A crash before it loses
  /// nothing: whoever opens the store next applies them. send() throws UsageError while any wait.
  AppliedBatch apply_acknowledged(std::size_t most);
  /// How many wait. Any thread.
  [[nodiscard]] std::uint64_t waiting() const;

  /// Requests that remove the edges, nodes and features whose time has come at `now`, the oldest
  /// first, `most` of them, each with the id of the request that said so: what is sent or
  /// acknowledged like others, so that a replay needs no clock. Each is among them until its
  /// removal is applied. Not while another thread changes the store.
  [[nodiscard]] std::vector<Request> expired(Millis now, std::size_t most) const;
  /// When the first of them is to go; none: nothing is. As expired().
  [[nodiscard]] std::optional<Millis> next_expiry() const;

  /// Makes a generation of all that is applied, and a journal of what waits: the journal of a long
  /// session does not grow for ever. Does nothing where nothing is new, nor, for 65,536 requests,
  /// while a model is stuck that owes receipts.
  void checkpoint();
  /// Does what need not be done before senders are told. The next send() and close() do it too;
  /// after apply_acknowledged() it sees to the memory for the next batch.
  void settle();
  /// Does what batches have put off, and makes a generation of the store of it. The session takes
  /// no more batches.
  CloseReport close();

  /// Closes the session, purges the store (algorithms/maintenance/purge.h) and goes on with the
  /// purged one, under the same options; no other process can write the store in between. Models of
  /// `exact` stay; others that follow are trained anew from what remains, where
  /// StreamOptions::train_purged says so. Only while no request waits. Nobody may use the session
  /// meanwhile, and what it has given (Reservation) is to be gone. Throws what purge_store()
  /// throws, after which the session goes on, is_open(), unless the store could not be opened
  /// again.
  PurgeReport purge(const PurgeOptions& options);
  /// Likewise, makes room for more nodes (algorithms/maintenance/grow.h).
  GrowReport grow(const GrowOptions& options);
  /// Throws UsageError where grow() would for so many nodes. Not while another thread changes the
  /// store.
  void require_growth(std::uint64_t nodes) const;
  /// How many nodes there is room for. Not while another thread changes the store.
  [[nodiscard]] std::uint64_t nodes() const noexcept;
  /// Whether the session can go on.
  [[nodiscard]] bool is_open() const noexcept;
  /// Reads the log of requests. Not while another thread changes the store.
  [[nodiscard]] PurgeNeed purge_need() const;

  /// Names of the models that follow, in the order of StreamOptions.
  [[nodiscard]] std::vector<std::string> models() const;
  /// Models that follow, of which the present rows have none, and why: ModelStep::stuck.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> stuck_models() const;
  /// Names of the store's models that do not follow: the first request of the session makes them
  /// outdated.
  [[nodiscard]] std::vector<std::string> models_left_behind() const;
  /// Whether a model had missed requests of earlier streams, and no batch has told of it yet.
  [[nodiscard]] bool caught_up() const noexcept;
  /// The largest 2-norm, over the columns, of the error that stale rows leave in Z; none before a
  /// propagation.
  [[nodiscard]] std::optional<double> lazy_error_bound() const;
  /// How often a model that follows is right on each split: the first one, or that at this place of
  /// StreamOptions.
  [[nodiscard]] Accuracies accuracies(std::size_t model = 0) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace unweave
