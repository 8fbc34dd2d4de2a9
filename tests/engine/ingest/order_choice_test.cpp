// tests/engine/ingest/order_choice_test.cpp - the order that is chosen takes the fewest bytes in a
// sample of the lists, which is near to what all of them take.
#include "engine/ingest/order_choice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/contents.h"
#include "engine/ingest/graph_order.h"
#include "engine/ingest/store_import.h"
#include "engine/resources/parallel.h"
#include "storage/formats/shard.h"
#include "storage/io/error.h"
#include "support/graphs.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

constexpr std::uint64_t kAmple = std::uint64_t{256} << 20;

ImportReport import_to(const std::filesystem::path& store, const testing::NamedGraph& graph, const std::string& order) {
  std::string text;
  for (const Edge& edge : graph.edges) text += std::to_string(edge.u) + " " + std::to_string(edge.v) + "\n";
  const TempDir dir;
  ImportOptions options;
  if (!graph.edges.empty()) options.edges = InputFile{testing::write_file(dir / "edges.txt", text), {}};
  options.nodes = graph.nodes;
  options.order = order;
  MemoryBudget budget(kAmple);
  WorkMeter nobody;
  return import_store(store, options, budget, nobody);
}

/// Cliques of 20 nodes with random ids.
testing::NamedGraph cliques(NodeId count) {
  testing::NamedGraph graph{"cliques", count * 20, {}};
  std::vector<NodeId> ids(graph.nodes);
  std::iota(ids.begin(), ids.end(), 0U);
  std::shuffle(ids.begin(), ids.end(), std::mt19937(3));
  for (NodeId first = 0; first < graph.nodes; first += 20)
    for (NodeId u = first; u < first + 20; ++u)
      for (NodeId v = first; v < u; ++v) graph.edges.push_back({ids[u], ids[v]});
  // Few of the searches begin anew, so that levels mix the cliques.
  std::mt19937 random(4);
  for (NodeId u = 0; u < graph.nodes; u += 2) graph.edges.push_back({u, static_cast<NodeId>(random() % graph.nodes)});
  return graph;
}

/// Nodes in a row, each joined to the next ten.
testing::NamedGraph band(NodeId nodes) {
  testing::NamedGraph graph{"band", nodes, {}};
  for (NodeId u = 0; u < nodes; ++u)
    for (NodeId v = u + 1; v <= u + 10 && v < nodes; ++v) graph.edges.push_back({u, v});
  return graph;
}

std::vector<NodeId> chosen(const std::filesystem::path& store, std::string* why) {
  const Contents contents(store, read_manifest(store));
  MemoryBudget budget(kAmple);
  WorkMeter nobody;
  std::vector<NodeId> positions = choose_order(contents.graph(), budget, nobody, why);
  CHECK(budget.used() == 0);
  return positions;
}

/// Bits an arc of the blocks in the files.
double bits_in_files(const Graph& graph) {
  return 8 * static_cast<double>(graph.file_bytes()) / static_cast<double>(graph.num_arcs());
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("communities are found to be worth it, and the reason names all orders") {
    const TempDir dir;
    const testing::NamedGraph graph = cliques(600);
    import_to(dir / "none", graph, "none");
    std::string why;
    const std::vector<NodeId> positions = chosen(dir / "none", &why);
    CAPTURE(why);
    for (const std::string part : {"auto is community here", "(none ", "bfs ", "degree "})
      CHECK(why.find(part) != std::string::npos);
    const Contents contents(dir / "none", read_manifest(dir / "none"));
    MemoryBudget budget(kAmple);
    WorkMeter nobody;
    CHECK(positions == compute_order("community", contents.graph(), budget, nobody, nullptr));
  }

  TEST_CASE("where ids are near already the nodes stay") {
    const TempDir dir;
    import_to(dir / "none", band(20'000), "none");
    std::string why;
    const std::vector<NodeId> positions = chosen(dir / "none", &why);
    CAPTURE(why);
    CHECK(why.find("auto is none here") != std::string::npos);
    CHECK(std::is_sorted(positions.begin(), positions.end()));
  }

  TEST_CASE("the import takes what is chosen, says why, and its store is called by the choice that it leaves open") {
    const TempDir dir;
    const testing::NamedGraph graph = cliques(100);
    const ImportReport report = import_to(dir / "auto", graph, "auto");
    CHECK(report.order == "auto");
    CHECK(report.order_reason.starts_with("the order auto is "));
    CHECK(read_manifest(dir / "auto").order == "auto");
    CHECK(import_to(dir / "bfs", graph, "bfs").order_reason.empty());
  }

  TEST_CASE("graphs without edges and of one node can be asked for") {
    for (const testing::NamedGraph& graph : testing::graph_family()) {
      CAPTURE(graph.name);
      const TempDir dir;
      import_to(dir / "none", graph, "none");
      std::vector<NodeId> positions = chosen(dir / "none", nullptr);
      std::sort(positions.begin(), positions.end());
      CHECK(positions.size() == graph.nodes);
      for (NodeId i = 0; i < graph.nodes; ++i) CHECK(positions[i] == i);
    }
  }

  TEST_CASE("a sample tells the bits of a whole store, also where hubs come first" * doctest::test_suite("slow")) {
    const TempDir dir;
    testing::NamedGraph graph = testing::random_graph_with_hub(200'000, 300'000, 4);
    std::mt19937 random(9);
    for (int i = 0; i < 400'000; ++i)
      graph.edges.push_back(
          {static_cast<NodeId>(random() % (1 + random() % 5000)), static_cast<NodeId>(random() % graph.nodes)});
    import_to(dir / "none", graph, "none");
    const Contents contents(dir / "none", read_manifest(dir / "none"));
    MemoryBudget budget(kAmple);
    WorkMeter nobody;
    CHECK(sampled_bits_per_arc(contents.graph(), {}, budget) ==
          doctest::Approx(bits_in_files(contents.graph())).epsilon(0.03));
    for (const std::string order : {"degree", "bfs", "community"}) {
      CAPTURE(order);
      import_to(dir / order, graph, order);
      const Contents ordered(dir / order, read_manifest(dir / order));
      const std::vector<NodeId> positions = compute_order(order, contents.graph(), budget, nobody, nullptr);
      CHECK(sampled_bits_per_arc(contents.graph(), positions, budget) ==
            doctest::Approx(bits_in_files(ordered.graph())).epsilon(0.03));
    }
  }
}

}  // namespace unweave
