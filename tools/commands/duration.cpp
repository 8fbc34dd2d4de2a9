// tools/commands/duration.cpp - a whole number and its unit.
#include "tools/commands/duration.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include "storage/io/error.h"

namespace unweave {

std::chrono::milliseconds read_duration(const std::string& option, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::uint64_t millis = unit == "ms"    ? 1
                               : unit == "s"   ? 1000
                               : unit == "min" ? 60'000
                               : unit == "h"   ? 3'600'000
                               : unit == "d"   ? 86'400'000
                                               : 0;
  constexpr std::uint64_t kMost =
      std::uint64_t{36'500} * 86'400'000;  // a clock counts nanoseconds from some moment on, in 63 bits
  if (error != std::errc() || millis == 0 || value > kMost / millis)
    throw UsageError("--" + option + " must be 500ms, 5s, 2min, 24h or 7d, say, and 36500d at most");
  return std::chrono::milliseconds(value * millis);
}

}  // namespace unweave
