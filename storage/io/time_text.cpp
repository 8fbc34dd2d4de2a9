// storage/io/time_text.cpp - prints and reads moments by the calendar of the standard library.
#include "storage/io/time_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace unweave {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;

constexpr Millis kMinute = 60'000;
constexpr Millis kDay = Millis{24} * 60 * kMinute;

Millis within_calendar(Millis time) noexcept {
  return std::clamp<Millis>(time, 0, kLastMoment);
}

/// Reads exactly so many digits off the text.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  int value = 0;
  if (text.size() < count) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, value);
  if (error != std::errc() || end != text.data() + count || value < 0) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// "12:00", "12:00:00" or "12:00:00.123", and the Z.
std::optional<Millis> take_clock(std::string_view text) {
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  Millis time = (Millis{*hour} * 60 + *minute) * kMinute;
  if (take(text, ':')) {
    const auto second = take_digits(text, 2);
    if (!second || *second > 59) return std::nullopt;
    time += Millis{*second} * 1000;
    if (take(text, '.')) {
      const auto millis = take_digits(text, 3);
      if (!millis) return std::nullopt;
      time += *millis;
    }
  }
  return text == "Z" ? std::optional(time) : std::nullopt;
}

/// Year, month, day, hour, minute.
struct Printed {
  std::array<char, 64> text{};
  explicit Printed(Millis time) {
    const auto day = std::chrono::floor<days>(std::chrono::sys_time<milliseconds>(milliseconds(time)));
    const std::chrono::year_month_day date(day);
    const Millis minute = (time - day.time_since_epoch().count() * kDay) / kMinute;
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), static_cast<int>(minute / 60),
                  static_cast<int>(minute % 60));
  }
};

}  // namespace

Millis present_time() noexcept {
  // The clock of the standard library counts nanoseconds, of which 64 bits hold no more than some
  // centuries.
  timespec now{};
  std::timespec_get(&now, TIME_UTC);
  constexpr std::int64_t kLastSecond = kLastMoment / 1000;
  const std::int64_t seconds = std::clamp<std::int64_t>(now.tv_sec, -1, kLastSecond + 1);
  return within_calendar(seconds * 1000 + now.tv_nsec / 1'000'000);
}

std::string time_text(Millis moment) {
  const Millis time = within_calendar(moment);
  std::array<char, 16> seconds{};
  std::snprintf(seconds.data(), seconds.size(), ":%02d.%03dZ", static_cast<int>(time % kMinute / 1000),
                static_cast<int>(time % 1000));
  return Printed(time).text.data() + std::string(seconds.data());
}

std::string minute_text(Millis time) {
  // The last minute has no next one.
  return Printed(std::min((within_calendar(time) + kMinute - 1) / kMinute * kMinute, kLastMoment)).text.data() +
         std::string("Z");
}

std::optional<Millis> read_time(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970) return std::nullopt;
  const Millis midnight = std::chrono::sys_days(date).time_since_epoch().count() * kDay;
  if (text.empty()) return midnight;
  if (!take(text, 'T')) return std::nullopt;
  const auto clock = take_clock(text);
  return clock ? std::optional(midnight + *clock) : std::nullopt;
}

}  // namespace unweave
