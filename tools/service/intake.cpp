// tools/service/intake.cpp - the two threads of a service, and what they tell each other.
#include "tools/service/intake.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "algorithms/live/request_register.h"
#include "algorithms/live/request_room.h"
#include "engine/resources/clock.h"
#include "engine/resources/memory_shares.h"

namespace unweave {

namespace {

constexpr std::size_t kMostConflicts = 100;  // those of a call that are told

std::string text_of_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return known.message();
  } catch (const std::exception&) {
    return "an internal error";
  }
}

/// Memory of a state that is told by an id of so many bytes.
std::uint64_t state_bytes(const std::string& id) {
  constexpr std::uint64_t kStateBytes = 192;
  return kStateBytes + id.size();
}

}  // namespace

Reservation Intake::reserve_told(MemoryBudget& budget) {
  return budget.reserve(memory_shares::kToldRequests.of(budget), "states of requests that were applied");
}

Intake::Intake(StreamSession& session, Reservation told_room, const IntakeOptions& options,
               std::function<void(std::uint64_t batch, const AppliedBatch&)> tell,
               std::function<void(const StorePurge&)> tell_purge)
    : session_(session),
      told_room_(std::move(told_room)),
      options_(options),
      tell_(std::move(tell)),
      tell_purge_(std::move(tell_purge)) {
  counts_.stuck_models = session_.stuck_models();
  nodes_ = session_.nodes();
  most_nodes_ = options_.most_nodes;
  const PurgeNeed need = session_.purge_need();
  purge_begun_ = need.begun;
  counts_.unpurged = need.requests;
  if (need.requests > 0) counts_.unpurged_since = need.since.value_or(present_time());
  acknowledger_ = std::thread([this] { acknowledge_groups(); });
  applier_ = std::thread([this] { apply_batches(); });
}

Intake::~Intake() {
  try {
    finish();
  } catch (...) {  // whoever wants to know calls finish()
  }
}

Intake::Sender::Sender(Intake& intake) : intake_(intake) {
  const std::scoped_lock lock(intake.mutex_);
  if (intake.error_) std::rethrow_exception(intake.error_);
  if (intake.ending_) throw BusyError("the service ends and takes no more requests");
  if (intake.counts_.purging)
    throw BusyError("the store is being purged, and no request is taken meanwhile; send again later");
  if (intake.counts_.growing)
    throw BusyError("room is being made for more nodes, and no request is taken meanwhile; send again later");
  ++intake.senders_;
}

Intake::Sender::~Sender() {
  const std::scoped_lock lock(intake_.mutex_);
  --intake_.senders_;
  intake_.left_.notify_all();
}

Intake::Reading::Reading(Intake& intake, const std::function<bool()>& ends) : intake_(intake) {
  constexpr std::chrono::milliseconds kLook{50};
  std::unique_lock lock(intake_.turn_mutex_);
  std::list<Reading*>& queue = intake_.readers_;
  const auto own = queue.insert(queue.end(), this);
  while (queue.front() != this || intake_.reads_ || intake_.works_ ||
         (intake_.work_waits_ && !intake_.reader_is_next_)) {
    if (ends()) {
      queue.erase(own);
      intake_.turn_over_.notify_all();
      throw BusyError("the service ends");
    }
    intake_.turn_over_.wait_for(lock, kLook);
  }
  queue.erase(own);
  intake_.reader_is_next_ = false;
  intake_.reads_ = true;
}

Intake::Reading::~Reading() {
  const std::scoped_lock lock(intake_.turn_mutex_);
  intake_.reads_ = false;
  intake_.turn_over_.notify_all();
}

Intake::Work::Work(Intake& intake) : intake_(intake) {
  std::unique_lock lock(intake_.turn_mutex_);
  intake_.work_waits_ = true;
  intake_.turn_over_.wait(lock,
                          [&] { return !intake_.reads_ && !(intake_.reader_is_next_ && !intake_.readers_.empty()); });
  intake_.work_waits_ = false;
  intake_.works_ = true;
}

