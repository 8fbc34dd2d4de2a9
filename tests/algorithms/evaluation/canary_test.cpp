// tests/algorithms/evaluation/canary_test.cpp - canaries are what they are called, and a rehearsal
// leaves no trace.
#include "algorithms/evaluation/canary.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/training_rows.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

/// Requests hold ids of any size.
NodeId node_of(const CanaryRequests& canary) {
  return static_cast<NodeId>(canary.requests.at(0).u);
}

using testing::ample_budget;
using testing::folder_bytes;
using testing::TrainedStore;

constexpr std::uint64_t kAllRows = 1000;

Canary released(const TrainedStore& world, const CanaryRequests& requests, std::uint64_t most = kAllRows) {
  StoreReader store(world.store, ample_budget());
  return release_canary(requests, store, load_model(world.store, "newton"), most, ample_budget());
}

std::vector<CanaryRequests> found(const TrainedStore& world) {
  const StoreReader store(world.store, ample_budget());
  return find_canaries(store, load_model(world.store, "newton"), ample_budget());
}

bool same_rows(const TrainingSet& a, const TrainingSet& b) {
  if (!std::ranges::equal(a.nodes(), b.nodes()) || !std::ranges::equal(a.labels(), b.labels())) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!std::ranges::equal(a.row(i), b.row(i))) return false;
  return true;
}

TEST_SUITE("unit") {
  TEST_CASE("hub, bridge and gradient are the largest of their kind") {
    const TrainedStore world;
    world.train("newton");
    const std::vector<CanaryRequests> canaries = found(world);
    REQUIRE(canaries.size() == 3);
    const StoreReader store(world.store, ample_budget());
    const Graph& graph = store.contents().graph();
    const TrainingSet rows = world.rows();
    const Matrix weights = load_model(world.store, "newton").model.published;

    CHECK(canaries[0].name == "hub");
    CHECK(canaries[0].requests.at(0).kind == RequestKind::remove_node);
    for (NodeId node = 0; node < graph.num_nodes(); ++node)
      CHECK(graph.degree(node) <= graph.degree(node_of(canaries[0])));

    CHECK(canaries[1].name == "bridge");
    CHECK(canaries[1].requests.at(0).kind == RequestKind::remove_edge);
    CHECK(graph.degree(node_of(canaries[1])) == 2);  // its own loop and this edge
    CHECK(graph.has_edge(node_of(canaries[1]), static_cast<NodeId>(canaries[1].requests[0].v)));

    CHECK(canaries[2].name == "gradient");
    const auto gradient = [&](std::size_t i) {
      double sum = 0, norm = 0;
      for (std::size_t c = 0; c < rows.classes(); ++c) {
        double margin = 0;
        for (std::size_t f = 0; f < rows.features(); ++f)
          margin += static_cast<double>(rows.row(i)[f]) * weights(index_of(f), index_of(c));
        const double slope = 1 / (1 + std::exp(rows.labels()[i] == c ? margin : -margin));
        sum += slope * slope;
      }
      for (const float x : rows.row(i)) norm += static_cast<double>(x) * static_cast<double>(x);
      return std::sqrt(sum * norm);
    };
    const auto worst = rows.find(node_of(canaries[2]));
    REQUIRE(worst);
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(gradient(i) <= gradient(*worst) * (1 + 1e-9));
  }

  TEST_CASE("a rehearsal gives the rows that the stream gives, and changes no file") {
    const TrainedStore world;
    world.train("newton");
    world.stream({world.edge_of_training_node()}, {"newton"});  // a journal to replay
    const auto files = folder_bytes(world.store);
    const TrainingSet before = world.rows();
    std::vector<Canary> canaries;
    for (const CanaryRequests& requests : found(world)) canaries.push_back(released(world, requests));
    CHECK(folder_bytes(world.store) == files);
    REQUIRE(canaries.size() == 3);
    for (const Canary& canary : canaries) {
      CHECK(same_rows(canary.before, before));
      TrainingSet after = before;
      after.apply(canary.change);
      CHECK(same_rows(canary.after, after));
      CHECK(canary.change.moved_to.size() > 0);
    }
    CHECK(canaries[1].change.only_edges);
    CHECK_FALSE(canaries[2].change.only_edges);
    CHECK(canaries[2].change.removed.size() == 1);
    world.stream(found(world)[2].requests);
    CHECK(same_rows(canaries[2].after, world.rows()));
  }

  TEST_CASE("stale rows of a lazy stream are published before a rehearsal") {
    const TrainedStore world;
    world.train("newton");
    world.stream({world.edge_of_training_node(), {RequestKind::remove_edge, 0, 5}}, {}, 0.5);
    REQUIRE(StoreReader(world.store, ample_budget()).embedding().stale_rows() > 0);
    const Canary canary = released(world, {"own", {{RequestKind::remove_node, 0, 0}}});
    StoreWriter(world.store, ample_budget()).publish_stale();
    CHECK_FALSE(same_rows(canary.before, canary.after));
    StoreWriter store(world.store, ample_budget());
    static_cast<void>(store.publish_stale());
    store.checkpoint();
    CHECK(same_rows(canary.before, world.rows()));
  }

  TEST_CASE("a part of the rows: who leaves and who moves farthest takes part, and the batch still fits") {
    const TrainedStore world;
    world.train("newton");
    const CanaryRequests requests{"own", {{RequestKind::remove_node, world.rows().nodes()[3], 0}}};
    const Canary all = released(world, requests), part = released(world, requests, 12);
    CHECK(part.after.size() + part.change.removed.size() == 12);
    CHECK(part.change.removed.nodes()[0] == node_of(requests));
    TrainingSet after = part.before;
    after.apply(part.change);
    CHECK(same_rows(part.after, after));
    const auto distance = [](const Canary& canary) {
      double most = 0;
      for (std::size_t i = 0; i < canary.change.moved_to.size(); ++i) {
        double sum = 0;
        for (std::size_t f = 0; f < canary.after.features(); ++f)
          sum +=
              std::pow(static_cast<double>(canary.change.moved_to.row(i)[f] - canary.change.moved_from.row(i)[f]), 2);
        most = std::max(most, sum);
      }
      return most;
    };
    CHECK(distance(part) == distance(all));
  }

  TEST_CASE("requests that change no training row are refused") {
    const TrainedStore world;
    world.train("newton");
    CHECK_THROWS_WITH_AS(static_cast<void>(released(world, {"own", {}})),
                         doctest::Contains("changes no training row; choose other requests"), UsageError);
  }
}

}  // namespace
}  // namespace unweave
