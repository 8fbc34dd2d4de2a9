// tests/tools/cli/signs_of_life_test.cpp - long commands say on a terminal how far they have come.
#include <doctest/doctest.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/resources/watcher.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "tools/cli/progress.h"

namespace unweave {
namespace {

using Words = std::vector<std::string>;

/// While one lives, meters draw at every unit.
class EveryUnit {
 public:
  EveryUnit() : usual_(std::exchange(Progress::between_drawings, std::chrono::milliseconds(0))) {}
  ~EveryUnit() { Progress::between_drawings = usual_; }
  EveryUnit(const EveryUnit&) = delete;
  EveryUnit& operator=(const EveryUnit&) = delete;

 private:
  std::chrono::milliseconds usual_;
};

/// What a command that goes well prints on standard error.
std::string shown_by(const Words& words, bool terminal) {
  std::ostringstream out, error;
  const int code = run_program(all_commands(), words, {out, error, terminal});
  CAPTURE(error.str());
  REQUIRE(code == 0);
  return error.str();
}

struct Said : WorkMeter {
  std::vector<std::string> steps;
  std::uint64_t units = 0;

  void start(std::string_view step, std::uint64_t, std::string_view) override { steps.emplace_back(step); }

 protected:
  void add(std::uint64_t count) noexcept override { units += count; }
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("train, verify, evaluate and export draw how far they have come on a terminal, and only there") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    testing::write_store(store, testing::random_store(200, 600, 8, 3));
    testing::propagate_store(store, testing::tiny_spec(2, false));
    const EveryUnit often;
    struct Case {
      Words words;
      Words drawn;
    };
    const Case cases[] = {
        {{"train", store, "--solver", "newton"},
         {"training rows  ", " rows/s", "newton  ", " passes/s", "  gradient ", ", to come to 5"}},
        {{"train", store, "--solver", "newton", "--name", "other", "--lambda", "auto"},
         {"lambda  ", "/9 trials", "newton  "}},
        {{"train", store, "--solver", "descent-to-delete", "--lambda", "0.1"},
         {"descent  ", " steps/s", "  gradient "}},
        {{"train", store, "--solver", "langevin", "--lambda", "0.1"}, {"training  ", " steps  ", " %  ", " left"}},
        {{"train", store, "--solver", "rewind", "--lambda", "0.1"}, {"training  ", " steps  ", " %  ", " left"}},
        {{"train", store, "--solver", "retrain", "--head", "mlp", "--hidden", "4"}, {"training  ", " rows  ", " left"}},
        {{"evaluate", store, "--retrain", "--name", "newton"}, {"training rows  ", "newton  "}},
        {{"verify", store, "--sample", "all"},
         {"files  ", " bytes  ", "graph  ", " blocks", "propagation  ", "newton  ", "training again  "}},
        {{"verify", store, "--rebuild"}, {"fresh propagation  ", "100 %"}},
        {{"export", store, "--embeddings", (dir / "z.npy").string()}, {"embeddings  ", " rows  100 %"}},
        {{"export", store, "--edges", (dir / "e.npy").string()}, {"edges  ", " blocks"}},
    };
    for (const Case& one : cases) {
      const std::string drawn = shown_by(one.words, true);
      CAPTURE(one.words);
      CAPTURE(drawn);
      for (const std::string& part : one.drawn) CHECK(drawn.find(part) != std::string::npos);
      CHECK(drawn.rfind("\r\033[K") != std::string::npos);
      // The line is gone before anything else is said.
      for (const char* const other : {"note: ", "warning: "})
        if (const std::size_t at = drawn.find(other); at != std::string::npos && at > 0)
          CHECK((drawn[at - 1] == '\n' || drawn[at - 1] == 'K'));
      CHECK(shown_by(one.words, false).find('\r') == std::string::npos);
      Words quiet = one.words;
      quiet.emplace_back("--quiet");
      CHECK(shown_by(quiet, true).find('\r') == std::string::npos);
    }
  }

  TEST_CASE("work tells whoever watches its own thread, nobody else") {
    Said outer, inner;
    const WatchedStep nobody("nobody", 1, "units");
    nobody.advance(1);
    {
      const WatchedBy watched(outer);
      const WatchedStep first("first", 2, "units");
      {
        const WatchedBy within(inner);
        const WatchedStep second("second", 2, "units");
        second.advance(1);
      }
      first.advance(1);
      advance_watched(2);
      std::thread([] { WatchedStep("elsewhere", 1, "units").advance(1); }).join();
      std::thread([&] { first.advance(4); }).join();
    }
    advance_watched(8);
    CHECK(outer.steps == std::vector<std::string>{"first"});
    CHECK(outer.units == 7);
    CHECK(inner.steps == std::vector<std::string>{"second"});
    CHECK(inner.units == 1);
  }
}

}  // namespace unweave
