// engine/resources/work_meter.h - how long work tells whoever watches how far it has come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace unweave {

/// A plain WorkMeter is nobody watching.
class WorkMeter {
 public:
  WorkMeter() = default;
  virtual ~WorkMeter() = default;
  WorkMeter(const WorkMeter&) = delete;
  WorkMeter& operator=(const WorkMeter&) = delete;

  /// The next step begins; it will take `total` units ("arcs", "rows"), 0 if that is not known.
  virtual void start(std::string_view /*step*/, std::uint64_t /*total*/, std::string_view /*unit*/) {}
  /// `count` more units of the step are done. Any thread.
  virtual void advance(std::uint64_t /*count*/) noexcept {}
  /// What else there is to say of the step, in the place of what was said before. Any thread.
  virtual void note(const std::string& /*text*/) {}
};

}  // namespace unweave
