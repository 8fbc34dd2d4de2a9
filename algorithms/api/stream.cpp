// algorithms/api/stream.cpp - the steps of a batch, in the order on which durability and certificates rest.
#include "unweave/stream.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/live/change_feed.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/model_name.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/registry/registry.h"
#include "algorithms/updates/batch_pace.h"
#include "engine/resources/clock.h"
#include "engine/resources/machine_profile.h"
#include "engine/resources/watcher.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "unweave/ranks.h"
#include "unweave/version.h"

namespace unweave {
inline namespace v0 {
namespace {

/// Tells whoever watches of a batch that is acknowledged, which nobody can cancel any more.
class Uncancelled final : public WorkMeter {
 public:
  explicit Uncancelled(WorkMeter& told) : told_(told) {}
  void start(std::string_view step, std::uint64_t total, std::string_view unit) override {
    told_.start(step, total, unit);
  }
  void note(const std::string& text) override { told_.note(text); }

 protected:
  void add(std::uint64_t count) noexcept override { told_.tell(count); }

 private:
  WorkMeter& told_;
};

Learner open_model(LiveStore& store, Resources& resources, const StreamOptions& options) {
  const ModelSelection& selected = options.model;
  if (selected.solver) static_cast<void>(solver_entry(*selected.solver));  // an unknown one is told before all else
  Learner learner =
      Learner::open(store, resources.memory(), selected.name ? *selected.name : *selected.solver,
                    {options.adaptive, std::string(version()), {}, options.key, options.receipts}, options.seed);
  require_solver(selected, learner.record());
  return learner;
}

}  // namespace

Request request_of_line(std::string_view line, const ReadId& read_id) {
  RequestFault fault;
  if (std::optional<Request> request = parse_request(line, read_id, &fault)) return *std::move(request);
  throw UsageError(text_of(fault, line) + "; " + fault.remedy);
}

void follow_stream(const std::filesystem::path& store, Resources& resources, Ranks& ranks) {
  LiveStore(store, ranks, resources.memory(), release_ledger()).follow();
}

struct StreamSession::Impl {
  /// Sees to it that the session is the only one, while it lives.
  class Turn {
   public:
    explicit Turn(Internals::WriterState& state) : state_(state) {
      if (state.in_session) throw UsageError(state.store.path().string() + ": a stream session is open already");
      state.in_session = true;
    }
    ~Turn() {
      state_.in_session = false;
      state_.store.watch_appends({}, {});
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    [[nodiscard]] Internals::WriterState& state() const noexcept { return state_; }

   private:
    Internals::WriterState& state_;
  };

  Impl(Writer& writer, StreamOptions how) : turn(Internals::state(writer)), options(std::move(how)) {
    store.require_sums();
    require_mode(options.mode);
    if (store.ranks() != nullptr) require_ranks_can();
    store.set_plan(options.plan);
    if (auto machine =
            machine_profile(store.path(), resources.memory(), profile_use_for(bytes_of(store.manifest().files()))))
      store.set_rates(*std::move(machine));
    if (store.rates() != nullptr) pace = BatchPace(store.rates()->disk.sync_seconds);
    if (options.mode.r_max > 0) static_cast<void>(store.threshold(options.mode));
    if (options.model.name || options.model.solver) {
      const WatchedBy watched(resources.meter());
      static_cast<void>(store.deliver());  // what an earlier session may have put off
      learner.emplace(open_model(store, resources, options));
      const Clock::time_point start = Clock::now();
      missed = learner->catch_up();
      seconds_catch_up = seconds_since(start);
    }
    if (!options.changes.empty()) {
      static_cast<void>(store.deliver());
      feed.emplace(store, options.changes);
    }
    store.watch_appends([this] { call(options.before_acknowledged); }, [this] { call(options.acknowledged); });
  }

  /// What needs whole rows, or rows that nobody knows yet, is for one process.
  void require_ranks_can() const {
    const auto refuse = [&](const std::string& what) {
      throw UsageError(store.path().string() + ": a stream of several ranks has no " + what +
                       "; leave it out, or stream by one process");
    };
    if (options.mode.r_max > 0) refuse(option("r-max"));
    if (options.model.name) refuse(option("name"));
    if (options.model.solver) refuse(option("solver"));
    if (!options.changes.empty()) refuse(option("changes"));
  }

  /// What was said since the last call.
  [[nodiscard]] RankTalk talk() {
    if (store.ranks() == nullptr) return {};
    const RankTraffic now = store.traffic();
    const RankTraffic then = std::exchange(said, now);
    return {store.ranks()->size(),
            {now.verbs - then.verbs, now.sent_bytes - then.sent_bytes, now.received_bytes - then.received_bytes,
             now.seconds - then.seconds}};
  }

  static void call(const std::function<void()>& hook) {
    if (hook) hook();
  }

  /// A batch that is durable and not absorbed is made up for by the next session, never by a later batch of this one: its
  /// model would be certified without having forgotten it.
  void require_usable() const {
    if (failed)
      throw DataError(store.path().string() +
                      ": an earlier batch failed half-way; begin another session, which goes on from it");
    if (closed) throw UsageError(store.path().string() + ": the stream session is closed");
  }

  void absorb(std::span<const Request> requests, BatchOutcome& outcome) {
    Uncancelled meter(resources.meter());
    const WatchedBy watched(meter);
    const Clock::time_point start = Clock::now();
    outcome.step = learner->absorb(outcome.batch, requests);
    outcome.seconds_unlearn = seconds_since(start);
    if (!missed) return;
    outcome.step->retrained |= missed->retrained;
    outcome.step->passes += missed->passes;
    outcome.seconds_catch_up = seconds_catch_up;
    missed.reset();
  }

  /// A batch was applied in `seconds`, to be told beside what was predicted for its work on journal, graph and sums.
  void time(double seconds, BatchOutcome& outcome) {
    const UpdateReport& update = outcome.batch.update;
    outcome.seconds = seconds;
    outcome.seconds_predicted = pace.predict(update.seconds_predicted, update.all_rows);
    pace.learn(update.seconds_predicted, update.all_rows, outcome.batch.seconds_journal,
               seconds - outcome.batch.seconds_journal);
  }

  /// What follows a batch that the store has applied.
  void follow(std::span<const Request> requests, BatchOutcome& outcome) {
    if (learner) absorb(requests, outcome);
    if (!feed) return;
    feed->add(outcome.batch);
    outcome.changes_entry = feed->entries();
  }

  /// The last level waits for a reader where nothing reads it.
  [[nodiscard]] LastLevel last_level() const { return learner || feed ? LastLevel::at_once : LastLevel::deferred; }

  void make_room(std::size_t requests, std::uint64_t text = 0) {
    room.release();
    room = store.reserve_batch(requests, text);
    room_for = requests;
  }

  Turn turn;
  Resources& resources = turn.state().resources;
  LiveStore& store = turn.state().store;
  StreamOptions options;
  std::optional<Learner> learner;
  std::optional<ChangeFeed> feed;
  BatchPace pace;
  std::optional<StepReport> missed;  // what catching up did, until an outcome tells of it
  double seconds_catch_up = 0;
  Reservation room;                    // room for requests and all that is made of them
  RankTraffic said = store.traffic();  // what ranks have said before the present batch
  std::size_t room_for = 0;            // how many requests it is for; 0 when a batch has used it
  bool failed = false;                 // a batch did not come to its end after it was acknowledged, or on the way there
  bool closed = false;
};

StreamSession::StreamSession(Writer& writer, StreamOptions options)
    : impl_(std::make_unique<Impl>(writer, std::move(options))) {}
StreamSession::StreamSession(StreamSession&&) noexcept = default;
StreamSession::~StreamSession() = default;

void StreamSession::make_room(std::size_t requests) {
  impl_->require_usable();
  impl_->make_room(requests);
}

BatchOutcome StreamSession::send(std::span<const Request> requests) {
  Impl& session = *impl_;
  LiveStore& store = session.store;
  session.require_usable();
  BatchOutcome outcome;
  outcome.after = store.sequence();
  outcome.batch.last_request = outcome.after;
  if (requests.empty()) return outcome;
  const std::uint64_t text = text_bytes(requests);
  if (session.room_for < requests.size() || text > 0) session.make_room(requests.size(), text);
  session.room_for = 0;  // until its sender has been told, or the next batch comes
  const Clock::time_point start = Clock::now();
  BatchChanges changes = store.resolve(requests);
  // Whoever sends a request again does so because nobody told what became of it: that is no fault of the batch.
  const auto resent = std::count(changes.statuses.begin(), changes.statuses.end(), RequestStatus::known_id);
  outcome.refused = session.options.strict && changes.rejected > static_cast<std::uint64_t>(resent);
  if (session.options.decided) session.options.decided({requests, changes.statuses, outcome.after, outcome.refused});
  if (outcome.refused) {
    outcome.batch.changes = std::move(changes);
    return outcome;
  }
  session.failed = true;
  outcome.batch = store.apply(requests, std::move(changes), session.options.mode, session.last_level());
  session.time(seconds_since(start), outcome);
  outcome.talk = session.talk();
  session.follow(requests, outcome);
  session.failed = false;
  return outcome;
}

std::uint64_t StreamSession::acknowledge(std::span<const Request> requests) {
  return impl_->store.acknowledge(requests);
}

std::vector<bool> StreamSession::known_ids(std::span<const Request> requests) const {
  return impl_->store.known_ids(requests);
}

std::uint64_t StreamSession::waiting() const {
  return impl_->store.waiting();
}

AppliedBatch StreamSession::apply_acknowledged(std::size_t most) {
  Impl& session = *impl_;
  session.require_usable();
  if (session.options.mode.r_max > 0 || session.options.strict)
    throw UsageError("requests are acknowledged before they are decided, and applied exactly: leave out " +
                     option("r-max") + " and " + option("strict"));
  AppliedBatch applied;
  BatchOutcome& outcome = applied.outcome;
  outcome.after = session.store.sequence();
  const Clock::time_point start = Clock::now();
  session.failed = true;
  outcome.batch = session.store.apply_acknowledged(most, session.last_level(), applied.requests);
  session.time(seconds_since(start), outcome);
  if (!applied.requests.empty()) session.follow(applied.requests, outcome);
  session.failed = false;
  return applied;
}

std::vector<Request> StreamSession::expired(Millis now, std::size_t most) const {
  std::vector<Request> requests;
  for (const auto& [edge, time] : impl_->store.contents().expiries().due(now, most))
    requests.push_back({RequestKind::remove_edge, edge.u, edge.v});
  return requests;
}

std::optional<Millis> StreamSession::next_expiry() const {
  return impl_->store.contents().expiries().next();
}

void StreamSession::checkpoint() {
  settle();
  impl_->store.checkpoint();
}

void StreamSession::settle() {
  impl_->require_usable();
  if (impl_->room_for == 0) impl_->room.release();
  if (impl_->learner) impl_->learner->settle();
}

CloseReport StreamSession::close() {
  CloseReport report;
  settle();
  impl_->closed = true;
  const Clock::time_point start = Clock::now();
  report.update = impl_->store.deliver();
  report.seconds = seconds_since(start);
  impl_->store.checkpoint();
  impl_->store.record();
  report.talk = impl_->talk();
  impl_->store.dismiss_ranks();
  if (impl_->feed) impl_->feed->seal();
  return report;
}

std::vector<std::string> StreamSession::models_left_behind() const {
  std::vector<std::string> names;
  const LiveStore& store = impl_->store;
  for (std::string& name : model_names(store.path(), store.manifest()))
    if ((!impl_->learner || name != name_of(impl_->learner->record())) &&
        std::filesystem::exists(model_file(store.path(), name)))
      names.push_back(std::move(name));
  return names;
}

bool StreamSession::caught_up() const noexcept {
  return impl_->missed.has_value();
}

std::optional<double> StreamSession::lazy_error_bound() const {
  if (!impl_->store.propagated()) return std::nullopt;
  return unweave::lazy_error_bound(impl_->store.embedding(), impl_->store.contents());
}

Accuracies StreamSession::accuracies() const {
  if (!impl_->learner) return {};
  impl_->require_usable();
  return evaluate_model(impl_->store, impl_->learner->record(), &impl_->learner->rows());
}

}  // namespace v0
}  // namespace unweave
