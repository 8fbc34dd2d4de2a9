// algorithms/api/stream.cpp - the steps of a batch, in the order on which durability and
// certificates rest.
#include "unweave/stream.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/learning/no_model_error.h"
#include "algorithms/live/change_feed.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/ranked_store.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge_plan.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/model_name.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/models/training_terms.h"
#include "algorithms/registry/registry.h"
#include "algorithms/updates/batch_pace.h"
#include "engine/generations/store_purge.h"
#include "engine/resources/clock.h"
#include "engine/resources/machine_profile.h"
#include "engine/resources/watcher.h"
#include "storage/formats/request_log.h"
#include "storage/input/request_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/plain_text.h"
#include "storage/io/readable_bytes.h"
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

}  // namespace

/// A model that follows the stream.
struct Follower {
  ModelSelection selected;
  std::string name;  ///< in the store
  std::optional<Learner>
      learner{};  ///< it is missing while the present rows have no such model (NoModelError), which a service outlives
  std::string stuck{};                 ///< why there is none
  std::optional<StepReport> missed{};  ///< what catching up did, until an outcome tells of it
  double seconds_catch_up = 0;
  std::uint64_t without_receipts = 0;  ///< requests among those
  bool is_new = false;                 ///< a purge had removed it
  bool is_alone = false;               ///< no other follows
};

namespace {

const std::string& name_in_store(const ModelSelection& selected) {
  return selected.name ? *selected.name : *selected.solver;
}

/// The models that follow; none where nothing is selected. Throws UsageError for one that is
/// selected twice, and an unknown solver.
std::vector<ModelSelection> selected_models(const StreamOptions& options) {
  std::vector<ModelSelection> selected;
  const auto add = [&](const ModelSelection& one) {
    if (!one.name && !one.solver) return;
    if (one.solver) static_cast<void>(solver_entry(*one.solver));
    for (const ModelSelection& other : selected)
      if (name_in_store(other) == name_in_store(one))
        throw UsageError("the model " + name_in_store(one) + " is to follow the stream twice; name each once");
    selected.push_back(one);
  };
  add(options.model);
  for (const ModelSelection& one : options.more_models) add(one);
  return selected;
}

/// The file of receipts of one of them.
std::filesystem::path receipts_of(const StreamOptions& options, const std::string& model, bool alone) {
  if (options.receipts.empty() || alone) return options.receipts;
  std::filesystem::path file = options.receipts;
  return file += "." + model;
}

/// Throws NoModelError.
void open_model(Follower& follower, StoreWriter& store, Resources& resources, const StreamOptions& options,
                bool alone) {
  const std::string& name = follower.name;
  const ReleaseContext context{
      options.adaptive, std::string(version()), {}, options.key, receipts_of(options, name, alone)};
  if (options.train_purged && !has_entry(model_file(store.path(), name))) {
    require_no_recorded_model(store.path(), store.manifest(), name);  // it is lost, and not removed
    if (const std::optional<TrainingTerms> terms = terms_in_log(store.path(), name)) {
      SolverOptions how = terms->options;
      how.seed = options.seed;
      ReleaseContext of_stream = context;
      of_stream.may_be_empty = true;  // rows come back by later requests
      follower.learner.emplace(
          Learner::train(store, resources.memory(), terms->solver, how, terms->rows, of_stream, name));
      require_solver(follower.selected, follower.learner->record());
      store.record();
      follower.is_new = true;
      // Its first certificate covers no request.
      if (!options.receipts.empty()) follower.without_receipts = store.sequence();
      return;
    }
  }
  Learner learner = Learner::open(store, resources.memory(), name, context, options.seed);
  require_solver(follower.selected, learner.record());
  const Clock::time_point start = Clock::now();
  follower.missed = learner.catch_up();
  follower.seconds_catch_up = seconds_since(start);
  follower.without_receipts = learner.without_receipts();
  follower.learner.emplace(std::move(learner));
}

/// Before anything of a batch is done: what the journal would refuse is told without harm.
void require_ids(std::span<const Request> requests) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].id.empty() || is_request_id(requests[i].id)) continue;
    const std::optional<TextFault> fault = text_fault(requests[i].id);
    throw UsageError("request " + std::to_string(i) + " of the batch: " + quote_for_message(requests[i].id) +
                     " is no id of a request" + (fault ? ": " + text_of(*fault) : "") + "; take 1 to " +
                     std::to_string(kMostIdBytes) + " bytes of UTF-8 without blanks, commas and control characters");
  }
}

}  // namespace

