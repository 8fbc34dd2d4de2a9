// storage/io/time_text.h - moments as people and programs write them (RFC 3339, UTC).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace unweave {

/// A moment: milliseconds since 1970, UTC.
using Millis = std::int64_t;

/// Now, by the machine's clock. A replay of what happened never asks for it.
[[nodiscard]] Millis present_time() noexcept;

/// "2026-03-01T12:00:00.123Z".
[[nodiscard]] std::string time_text(Millis time);
/// "2026-03-01T12:01Z": the next full minute, or this one where the moment is full.
[[nodiscard]] std::string minute_text(Millis time);

/// Reads what these print, and "2026-03-01T12:00:00Z" and "2026-03-01", its first moment. Nothing for any other text, or a moment
/// before 1970.
[[nodiscard]] std::optional<Millis> read_time(std::string_view text);

}  // namespace unweave
