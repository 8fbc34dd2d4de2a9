// tools/service/intake.cpp - the two threads of a service, and what they tell each other.
#include "tools/service/intake.h"

#include <algorithm>
#include <utility>

#include "engine/resources/clock.h"

namespace unweave {

Intake::Intake(StreamSession& session, const IntakeOptions& options,
               std::function<void(std::uint64_t batch, const AppliedBatch&)> told)
    : session_(session), options_(options), told_(std::move(told)) {
  acknowledger_ = std::thread([this] { acknowledge_groups(); });
  applier_ = std::thread([this] { apply_batches(); });
}

Intake::~Intake() {
  try {
    finish();
  } catch (...) {  // whoever wants to know calls finish()
  }
}

Acknowledgement Intake::submit(std::vector<Request> requests) {
  Group group{std::move(requests), {}, false, {}};
  std::unique_lock lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  if (ending_) throw BusyError("the service ends and takes no more requests");
  if (counts_.waiting + gathered_ + group.requests.size() > options_.most_waiting)
    throw BusyError(std::to_string(counts_.waiting + gathered_) + " requests wait to be applied, and no more than " +
                    std::to_string(options_.most_waiting) + " may; send again later");
  gathered_ += group.requests.size();
  groups_.push_back(&group);
  submitted_.notify_one();
  answered_.wait(lock, [&] { return group.done; });
  if (group.error) std::rethrow_exception(group.error);
  return std::move(group.answer);
}

void Intake::acknowledge_groups() {
  std::unique_lock lock(mutex_);
  for (;;) {
    submitted_.wait(lock, [&] { return !groups_.empty() || ending_; });
    if (groups_.empty()) {
      all_taken_ = true;
      waiting_.notify_all();
      return;
    }
    const std::deque<Group*> taken = std::exchange(groups_, {});
    std::size_t count = 0;
    for (const Group* group : taken) count += group->requests.size();
    std::exception_ptr error = error_;
    std::uint64_t last = 0;
    double seconds = 0;
    std::vector<Request> all;
    std::vector<bool> known;
    lock.unlock();
    if (!error) {
      all.reserve(count);
      for (const Group* group : taken) all.insert(all.end(), group->requests.begin(), group->requests.end());
      const Clock::time_point start = Clock::now();
      try {
        known = session_.known_ids(all);
        known.resize(all.size());
        last = session_.acknowledge(all);
      } catch (...) {
        error = std::current_exception();
      }
      seconds = seconds_since(start);
    }
    lock.lock();
    gathered_ -= count;
    if (!error) remember(all, last - count + 1, known);
    std::uint64_t at = last - count;
    auto answer = known.begin();
    for (Group* group : taken) {
      const std::size_t size = group->requests.size();
      group->error = error;
      group->answer.last = at += size;
      if (!error) group->answer.known.assign(answer, answer + static_cast<std::ptrdiff_t>(size));
      if (!error) answer += static_cast<std::ptrdiff_t>(size);
      group->done = true;
    }
    if (!error) {
      counts_.acknowledged += count;
      counts_.waiting += count;
      ++counts_.groups;
      counts_.sync_seconds += seconds;
      if (!oldest_) oldest_ = std::chrono::steady_clock::now();
    }
    answered_.notify_all();
    waiting_.notify_all();
    if (error && !error_) {
      lock.unlock();
      fail(error);
      lock.lock();
    }
  }
}

/// Those that wait are known here alone, the others in the store.
void Intake::remember(const std::vector<Request>& requests, std::uint64_t first, std::vector<bool>& known) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].id.empty()) continue;
    // Where it was sent before, the first one counts.
    if (states_.try_emplace(requests[i].id, RequestState{first + i, false, {}, 0}).second)
      order_.push_back(requests[i].id);
    else
      known[i] = true;
  }
  // Those that wait are never forgotten: they come last, and no more than most_waiting are.
  const std::size_t most = std::max(options_.remembered, 2 * options_.most_waiting);
  while (order_.size() > most) {
    states_.erase(order_.front());
    order_.pop_front();
  }
}

void Intake::apply_batches() {
  expiry_ = session_.next_expiry().value_or(kNoExpiry);
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto expires = [&] { return !ending_ && present_time() >= expiry_; };
    const auto is_due = [&] {
      return error_ || counts_.waiting >= options_.batch || (all_taken_ && counts_.waiting > 0) ||
             (oldest_ && std::chrono::steady_clock::now() >= *oldest_ + options_.every);
    };
    while (!is_due() && !expires() && !(all_taken_ && counts_.waiting == 0)) waiting_.wait_for(lock, time_left());
    if (!error_ && expires()) {
      lock.unlock();
      try {
        expire_edges();
      } catch (...) {
        fail(std::current_exception());
      }
      lock.lock();
      continue;
    }
    if (error_ || counts_.waiting == 0) {
      if (error_ || all_taken_) return;
      oldest_.reset();
      continue;
    }
    lock.unlock();
    try {
      apply_next();
    } catch (...) {
      fail(std::current_exception());
    }
    lock.lock();
  }
}

std::chrono::milliseconds Intake::time_left() const {
  using std::chrono::milliseconds;
  milliseconds left = std::chrono::hours(1);
  if (oldest_)
    left =
        std::min(left, std::chrono::ceil<milliseconds>(*oldest_ + options_.every - std::chrono::steady_clock::now()));
  if (expiry_ != kNoExpiry) left = std::min(left, milliseconds(expiry_ - present_time()));
  return std::max(left, milliseconds(0));
}

/// Their removals are requests like others, and do not wait for more of them.
void Intake::expire_edges() {
  const std::vector<Request> requests = session_.expired(present_time(), options_.batch);
  last_expiry_ = session_.acknowledge(requests);
  expiry_ = kNoExpiry;  // until they are applied
  const std::scoped_lock lock(mutex_);
  counts_.acknowledged += requests.size();
  counts_.waiting += requests.size();
  oldest_ = std::chrono::steady_clock::now() - options_.every;
}

void Intake::apply_next() {
  const Clock::time_point start = Clock::now();
  const AppliedBatch applied = session_.apply_acknowledged(options_.batch);
  const double seconds = seconds_since(start);
  std::uint64_t batch = 0;
  {
    const std::scoped_lock lock(mutex_);
    batch = ++counts_.batches;
    counts_.batch_seconds += seconds;
    counts_.waiting -= applied.requests.size();
    oldest_.reset();
    if (counts_.waiting > 0) oldest_ = std::chrono::steady_clock::now();
    note(applied);
  }
  told_(batch, applied);
  session_.settle();
  if (applied.outcome.after + applied.requests.size() >= last_expiry_)
    expiry_ = session_.next_expiry().value_or(kNoExpiry);
  if (std::chrono::steady_clock::now() - saved_ < options_.checkpoint) return;
  session_.checkpoint();
  saved_ = std::chrono::steady_clock::now();
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
  }
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

IntakeCounts Intake::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

bool Intake::ready() const {
  const std::scoped_lock lock(mutex_);
  return !ending_ && !error_ && counts_.waiting < options_.most_waiting;
}

void Intake::finish() {
  {
    const std::scoped_lock lock(mutex_);
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
