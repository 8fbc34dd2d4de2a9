// algorithms/api/stream.cpp - the steps of a batch, in the order on which durability and certificates rest.
#include "unweave/stream.h"

#include <string>
#include <utility>

#include "algorithms/api/model_selection.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/models/learner.h"
#include "algorithms/registry/registry.h"
#include "engine/resources/clock.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"
#include "unweave/version.h"

namespace unweave {
inline namespace v0 {
namespace {

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

struct StreamSession::Impl {
  Impl(Writer& of, StreamOptions how) : writer(of), store(of.live()), options(std::move(how)) {
    store.set_plan(options.plan);
    if (options.mode.r_max > 0) static_cast<void>(store.threshold(options.mode));
    if (options.model.name || options.model.solver) {
      const WatchedBy watched(writer.resources().meter());
      static_cast<void>(store.deliver());  // what an earlier session may have put off
      learner.emplace(open_model(store, writer.resources(), options));
      const Clock::time_point start = Clock::now();
      missed = learner->catch_up();
      seconds_catch_up = seconds_since(start);
    }
    store.watch_appends([this] { call(options.before_acknowledged); }, [this] { call(options.acknowledged); });
  }
  ~Impl() { store.watch_appends({}, {}); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  static void call(const std::function<void()>& hook) {
    if (hook) hook();
  }

  void absorb(std::span<const Request> requests, BatchOutcome& outcome) {
    const WatchedBy watched(writer.resources().meter());
    const Clock::time_point start = Clock::now();
    outcome.step = learner->absorb(outcome.batch, requests);
    outcome.seconds_unlearn = seconds_since(start);
    if (!missed) return;
    outcome.step->retrained |= missed->retrained;
    outcome.step->passes += missed->passes;
    outcome.seconds_catch_up = seconds_catch_up;
    missed.reset();
  }

  Writer& writer;
  LiveStore& store;
  StreamOptions options;
  std::optional<Learner> learner;
  std::optional<StepReport> missed;  // what catching up did, until an outcome tells of it
  double seconds_catch_up = 0;
  Reservation room;       // of requests and all that is made of them
  bool room_used = true;  // by a batch that was sent
};

StreamSession::StreamSession(Writer& writer, StreamOptions options)
    : impl_(std::make_unique<Impl>(writer, std::move(options))) {}
StreamSession::StreamSession(StreamSession&&) noexcept = default;
StreamSession::~StreamSession() = default;

void StreamSession::make_room(std::size_t requests) {
  impl_->room.release();
  impl_->room = impl_->store.reserve_batch(requests);
  impl_->room_used = false;
}

BatchOutcome StreamSession::send(std::span<const Request> requests) {
  Impl& session = *impl_;
  LiveStore& store = session.store;
  if (session.room_used) make_room(requests.size());
  session.room_used = true;  // until its sender has been told, or the next batch comes
  BatchOutcome outcome;
  outcome.after = store.sequence();
  const Clock::time_point start = Clock::now();
  BatchChanges changes = store.resolve(requests);
  outcome.refused = session.options.strict && changes.rejected > 0;
  if (session.options.decided) session.options.decided({requests, changes.statuses, outcome.after, outcome.refused});
  if (outcome.refused) {
    outcome.batch.changes = std::move(changes);
    return outcome;
  }
  outcome.batch = store.apply(requests, std::move(changes), session.options.mode,
                              session.learner ? LastLevel::at_once : LastLevel::deferred);
  outcome.seconds = seconds_since(start);
  if (session.learner) session.absorb(requests, outcome);
  return outcome;
}

void StreamSession::settle() {
  if (impl_->room_used) impl_->room.release();
  if (impl_->learner) impl_->learner->settle();
}

CloseReport StreamSession::close() {
  CloseReport report;
  settle();
  const Clock::time_point start = Clock::now();
  report.update = impl_->store.deliver();
  report.seconds = seconds_since(start);
  impl_->store.checkpoint();
  impl_->store.record();
  return report;
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
  return evaluate_model(impl_->store, impl_->learner->record(), &impl_->learner->rows());
}

}  // namespace v0
}  // namespace unweave