Request request_of_line(std::string_view line, const RequestWords& words) {
  RequestFault fault;
  if (std::optional<Request> request = parse_request(line, words, &fault)) return *std::move(request);
  throw UsageError(text_of(fault, line) + "; " + fault.remedy);
}

void follow_stream(const std::filesystem::path& store, Resources& resources, Ranks& ranks) {
  RankedStore(resolved(store), ranks, resources.memory()).follow();
}

struct StreamSession::Impl {
  /// Sees to it that the session is the only one, while it lives.
  class Turn {
   public:
    explicit Turn(Internals::WriterState& state) : state_(state) {
      if (state.in_session) throw UsageError(state.path.string() + ": a stream session is open already");
      state.in_session = true;
    }
    ~Turn() {
      state_.in_session = false;
      if (state_.held) state_.held->watch_appends({}, {});
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    [[nodiscard]] Internals::WriterState& state() const noexcept { return state_; }

   private:
    Internals::WriterState& state_;
  };

  Impl(Internals::WriterState& state, StreamOptions how) : turn(state), options(std::move(how)) {
    store.require_sums();
    require_mode(options.mode);
    if (store.ranks() != nullptr) require_ranks_can();
    store.set_plan(options.plan);
    if (auto machine =
            machine_profile(store.path(), resources.memory(), profile_use_for(bytes_of(store.manifest().files()))))
      store.set_rates(*std::move(machine));
    if (store.rates() != nullptr) pace = BatchPace(store.rates()->disk.sync_seconds);
    if (options.mode.r_max > 0) static_cast<void>(store.threshold(options.mode));
    if (!options.receipts.empty()) store.expect_receipts();
    if (options.service) {
      store.open_room();
      take_work_room();
    }
    const std::vector<ModelSelection> selected = selected_models(options);
    if (selected.size() > 1) require_exact_rows();
    if (!selected.empty()) {
      const WatchedBy watched(resources.meter());
      static_cast<void>(store.settle());  // what an earlier session may have put off
      for (const ModelSelection& one : selected) {
        followers.push_back({one, name_in_store(one)});
        followers.back().is_alone = selected.size() == 1;
        open_follower(followers.back());
        tell_others(followers.size() - 1);
      }
    }
    if (!options.changes.empty()) {
      static_cast<void>(store.settle());
      feed.emplace(store, options.changes);
    }
    take_work_room();  // which learners may have grown into
    store.watch_appends([this] { call(options.before_acknowledged); }, [this] { call(options.acknowledged); });
  }

  void open_follower(Follower& follower) {
    const auto open = [&] { open_model(follower, store, resources, options, follower.is_alone); };
    if (!options.service) return open();
    try {
      // What a journal has changed must not keep a service from starting in the memory in which it
      // acknowledged it.
      try {
        open();
      } catch (const ResourceError&) {
        store.lend_work_room();
        store.fold();
        take_work_room();
        open();
      }
      follower.stuck.clear();
    } catch (const NoModelError& error) {  // nor must rows that a sender has chosen
      follower.stuck = error.message();
    }
  }

  /// Stale rows that one model publishes would be other rows than those that the next one has read.
  void require_exact_rows() const {
    const std::string remedy = "; let one model follow, or stream without " + option("r-max");
    if (options.mode.r_max > 0)
      throw UsageError(store.path().string() + ": several models follow a stream whose rows are exact" + remedy);
    if (store.propagated() && store.embedding().stale_rows() > 0)
      throw UsageError(store.path().string() + ": " + std::to_string(store.embedding().stale_rows()) +
                       " rows are stale, which an earlier stream has left, and several models follow exact rows alone; "
                       "stream one batch with one model first, without " +
                       option("r-max"));
  }