Intake::Work::~Work() {
  const std::scoped_lock lock(intake_.turn_mutex_);
  intake_.works_ = false;
  intake_.reader_is_next_ = !intake_.readers_.empty();
  intake_.turn_over_.notify_all();
}

Acknowledgement Intake::submit(std::vector<Request> requests) {
  if (const std::optional<std::uint64_t> nodes = wanted_nodes(requests)) make_room_for(*nodes);
  const Sender sender(*this);
  Group group;
  session_.require_removable(requests);
  try {
    group.room = session_.make_room_to_wait(requests);
  } catch (const TooLargeError&) {
    throw;
  } catch (const NoRoomError& error) {
    throw BusyError(error.message());
  }
  group.size = requests.size();
  group.requests = std::move(requests);
  std::unique_lock lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  if (ending_) throw BusyError("the service ends and takes no more requests");
  if (counts_.waiting + gathered_ + group.size > options_.most_waiting)
    throw BusyError(std::to_string(counts_.waiting + gathered_) + " requests wait to be applied, and no more than " +
                    std::to_string(options_.most_waiting) + " may; send again later");
  gathered_ += group.size;
  groups_.push_back(&group);
  submitted_.notify_one();
  answered_.wait(lock, [&] { return group.done; });
  if (group.error) std::rethrow_exception(group.error);
  return std::move(group.answer);
}

/// What requests leave behind in memory.
struct Intake::Share {
  std::uint64_t ids = 0, note_bytes = 0;
  void add(std::span<const Request> requests, std::span<const IdUse> uses) {
    for (std::size_t i = 0; i < requests.size(); ++i) ids += keeps_id(requests[i]) && uses[i] == IdUse::fresh ? 1 : 0;
    note_bytes += unweave::note_bytes(requests);
  }
};

bool Intake::has_share(std::span<const Request> requests, std::span<const IdUse> uses) const {
  Share share;
  share.add(requests, uses);
  try {
    session_.require_share(share.ids, share.note_bytes);
    return true;
  } catch (const FullError&) {
    return false;
  }
}

/// Decides which groups are taken now. Where two groups of a round have an id for different
/// requests, the one that came first counts.
void Intake::gather(Round& round) const {
  std::size_t count = 0;
  for (const Group* group : round.groups) count += group->size;
  round.requests.reserve(count);
  for (Group* group : round.groups)
    std::move(group->requests.begin(), group->requests.end(), std::back_inserter(round.requests));
  // What is known beside a group may be new without it.
  while (!part(round)) {
  }
}

