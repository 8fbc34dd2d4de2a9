// tools/cli/interrupt.cpp - a signal handler that writes a text put there beforehand.
#include "tools/cli/interrupt.h"

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

/// A handler may come on any thread at any moment: it reads this only under the lock, which is
/// taken with the signals blocked, so that it never waits for its own thread.
struct InterruptState {
  std::atomic_flag locked;
  std::array<char, 4096> line;  // with its end
  std::size_t length = 0;
  int holds = 0;
  int waiting = 0;  // signal that came meanwhile
  int objects = 0;
  std::array<struct sigaction, kSignals.size()> before;  // actions of the signals
};
constinit InterruptState interrupts{};

sigset_t both_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
  return set;
}

void take_lock() {
  while (interrupts.locked.test_and_set(std::memory_order_acquire)) {
  }
}

class Locked {
 public:
  Locked() {
    const sigset_t set = both_signals();
    pthread_sigmask(SIG_BLOCK, &set, &mask_);
    take_lock();
  }
  ~Locked() {
    interrupts.locked.clear(std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  sigset_t mask_;
};

extern "C" void on_interrupt(int signal) {
  const int error = errno;
  take_lock();
  if (interrupts.holds > 0) {
    interrupts.waiting = signal;
  } else {
    for (std::size_t done = 0; done < interrupts.length;) {
      const ssize_t wrote = ::write(STDERR_FILENO, interrupts.line.data() + done, interrupts.length - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) break;
      done += static_cast<std::size_t>(wrote);
    }
    // The process ends here, under the lock: nothing is begun of which the text does not know.
    const struct sigaction& earlier = interrupts.before[signal == kSignals[0] ? 0 : 1];
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
  interrupts.locked.clear(std::memory_order_release);
  errno = error;
}

/// Under the lock.
void put_text(std::string_view text) {
  interrupts.length = 0;
  if (text.empty()) return;
  const auto add = [&](std::string_view more) {
    more = more.substr(0, interrupts.line.size() - 1 - interrupts.length);
    std::memcpy(interrupts.line.data() + interrupts.length, more.data(), more.size());
    interrupts.length += more.size();
  };
  if (::isatty(STDERR_FILENO) != 0) add("\n");  // ends the line of a progress meter
  const std::size_t first = interrupts.length;
  add(kName);
  add(text);
  std::replace_if(
      interrupts.line.begin() + static_cast<std::ptrdiff_t>(first),
      interrupts.line.begin() + static_cast<std::ptrdiff_t>(interrupts.length),
      [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
  interrupts.line[interrupts.length++] = '\n';
}

/// Under the lock.
std::string present_text() {
  std::string_view text(interrupts.line.data(), interrupts.length);
  if (text.empty()) return {};
  text.remove_prefix(text.find(kName) + kName.size());
  text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

InterruptText::InterruptText(std::string_view text) {
  const Locked guard;
  before_ = present_text();
  put_text(text);
  if (interrupts.objects++ > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &interrupts.before[i]);
    if (interrupts.before[i].sa_handler == SIG_IGN) continue;
    struct sigaction ours {};
    ours.sa_handler = &on_interrupt;
    ours.sa_mask = both_signals();
    ours.sa_flags = SA_RESTART;
    ::sigaction(kSignals[i], &ours, nullptr);
  }
}

InterruptText::~InterruptText() {
  const Locked guard;
  put_text(before_);
  if (--interrupts.objects > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    if (interrupts.before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &interrupts.before[i], nullptr);
}

void InterruptText::set(std::string_view text) {
  const Locked guard;
  put_text(text);
}

std::string InterruptText::present() {
  const Locked guard;
  return present_text();
}

InterruptHold::InterruptHold() {
  const Locked guard;
  ++interrupts.holds;
}

InterruptHold::~InterruptHold() {
  int signal = 0;
  {
    const Locked guard;
    if (--interrupts.holds == 0) std::swap(signal, interrupts.waiting);
  }
  if (signal != 0) ::raise(signal);
}

}  // namespace unweave
