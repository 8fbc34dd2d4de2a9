// engine/resources/watcher.h - whom the long work of a thread tells how far it has come, without a
// meter in every signature.
//
//   StepProgress progress(line.error(), line.shows_progress());
//   const WatchedBy watched(progress);  // a command, of all that it calls
//   ...
//   const WatchedStep step("newton", 0, "passes");  // work, whether anybody watches or not
//   step.advance(1);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/resources/work_meter.h"

namespace unweave {

/// While one lives, this thread's work tells `meter`; after it whom it told before. Objects are
/// nested as scopes are.
class WatchedBy {
 public:
  explicit WatchedBy(WorkMeter& meter) : before_(std::exchange(now(), &meter)) {}
  ~WatchedBy() { now() = before_; }
  WatchedBy(const WatchedBy&) = delete;
  WatchedBy& operator=(const WatchedBy&) = delete;

  /// Null where nobody watches this thread: the threads that work for it tell nobody of themselves.
  [[nodiscard]] static WorkMeter*& now() noexcept {
    thread_local WorkMeter* meter = nullptr;
    return meter;
  }

 private:
  WorkMeter* before_;
};

/// A step of work, begun where it is made. Costs a look at a pointer where nobody watches.
class WatchedStep {
 public:
  /// As WorkMeter::start() has them.
  WatchedStep(std::string_view step, std::uint64_t total, std::string_view unit) : meter_(WatchedBy::now()) {
    if (meter_ != nullptr) meter_->start(step, total, unit);
  }

  /// `count` more units are done. Any thread. Throws Cancelled.
  void advance(std::uint64_t count) const {
    if (meter_ != nullptr) meter_->advance(count);
  }
  /// Whether anybody reads what note() would say.
  [[nodiscard]] bool watched() const noexcept { return meter_ != nullptr; }
  /// What else there is to say of the way still to go, where no total is known. Any thread.
  void note(const std::string& text) const {
    if (meter_ != nullptr) meter_->note(text);
  }

 private:
  WorkMeter* meter_;
};

/// `count` more units of the step that this thread has begun. Throws Cancelled.
inline void advance_watched(std::uint64_t count) {
  if (WorkMeter* const meter = WatchedBy::now(); meter != nullptr) meter->advance(count);
}

}  // namespace unweave
