// engine/resources/work_meter.h - how long work tells whoever watches how far it has come, and asks
// whether to go on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/io/error.h"

namespace unweave {

/// A plain WorkMeter is nobody watching.
class WorkMeter {
 public:
  WorkMeter() = default;
  virtual ~WorkMeter() = default;
  WorkMeter(const WorkMeter&) = delete;
  WorkMeter& operator=(const WorkMeter&) = delete;

  /// The next step begins; it will take `total` units ("arcs", "rows"), 0 if that is not known.
  /// Called from the thread that asked for the work.
  virtual void start(std::string_view /*step*/, std::uint64_t /*total*/, std::string_view /*unit*/) {}
  /// What else there is to say of the step, in the place of what was said before. Any thread.
  virtual void note(const std::string& /*text*/) {}
  /// `count` more units of the step are done. Any thread. Throws Cancelled.
  void advance(std::uint64_t count) {
    add(count);
    if (cancelled()) throw Cancelled();
  }
  /// Does what advance() does for work that cannot be cancelled any more.
  void tell(std::uint64_t count) noexcept { add(count); }

 protected:
  /// Takes what advance() was told. Any thread, several at once.
  virtual void add(std::uint64_t /*count*/) noexcept {}
  /// Whether the work is to end as soon as it can. Any thread, several at once.
  [[nodiscard]] virtual bool cancelled() noexcept { return false; }
};

}  // namespace unweave
