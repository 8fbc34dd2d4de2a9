// algorithms/api/unweave/resources.h - what work may take of the machine, and who watches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"

namespace unweave {

class ThreadLimit;

inline namespace v0 {

struct ResourceLimits {
  /// How much the process may take; 0: 80 % of the machine's, or of the control group's where that
  /// is smaller. A part of it, 12 to 32 MiB, is left for stacks, small buffers and what libraries
  /// keep.
  std::uint64_t memory_bytes = 0;
  std::size_t threads = 0;  ///< how many the whole process works on while the object lives; 0: one a core
};

/// One for all stores that a program has open, which share its memory. It outlives all readers,
/// writers and sessions.
class Resources {
 public:
  /// `meter` is told how far long work has come, and may cancel it (engine/resources/work_meter.h);
  /// null: nobody watches.
  explicit Resources(const ResourceLimits& limits = {}, WorkMeter* meter = nullptr);
  ~Resources();
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  [[nodiscard]] MemoryBudget& memory() noexcept { return memory_; }
  [[nodiscard]] WorkMeter& meter() noexcept { return meter_ != nullptr ? *meter_ : nobody_; }
  /// Another one watches from now on, or nobody.
  void set_meter(WorkMeter* meter) noexcept { meter_ = meter; }

 private:
  std::unique_ptr<ThreadLimit> threads_;
  MemoryBudget memory_;
  WorkMeter nobody_;
  WorkMeter* meter_;
};

}  // namespace v0
}  // namespace unweave
