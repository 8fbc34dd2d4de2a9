// tests/engine/ingest/graph_order_test.cpp - orders are permutations that depend on the graph
// alone, and an ordered store holds what an unordered one does, elsewhere.
#include "engine/ingest/graph_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engine/graph/contents.h"
#include "engine/ingest/store_import.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/graphs.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

std::vector<std::string> all_orders() {
  std::vector<std::string> names;
  std::istringstream text(order_names());
  for (std::string name; std::getline(text, name, ',');) names.push_back(name.substr(name.find_first_not_of(' ')));
  return names;
}

void import_to(const std::filesystem::path& store, const ImportOptions& options,
               std::uint64_t memory = std::uint64_t{64} << 20) {
  MemoryBudget budget(memory);
  WorkMeter nobody;
  import_store(store, options, budget, nobody);
  CHECK(budget.used() == 0);
}

std::vector<Edge> shuffled(const testing::NamedGraph& graph, unsigned seed) {
  std::vector<Edge> edges = graph.edges;
  std::mt19937 random(seed);
  std::shuffle(edges.begin(), edges.end(), random);
  for (Edge& edge : edges)
    if (random() % 2 == 0) std::swap(edge.u, edge.v);
  return edges;
}

InputFile edge_file(const std::filesystem::path& path, const std::vector<Edge>& edges) {
  std::string text = "# u v\n";
  for (const Edge& edge : edges) text += std::to_string(edge.u) + " " + std::to_string(edge.v) + "\n";
  return {testing::write_file(path, text), {}};
}

/// The user's id at each position of a store of the graph.
std::vector<NodeId> users_by_position(const testing::NamedGraph& graph, const std::string& order) {
  const TempDir dir;
  ImportOptions options;
  options.edges = edge_file(dir / "edges.txt", graph.edges);
  options.nodes = graph.nodes;
  options.order = order;
  import_to(dir / "s", options);
  const Contents contents(dir / "s", read_manifest(dir / "s"));
  std::vector<NodeId> users;
  for (NodeId at = 0; at < graph.nodes; ++at) users.push_back(contents.order().user(at));
  return users;
}

