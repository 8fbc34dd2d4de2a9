// tests/tools/cli/interrupt_test.cpp - what Ctrl-C and SIGTERM print, and that they end the process
// all the same.
#include "tools/cli/interrupt.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

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

/// Takes what a command prints, and what a signal would say at that moment.
struct Printed : std::stringbuf {
  std::vector<std::string> texts;

  int overflow(int c) override {
    texts.push_back(InterruptText::present());
    return std::stringbuf::overflow(c);
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    texts.push_back(InterruptText::present());
    return std::stringbuf::xsputn(text, size);
  }
};

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

  TEST_CASE("every command says what is safe and how to go on, until its end") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), built = (dir / "built").string(),
                      weights = (dir / "W.npy").string();
    testing::write_store(store, testing::random_store(60, 150, 4, 3));
    testing::write_file(dir / "edges", "0 1\n1 2\n");
    testing::write_file(dir / "requests", "node 5\n");
    testing::write_file(weights, testing::npy("<f8", "(4, 5)", std::vector<double>(20, 0.5)));
    const auto build = [](const std::string& path) {
      return "interrupted: " + path + " is a store if `unweave info " + path +
             "` can read it; else run the command again, which begins anew";
    };
    const std::string reads = "interrupted: nothing was changed; run the command again";
    const std::string exports =
        "interrupted: the store is as it was, and a file named is whole or as it was; run the command again";
    struct Case {
      std::vector<std::string> words;
      std::string text;
    };
    const Case cases[] = {
        {{"import", built, "--edges", (dir / "edges").string()}, build(built)},
        {{"generate", built + "2", "--model", "rmat", "--scale", "4", "--features", "2"}, build(built + "2")},
        {{"plan", store}, reads},
        {{"propagate", store},
         "interrupted: the store is whole, with its embedding of before or the new one; run the command again, which "
         "goes on from finished tiles, if there are any"},
        {{"train", store, "--solver", "newton"},
         "interrupted: the store is whole, with its model of before or the new one; run the command again"},
        {{"certify", store, "--model", weights, "--solver", "newton"},
         "interrupted: the store is whole, with its model of before or the new one; run the command again"},
        {{"info", store}, reads},
        {{"doctor", store}, reads},
        {{"verify", store}, reads},
        {{"evaluate", store}, reads},
        {{"audit", store, "--canary", "hub", "--trials", "16"}, reads},
        {{"predict", store}, exports},
        {{"export", store, "--labels", "-"}, exports},
        {{"report", store, "--out", (dir / "page.html").string()}, exports},
        {{"stream", store, "--requests", (dir / "requests").string()},
         "interrupted: request 1 of " + (dir / "requests").string() + " is acknowledged: the rest begins at line 2 " +
             "(`tail -n +2 " + (dir / "requests").string() +
             "`); the line of the last batch was not printed, or not to its end"},
        {{"repair", store},
         "interrupted: nothing that was whole was overwritten; run `unweave repair " + store + "` again to finish"},
        {{"export", store, "--all", (dir / "all").string()},
         "interrupted: the store is as it was; a folder without import.txt is not complete: remove it and run the command again"},
        {{"purge", store},
         "interrupted: what was removed may still be on the disk; run `unweave purge " + store +
             "` with the same options again to finish"},
    };
    for (const Case& one : cases) {
      Printed printed;
      std::ostream out(&printed);
      std::ostringstream error;
      const int code = run_program(all_commands(), one.words, {out, error, false});
      CAPTURE(one.words);
      CAPTURE(error.str());
      REQUIRE(code == 0);
      REQUIRE(!printed.texts.empty());
      CHECK(printed.texts.front() == one.text);
      CHECK(InterruptText::present().empty());
    }
  }

  TEST_CASE("Ctrl-C and SIGTERM amid an import tell how to go on, and the next one removes what is left") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), edges = (dir / "edges").string();
    REQUIRE(::mkfifo(edges.c_str(), 0600) == 0);
    for (const int signal : {SIGINT, SIGTERM}) {
      const Ended ended = run_apart([&] {
        const pid_t program = ::getpid();
        if (::fork() == 0) {
          ::alarm(20);
          ::open(edges.c_str(), O_WRONLY);  // returns when the program opens it, to read nothing
          ::kill(program, signal);
          ::_exit(0);
        }
        ::execl(UNWEAVE_BINARY, "unweave", "import", store.c_str(), "--edges", edges.c_str(), nullptr);
      });
      CHECK(died_of(ended, signal));
      CHECK(ended.error == "unweave: interrupted: " + store + " is a store if `unweave info " + store +
                               "` can read it; else run the command again, which begins anew\n");
      CHECK_FALSE(std::filesystem::exists(dir / "s" / "manifest.json"));
    }
    const std::string plain = testing::write_file(dir / "plain", "0 1\n").string(), fresh = (dir / "fresh").string();
    for (const std::string& made : {store, fresh}) CHECK(testing::run({"import", made, "--edges", plain}).code == 0);
    CHECK(testing::folder_bytes(store) == testing::folder_bytes(fresh));
  }
}

}  // namespace unweave
