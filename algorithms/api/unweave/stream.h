// algorithms/api/unweave/stream.h - a stream of requests to an open store: batch after batch, each durable before its
// outcome is known.
//
//   unweave::Writer writer("papers.store", resources);
//   unweave::StreamSession session(writer, {.model = {.solver = "newton"}});
//   const unweave::BatchOutcome outcome = session.send(requests);
//   ...                    // tell the senders
//   session.close();
//
// What happens to a batch, in this order; a crash between two steps loses nothing that was acknowledged, because whoever
// opens the store next goes on from there:
//
//   resolve   each request is applied or rejected, as if those before it had been applied; nothing changes yet
//   decided   the caller hears of it, and makes durable what must not be lost once the batch is acknowledged
//   journal   the batch becomes durable: from here on it is acknowledged
//   apply     graph, features and sums follow
//   absorb    the model forgets; its file and its receipts are durable
//   feed      the feed of changes has the rows that changed, where there is one
//   outcome   send() returns
//   settle    the log of certificates becomes durable, at the latest before the next model replaces this one
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
#include <vector>

#include "algorithms/evaluation/accuracies.h"
#include "algorithms/live/batch_report.h"
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

/// The request that a line says, as a file of requests has it. `read_id`: what words for nodes mean, of a store with names
/// (id_reader()). Throws UsageError that says what a request may look like.
[[nodiscard]] Request request_of_line(std::string_view line, const ReadId& read_id = {});

struct StreamOptions {
  StreamMode mode{};                 ///< exact unless r_max is above 0
  Plan plan = Plan::automatic;       ///< how levels follow a batch; the bits are the same
  bool strict = false;               ///< a batch with a rejected request is refused whole
  ModelSelection model{};            ///< model that follows the stream; without one, the last level waits
  bool adaptive = true;              ///< requests may be chosen after looking at releases
  std::filesystem::path key{};       ///< as TrainOptions has it
  std::filesystem::path receipts{};  ///< file that gets a receipt for every request; empty: there are none
  std::filesystem::path
      changes{};  ///< folder that follows the rows of Z (algorithms/live/change_feed.h); empty: none does
  std::optional<std::uint64_t> seed{};  ///< seed of noise, for tests: what is released is not certified

  /// Called before anything of a batch is durable. What it throws refuses the batch. All three may be empty.
  std::function<void(const DecidedBatch&)> decided{};
  /// Called right before the batch becomes durable, and right after.
  std::function<void()> before_acknowledged{}, acknowledged{};
};

/// What the ranks of a job have said to each other.
struct RankTalk {
  std::size_t ranks = 1;
  RankTraffic traffic;  ///< all of them together, and the most that one has waited
};

/// What became of a batch.
struct BatchOutcome {
  bool refused = false;              ///< nothing was changed; `batch` knows only the changes that would have been made
  std::uint64_t after = 0;           ///< requests that the store had acknowledged before it
  BatchReport batch;                 ///< statuses and counts of its requests, work on graph and sums
  double seconds = 0;                ///< from requests to sums, the model not counted
  double seconds_predicted = 0;      ///< for journal and levels, by the pace of the session's batches before
  std::optional<StepReport> step{};  ///< step of the model that follows; the first one counts what it had missed before
  double seconds_unlearn = 0;
  std::optional<std::uint64_t> changes_entry{};  ///< number of the entry of the feed of changes that holds its rows
  RankTalk talk{};                               ///< about this batch
  std::optional<double> seconds_catch_up{};      ///< only in the first outcome of a model that had missed requests
};

/// A batch of apply_acknowledged().
struct AppliedBatch {
  std::vector<Request> requests;
  BatchOutcome outcome;
};

/// What close() did.
struct CloseReport {
  UpdateReport update;  ///< work on a last level that was put off
  double seconds = 0;   ///< how long it took
  RankTalk talk{};      ///< about this work and the generation
};

/// The stream of one writer, which outlives it and may be moved meanwhile. A writer has one at a time. Not for two threads at
/// once. Destroyed without close(), it leaves the store as a killed process would: all that is acknowledged is there.
class StreamSession {
 public:
  /// Opens the model that follows, and lets it absorb what it has missed. Throws UsageError where a session is open, for a model that was never
  /// trained, a threshold out of range or before a propagation; DataError, ResourceError.
  explicit StreamSession(Writer& writer, StreamOptions options = {});
  StreamSession(StreamSession&&) noexcept;
  ~StreamSession();

  /// Sets memory aside for a batch of so many requests that is being collected; it is given back by settle() after the batch,
  /// by close(), or for the room of the next batch. Throws ResourceError.
  void make_room(std::size_t requests);

  /// One batch; one without requests does nothing. Where it throws before anything was written, and where `decided` refuses
  /// it, the session goes on. Where it throws later, everything of this session throws DataError from then on, and the next
  /// session goes on from what is durable: what was acknowledged is absorbed there. Nobody can cancel a batch in its midst.
  BatchOutcome send(std::span<const Request> requests);
  /// For a service, in two steps. First: makes requests durable, which acknowledges them, and returns the number of the last one.
  /// May run on any thread while another one is in apply_acknowledged(): who sends need not wait for the model. Nothing is
  /// decided yet, and `decided` is never called. Exact mode without `strict` only. Where it throws, nothing was acknowledged.
  std::uint64_t acknowledge(std::span<const Request> requests);
  /// For each of these, whether a request that was decided before it has its id, or one of them before it: it is going to be rejected
  /// as known. What waits to be applied is not looked at. Any thread; nothing where none has an id.
  [[nodiscard]] std::vector<bool> known_ids(std::span<const Request> requests) const;
  /// Second: applies the oldest requests that are acknowledged and wait, `most` together or those of one acknowledge(), and lets the
  /// model absorb them; a batch without requests where nothing waits. A crash before it loses nothing: whoever opens the store
  /// next applies them. send() throws UsageError while any wait.
  AppliedBatch apply_acknowledged(std::size_t most);
  /// How many wait. Any thread.
  [[nodiscard]] std::uint64_t waiting() const;

  /// Requests that remove the edges whose time has come at `now`, the oldest first, `most` of them: what is sent or acknowledged
  /// like others, so that a replay needs no clock. An edge is among them until its removal is applied. Not while another thread
  /// changes the store.
  [[nodiscard]] std::vector<Request> expired(Millis now, std::size_t most) const;
  /// When the first edge is to go; none: no edge is. As expired().
  [[nodiscard]] std::optional<Millis> next_expiry() const;

  /// Makes a generation of all that is applied, and a journal of what waits: the journal of a long session does not grow for
  /// ever. Does nothing where nothing is new.
  void checkpoint();
  /// Does what need not be done before senders are told. The next send() and close() do it too.
  void settle();
  /// Does what batches have put off, and makes a generation of the store of it. The session takes no more batches.
  CloseReport close();

  /// Names of the store's models that do not follow: the first request of the session makes them outdated.
  [[nodiscard]] std::vector<std::string> models_left_behind() const;
  /// Whether the model had missed requests of earlier streams, and no batch has told of it yet.
  [[nodiscard]] bool caught_up() const noexcept;
  /// The largest 2-norm, over the columns, of the error that stale rows leave in Z; none before a propagation.
  [[nodiscard]] std::optional<double> lazy_error_bound() const;
  /// How often the model that follows is right on each split.
  [[nodiscard]] Accuracies accuracies() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace unweave
