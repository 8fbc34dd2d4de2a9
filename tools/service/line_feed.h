// tools/service/line_feed.h - lines as they come: from standard input, a pipe or a file that grows,
// with a limit to the waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/resources/memory.h"

namespace unweave {

/// Most bytes of a line that does not come from a file, whose reader bounds lines.
[[nodiscard]] std::uint64_t most_line_bytes(const MemoryBudget& budget);
/// Memory for such a line, its words and its numbers. Throws ResourceError.
[[nodiscard]] Reservation reserve_line(MemoryBudget& budget);

class LineFeed {
 public:
  /// "-" is standard input. `follow`: the end of a file, or of what the writers of a named pipe had
  /// to say, is not the end; a file that was replaced by another one of the same name is read to
  /// its end, and then the other one from its beginning. Writers that are at a pipe at a time are
  /// not told apart: each has to write whole lines. `most_line`: bytes of a line. Throws DataError.
  LineFeed(std::filesystem::path path, bool follow, std::uint64_t most_line);
  LineFeed(const LineFeed&) = delete;
  LineFeed& operator=(const LineFeed&) = delete;
  ~LineFeed();

  /// cut: a last line without an end, behind which another file or another writer begins. It may be
  /// a part of a line, which can say something else than the whole.
  enum class Next { line, cut, timeout, end };
  using Deadline = std::chrono::steady_clock::time_point;
  /// Waits for the next whole line until `deadline`. A last line without an end counts where there
  /// is an end. Throws DataError where a followed file became shorter, and for a line that is too
  /// long.
  [[nodiscard]] Next next(std::string& line, Deadline deadline);
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }  ///< that of the last line, from 1

 private:
  void open();
  /// Whether there may be more to read now; false when the time is up.
  [[nodiscard]] bool wait(Deadline deadline) const;
  /// At the end of a followed file: whether another one has taken its name, and nothing more stands
  /// in the old one.
  [[nodiscard]] bool was_replaced() const;
  /// Goes on with what has the name now.
  void reopen();

  std::filesystem::path path_;
  bool follow_;
  std::uint64_t most_line_;
  int descriptor_ = -1;
  bool is_regular_ = false;
  std::uint64_t read_ = 0;  ///< bytes of a regular file
  std::string buffer_;
  std::size_t at_ = 0;  ///< where the next line begins in it
  bool ended_ = false;
  bool starts_anew_ = false;  ///< before the next byte is read, the name is opened again
  std::uint64_t number_ = 0;
};

}  // namespace unweave
