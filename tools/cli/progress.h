// tools/cli/progress.h - one line on a terminal that says how far long work has come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <string>

namespace unweave {

/// Draws "label  3.1M/10.0M arcs  31 %  1.2M arcs/s  6 s left" on `out`, at most five times a
/// second, and clears the line when destroyed. Draws nothing unless `shown`: give
/// CommandLine::shows_progress().
class Progress {
 public:
  /// The least time before the first drawing and between two; tests that look for one set it to 0.
  static inline std::chrono::milliseconds between_drawings{200};

  /// `total` counts `unit`s ("arcs", "bytes"); 0 if it is not known, then no share and no time left
  /// are drawn.
  Progress(std::ostream& out, bool shown, std::string label, std::uint64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What the line ends with from the next drawing on. Any thread.
  void set_note(std::string note);
  /// Takes the line away for other output; it comes back with the next drawing.
  void clear();
  /// `count` more units are done. Any number of threads at once; never waits for another thread's
  /// drawing.
  void advance(std::uint64_t count) noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);

  std::ostream& out_;
  const bool shown_;
  const std::string label_, unit_;
  const std::uint64_t total_;
  const Clock::time_point start_;
  std::atomic<std::uint64_t> done_ = 0;
  std::mutex drawing_;
  Clock::time_point last_drawn_;  ///< guarded by drawing_
  std::string note_;              ///< guarded by drawing_
  bool drawn_ = false;            ///< guarded by drawing_
};

/// The text of one drawing, without control characters. `seconds` is the time since the start.
[[nodiscard]] std::string progress_text(const std::string& label, std::uint64_t done, std::uint64_t total,
                                        const std::string& unit, double seconds);

}  // namespace unweave
