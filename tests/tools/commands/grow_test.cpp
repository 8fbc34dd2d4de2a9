// tests/tools/commands/grow_test.cpp - `unweave grow`: the files of an import with so many nodes,
// whatever a store keeps, with requests before and after, and what is refused.
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/folder_bytes.h"
#include "support/imported_sample.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::Importing;
using testing::Result;
using testing::run;
using testing::run_well;
using testing::Sample;
using testing::TempDir;

/// Gives the same data with room for so many nodes.
Sample with_nodes(Sample sample, NodeId nodes) {
  sample.nodes = nodes;
  sample.features.resize(std::size_t{nodes} * sample.columns);
  sample.labels.resize(nodes, kNoLabel);
  return sample;
}

Importing with_names(Importing importing, NodeId nodes) {
  if (!importing.names.empty()) importing.names.resize(nodes);
  return importing;
}

/// Splits are of the ids that there were at first, and of one more in the training split.
void import_with_room(const std::filesystem::path& store, const Sample& sample, NodeId first, NodeId nodes,
                      const Importing& importing, NodeId trained = kNoNode) {
  const TempDir dir, whole;
  ImportOptions options = testing::write_sample(dir.path(), with_nodes(sample, nodes), with_names(importing, nodes));
  const ImportOptions few =
      testing::write_sample(whole.path(), with_nodes(sample, first), with_names(importing, first));
  if (trained != kNoNode) {
    std::ofstream train(whole / "train", std::ios::app);
    train << trained << '\n';
  }
  options.train = few.train;
  options.valid = few.valid;
  options.test = few.test;
  WorkMeter nobody;
  import_store(store, options, testing::ample_budget(), nobody);
}

struct GrowCase {
  const char* what;
  Importing importing;
  std::vector<std::string> propagate;
};

std::vector<GrowCase> grow_cases() {
  std::vector<GrowCase> cases{
      {"sums of labelled nodes", {}, {}},
      {"sums of all nodes", {}, {"--rows", "all"}},
      {"sparse features of 16 bits", {.type = FeatureType::f16, .sparse = true}, {}},
      {"weights", {.max_weight = 9}, {"--rows", "all"}},
      {"an embedding of 16 bits", {}, {"--rows", "all", "--keep", "embedding", "--keep-type", "f16"}},
      {"hops of labelled nodes", {}, {"--keep", "hops"}},
      {"no propagation", {}, {"none"}},
  };
  GrowCase named{"names", {}, {}};
  for (NodeId node = 0; node < 60; ++node)
    named.importing.names.push_back(node % 4 == 1 ? std::string() : "n" + std::to_string(node) + "x");
  cases.push_back(named);
  return cases;
}

void propagate(const std::filesystem::path& store, const std::vector<std::string>& options) {
  if (options == std::vector<std::string>{"none"}) return;
  std::vector<std::string> words{"propagate", store.string()};
  words.insert(words.end(), options.begin(), options.end());
  run_well(words);
}

