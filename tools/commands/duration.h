// tools/commands/duration.h - the value of --every, --for and others.
#pragma once

#include <chrono>
#include <string>

namespace unweave {

/// Reads "500ms", "5s", "2min", "24h" or "7d". Throws UsageError that names the option.
[[nodiscard]] std::chrono::milliseconds read_duration(const std::string& option, const std::string& text);

}  // namespace unweave