/// Takes the groups out of a round that are refused or deferred. False where one of them was too
/// much: others may be, too, that were held against it.
bool Intake::part(Round& round) const {
  round.uses = session_.id_uses(round.requests);
  round.uses.resize(round.requests.size(), IdUse::fresh);
  const auto is_refused = [](IdUse use) { return use == IdUse::other || use == IdUse::unkept; };
  if (std::none_of(round.uses.begin(), round.uses.end(), is_refused) && has_share(round.requests, round.uses))
    return true;
  struct Part {
    Group* group;
    std::span<Request> own;
  };
  // Where each id of the round stands first.
  std::unordered_map<std::string_view, std::size_t> first_of;
  for (std::size_t i = 0; i < round.requests.size(); ++i)
    if (!round.requests[i].id.empty()) first_of.try_emplace(round.requests[i].id, i);
  std::vector<Part> taken, deferred;  // whose requests stay where they are until all is decided
  bool has_room = true;
  Share share;
  std::size_t begin = 0;
  for (Group* group : round.groups) {
    std::vector<IdConflict> conflicts;
    bool is_deferred = false;
    for (std::size_t i = begin; i < begin + group->size; ++i) {
      if (!is_refused(round.uses[i])) continue;
      // An id that is fresh where it stands first is held against a request of this round, and no
      // earlier one.
      const std::size_t first = first_of.at(round.requests[i].id);
      const bool is_with_others = first < begin && round.uses[first] == IdUse::fresh;
      is_deferred |= is_with_others;
      if (is_with_others || conflicts.size() == kMostConflicts) continue;
      IdConflict conflict = session_.conflict(round.requests, i);
      conflict.index -= begin;
      if (conflict.earlier_in_batch) *conflict.earlier_in_batch -= begin;
      conflicts.push_back(std::move(conflict));
    }
    const std::span<Request> own = std::span(round.requests).subspan(begin, group->size);
    Share with = share;
    with.add(own, std::span(round.uses).subspan(begin, group->size));
    begin += group->size;
    if (!conflicts.empty()) {
      group->error = std::make_exception_ptr(IdConflictError(std::move(conflicts)));
      round.refused.push_back(group);
      continue;
    }
    if (is_deferred) {
      deferred.push_back({group, own});
      continue;
    }
    try {
      session_.require_share(with.ids, with.note_bytes);
    } catch (const FullError&) {  // what others of the round ask for may fit
      group->error = std::current_exception();
      round.refused.push_back(group);
      has_room = false;
      continue;
    }
    share = with;
    taken.push_back({group, own});
  }
  for (const Part& one : deferred) {
    one.group->requests.assign(std::make_move_iterator(one.own.begin()), std::make_move_iterator(one.own.end()));
    round.deferred.push_back(one.group);
  }
  std::vector<Request> left;
  left.reserve(round.requests.size());
  round.groups.clear();
  for (const Part& one : taken) {
    std::move(one.own.begin(), one.own.end(), std::back_inserter(left));
    round.groups.push_back(one.group);
  }
  round.requests = std::move(left);
  // No longer those of groups that are not taken.
  if (has_room) round.uses = session_.id_uses(round.requests);
  return has_room;
}

void Intake::acknowledge_groups() {
  std::unique_lock order(order_mutex_, std::defer_lock);
  std::unique_lock lock(mutex_);
  for (;;) {
    submitted_.wait(lock, [&] { return !groups_.empty() || ending_; });
    if (groups_.empty()) {
      all_taken_ = true;
      waiting_.notify_all();
      return;
    }
    Round round;
    round.groups.assign(groups_.begin(), groups_.end());
    groups_.clear();
    std::exception_ptr error = error_;
    bool is_refused = false;  // and the service goes on
    std::uint64_t last = 0;
    double seconds = 0;
    std::vector<std::string> ids;
    lock.unlock();
    order.lock();
    if (!error) {
      const Clock::time_point start = Clock::now();
      try {
        gather(round);
        ids.reserve(round.requests.size());
        for (const Request& request : round.requests) ids.push_back(request.id);
        std::vector<Reservation> rooms;
        for (Group* group : round.groups) rooms.push_back(std::move(group->room));
        if (!ids.empty()) last = session_.acknowledge(std::move(round.requests), std::move(rooms));
      } catch (const FullError&) {
        is_refused = true;
        error = std::current_exception();
      } catch (const NoRoomError& busy) {
        is_refused = true;
        error = std::make_exception_ptr(BusyError(busy.message()));
      } catch (...) {
        error = std::current_exception();
      }
      seconds = seconds_since(start);
    }
    lock.lock();
    groups_.insert(groups_.begin(), round.deferred.begin(), round.deferred.end());
    for (Group* group : round.refused) {
      gathered_ -= group->size;
      group->done = true;
    }
    const std::size_t count = ids.size();
    round.uses.resize(count, IdUse::fresh);
    if (!error) try {
        remember(ids, last - count + 1, round.uses);
      } catch (...) {  // no memory: they are durable, and nobody could tell what becomes of them
        error = std::current_exception();
      }
    std::uint64_t at = last - count;
    auto use = round.uses.begin();
    for (Group* group : round.groups) {
      gathered_ -= group->size;
      group->error = error;
      group->answer.last = at += group->size;
      for (std::size_t i = 0; !error && i < group->size; ++i) group->answer.known.push_back(*use++ == IdUse::known);
      group->done = true;
    }
    if (!error && count > 0) {
      counts_.acknowledged += count;
      counts_.waiting += count;
      count_unpurged(count);
      ++counts_.groups;
      counts_.sync_seconds += seconds;
      if (!oldest_) oldest_ = std::chrono::steady_clock::now();
    }
    order.unlock();
    answered_.notify_all();
    waiting_.notify_all();
    if (error && !is_refused && !error_) {
      lock.unlock();
      fail(error);
      lock.lock();
    }
  }
}