/// Edges, dense features, labels and two splits for a graph.
ImportOptions full_input(const TempDir& dir, const testing::NamedGraph& graph, bool sparse) {
  ImportOptions options;
  options.nodes = graph.nodes;
  options.edges = edge_file(dir / "edges.txt", graph.edges);
  std::mt19937 random(graph.nodes);
  std::vector<float> values;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> indices;
  std::vector<float> stored;
  std::string labels, train, test;
  for (NodeId node = 0; node < graph.nodes; ++node) {
    for (int c = 0; c < 3; ++c) {
      values.push_back(random() % 2 == 0 ? 0.0F : static_cast<float>(random() % 1000) / 2000.0F);
      if (values.back() == 0) continue;
      indices.push_back(c);
      stored.push_back(values.back());
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
    const int label = static_cast<int>(random() % 4) - 1;
    labels += std::to_string(label) + "\n";
    if (label >= 0) (random() % 2 == 0 ? train : test) += std::to_string(node) + "\n";
  }
  const auto shape = [](std::size_t n) { return "(" + std::to_string(n) + ",)"; };
  if (sparse) {
    CsrInput csr;
    csr.columns = 3;
    csr.files.indptr = {testing::write_file(dir / "p.npy", testing::npy("<i8", shape(offsets.size()), offsets)), {}};
    csr.files.indices = {testing::write_file(dir / "i.npy", testing::npy("<i4", shape(indices.size()), indices)), {}};
    csr.files.values =
        InputFile{testing::write_file(dir / "v.npy", testing::npy("<f4", shape(stored.size()), stored)), {}};
    options.features = csr;
  } else {
    const std::string n = "(" + std::to_string(graph.nodes) + ", 3)";
    options.features = InputFile{testing::write_file(dir / "x.npy", testing::npy("<f4", n, values)), {}};
  }
  options.labels = InputFile{testing::write_file(dir / "labels.txt", labels), {}};
  options.train = InputFile{testing::write_file(dir / "train.txt", "# nodes\n" + train), {}};
  options.test = InputFile{testing::write_file(dir / "test.txt", "# nodes\n" + test), {}};
  return options;
}

/// Breadth-first search with a queue over sets.
std::vector<NodeId> queue_order(const testing::NamedGraph& graph) {
  std::vector<std::set<NodeId>> lists(graph.nodes);
  for (const Edge& edge : graph.edges) {
    if (edge.u == edge.v) continue;
    lists[edge.u].insert(edge.v);
    lists[edge.v].insert(edge.u);
  }
  const auto larger = [&](NodeId a, NodeId b) { return lists[a].size() > lists[b].size(); };
  std::vector<NodeId> roots(graph.nodes), order;
  std::iota(roots.begin(), roots.end(), 0U);
  std::stable_sort(roots.begin(), roots.end(), larger);
  std::vector<bool> seen(graph.nodes);
  for (const NodeId root : roots) {
    if (seen[root]) continue;
    seen[root] = true;
    std::size_t at = order.size();
    order.push_back(root);
    for (; at < order.size(); ++at) {
      std::vector<NodeId> children;
      for (const NodeId other : lists[order[at]]) {
        if (!seen[other]) children.push_back(other);
        seen[other] = true;
      }
      std::stable_sort(children.begin(), children.end(), larger);
      order.insert(order.end(), children.begin(), children.end());
    }
  }
  return order;
}

std::set<NodeId> users_of(const NodeOrder& order, const std::vector<NodeId>& positions) {
  std::set<NodeId> users;
  for (const NodeId node : positions) users.insert(order.user(node));
  return users;
}

/// Everything that the two stores hold, node by node in ids of the user.
void check_same_contents(const std::filesystem::path& plain_store, const std::filesystem::path& ordered_store) {
  const Manifest a = read_manifest(plain_store), b = read_manifest(ordered_store);
  CHECK(a.edges == b.edges);
  CHECK(a.feature_layout == b.feature_layout);
  const Contents plain(plain_store, a), ordered(ordered_store, b);
  const NodeOrder& order = ordered.order();
  std::vector<NodeId> wanted, found;
  std::vector<float> x(a.features), y(a.features);
  for (NodeId user = 0; user < a.nodes; ++user) {
    const NodeId at = order.position(user);
    plain.graph().neighbours(user, wanted);
    ordered.graph().neighbours(at, found);
    CHECK(std::is_sorted(found.begin(), found.end()));
    CHECK(users_of(order, found) == std::set<NodeId>(wanted.begin(), wanted.end()));
    CHECK(found.size() == wanted.size());
    plain.features().read({user, user + 1}, 0, a.features, x.data());
    ordered.features().read({at, at + 1}, 0, a.features, y.data());
    CHECK(x == y);
    CHECK(plain.label(user) == ordered.label(at));
  }
  CHECK(users_of(order, ordered.train()) == std::set<NodeId>(plain.train().begin(), plain.train().end()));
  CHECK(users_of(order, ordered.test()) == std::set<NodeId>(plain.test().begin(), plain.test().end()));
  CHECK(std::is_sorted(ordered.train().begin(), ordered.train().end()));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("an ordered store holds what an unordered one does, for every family of graphs and every order") {
    bool sparse = false;
    for (const testing::NamedGraph& graph : testing::graph_family()) {
      CAPTURE(graph.name);
      sparse = !sparse;
      const TempDir dir;
      ImportOptions options = full_input(dir, graph, sparse);
      import_to(dir / "none", options);
      CHECK(read_manifest(dir / "none").order == "none");
      for (const std::string& name : all_orders()) {
        CAPTURE(name);
        options.order = name;
        import_to(dir / name, options);
        const Manifest manifest = read_manifest(dir / name);
        CHECK(manifest.order == name);
        REQUIRE(manifest.order_file.has_value());
        OrderFile(dir / name, *manifest.order_file, manifest.nodes).verify();
        check_same_contents(dir / "none", dir / name);
      }
    }
  }

  TEST_CASE("by degree: descending, ties by id") {
    const testing::NamedGraph graph = testing::random_graph_with_hub(3000, 9000, 4);
    const std::vector<std::int64_t> degrees = testing::plain_degrees(graph);
    std::vector<NodeId> users(graph.nodes);
    std::iota(users.begin(), users.end(), 0U);
    std::stable_sort(users.begin(), users.end(), [&](NodeId a, NodeId b) { return degrees[a] > degrees[b]; });
    CHECK(users_by_position(graph, "degree") == users);
  }

  TEST_CASE("breadth-first: as a queue meets the nodes, with few and with many nodes a level") {
    std::vector<testing::NamedGraph> graphs = testing::graph_family();
    graphs.push_back(testing::random_graph_with_hub(20'000, 30'000, 8));
    for (const testing::NamedGraph& graph : graphs) {
      CAPTURE(graph.name);
      CHECK(users_by_position(graph, "bfs") == queue_order(graph));
    }
  }

  TEST_CASE("order, direction, repetition of edges, budget and threads leave no trace in the files" *
            doctest::test_suite("slow")) {
    const testing::NamedGraph graph = testing::random_graph_with_hub(70'000, 150'000, 5);
    for (const std::string& name : all_orders()) {
      CAPTURE(name);
      const TempDir dir;
      ImportOptions options = full_input(dir, graph, name == "degree");
      options.order = name;
      import_to(dir / "a", options);
      const ThreadLimit one(1);
      options.edges = edge_file(dir / "again.txt", shuffled(graph, 6));
      import_to(dir / "b", options, std::uint64_t{16} << 20);  // spills edges and features
      CHECK(testing::folder_bytes(dir / "a") == testing::folder_bytes(dir / "b"));
    }
  }

  TEST_CASE("an unknown order is refused before anything is made") {
    const TempDir dir;
    ImportOptions options;
    options.nodes = 3;
    options.order = "sideways";
    MemoryBudget budget(std::uint64_t{64} << 20);
    WorkMeter nobody;
    testing::check_message(testing::message_of<UsageError>([&] { import_store(dir / "s", options, budget, nobody); }),
                           {"order=sideways", "none", "degree"});
    CHECK(!std::filesystem::exists(dir / "s"));
  }
}

}  // namespace unweave
