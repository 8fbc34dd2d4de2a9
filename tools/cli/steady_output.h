// tools/cli/steady_output.h - a stream that nobody has to read: its writer goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <streambuf>

namespace unweave {

/// While one lives, what is written to `stream` goes to the descriptor `descriptor` on a thread of
/// its own: a terminal after Ctrl-S or a pipe that nobody reads holds nothing else up. What was not
/// taken yet is kept, 1 MiB at most; lines beyond that are left out and counted. A write that fails
/// is an error of the stream like any other. Any thread may write.
class SteadyOutput {
 public:
  /// `descriptor`: -1 for a stream that has none, which is left as it is.
  SteadyOutput(std::ostream& stream, int descriptor);
  /// Waits half a second at most until all is taken. Where it is not, the stream takes what is
  /// written to it later and drops it.
  ~SteadyOutput();
  SteadyOutput(const SteadyOutput&) = delete;
  SteadyOutput& operator=(const SteadyOutput&) = delete;

  /// Lines that were left out since the last call, once nothing is kept any more; else 0.
  [[nodiscard]] std::uint64_t left_out();

 private:
  struct State;
  class Buffer final : public std::streambuf {
   public:
    explicit Buffer(std::shared_ptr<State> state) : state_(std::move(state)) {}

   protected:
    std::streamsize xsputn(const char* bytes, std::streamsize count) override;
    int_type overflow(int_type character) override;
    int sync() override;

   private:
    const std::shared_ptr<State> state_;
    bool leaves_out_ = false;  ///< the rest of the present line
  };

  std::ostream& stream_;
  std::streambuf* before_ = nullptr;
  std::shared_ptr<State>
      state_;  ///< shared with the thread, which may outlive this object in a write that nobody takes
  Buffer buffer_;
};

}  // namespace unweave
