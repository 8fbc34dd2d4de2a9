// tools/cli/progress.cpp - draws the progress meter, with its rate and the time that is left.
#include "tools/cli/progress.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include "tools/cli/output.h"

namespace unweave {
namespace {

constexpr const char* kClearLine = "\r\033[K";

/// "950", "3.1M": at most four digits.
std::string short_count(double count) {
  constexpr std::array kSuffixes = {"", "K", "M", "G", "T"};
  std::size_t suffix = 0;
  for (; count >= 999.5 && suffix + 1 < kSuffixes.size(); ++suffix) count /= 1000;
  return number_text(count, 3) + kSuffixes[suffix];
}

}  // namespace

std::string progress_text(const std::string& label, std::uint64_t done, std::uint64_t total, const std::string& unit,
                          double seconds) {
  const auto count = static_cast<double>(done);
  const auto goal = static_cast<double>(total);
  const double rate = seconds > 0 ? count / seconds : 0;
  std::string text = label + "  " + short_count(count);
  if (total > 0) text += "/" + short_count(goal);
  text += " " + unit;
  if (total > 0) text += "  " + std::to_string(static_cast<int>(100 * std::min(1.0, count / goal))) + " %";
  if (rate > 0) text += "  " + short_count(rate) + " " + unit + "/s";
  if (rate > 0 && done < total) text += "  " + seconds_text((goal - count) / rate) + " left";
  return text;
}

Progress::Progress(std::ostream& out, bool shown, std::string label, std::uint64_t total, std::string unit)
    : out_(out),
      shown_(shown),
      label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      start_(Clock::now()),
      last_drawn_(start_) {}

Progress::~Progress() {
  clear();
}

void Progress::clear() {
  const std::scoped_lock lock(drawing_);
  if (drawn_) out_ << kClearLine << std::flush;
  drawn_ = false;
}

void Progress::set_note(std::string note) {
  const std::scoped_lock lock(drawing_);
  note_ = std::move(note);
}

void Progress::advance(std::uint64_t count) noexcept {
  done_.fetch_add(count, std::memory_order_relaxed);
  if (!shown_) return;
  const std::unique_lock lock(drawing_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const Clock::time_point now = Clock::now();
  if (now - last_drawn_ < between_drawings) return;
  last_drawn_ = now;
  draw(now);
}

void Progress::draw(Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - start_).count();
  drawn_ = true;
  out_ << kClearLine << progress_text(label_, done_.load(std::memory_order_relaxed), total_, unit_, seconds)
       << (note_.empty() ? "" : "  ") << note_ << std::flush;
}

}  // namespace unweave
