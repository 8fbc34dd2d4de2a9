// tests/tools/commands/whole_graphs_test.cpp - whole graphs on the command line: what a purge makes
// of their models, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::Result;
using testing::run;
using testing::run_well;
using testing::write_file;

constexpr int kMolecules = 30, kAtoms = 5;

/// Rings and paths of five nodes, a column of features.
struct MoleculeWorld {
  testing::TempDir dir;
  std::string store = path("s");

  MoleculeWorld() {
    std::string edges, graphs, labels, features, train;
    for (int graph = 0; graph < kMolecules; ++graph) {
      for (int atom = 0; atom < kAtoms; ++atom) {
        const int node = graph * kAtoms + atom, last = graph * kAtoms + kAtoms - 1;
        if (node < last) edges += std::to_string(node) + " " + std::to_string(node + 1) + "\n";
        if (node == last && graph % 2 == 0) edges += std::to_string(node) + " " + std::to_string(graph * kAtoms) + "\n";
        graphs += std::to_string(graph) + "\n";
        features += (atom % 2 == 0 ? "0.5 " : "0.25 ") + std::string(graph % 3 == 0 ? "0.5\n" : "0\n");
      }
      labels += graph % 2 == 0 ? "1\n" : "0\n";
      if (graph >= 10) train += std::to_string(graph) + "\n";
    }
    write_file(dir / "e", edges);
    write_file(dir / "x", features);
    write_file(dir / "g", "# graphs\n" + graphs);
    write_file(dir / "y", labels);
    write_file(dir / "t", train);
    run_well(import_words(store, "t"));
    run_well({"propagate", store, "--rho", "1"});
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir / name).string(); }
  [[nodiscard]] std::vector<std::string> import_words(const std::string& to, const std::string& train) const {
    return {"import",         to,        "--edges",       path("e"),
            "--features",     path("x"), "--nodes",       std::to_string(kMolecules * kAtoms),
            "--graphs",       path("g"), "--classes",     "2",
            "--graph-labels", path("y"), "--graph-split", "train=" + path(train)};
  }
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a purge leaves models of graphs the default lambda of a training on the purged store") {
    const MoleculeWorld world;
    const std::vector<std::string> train{"--pool", "mean", "--rows-of", "stack,degree"};
    const auto trained = [&](const std::string& store) {
      std::vector<std::string> words{"train", store, "--json"};
      words.insert(words.end(), train.begin(), train.end());
      return run_well(words).json();
    };
    CHECK(trained(world.store).at("lambda") == doctest::Approx(0.1 / kMolecules));
    write_file(world.dir / "r", "graph 12\nnode 80\n");
    run_well({"stream", world.store, "--requests", world.path("r"), "--solver", "exact"});
    const auto before = testing::read_all(world.dir / "s" / "models" / "exact.model");
    CHECK(run_well({"purge", world.store}).error.find("trained anew") == std::string::npos);
    CHECK(testing::read_all(world.dir / "s" / "models" / "exact.model") == before);

    run_well({"export", world.store, "--all", world.path("all")});
    const std::string all = world.path("all") + "/";
    run_well({"import", world.path("n"), "--nodes", std::to_string(kMolecules * kAtoms), "--edges", all + "edges.npy",
              "--features", all + "features.npy", "--classes", "2", "--graphs", all + "graphs.npy",
              "--number-of-graphs", std::to_string(kMolecules), "--graph-labels", all + "graph_labels.npy",
              "--graph-split", "train=" + all + "graph_train.npy"});
    run_well({"propagate", world.path("n"), "--rho", "1"});
    trained(world.path("n"));
    CHECK(testing::read_all(world.dir / "n" / "models" / "exact.model") == before);
  }

  TEST_CASE("what is refused of whole graphs says what to do, and replaces nothing") {
    const MoleculeWorld world;
    const auto refusal = [](const std::vector<std::string>& words) {
      const Result result = run(words);
      CHECK(result.code != 0);
      CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
      return result.error;
    };
    run_well({"train", world.store, "--pool", "root"});
    CHECK(refusal({"train", world.store}).find("--pool mean") != std::string::npos);
    CHECK(refusal({"plan", world.store, "--solver", "exact"}).find("--pool mean") != std::string::npos);
    std::string from_one = "# graphs\n";
    for (int node = 0; node < kMolecules * kAtoms; ++node) from_one += std::to_string(node / kAtoms + 1) + "\n";
    write_file(world.dir / "g", from_one);
    CHECK(refusal(world.import_words(world.path("b"), "t")).find("graphs count from 0") != std::string::npos);
    std::string from_zero = "# graphs\n";
    for (int node = 0; node < kMolecules * kAtoms; ++node) from_zero += std::to_string(node / kAtoms) + "\n";
    write_file(world.dir / "g", from_zero);
    for (const std::string split : {"40", "0\n1\n1\n", "1\nx", "1 2", "True\nFalse"}) {
      write_file(world.dir / "bad", "# graphs\n" + split + "\n");
      const std::string error = refusal(world.import_words(world.path("b"), "bad"));
      CAPTURE(error);
      CHECK(error.find("graph") != std::string::npos);
      CHECK(error.find("node") == std::string::npos);
    }
    std::vector<std::string> words = world.import_words(world.path("b"), "t");
    *(words.end() - 2) = "--split";
    CHECK(refusal(words).find("--graph-split") != std::string::npos);
  }
}

}  // namespace unweave
