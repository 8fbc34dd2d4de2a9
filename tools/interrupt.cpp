#include "tools/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace unweave {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};
constexpr std::string_view kName = "unweave: ";

// A handler may come on any thread at any moment: it reads what follows only under the lock, which is taken with the
// signals blocked, so that it never waits for its own thread.
std::atomic_flag locked;
std::array<char, 4096> line;  // with its end
std::size_t length = 0;
int holds = 0;
int waiting = 0;  // signal that came meanwhile
int objects = 0;
std::array<struct sigaction, kSignals.size()> before;

sigset_t both_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
  return set;
}

void lock() {
  while (locked.test_and_set(std::memory_order_acquire)) {
  }
}

class Locked {
 public:
  Locked() {
    const sigset_t set = both_signals();
    pthread_sigmask(SIG_BLOCK, &set, &mask_);
    lock();
  }
  ~Locked() {
    locked.clear(std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  sigset_t mask_;
};

extern "C" void on_interrupt(int signal) {
  const int error = errno;
  lock();
  if (holds > 0) {
    waiting = signal;
  } else {
    for (std::size_t done = 0; done < length;) {
      const ssize_t wrote = ::write(STDERR_FILENO, line.data() + done, length - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) break;
      done += static_cast<std::size_t>(wrote);
    }
    // The process ends here, under the lock: nothing is begun of which the text does not know.
    const struct sigaction& earlier = before[signal == kSignals[0] ? 0 : 1];
    struct sigaction ours;
    ::sigaction(signal, &earlier, &ours);
    sigset_t set, mask;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_UNBLOCK, &set, &mask);
    ::raise(signal);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);  // where somebody else has a handler that returns
    ::sigaction(signal, &ours, nullptr);
  }
  locked.clear(std::memory_order_release);
  errno = error;
}

/// Under the lock.
void put(std::string_view text) {
  length = 0;
  if (text.empty()) return;
  const auto add = [&](std::string_view more) {
    more = more.substr(0, line.size() - 1 - length);
    std::memcpy(line.data() + length, more.data(), more.size());
    length += more.size();
  };
  if (::isatty(STDERR_FILENO) != 0) add("\n");  // ends the line of a progress meter
  const std::size_t first = length;
  add(kName);
  add(text);
  std::replace_if(
      line.begin() + static_cast<std::ptrdiff_t>(first), line.begin() + static_cast<std::ptrdiff_t>(length),
      [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
  line[length++] = '\n';
}

/// Under the lock.
std::string present_text() {
  std::string_view text(line.data(), length);
  if (text.empty()) return {};
  text.remove_prefix(text.find(kName) + kName.size());
  text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

InterruptText::InterruptText(std::string_view text) {
  const Locked guard;
  before_ = present_text();
  put(text);
  if (objects++ > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler == SIG_IGN) continue;
    struct sigaction ours {};
    ours.sa_handler = &on_interrupt;
    ours.sa_mask = both_signals();
    ours.sa_flags = SA_RESTART;
    ::sigaction(kSignals[i], &ours, nullptr);
  }
}

InterruptText::~InterruptText() {
  const Locked guard;
  put(before_);
  if (--objects > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    if (before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &before[i], nullptr);
}

void InterruptText::set(std::string_view text) {
  const Locked guard;
  put(text);
}

InterruptHold::InterruptHold() {
  const Locked guard;
  ++holds;
}

InterruptHold::~InterruptHold() {
  int signal = 0;
  {
    const Locked guard;
    if (--holds == 0) std::swap(signal, waiting);
  }
  if (signal != 0) ::raise(signal);
}

}  // namespace unweave