  /// One of the models has released.
  void tell_others(std::size_t one) {
    if (!followers[one].learner) return;
    const ModelSummary released = followers[one].learner->summary();
    for (std::size_t i = 0; i < followers.size(); ++i)
      if (i != one && followers[i].learner) followers[i].learner->note_other(released);
  }

  /// What needs whole rows, or rows that nobody knows yet, is for one process.
  void require_ranks_can() const {
    const auto refuse = [&](const std::string& what) {
      throw UsageError(store.path().string() + ": a stream of several ranks has no " + what +
                       "; leave it out, or stream by one process");
    };
    if (options.mode.r_max > 0) refuse(option("r-max"));
    for (const ModelSelection& one : selected_models(options)) refuse(option(one.name ? "name" : "solver"));
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

  /// A batch that is durable and not absorbed is made up for by the next session, never by a later
  /// batch of this one: its model would be certified without having forgotten it.
  void require_usable() const {
    if (failed)
      throw DataError(store.path().string() +
                      ": an earlier batch failed half-way; begin another session, which goes on from it");
    if (closed) throw UsageError(store.path().string() + ": the stream session is closed");
  }

  void absorb(std::span<const Request> requests, BatchOutcome& outcome) {
    Uncancelled meter(resources.meter());
    const WatchedBy watched(meter);
    for (std::size_t i = 0; i < followers.size(); ++i) {
      Follower& follower = followers[i];
      ModelStep& step = outcome.steps.emplace_back();
      const Clock::time_point start = Clock::now();
      step.name = follower.name;
      step.solver = follower.selected.solver.value_or(follower.name);
      const bool was_stuck = !follower.learner;
      if (!was_stuck)
        step.report = absorb(follower, outcome.batch, requests);
      else
        open_follower(follower);  // which absorbs what it has missed
      step.stuck = follower.stuck;
      step.seconds_unlearn = seconds_since(start);
      if (!follower.learner) continue;
      step.solver = follower.learner->record().model.solver;
      tell_others(i);
      if (was_stuck) {
        step.report = follower.learner->last_step();  // it tells of catching up, or of a training anew
      } else if (follower.missed) {
        step.report.retrained |= follower.missed->retrained;
        step.report.passes += follower.missed->passes;
      }
      step.without_receipts = std::exchange(follower.without_receipts, 0);
      if (!follower.missed) continue;
      step.seconds_catch_up = follower.seconds_catch_up;
      follower.missed.reset();
    }
    outcome.step = outcome.steps.front().report;
    outcome.seconds_unlearn = outcome.steps.front().seconds_unlearn;
    outcome.seconds_catch_up = outcome.steps.front().seconds_catch_up;
  }

  /// In a service a model that the rows do not have any more is left as it was, and opened again at
  /// the next batch.
  StepReport absorb(Follower& follower, const BatchReport& batch, std::span<const Request> requests) {
    try {
      return follower.learner->absorb(batch, requests);
    } catch (const NoModelError& error) {
      if (!options.service) throw;
      follower.learner.reset();
      follower.stuck = error.message();
      return {};
    }
  }

  /// A batch was applied in `seconds`, to be told beside what was predicted for its work on
  /// journal, graph and sums.
  void time(double seconds, BatchOutcome& outcome) {
    const UpdateReport& update = outcome.batch.update;
    outcome.seconds = seconds;
    outcome.seconds_predicted = pace.predict(update.seconds_predicted, update.all_rows);
    pace.learn(update.seconds_predicted, update.all_rows, outcome.batch.seconds_journal,
               seconds - outcome.batch.seconds_journal);
  }

  /// What follows a batch that the store has applied.
  void follow(std::span<const Request> requests, BatchOutcome& outcome) {
    if (!followers.empty()) absorb(requests, outcome);
    if (!feed) return;
    feed->add(outcome.batch);
    outcome.changes_entry = feed->entries();
  }

  /// A generation takes from the journal what receipts of a model that comes back are made of. A
  /// start reads it, so it has an end.
  [[nodiscard]] bool waits_for_receipts() const {
    constexpr std::uint64_t kMostRequests = std::uint64_t{1} << 16;
    return !options.receipts.empty() && store.pending_requests() <= kMostRequests &&
           std::any_of(followers.begin(), followers.end(), [](const Follower& one) { return !one.learner; });
  }

  /// The last level waits for a reader where nothing reads it.
  [[nodiscard]] LastLevel last_level() const {
    return !followers.empty() || feed ? LastLevel::at_once : LastLevel::deferred;
  }

  /// What the store keeps in memory may have grown into it: then nothing more is taken until it has
  /// gone.
  void take_work_room() {
    if (options.service) is_short = !store.take_work_room();
  }

  void make_room(std::size_t requests, std::uint64_t text) {
    room.release();
    room = store.reserve_batch(requests, text);
    room_for = requests;
    room_text = text;
  }

  Turn turn;
  Resources& resources = turn.state().resources;
  StoreWriter& store = turn.state().store();
  StreamOptions options;
  std::vector<Follower> followers;
  std::optional<ChangeFeed> feed;
  BatchPace pace;
  Reservation room;                    // room for requests and all that is made of them
  std::atomic<bool> is_short = false;  // there was not the room for the work on a batch
  RankTraffic said = store.traffic();  // what ranks have said before the present batch
  std::size_t room_for = 0;            // how many requests it is for; 0 when a batch has used it
  std::uint64_t room_text = 0;         // how many bytes of their words
  bool failed = false;                 // a batch did not come to its end after it was acknowledged, or on the way there
  bool closed = false;
};

StreamSession::StreamSession(Writer& writer, StreamOptions options)
    : impl_(std::make_unique<Impl>(Internals::state(writer), std::move(options))) {}
StreamSession::StreamSession(StreamSession&&) noexcept = default;
StreamSession::~StreamSession() = default;

void StreamSession::make_room(std::size_t requests, std::uint64_t text) {
  impl_->require_usable();
  impl_->make_room(requests, text);
}

BatchOutcome StreamSession::send(std::span<const Request> requests) {
  Impl& session = *impl_;
  StoreWriter& store = session.store;
  session.require_usable();
  require_ids(requests);
  BatchOutcome outcome;
  outcome.after = store.sequence();
  outcome.batch.last_request = outcome.after;
  if (requests.empty()) return outcome;
  const std::uint64_t text = text_bytes(requests);
  if (session.room_for < requests.size() || session.room_text < text) session.make_room(requests.size(), text);
  session.room_for = 0;  // until its sender has been told, or the next batch comes
  const Clock::time_point start = Clock::now();
  BatchChanges changes = store.resolve(requests);
  if (changes.conflict) throw IdConflictError({*changes.conflict});
  // Whoever sends a request again does so because nobody told what became of it: that is no fault
  // of the batch.
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
  require_ids(requests);
  return impl_->store.acknowledge(requests);
}

std::uint64_t StreamSession::acknowledge(std::vector<Request>&& requests, std::vector<Reservation> rooms) {
  return impl_->store.acknowledge(std::move(requests), std::move(rooms));
}

Reservation StreamSession::make_room_to_wait(std::span<const Request> requests) {
  return impl_->store.reserve_waiting(requests);
}

void StreamSession::require_share(std::uint64_t ids, std::uint64_t note_bytes) const {
  if (impl_->is_short)
    throw FullError(
        "requests: what the store keeps in memory (notes of what expires, new nodes, training rows) leaves too little of " +
        readable_bytes(impl_->resources.memory().limit()) + " for the work on a batch; raise " + option("memory"));
  impl_->store.require_share(ids, note_bytes);
}

void StreamSession::require_removable(std::span<const Request> requests) const {
  impl_->store.require_removable(requests);
}

std::vector<IdUse> StreamSession::id_uses(std::span<const Request> requests) const {
  return impl_->store.id_uses(requests);
}

IdConflict StreamSession::conflict(std::span<const Request> requests, std::size_t index) const {
  return impl_->store.conflict(requests, index);
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
  session.store.lend_work_room();
  outcome.batch = session.store.apply_acknowledged(most, session.last_level(), applied.requests);
  session.time(seconds_since(start), outcome);
  if (!applied.requests.empty()) session.follow(applied.requests, outcome);
  session.failed = false;
  return applied;
}

std::vector<Request> StreamSession::expired(Millis now, std::size_t most) const {
  std::vector<Request> requests;
  for (const Expiry& one : impl_->store.contents().expiries().due(now, most)) requests.push_back(removal_request(one));
  return requests;
}

std::optional<Millis> StreamSession::next_expiry() const {
  return impl_->store.contents().expiries().next();
}

void StreamSession::checkpoint() {
  settle();
  if (impl_->waits_for_receipts()) return;
  impl_->store.lend_work_room();
  impl_->store.checkpoint();
  impl_->take_work_room();
}

void StreamSession::settle() {
  impl_->require_usable();
  if (impl_->room_for == 0) impl_->room.release();
  impl_->store.lend_work_room();
  for (Follower& follower : impl_->followers)
    if (follower.learner) follower.learner->settle();
  impl_->take_work_room();
}

CloseReport StreamSession::close() {
  CloseReport report;
  settle();
  impl_->store.lend_work_room();
  impl_->closed = true;
  const Clock::time_point start = Clock::now();
  report.update = impl_->store.settle();
  report.seconds = seconds_since(start);
  if (!impl_->waits_for_receipts()) impl_->store.checkpoint();
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
    if (std::none_of(impl_->followers.begin(), impl_->followers.end(),
                     [&](const Follower& one) { return one.name == name; }) &&
        has_entry(model_file(store.path(), name)))
      names.push_back(std::move(name));
  return names;
}

std::vector<std::string> StreamSession::models() const {
  std::vector<std::string> names;
  for (const Follower& follower : impl_->followers) names.push_back(follower.name);
  return names;
}

std::vector<std::pair<std::string, std::string>> StreamSession::stuck_models() const {
  std::vector<std::pair<std::string, std::string>> stuck;
  for (const Follower& follower : impl_->followers)
    if (!follower.learner) stuck.emplace_back(follower.name, follower.stuck);
  return stuck;
}

PurgeReport StreamSession::purge(const PurgeOptions& options) {
  impl_->require_usable();
  if (impl_->store.waiting() > 0)
    throw UsageError(impl_->store.path().string() + ": requests wait to be applied; apply them before a purge");
  require_room_to_begin_purge(impl_->store);  // behind close() a full disk would end the session
  Internals::WriterState& state = impl_->turn.state();
  static_cast<void>(close());
  const StreamOptions own = impl_->options;
  impl_.reset();
  PurgeReport report;
  std::exception_ptr error;
  try {
    report = state.purge(options);
  } catch (...) {
    error = std::current_exception();
  }
  if (error && !state.held) std::rethrow_exception(error);
  impl_ = std::make_unique<Impl>(state, own);
  if (error) std::rethrow_exception(error);
  for (const Follower& follower : impl_->followers)
    if (follower.is_new) report.trained_models.push_back(follower.name);
  return report;
}

bool StreamSession::is_open() const noexcept {
  return impl_ && !impl_->failed && !impl_->closed;
}

PurgeNeed StreamSession::purge_need() const {
  const LiveStore& store = impl_->store;
  PurgeNeed need;
  need.requests = store.sequence() + store.waiting();
  need.begun = purge_state(store.path()) != PurgeState::none;
  if (need.requests == 0) return need;
  store.visit_requests([&](const LoggedRequest& request) {
    if (request.kind == kPurgeLine)
      need.since.reset();
    else if (!need.since)
      need.since = request.time;
  });
  return need;
}

bool StreamSession::caught_up() const noexcept {
  return std::any_of(impl_->followers.begin(), impl_->followers.end(),
                     [](const Follower& one) { return one.missed.has_value(); });
}

std::optional<double> StreamSession::lazy_error_bound() const {
  if (!impl_->store.propagated()) return std::nullopt;
  return unweave::lazy_error_bound(impl_->store.embedding(), impl_->store.contents());
}

Accuracies StreamSession::accuracies(std::size_t model) const {
  if (model >= impl_->followers.size() || !impl_->followers[model].learner) return {};
  impl_->require_usable();
  const Learner& learner = *impl_->followers[model].learner;
  return evaluate_model(impl_->store, learner.record(), &learner.rows());
}

}  // namespace v0
}  // namespace unweave
