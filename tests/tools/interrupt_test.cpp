// tests/tools/interrupt_test.cpp - what Ctrl-C and SIGTERM print, and that they end the process all the same.
#include "tools/interrupt.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>

namespace unweave {
namespace {

struct Ended {
  int status = 0;
  std::string error;
};

/// Runs `act` in a process of its own, whose signals have their default actions.
Ended run_apart(const std::function<void()>& act) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int signal : {SIGINT, SIGTERM, SIGALRM}) ::signal(signal, SIG_DFL);
    ::alarm(20);
    ::dup2(ends[1], STDERR_FILENO);
    act();
    ::_exit(0);
  }
  ::close(ends[1]);
  Ended ended;
  char buffer[256];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR);)
    if (got > 0) ended.error.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  REQUIRE(::waitpid(child, &ended.status, 0) == child);
  return ended;
}

bool died_of(const Ended& ended, int signal) {
  return WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == signal;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a signal prints the present text in one line and ends the process as ever") {
    for (const int signal : {SIGINT, SIGTERM}) {
      const Ended ended = run_apart([&] {
        InterruptText text("nothing is done");
        text.set("60 requests\nare done");
        ::raise(signal);
      });
      CHECK(died_of(ended, signal));
      CHECK(ended.error == "unweave: 60 requests?are done\n");
    }
  }

  TEST_CASE("without a text, and after it, a signal is what it was") {
    const Ended silent = run_apart([] {
      const InterruptText text;
      ::raise(SIGINT);
    });
    CHECK(died_of(silent, SIGINT));
    CHECK(silent.error.empty());
    const Ended after = run_apart([] {
      { const InterruptText text("gone"); }
      ::raise(SIGTERM);
    });
    CHECK(died_of(after, SIGTERM));
    CHECK(after.error.empty());
    const Ended outer = run_apart([] {
      const InterruptText text("outer");
      { const InterruptText inner("inner"); }
      ::raise(SIGTERM);
    });
    CHECK(outer.error == "unweave: outer\n");
  }

  TEST_CASE("a signal that is ignored stays ignored") {
    const Ended ended = run_apart([] {
      ::signal(SIGINT, SIG_IGN);
      const InterruptText text("never");
      ::raise(SIGINT);
    });
    CHECK(WIFEXITED(ended.status));
    CHECK(ended.error.empty());
  }

  TEST_CASE("a signal waits for the end of a hold, on any thread, and tells what is true then") {
    const Ended ended = run_apart([] {
      InterruptText text("before");
      const InterruptHold hold;
      std::thread([] { ::raise(SIGINT); }).join();
      text.set("after");
    });
    CHECK(died_of(ended, SIGINT));
    CHECK(ended.error == "unweave: after\n");
  }

  TEST_CASE("signals amid changes of the text print a whole one") {
    const Ended ended = run_apart([] {
      InterruptText text(std::string(3000, 'a'));
      const std::thread other([] {
        ::usleep(2000);
        ::kill(::getpid(), SIGTERM);
        ::pause();
      });
      for (std::size_t i = 0;; ++i) text.set(std::string(3000, i % 2 == 0 ? 'b' : 'a'));
    });
    CHECK(died_of(ended, SIGTERM));
    CHECK(ended.error.size() == 9 + 3000 + 1);
    CHECK(ended.error.find_first_not_of(ended.error[9], 9) == ended.error.size() - 1);
  }
}

}  // namespace unweave