/// Where an id was there before, the first request counts.
void Intake::remember(const std::vector<std::string>& ids, std::uint64_t first, const std::vector<IdUse>& uses) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].empty() || uses[i] != IdUse::fresh) continue;
    const auto [state, is_new] = states_.try_emplace(ids[i], RequestState{first + i, false, {}, 0});
    if (is_new) known_.push_back(&state->first);
  }
}

/// The memory of those that wait is theirs until they are applied; that of the others is bounded.
void Intake::forget_oldest() {
  while (told_ > options_.remembered || told_bytes_ > told_room_.bytes()) {
    const auto oldest = states_.find(*known_.front());
    if (!oldest->second.applied) return;  // one that waits: all behind it do
    --told_;
    told_bytes_ -= state_bytes(oldest->first);
    known_.pop_front();
    states_.erase(oldest);
  }
}

/// What it throws ends the service.
void Intake::without_lock(std::unique_lock<std::mutex>& lock, void (Intake::*work)()) {
  lock.unlock();
  try {
    (this->*work)();
  } catch (...) {
    fail(std::current_exception());
  }
  lock.lock();
}

void Intake::apply_batches() {
  expiry_ = session_.next_expiry().value_or(kNoExpiry);
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto expires = [&] { return !ending_ && present_time() >= expiry_; };
    const auto purges = [&] {
      if (order_ != nullptr) return true;
      const std::optional<Millis> due = purge_due();
      return !ending_ && due && present_time() >= *due;
    };
    const auto is_due = [&] {
      return error_ || counts_.waiting >= options_.batch || (all_taken_ && counts_.waiting > 0) ||
             (oldest_ && std::chrono::steady_clock::now() >= *oldest_ + options_.every);
    };
    while (!is_due() && !expires() && !purges() && grow_order_ == nullptr && !(all_taken_ && counts_.waiting == 0))
      waiting_.wait_for(lock, time_left());
    if (grow_order_ != nullptr) {
      grow_now(lock);
      continue;
    }
    if (!error_ && purges()) {
      purge_now(lock);
      continue;
    }
    if (!error_ && expires()) {
      without_lock(lock, &Intake::expire);
      continue;
    }
    if (error_ || counts_.waiting == 0) {
      if (error_ && order_ != nullptr) purge_now(lock);  // whoever waits for it is told
      if (error_ || all_taken_) return;
      oldest_.reset();
      continue;
    }
    if (all_taken_ && std::chrono::steady_clock::now() >= last_) return;
    without_lock(lock, &Intake::apply_next);
  }
}

std::chrono::milliseconds Intake::time_left() const {
  using std::chrono::milliseconds;
  milliseconds left = std::chrono::hours(1);
  if (oldest_)
    left =
        std::min(left, std::chrono::ceil<milliseconds>(*oldest_ + options_.every - std::chrono::steady_clock::now()));
  if (expiry_ != kNoExpiry) left = std::min(left, milliseconds(expiry_ - present_time()));
  if (const std::optional<Millis> due = purge_due(); due && !ending_)
    left = std::min(left, milliseconds(*due - present_time()));
  return std::max(left, milliseconds(0));
}

