// algorithms/api/stream.cpp - the steps of a batch, in the order on which durability and
// certificates rest.
#include "unweave/stream.h"

#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/api/followers.h"
#include "algorithms/api/internals.h"
#include "algorithms/api/work_room.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/live/change_feed.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/ranked_store.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge_plan.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/model_name.h"
#include "algorithms/models/model_record.h"
#include "algorithms/updates/batch_pace.h"
#include "engine/generations/store_purge.h"
#include "engine/resources/clock.h"
#include "engine/resources/machine_profile.h"
#include "storage/formats/request_log.h"
#include "storage/input/request_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/plain_text.h"
#include "storage/io/readable_bytes.h"
#include "unweave/ranks.h"

namespace unweave {
inline namespace v0 {
namespace {

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
      work_room.take();
    }
    followers.open();
    if (!options.changes.empty()) {
      static_cast<void>(store.settle());
      feed.emplace(store, options.changes);
    }
    work_room.take();  // which learners may have grown into
    store.watch_appends([this] { call(options.before_acknowledged); }, [this] { call(options.acknowledged); });
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
    followers.absorb(requests, outcome);
    if (!feed) return;
    feed->add(outcome.batch);
    outcome.changes_entry = feed->entries();
  }

  /// A generation takes from the journal what receipts of a model that comes back are made of. A
  /// start reads it, so it has an end.
  [[nodiscard]] bool waits_for_receipts() const {
    constexpr std::uint64_t kMostRequests = std::uint64_t{1} << 16;
    return !options.receipts.empty() && store.pending_requests() <= kMostRequests && !followers.stuck().empty();
  }

  /// The last level waits for a reader where nothing reads it.
  [[nodiscard]] LastLevel last_level() const {
    return !followers.empty() || feed ? LastLevel::at_once : LastLevel::deferred;
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
  WorkRoom work_room{store, options.service};
  Followers followers{store, resources, options, work_room};
  std::optional<ChangeFeed> feed;
  BatchPace pace;
  Reservation room;                    // room for requests and all that is made of them
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
  if (impl_->work_room.is_short())
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
  session.work_room.lend();
  outcome.batch = session.store.apply_acknowledged(most, session.last_level(), applied.requests);
  session.time(seconds_since(start), outcome);
  if (!applied.requests.empty()) session.follow(applied.requests, outcome);
  session.failed = false;
  return applied;
}

std::vector<Request> StreamSession::expired(Millis now, std::size_t most) const {
  std::vector<Request> requests;
  const Contents& contents = impl_->store.contents();
  for (const Expiry& one : contents.expiries().due(now, most))
    requests.push_back(removal_request(one, contents.order().layers(), contents.order().users()));
  return requests;
}

std::optional<Millis> StreamSession::next_expiry() const {
  return impl_->store.contents().expiries().next();
}

void StreamSession::checkpoint() {
  settle();
  if (impl_->waits_for_receipts()) return;
  impl_->work_room.lend();
  impl_->store.checkpoint();
  impl_->work_room.take();
}

void StreamSession::settle() {
  impl_->require_usable();
  if (impl_->room_for == 0) impl_->room.release();
  impl_->work_room.lend();
  impl_->followers.settle();
  impl_->work_room.take();
}

CloseReport StreamSession::close() {
  CloseReport report;
  settle();
  impl_->work_room.lend();
  impl_->closed = true;
  const Clock::time_point start = Clock::now();
  report.update = impl_->store.settle();
  report.seconds = seconds_since(start);
  if (!impl_->waits_for_receipts()) impl_->store.checkpoint_if_worth();
  impl_->store.record();
  report.talk = impl_->talk();
  impl_->store.dismiss_ranks();
  if (impl_->feed) impl_->feed->seal();
  return report;
}

std::vector<std::string> StreamSession::models_left_behind() const {
  const LiveStore& store = impl_->store;
  const std::vector<std::string> followed = models();
  std::vector<std::string> names = model_names(store.path(), store.manifest());
  std::erase_if(names, [&](const std::string& name) {
    return std::find(followed.begin(), followed.end(), name) != followed.end() ||
           !has_entry(model_file(store.path(), name));
  });
  return names;
}

std::vector<std::string> StreamSession::models() const {
  return impl_->followers.names();
}

std::vector<std::pair<std::string, std::string>> StreamSession::stuck_models() const {
  return impl_->followers.stuck();
}

namespace {

/// Closes a session for change(state) and opens another one under the same options, unless the
/// store could not be opened again.
template <class Own, class Change>
auto reopen_session(std::unique_ptr<Own>& impl, const StreamOptions& options, const Change& change) {
  Internals::WriterState& state = impl->turn.state();
  impl.reset();
  decltype(change(state)) report;
  std::exception_ptr error;
  try {
    report = change(state);
  } catch (...) {
    error = std::current_exception();
  }
  if (error && !state.held) std::rethrow_exception(error);
  impl = std::make_unique<Own>(state, options);
  if (error) std::rethrow_exception(error);
  return report;
}

}  // namespace

PurgeReport StreamSession::purge(const PurgeOptions& options) {
  impl_->require_usable();
  if (impl_->store.waiting() > 0)
    throw UsageError(impl_->store.path().string() + ": requests wait to be applied; apply them before a purge");
  require_room_to_begin_purge(impl_->store);  // behind close() a full disk would end the session
  static_cast<void>(close());
  PurgeReport report = reopen_session(impl_, StreamOptions(impl_->options),
                                      [&](Internals::WriterState& state) { return state.purge(options); });
  report.trained_models = impl_->followers.trained_again();
  return report;
}

GrowReport StreamSession::grow(const GrowOptions& options) {
  impl_->require_usable();
  if (impl_->store.waiting() > 0)
    throw UsageError(impl_->store.path().string() + ": requests wait to be applied; apply them before it grows");
  if (impl_->waits_for_receipts())
    throw UsageError(impl_->store.path().string() +
                     ": a model has not absorbed what was acknowledged, and its receipts need the journal, which a "
                     "growth begins anew; mend the model first, or end what writes the store and call " +
                     operation("grow"));
  if (nodes_to_add(impl_->store.path(), impl_->store.manifest(), options) == 0) return {options.nodes, 0, 0, 0};
  require_room_to_grow(impl_->store.path(), impl_->store.manifest(), options.nodes);  // as before a purge
  static_cast<void>(close());
  return reopen_session(impl_, StreamOptions(impl_->options),
                        [&](Internals::WriterState& state) { return state.grow(options); });
}

void StreamSession::require_growth(std::uint64_t nodes) const {
  static_cast<void>(nodes_to_add(impl_->store.path(), impl_->store.manifest(), {nodes}));
}

std::uint64_t StreamSession::nodes() const noexcept {
  return impl_->store.manifest().user_nodes();
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
  return impl_->followers.caught_up();
}

std::optional<double> StreamSession::lazy_error_bound() const {
  if (!impl_->store.propagated()) return std::nullopt;
  return unweave::lazy_error_bound(impl_->store.embedding(), impl_->store.contents());
}

Accuracies StreamSession::accuracies(std::size_t model) const {
  const Learner* const learner = impl_->followers.learner(model);
  if (learner == nullptr) return {};
  impl_->require_usable();
  return evaluate_model(impl_->store, learner->record(), &learner->rows());
}

}  // namespace v0
}  // namespace unweave
