// tools/service/http_transport.h - HTTP/1.1 on a listening socket: connections, their limits and
// their times.
//
// One thread reads and writes for all connections and waits for none of them; calls are answered by
// other threads. What a call is about, and who may call, is for the two functions that are given:
// admit() decides when the head of a call is there, before a byte of its body is read, and answer()
// when all of it is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "tools/service/http_call.h"

namespace unweave {

struct HttpLimits {
  /// Beyond them the one goes that others need least, of callers without a token first (make_room).
  /// Fewer where the system gives fewer descriptors.
  std::size_t connections = 1024;
  /// Connections for callers who have yet to show a token. Where idle ones with a token leave
  /// fewer, one of these is closed.
  std::size_t newcomers = 512;
  std::size_t head_bytes = std::size_t{16} << 10;  ///< request line and headers of a call
  std::size_t headers = 64;                        ///< and how many of these
  std::uint64_t body_bytes = std::uint64_t{16} << 20;
  std::chrono::milliseconds head_time{
      10'000};  ///< from the first byte, or the beginning of the connection, to the last of a head
  std::chrono::milliseconds body_time{60'000};  ///< to read a body, and to write an answer
  std::chrono::milliseconds idle_time{60'000};  ///< between two calls of a connection
  std::chrono::milliseconds end_time{2'000};    ///< stop(): what is being answered has so long
  std::size_t threads = 64;                     ///< calls of the quick lane that are answered at once
  std::size_t long_calls = 32;  ///< calls of each other lane: that is answered, and those that wait for it
};

class HttpTransport {
 public:
  struct Calls {
    /// Called on the thread of run(); must not wait.
    std::function<Admission(const CallHead& head)> admit;
    /// Called on any thread, several at once. What it throws is answered with status 500, without
    /// its text.
    std::function<Answer(Call& call)> answer;
    /// The answer to what is wrong with a call as such: status, and a sentence that says it.
    std::function<Answer(int status, const char* what)> fault;
  };

  /// Takes over the descriptor of a socket that listens. `memory` is for what calls hold: bodies,
  /// and what is made of them.
  HttpTransport(int listening, MemoryBudget& memory, Calls calls, const HttpLimits& limits = {});
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;
  ~HttpTransport();

  /// Answers calls until stop().
  void run();
  /// Any thread. Takes no more calls; those that are being answered have HttpLimits::end_time for
  /// it.
  void stop();
  /// Whether stop() was called: an answer that takes long looks now and then. Any thread.
  [[nodiscard]] bool ends() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace unweave