/// Their removals are requests like others, and do not wait for more of them.
void Intake::expire() {
  constexpr std::size_t kMostAtOnce = 1024;
  constexpr Millis kLookAgain = 1000;
  // Nodes that have got more edges since than there is memory for stay, and are told of as overdue;
  // those behind them go.
  std::size_t overdue = 0;
  {
    const std::scoped_lock lock(mutex_);
    overdue = counts_.overdue;
  }
  std::vector<Request> requests = session_.expired(present_time(), kMostAtOnce + overdue);
  const std::size_t due = requests.size();
  std::erase_if(requests, [&](const Request& one) {
    try {
      session_.require_removable(std::span(&one, 1));
      return false;
    } catch (const TooLargeError&) {
      return true;
    }
  });
  {
    const std::scoped_lock lock(mutex_);
    counts_.overdue = due - requests.size();
  }
  if (requests.empty()) {
    expiry_ = present_time() + kLookAgain;
    return;
  }
  requests.resize(std::min({requests.size(), options_.batch, kMostAtOnce}));
  std::vector<Reservation> rooms;
  while (rooms.empty()) {
    try {
      rooms.push_back(session_.make_room_to_wait(requests));
    } catch (const TooLargeError&) {
      if (requests.size() < 2) throw;
      requests.resize(requests.size() / 2);
    } catch (const NoRoomError&) {  // when others were applied there is
      expiry_ = present_time() + kLookAgain;
      return;
    }
  }
  const std::size_t count = requests.size();
  const std::scoped_lock order(order_mutex_);
  try {
    last_expiry_ = session_.acknowledge(std::move(requests), std::move(rooms));
  } catch (const NoRoomError&) {
    expiry_ = present_time() + kLookAgain;
    return;
  }
  expiry_ = kNoExpiry;  // until they are applied
  const std::scoped_lock lock(mutex_);
  counts_.acknowledged += count;
  counts_.waiting += count;
  count_unpurged(count);
  oldest_ = std::chrono::steady_clock::now() - options_.every;
}

void Intake::apply_next() {
  const Work work(*this);
  const Clock::time_point start = Clock::now();
  std::size_t most = options_.batch;
  {
    // A sender whose requests are durable by now, and not counted yet, is told of them first.
    const std::scoped_lock lock(mutex_);
    most = std::min<std::size_t>(most, counts_.waiting);
  }
  std::optional<AppliedBatch> held = session_.apply_acknowledged(most);
  const AppliedBatch& applied = *held;
  const double seconds = seconds_since(start);
  std::uint64_t batch = 0;
  {
    const std::scoped_lock lock(mutex_);
    batch = ++counts_.batches;
    counts_.stuck_models = session_.stuck_models();
    counts_.batch_seconds += seconds;
    counts_.waiting -= applied.requests.size();
    oldest_.reset();
    if (counts_.waiting > 0) oldest_ = std::chrono::steady_clock::now();
    note(applied);
  }
  tell_(batch, applied);
  const bool has_expired = applied.outcome.after + applied.requests.size() >= last_expiry_;
  held.reset();  // the next batch needs its memory
  session_.settle();
  if (has_expired) expiry_ = session_.next_expiry().value_or(kNoExpiry);
  if (std::chrono::steady_clock::now() - saved_ < options_.checkpoint) return;
  session_.checkpoint();
  saved_ = std::chrono::steady_clock::now();
}

void Intake::count_unpurged(std::uint64_t count) {
  if (count == 0) return;
  counts_.unpurged += count;
  if (!counts_.unpurged_since) counts_.unpurged_since = present_time();
}

/// When the next purge that nobody orders is to begin; none where there is none. Under the mutex.
std::optional<Millis> Intake::purge_due() const {
  if (options_.purge_every.count() == 0 && options_.purge_after == 0) return std::nullopt;
  std::optional<Millis> due;
  if (options_.purge_every.count() > 0 && counts_.unpurged_since)
    due = *counts_.unpurged_since + options_.purge_every.count();
  if (purge_begun_ || (options_.purge_after > 0 && counts_.unpurged >= options_.purge_after)) due = 0;
  if (due) due = std::max(*due, purge_not_before_);
  return due;
}

