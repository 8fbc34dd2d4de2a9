// engine/resources/clock.h - how reports count time.
#pragma once

#include <chrono>

namespace unweave {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace unweave
