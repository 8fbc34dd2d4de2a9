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
  const std::uint64_t millis = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "min" ? 60'000 : 0;
  constexpr std::uint64_t kMost = 1'000'000;
  if (error != std::errc() || millis == 0 || value > kMost)
    throw UsageError("--" + option + " must be 500ms, 5s or 2min, say");
  return std::chrono::milliseconds(value * millis);
}

}  // namespace unweave
