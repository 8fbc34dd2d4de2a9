// tools/commands/duration.h - the value of --every and --for.
#pragma once

#include <chrono>
#include <string>

namespace unweave {

/// Reads "500ms", "5s" or "2min". Throws UsageError that names the option.
[[nodiscard]] std::chrono::milliseconds read_duration(const std::string& option, const std::string& text);

}  // namespace unweave