StorePurge Intake::purge(const PurgeOptions& options) {
  PurgeOrder order{options, {}, false, {}};
  std::unique_lock lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  if (ending_) throw BusyError("the service ends and begins no purge");
  if (counts_.purging || order_ != nullptr) throw BusyError("another purge of the store is under way");
  order_ = &order;
  waiting_.notify_all();
  answered_.wait(lock, [&] { return order.done; });
  if (order.error) std::rethrow_exception(order.error);
  return std::move(order.purge);
}

/// On the thread that applies. The mutex is held but for the work itself.
void Intake::purge_now(std::unique_lock<std::mutex>& lock) {
  counts_.purging = true;  // from here on nobody comes
  left_.wait(lock, [&] { return senders_ == 0; });
  while (counts_.waiting > 0 && !error_) {
    without_lock(lock, &Intake::apply_next);
  }
  PurgeOrder* const order = std::exchange(order_, nullptr);
  const PurgeOptions own;
  StorePurge purge;
  std::exception_ptr error = error_;
  const bool works = !error;
  lock.unlock();
  if (works) {
    try {
      purge = purge_session(order != nullptr ? order->options : own);
    } catch (...) {
      error = std::current_exception();
    }
    if (!session_.is_open()) fail(error);
  }
  lock.lock();
  if (works && session_.is_open()) {
    expiry_ = session_.next_expiry().value_or(kNoExpiry);
    counts_.stuck_models = session_.stuck_models();
    last_expiry_ = 0;
    saved_ = std::chrono::steady_clock::now();
  }
  if (!error) {
    // The log of requests tells of these from now on; numbers begin anew.
    states_.clear();
    known_.clear();
    told_ = 0;
    told_bytes_ = 0;
    oldest_.reset();
    counts_.unpurged = 0;
    counts_.unpurged_since.reset();
    counts_.purge_error.clear();
    if (!purge.report.nothing) {
      counts_.last_purge = present_time();
      ++counts_.purges;
    }
    counts_.purge_seconds += purge.seconds;
    purge_begun_ = false;
    purge_not_before_ = 0;
  } else {
    ++counts_.failed_purges;
    counts_.purge_error = text_of_error(error);
    if (order == nullptr) purge_not_before_ = present_time() + options_.purge_again.count();
  }
  counts_.purging = false;
  if (order == nullptr) return;
  order->purge = std::move(purge);
  order->error = error;
  order->done = true;
  answered_.notify_all();
}

StorePurge Intake::purge_session(const PurgeOptions& options) {
  const Work work(*this);
  const Clock::time_point start = Clock::now();
  StorePurge purge;
  PurgeOptions told = options;
  told.key = options_.key;
  told.before_removal = [&](const std::vector<std::string>& models) { purge.removed_models = models; };
  purge.report = session_.purge(told);
  purge.seconds = seconds_since(start);
  if (tell_purge_) tell_purge_(purge);
  return purge;
}

std::optional<std::uint64_t> Intake::wanted_nodes(std::span<const Request> requests) const {
  constexpr std::uint64_t kAtOnce = 65'536;  // so that the number of nodes tells little of who came
  const std::scoped_lock lock(mutex_);
  std::optional<std::uint64_t> largest;
  for (const Request& one : requests)
    if (one.kind == RequestKind::insert_node && !one.u_by_name && one.u < most_nodes_)
      largest = std::max(largest.value_or(0), one.u);
  // A call that is going to be refused makes no room.
  if (!largest || *largest < nodes_ || counts_.waiting + gathered_ + requests.size() > options_.most_waiting)
    return std::nullopt;
  return std::min((*largest / kAtOnce + 1) * kAtOnce, most_nodes_);
}

/// Waits until there is room for so many.
void Intake::make_room_for(std::uint64_t nodes) {
  GrowOrder order{nodes};
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [&] { return grow_order_ == nullptr; });
  if (nodes_ >= nodes) return;  // another sender asked for it
  if (error_) std::rethrow_exception(error_);
  if (ending_) throw BusyError("the service ends and takes no more requests");
  grow_order_ = &order;
  waiting_.notify_all();
  answered_.wait(lock, [&] { return order.done; });
  if (order.error) std::rethrow_exception(order.error);
}

