// tests/algorithms/synthetic/generate_test.cpp - synthetic stores: the same for any threads and
// budget, and with the structure named.
#include "algorithms/synthetic/generate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/random/counter_random.h"
#include "algorithms/synthetic/citation.h"
#include "algorithms/synthetic/class_features.h"
#include "algorithms/synthetic/rmat.h"
#include "algorithms/synthetic/sbm.h"
#include "engine/graph/contents.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

BuildReport generate_to(const std::filesystem::path& store, const GenerateOptions& options,
                        std::uint64_t memory = std::uint64_t{128} << 20) {
  MemoryBudget budget(memory);
  WorkMeter nobody;
  BuildReport report = generate_store(store, options, budget, nobody);
  CHECK(budget.used() == 0);
  return report;
}

GenerateOptions small(GraphModel model) {
  GenerateOptions options;
  options.model = model;
  options.scale = 11;
  options.edge_factor = 8;
  options.features = 40;
  options.classes = 5;
  return options;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("stores are equal for any number of threads and any budget, and differ by seed" *
            doctest::test_suite("slow")) {
    for (const GraphModel model : {GraphModel::kRmat, GraphModel::kSbm, GraphModel::kCitation}) {
      const testing::TempDir dir;
      GenerateOptions options = small(model);
      options.scale = 17;
      options.edge_factor = 2;
      options.features = 3;
      {
        const ThreadLimit one(1);
        generate_to(dir / "one", options, std::uint64_t{16} << 20);
      }
      const ThreadLimit two(2);
      generate_to(dir / "two", options);
      CHECK(testing::folder_bytes(dir / "one") == testing::folder_bytes(dir / "two"));
      options.seed = 2;
      generate_to(dir / "other", options);
      const Manifest first = read_manifest(dir / "one");
      const Manifest other = read_manifest(dir / "other");
      CHECK(first.shards[0].root != other.shards[0].root);
      CHECK(first.feature_files[0].root != other.feature_files[0].root);
      CHECK(first.labels->root != other.labels->root);
      CHECK(first.train->root != other.train->root);
    }
  }

  TEST_CASE("an order changes where nodes stand and nothing of the contents") {
    for (const GraphModel model : {GraphModel::kRmat, GraphModel::kCitation}) {
      const testing::TempDir dir;
      GenerateOptions options = model == GraphModel::kCitation ? citation_options(3000) : small(model);
      options.features = 7;
      generate_to(dir / "ids", options);
      const auto digest = [&](const char* name) {
        const StoreReader store(dir / name, testing::ample_budget());
        return digest_text(content_digest(store));
      };
      for (const char* const order : {"degree", "bfs", "community"}) {
        options.order = order;
        const BuildReport report = generate_to(dir / order, options);
        CHECK(report.order == order);
        CHECK(report.seconds_order > 0);
        CHECK(digest(order) == digest("ids"));
        CHECK(read_manifest(dir / order).shards != read_manifest(dir / "ids").shards);
        CHECK_FALSE(std::filesystem::exists(dir / order / "graph" / "by-ids"));
      }
      for (const char* const order : {"alphabetical", "auto"}) {
        options.order = order;
        MemoryBudget nothing(0);  // memory would lack first if anything were made before the order is looked at
        WorkMeter nobody;
        CHECK_THROWS_AS(generate_store(dir / "none", options, nothing, nobody), UsageError);
        CHECK_FALSE(std::filesystem::exists(dir / "none"));
      }
    }
  }

  TEST_CASE("an R-MAT store holds the edges that rmat_edge gives, a label a node and splits of 60, 20, 20 %") {
    const testing::TempDir dir;
    const GenerateOptions options = small(GraphModel::kRmat);
    const BuildReport report = generate_to(dir / "s", options);
    std::set<std::pair<NodeId, NodeId>> edges;
    for (std::uint64_t i = 0; i < 8 << 11; ++i) {
      const Edge edge = rmat_edge(1, i, 11);
      if (edge.u != edge.v) edges.insert({std::min(edge.u, edge.v), std::max(edge.u, edge.v)});
    }
    CHECK(report.edges_read == 8 << 11);
    CHECK(report.edges == edges.size());
    const Contents contents(dir / "s", read_manifest(dir / "s"));
    CHECK(std::all_of(edges.begin(), edges.end(),
                      [&](const auto& edge) { return contents.graph().has_edge(edge.first, edge.second); }));
    CHECK(contents.num_labelled() == 2048);
    CHECK(contents.train().size() + contents.valid().size() + contents.test().size() == 2048);
    CHECK(std::abs(static_cast<double>(contents.train().size()) / 2048 - 0.6) < 0.05);
    CHECK(std::abs(static_cast<double>(contents.test().size()) / 2048 - 0.2) < 0.05);
    contents.features().file_from(0)->verify();
  }

  TEST_CASE("a citation store holds the citations of its model, labels few nodes and splits them by age" *
            doctest::test_suite("slow")) {
    const testing::TempDir dir;
    GenerateOptions options = citation_options(30'000);
    CHECK(options.edges == 436'436);
    CHECK(options.classes == 172);
    options.features = 3;
    const BuildReport report = generate_to(dir / "s", options);
    const CitationModel model(30'000, *options.edges, 172, 1);
    std::set<std::pair<NodeId, NodeId>> edges;
    std::vector<std::uint64_t> cited;
    for (std::uint64_t place = 0; place < 30'000; ++place) {
      model.cite(model.layout().at(place), cited);
      const NodeId node = model.node_at(place);
      for (const std::uint64_t one : cited) edges.insert(std::minmax(node, model.node_at(one)));
    }
    CHECK(report.edges_read == *options.edges);
    CHECK(report.edges == edges.size());
    CHECK(report.duplicates + edges.size() == *options.edges);
    CHECK(report.self_loops == 0);
    const Contents contents(dir / "s", read_manifest(dir / "s"));
    CHECK(std::all_of(edges.begin(), edges.end(),
                      [&](const auto& edge) { return contents.graph().has_edge(edge.first, edge.second); }));
    const std::vector<LabelledPaper> labelled = model.labelled();
    CHECK(contents.num_labelled() == labelled.size());
    for (std::size_t i = 0; i < labelled.size(); ++i) {
      const NodeId node = labelled[i].node;
      CHECK(contents.label(node) == static_cast<std::int32_t>(labelled[i].subject));
      const double age = (static_cast<double>(i) + 0.5) / static_cast<double>(labelled.size());
      if (age < 0.77) CHECK(std::binary_search(contents.train().begin(), contents.train().end(), node));
      if (age > 0.79 && age < 0.85) CHECK(std::binary_search(contents.valid().begin(), contents.valid().end(), node));
      if (age > 0.87) CHECK(std::binary_search(contents.test().begin(), contents.test().end(), node));
    }
    CHECK(contents.train().size() + contents.valid().size() + contents.test().size() == labelled.size());
  }

  TEST_CASE("the block model: equal blocks under permuted ids, 80 % of the edges inside, no node left out") {
    for (const NodeId nodes : {1U, 2U, 5U, 1000U, 4096U}) {
      const BlockModel model(nodes, 4, 3);
      std::vector<std::uint32_t> sizes(4, 0);
      for (NodeId node = 0; node < nodes; ++node) ++sizes[model.block(node)];
      CHECK(*std::max_element(sizes.begin(), sizes.end()) - *std::min_element(sizes.begin(), sizes.end()) <= 1);
      std::vector<bool> seen(nodes, false);
      std::size_t inside = 0;
      constexpr std::size_t kEdges = 40'000;
      for (std::size_t i = 0; i < kEdges; ++i) {
        const Edge edge = model.edge(i);
        CHECK(edge.u < nodes);
        CHECK(edge.v < nodes);
        seen[edge.u] = seen[edge.v] = true;
        inside += model.block(edge.u) == model.block(edge.v) ? 1 : 0;
      }
      CHECK(std::all_of(seen.begin(), seen.end(), [](bool one) { return one; }));
      if (nodes > 1) CHECK(std::abs(static_cast<double>(inside) / kEdges - 0.8) < 0.02);
    }
    const BlockModel model(1000, 4, 3);
    std::size_t agree = 0;
    for (NodeId node = 0; node + 1 < 1000; ++node) agree += model.block(node) == model.block(node + 1) ? 1 : 0;
    CHECK(agree < 350);  // 250 expected where ids say nothing
  }

  TEST_CASE("features carry the class: poorly alone, well in the mean over neighbours of an sbm") {
    const testing::TempDir dir;
    GenerateOptions options = small(GraphModel::kSbm);
    options.nodes = 3000;
    generate_to(dir / "s", options);
    const Contents contents(dir / "s", read_manifest(dir / "s"));
    constexpr std::size_t kColumns = 40;
    std::vector<float> rows(3000 * kColumns);
    contents.features().read({0, 3000}, 0, kColumns, rows.data());
    std::vector<std::vector<double>> means(5, std::vector<double>(kColumns, 0.0));
    for (NodeId u = 0; u < 3000; ++u)
      for (std::size_t c = 0; c < kColumns; ++c)
        means[static_cast<std::size_t>(contents.label(u))][c] += static_cast<double>(rows[u * kColumns + c]);
    const auto accuracy = [&](bool with_neighbours) {
      std::size_t right = 0;
      std::vector<NodeId> list;
      for (NodeId u = 0; u < 3000; ++u) {
        list.clear();
        if (with_neighbours) contents.graph().neighbours(u, list);
        list.push_back(u);
        std::vector<double> scores(5, 0.0);
        for (const NodeId v : list)
          for (std::size_t k = 0; k < 5; ++k)
            for (std::size_t c = 0; c < kColumns; ++c)
              scores[k] += means[k][c] * static_cast<double>(rows[v * kColumns + c]);
        right += std::max_element(scores.begin(), scores.end()) - scores.begin() == contents.label(u) ? 1 : 0;
      }
      return static_cast<double>(right) / 3000;
    };
    CHECK(accuracy(false) > 0.35);
    CHECK(accuracy(false) < 0.85);
    CHECK(accuracy(true) > accuracy(false) + 0.1);
  }

  TEST_CASE("deviates have mean 0 and variance 1") {
    double sum = 0, squares = 0;
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      const double value = bits_to_deviate(random_bits(5, i));
      sum += value;
      squares += value * value;
    }
    CHECK(std::abs(sum / 1e5) < 0.015);
    CHECK(std::abs(squares / 1e5 - 1) < 0.02);
  }

  TEST_CASE("without features or classes the store has none; options that do not fit are refused") {
    const testing::TempDir dir;
    GenerateOptions options = small(GraphModel::kRmat);
    options.features = 0;
    options.classes = 0;
    options.edges = 100;
    CHECK(generate_to(dir / "s", options).edges_read == 100);
    const Manifest manifest = read_manifest(dir / "s");
    CHECK(!manifest.labels);
    CHECK(manifest.feature_files.empty());
    options.nodes = 100;
    CHECK_THROWS_AS(generate_to(dir / "t", options), UsageError);
    options = small(GraphModel::kCitation);
    options.classes = 70'000;
    CHECK_THROWS_AS(generate_to(dir / "t", options), UsageError);
    options.nodes = 1;
    options.classes = 1;
    CHECK_THROWS_AS(generate_to(dir / "t", options), UsageError);
    options = small(GraphModel::kSbm);
    options.nodes = 0;
    CHECK_THROWS_AS(generate_to(dir / "t", options), UsageError);
    options.nodes.reset();
    options.scale = 32;
    CHECK_THROWS_AS(generate_to(dir / "t", options), UsageError);
    CHECK(!std::filesystem::exists(dir / "t"));
  }
}

}  // namespace unweave
