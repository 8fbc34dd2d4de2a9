// tests/tools/commands/row_programs_test.cpp - a model of a program of rows through the commands: a
// stream of requests of every kind, a purge and a verification.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "support/changed_world.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::ChangedWorld;
using testing::read_all;
using testing::Result;
using testing::run;
using testing::TempDir;

void ok(const std::vector<std::string>& words) {
  const Result result = run(words);
  CAPTURE(words[0]);
  CAPTURE(result.error);
  REQUIRE(result.code == 0);
}

void train(const std::string& store) {
  ok({"train", store, "--solver", "exact", "--rows-of", "stack,labels", "--lift", "64", "--lambda", "0.01"});
}

/// Weights that are published and rows that they were learnt on, as files have them.
struct Learnt {
  std::string weights, rows;
  explicit Learnt(const std::string& store) {
    const TempDir dir;
    ok({"export", store, "--model", (dir / "w.npy").string(), "--rows", (dir / "r.npy").string()});
    weights = read_all(dir / "w.npy");
    rows = read_all(dir / "r.npy");
  }
  friend bool operator==(const Learnt&, const Learnt&) = default;
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a lifted model of labels follows requests of every kind as a training on a fresh import, and a purge") {
    for (const std::uint32_t heaviest : {1U, 9U}) {
      CAPTURE(heaviest);
      ChangedWorld world = testing::changed_world(60, 5, 7, false);
      if (heaviest > 1) {
        world.weigh_all(heaviest, 5);
        world.order = "degree";
      }
      const TempDir dir;
      const std::string store = (dir / "s").string(), fresh = (dir / "fresh").string();
      world.import(store);
      ok({"propagate", store, "--hops", "2"});
      train(store);
      const Learnt before(store);
      const std::vector<std::string> lines = testing::changing_lines(world, 300, 8, false);
      std::string text;
      std::set<std::string> kinds;
      for (const std::string& line : lines) {
        text += line + "\n";
        if (world.apply(line)) kinds.insert(line.substr(0, line.find(' ')));
      }
      CHECK(kinds.size() == (heaviest > 1 ? 9 : 8));  // each changed something
      testing::write_file(dir / "requests", text);
      ok({"stream", store, "--requests", (dir / "requests").string(), "--batch", "7", "--solver", "exact"});
      const Learnt streamed(store);
      CHECK_FALSE(streamed == before);

      world.import(fresh);
      ok({"propagate", fresh, "--hops", "2"});
      train(fresh);
      CHECK(streamed == Learnt(fresh));

      ok({"purge", store});
      CHECK(streamed == Learnt(store));
      ok({"verify", store, "--rebuild"});
    }
  }
}

}  // namespace unweave