/// On the thread that applies. The mutex is held but for the work itself.
void Intake::grow_now(std::unique_lock<std::mutex>& lock) {
  counts_.growing = true;  // from here on nobody comes
  left_.wait(lock, [&] { return senders_ == 0; });
  while (counts_.waiting > 0 && !error_) without_lock(lock, &Intake::apply_next);
  GrowOrder& order = *grow_order_;
  bool cannot_grow = false;
  order.error = error_;
  if (!error_) {
    lock.unlock();
    try {
      const Work work(*this);
      const GrowReport report = session_.grow({order.nodes, {}});
      if (options_.tell_growth) options_.tell_growth(report);
    } catch (const UsageError&) {
      order.error = std::current_exception();
      cannot_grow = true;
    } catch (...) {
      order.error = std::current_exception();
    }
    if (!session_.is_open()) fail(order.error);
    lock.lock();
  }
  if (cannot_grow) most_nodes_ = nodes_;  // nor could it for the next sender
  if (session_.is_open()) {
    nodes_ = session_.nodes();
    expiry_ = session_.next_expiry().value_or(kNoExpiry);
    counts_.stuck_models = session_.stuck_models();
    saved_ = std::chrono::steady_clock::now();
  }
  counts_.growing = false;
  order.done = true;
  grow_order_ = nullptr;
  answered_.notify_all();
}

void Intake::note(const AppliedBatch& applied) {
  const std::vector<RequestStatus>& statuses = applied.outcome.batch.changes.statuses;
  for (std::size_t i = 0; i < applied.requests.size(); ++i) {
    ++(statuses[i] == RequestStatus::applied ? counts_.applied : counts_.rejected);
    const auto found = states_.find(applied.requests[i].id);
    if (found == states_.end() || found->second.sequence != applied.outcome.after + i + 1) continue;
    found->second.applied = true;
    found->second.status = name_of(statuses[i]);
    found->second.batch = counts_.batches;
    ++told_;
    told_bytes_ += state_bytes(found->first);
  }
  forget_oldest();
}

void Intake::fail(std::exception_ptr error) {
  std::function<void()> call;
  {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = std::move(error);
    ending_ = true;
    call = failed_;
  }
  submitted_.notify_all();
  waiting_.notify_all();
  if (call) call();
}

void Intake::on_failure(std::function<void()> call) {
  const std::scoped_lock lock(mutex_);
  failed_ = std::move(call);
}

std::optional<RequestState> Intake::find(const std::string& id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = states_.find(id);
  return found == states_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Intake::waiting_ids(std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> ids;
  for (auto id = known_.rbegin(); id != known_.rend() && ids.size() < most; ++id) {
    const auto state = states_.find(**id);
    if (state == states_.end() || state->second.applied) break;  // so are all before it
    ids.push_back(**id);
  }
  return ids;
}

IntakeCounts Intake::counts() const {
  const std::scoped_lock lock(mutex_);
  IntakeCounts counts = counts_;
  counts.purge_due = purge_due();
  return counts;
}

bool Intake::ready() const {
  const std::scoped_lock lock(mutex_);
  return !ending_ && !error_ && !counts_.purging && !counts_.growing && counts_.waiting < options_.most_waiting;
}

void Intake::finish(std::chrono::milliseconds most) {
  {
    const std::scoped_lock lock(mutex_);
    // Sooner than the clock can say there is no end.
    const auto now = std::chrono::steady_clock::now();
    last_ = most < kNoEnd ? now + most : std::chrono::steady_clock::time_point::max();
    ending_ = true;
  }
  submitted_.notify_all();
  if (acknowledger_.joinable()) acknowledger_.join();
  waiting_.notify_all();
  if (applier_.joinable()) applier_.join();
  const std::scoped_lock lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

}  // namespace unweave
