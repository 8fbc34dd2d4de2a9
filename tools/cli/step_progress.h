// tools/cli/step_progress.h - a progress meter for work in several steps.
#pragma once

#include <iosfwd>
#include <optional>

#include "engine/resources/work_meter.h"
#include "tools/cli/progress.h"

namespace unweave {

/// Draws one Progress after another on `out`; nothing unless `shown`.
class StepProgress final : public WorkMeter {
 public:
  StepProgress(std::ostream& out, bool shown) : out_(out), shown_(shown) {}

  void start(std::string_view step, std::uint64_t total, std::string_view unit) override {
    progress_.emplace(out_, shown_, std::string(step), total, std::string(unit));
  }
  void note(const std::string& text) override {
    if (progress_) progress_->set_note(text);
  }
  /// Clears the line.
  void finish() { progress_.reset(); }

 protected:
  void add(std::uint64_t count) noexcept override {
    if (progress_) progress_->advance(count);
  }

 private:
  std::ostream& out_;
  bool shown_;
  std::optional<Progress> progress_;
};

}  // namespace unweave
