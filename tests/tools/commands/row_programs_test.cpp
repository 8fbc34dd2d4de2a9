// tests/tools/commands/row_programs_test.cpp - a model of a program of rows through the commands: a
// stream of requests of every kind, a purge and a verification.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "support/changed_world.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using Json = nlohmann::json;
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

  TEST_CASE("words of rows say what is meant, or are refused before anything is replaced") {
    const ChangedWorld world = testing::changed_world(60, 5, 7, false);
    const TempDir dir;
    const std::string store = (dir / "s").string(), file = (dir / "f.npy").string();
    world.import(store);
    ok({"propagate", store, "--hops", "2", "--rows", "all"});
    ok({"train", store, "--rows-of", "labels,stack", "--lift", "10,bias=0.5,key=3"});
    const Json trained =
        run({"train", store, "--json", "--rows-of", "labels,stack", "--lift", "10,bias=0.5,key=3"}).json();
    CHECK(trained["rows"] == "stack,labels unit lift 10,key=3,bias=0.5");
    CHECK(trained["level_weights_chosen"] == "stack");
    CHECK(run({"info", store, "--json"}).json()["models"][0]["rows"] == trained["rows"]);
    for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--rows-of", ""},
                                                  {"--rows-of", "stack,"},
                                                  {"--rows-of", "labels"},
                                                  {"--rows-of", "stack,levels"},
                                                  {"--rows-of", "stack,labels,labels"},
                                                  {"--rows-of", "words"},
                                                  {"--rows-of", "stack", "--weights", "0,0,1"},
                                                  {"--rows-of", "auto,labels"},
                                                  {"--rows-of", "auto", "--lift", "9"},
                                                  {"--rows-of", "stack,open"},
                                                  {"--scale-rows", "none"},
                                                  {"--lift", "0"},
                                                  {"--lift", "x"},
                                                  {"--lift", "64,key=1,key=2"},
                                                  {"--lift", "64,bias=2"},
                                                  {"--lift", "64,3"}}) {
      std::vector<std::string> words{"train", store};
      words.insert(words.end(), wrong.begin(), wrong.end());
      const Result refused = run(words);
      CAPTURE(refused.error);
      CHECK(refused.code == 1);
      CHECK(refused.error.find("replaces") == std::string::npos);
    }
    CHECK(run({"info", store, "--json"}).json()["models"][0]["rows"] == trained["rows"]);

    // Rows of the embedding are none of a model that learns on rows of norm 1.
    ok({"train", store, "--name", "unit", "--scale-rows", "unit"});
    ok({"export", store, "--embeddings", file});
    const Result other = run({"predict", store, "--name", "unit", "--embeddings", file});
    CHECK(other.code == 2);
    CHECK(other.error.find("divided by their norm") != std::string::npos);
    ok({"export", store, "--rows", file, "--name", "unit"});
    ok({"export", store, "--train", (dir / "t.npy").string()});
    const std::string by_nodes = run({"predict", store, "--name", "unit", "--nodes", (dir / "t.npy").string(), "--out",
                                      (dir / "a.npy").string()})
                                     .error;
    ok({"predict", store, "--name", "unit", "--embeddings", file, "--out", (dir / "b.npy").string()});
    CHECK(read_all(dir / "a.npy") == read_all(dir / "b.npy"));
    const Result weights = run({"export", store, "--model", (dir / "w.npz").string(), "--name", "unit"});
    CHECK(weights.error.find("export STORE --rows F.npy --name unit") != std::string::npos);

    // The certificate names the program, and no command that trains anew names weights that nobody
    // gave.
    const Json line = Json::parse(read_all(dir / "s" / "certificates" / "unit.jsonl"));
    CHECK(line["constants"]["row_program"]["value"]["scale"] == "unit");
    CHECK(line["constants"]["weights"]["chosen"] == "propagation");
    CHECK(line["reference"].get<std::string>().find("row i of the constant row_program") != std::string::npos);
    ok({"verify", store});
    ok({"propagate", store, "--hops", "3", "--rows", "all"});
    const Result outdated = run({"predict", store, "--name", "unit"});
    CHECK(outdated.code != 0);
    CHECK(outdated.error.find("--name unit --scale-rows unit") != std::string::npos);
    CHECK(outdated.error.find("--weights") == std::string::npos);
    ok({"train", store, "--solver", "exact", "--name", "unit", "--scale-rows", "unit"});
  }
}

}  // namespace unweave