void grow(const std::filesystem::path& store, NodeId nodes) {
  run_well({"grow", store.string(), "--nodes", std::to_string(nodes)});
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("grow: the bytes of an import with so many nodes, within a span and over several") {
    for (const GrowCase& one : grow_cases()) {
      CAPTURE(one.what);
      const TempDir dir;
      Sample sample = testing::random_sample(60, 0.1, 4, 3);
      if (one.importing.max_weight > 1)
        for (const auto& edge : sample.edges) sample.weights[edge] = 1 + (edge.first + 3 * edge.second) % 9;
      import_with_room(dir / "s", sample, 60, 60, one.importing);
      propagate(dir / "s", one.propagate);
      for (const NodeId nodes : {61U, 70'000U, 131'072U, 140'001U}) {
        CAPTURE(nodes);
        grow(dir / "s", nodes);
        const std::filesystem::path fresh = dir / std::to_string(nodes);
        import_with_room(fresh, sample, 60, nodes, one.importing);
        propagate(fresh, one.propagate);
        testing::check_same_store(dir / "s", fresh);
      }
      CHECK(run({"verify", (dir / "s").string()}).code == 0);
    }
  }

  TEST_CASE("grow: requests before and after, models and an order go on") {
    for (const char* const order : {"none", "degree"}) {
      CAPTURE(order);
      const TempDir dir;
      Sample sample = testing::random_sample(60, 0.1, 4, 3);
      const Importing importing{.order = order};
      import_with_room(dir / "s", sample, 60, 60, importing);
      propagate(dir / "s", {"--rows", "all"});
      const std::string store = (dir / "s").string();
      run_well({"train", store, "--solver", "exact", "--lambda", "0.002"});
      testing::stream_sample(dir / "s", sample, testing::random_requests(sample, 30, 5), 4, 0);
      const Result early =
          run({"stream", store, "--requests", testing::write_file(dir / "early", "insert-node 69999 0:1\n")});
      CHECK_MESSAGE(early.error.find("unweave grow " + store + " --nodes 70000") != std::string::npos, early.error);
      grow(dir / "s", 70'000);
      const std::string requests = testing::write_file(
          dir / "requests",
          "insert-node 69999 0:0.5 3:0.25\nset-label 69999 1\nmove-split 69999 train\ninsert-edge 69999 7\nnode 3\n");
      run_well({"stream", store, "--requests", requests, "--solver", "exact"});
      run_well({"verify", store, "--rebuild"});
      run_well({"purge", store, "--keep-order"});
      run_well({"verify", store, "--rebuild"});

      sample = with_nodes(sample, 70'000);
      sample.features[std::size_t{69'999} * 4] = 0.5F;
      sample.features[std::size_t{69'999} * 4 + 3] = 0.25F;
      sample.labels[69'999] = 1;
      sample.edges.insert({7, 69'999});
      testing::apply_naively(sample, {RequestKind::remove_node, 3, 0});
      import_with_room(dir / "fresh", sample, 60, 70'000, importing, 69'999);
      propagate(dir / "fresh", {"--rows", "all"});
      run_well({"train", (dir / "fresh").string(), "--solver", "exact", "--lambda", "0.002"});
      const auto digest = [&](const char* name) {
        return run({"info", (dir / name).string(), "--json"}).json()["digest"];
      };
      CHECK(digest("s") == digest("fresh"));
      if (importing.order == "none") testing::check_same_store(dir / "s", dir / "fresh");
    }
  }

  TEST_CASE("grow: stores of links, of whole graphs, and of real weights") {
    const TempDir dir;
    Sample sample = testing::random_sample(60, 0.1, 4, 3);
    for (const auto& edge : sample.edges) sample.weights[edge] = 1 + (edge.first + 3 * edge.second) % 9;
    const auto import = [&](const std::string& name, NodeId nodes, const std::vector<std::string>& kind) {
      const TempDir files;
      static_cast<void>(testing::write_sample(files.path(), with_nodes(sample, nodes),
                                              {.max_weight = kind.front() == "--weights" ? 9U : 1U}));
      std::string graphs;
      for (NodeId node = 0; node < nodes; ++node) graphs += node < sample.nodes ? "0\n" : "-1\n";
      testing::write_file(files / "graphs", graphs);
      testing::write_file(files / "classes", "1\n0\n");
      std::vector<std::string> words{"import",     (dir / name).string(),      "--edges", (files / "edges").string(),
                                     "--features", (files / "x.npy").string(), "--nodes", std::to_string(nodes)};
      for (const std::string& word : kind)
        words.push_back(word == "graphs" || word == "classes" ? (files / word).string() : word);
      run_well(words);
      propagate(dir / name, {"--rows", "all"});
    };
    const std::vector<std::string> pairs{"--pairs", "valid=.2,test=.1"};
    const std::vector<std::string> graphs{"--graphs",       "graphs",  "--number-of-graphs", "2",
                                          "--graph-labels", "classes", "--classes",          "2"};
    import("pairs", 60, pairs);
    import("fresh-pairs", 64, pairs);
    grow(dir / "pairs", 64);
    testing::check_same_store(dir / "pairs", dir / "fresh-pairs");
    const Result more = run({"grow", (dir / "pairs").string(), "--nodes", "65"});
    CHECK(more.code == 1);
    CHECK_MESSAGE(more.error.find("below 64") != std::string::npos, more.error);
    import("graphs", 60, graphs);
    import("fresh-graphs", 70'000, graphs);
    grow(dir / "graphs", 70'000);
    testing::check_same_store(dir / "graphs", dir / "fresh-graphs");
    import("weights", 60, {"--weights", "unit=2^-4"});
    for (const NodeId nodes : {70'000U, 140'001U}) {
      const std::string fresh = "fresh-weights-" + std::to_string(nodes);
      grow(dir / "weights", nodes);
      import(fresh, nodes, {"--weights", "unit=2^-4"});
      testing::check_same_store(dir / "weights", dir / fresh);
    }
  }

  TEST_CASE("grow: new nodes get names, but for those of nodes that were removed") {
    const TempDir dir;
    const Sample sample = testing::random_sample(60, 0.1, 4, 3);
    Importing importing;
    for (NodeId node = 0; node < 60; ++node) importing.names.push_back("n" + std::to_string(node) + "x");
    import_with_room(dir / "s", sample, 60, 60, importing);
    const std::string store = (dir / "s").string(), gone = testing::write_file(dir / "gone", "n7x\n");
    run_well({"stream", store, "--requests", testing::write_file(dir / "requests", "node n7x\n")});
    const Result refused = run({"grow", store, "--nodes", "70", "--ids", gone});
    CHECK(refused.code != 0);
    CHECK_MESSAGE(refused.error.find("a node that was removed had the name 'n7x'") != std::string::npos, refused.error);
    run_well({"verify", store});
    run_well({"grow", store, "--nodes", "70", "--ids", testing::write_file(dir / "new", "ann\n")});
    run_well({"stream", store, "--requests",
              testing::write_file(dir / "more", "insert-node ann 0:1\ninsert-edge ann n3x\n")});
    run_well({"purge", store, "--nodes", "71", "--ids", gone});
    run_well({"verify", store});
    CHECK(run({"info", store, "--json"}).json()["nodes"] == 71);
  }

  TEST_CASE("grow: what cannot be says so, and changes nothing") {
    const TempDir dir;
    const Sample sample = testing::random_sample(60, 0.1, 4, 3);
    import_with_room(dir / "s", sample, 60, 60, {});
    const std::string store = (dir / "s").string();
    const auto before = testing::folder_bytes(dir / "s");
    const auto refused = [&](const std::vector<std::string>& words, const char* text) {
      const Result result = run(words);
      CHECK(result.code != 0);
      CHECK_MESSAGE(result.error.find(text) != std::string::npos, result.error);
      CHECK(testing::folder_bytes(dir / "s") == before);
    };
    refused({"grow", store, "--nodes", "59"}, "ids are never given again");
    refused({"grow", store, "--nodes", "67108865"}, "purge");
    refused({"grow", store, "--nodes", "4294967296"}, "4294967295");
    refused({"grow", store, "--nodes", "70", "--ids", testing::write_file(dir / "ids", "a\n")}, "numbers alone");
    const std::string arcs = (dir / "arcs").string();
    run_well({"import", arcs, "--directed", "--nodes", "4", "--edges",
              testing::write_file(dir / "arcs.txt", "0 1\n3 2\n"), "--features",
              testing::write_file(dir / "x.txt", "1 0\n0 0.5\n0 0\n0.5 0\n")});
    propagate(arcs, {"--rows", "all"});
    const std::vector<std::string> insert{"stream", arcs, "--requests",
                                          testing::write_file(dir / "insert", "insert-node 8 0:0.5\n")};
    for (const std::vector<std::string>& words : {std::vector<std::string>{"grow", arcs, "--nodes", "9"}, insert}) {
      const Result copies = run(words);
      CHECK_MESSAGE(copies.error.find("unweave purge " + arcs + " --nodes 9") != std::string::npos, copies.error);
    }
    run_well({"purge", arcs, "--nodes", "9"});
    CHECK(run(insert).error.find("purge") == std::string::npos);
    run_well({"verify", arcs});
    CHECK(run({"info", arcs, "--json"}).json()["nodes"] == 9);
    const Result many = run({"purge", arcs, "--nodes", "3000000000"});
    CHECK(many.code == 1);
    CHECK_MESSAGE(many.error.find("name 2147483647 at most") != std::string::npos, many.error);
    const Result same = run({"grow", store, "--nodes", "60", "--json"});
    CHECK(same.code == 0);
    CHECK(same.json()["nodes_added"] == 0);
    CHECK(testing::folder_bytes(dir / "s") == before);
  }
}

}  // namespace unweave
