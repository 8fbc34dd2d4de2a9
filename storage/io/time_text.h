// storage/io/time_text.h - moments as people and programs write them (RFC 3339, UTC).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace unweave {

/// A moment: milliseconds since 1970, UTC.
using Millis = std::int64_t;

/// The last moment that has four digits for its year, 9999-12-31T23:59:59.999Z.
inline constexpr Millis kLastMoment = 253'402'300'799'999;

/// Now, by the machine's clock, and where that is wrong the nearest moment from 1970 to
/// kLastMoment. A replay of what happened never asks for it.
[[nodiscard]] Millis present_time() noexcept;

// What is not between 1970 and kLastMoment, which a clock that was wrong may have left in a file,
// is printed as the nearest of these, which read_time() reads.

/// "2026-03-01T12:00:00.123Z".
[[nodiscard]] std::string time_text(Millis time);
/// "2026-03-01T12:01Z": the next full minute, or this one where the moment is full.
[[nodiscard]] std::string minute_text(Millis time);

/// Reads what these print, and "2026-03-01T12:00:00Z" and "2026-03-01", its first moment. Nothing
/// for any other text, or a moment before 1970.
[[nodiscard]] std::optional<Millis> read_time(std::string_view text);

}  // namespace unweave
