// tools/cli/steady_output.h - a stream that nobody has to read: its writer goes on.
#pragma once

#include <cstdint>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>

namespace unweave {

/// While one lives, what is written to `stream` goes to the descriptor `descriptor` as far as that takes it without waiting; a
/// terminal after Ctrl-S or a pipe that nobody reads holds nothing up. What it does not take is kept, 1 MiB at most, and written
/// when it does; lines beyond that are left out and counted. A write that fails is an error of the stream like any other.
/// Any thread may write and flush.
class SteadyOutput {
 public:
  /// `descriptor`: -1 for a stream that has none, which is left as it is.
  SteadyOutput(std::ostream& stream, int descriptor);
  /// What is kept is written, but for what takes longer than half a second.
  ~SteadyOutput();
  SteadyOutput(const SteadyOutput&) = delete;
  SteadyOutput& operator=(const SteadyOutput&) = delete;

  /// Writes what is kept, as far as it is taken now.
  void flush() { buffer_.write_kept(0); }
  /// Lines that were left out since the last call, once nothing is kept any more; else 0.
  [[nodiscard]] std::uint64_t left_out() { return buffer_.left_out(); }

 private:
  class Buffer final : public std::streambuf {
   public:
    explicit Buffer(int descriptor) : descriptor_(descriptor) {}
    /// Waits so many milliseconds at most until the descriptor takes more.
    void write_kept(int milliseconds);
    [[nodiscard]] std::uint64_t left_out();

   protected:
    std::streamsize xsputn(const char* bytes, std::streamsize count) override;
    int_type overflow(int_type character) override;
    int sync() override;

   private:
    void write_kept_locked(int milliseconds);

    const int descriptor_;
    std::mutex mutex_;
    std::string kept_;
    std::uint64_t left_out_ = 0;
    bool leaves_out_ = false;  ///< the rest of the present line
    bool failed_ = false;
  };

  std::ostream& stream_;
  std::streambuf* before_ = nullptr;
  Buffer buffer_;
};

}  // namespace unweave
