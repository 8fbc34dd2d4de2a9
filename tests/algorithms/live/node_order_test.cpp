// tests/algorithms/live/node_order_test.cpp - the order of a store shows nowhere: the same data
// imported in every order give the same embeddings, edges, digest and stream, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/live/digest.h"
#include "algorithms/live/export.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "algorithms/verification/verify.h"
#include "engine/ingest/graph_order.h"
#include "engine/ingest/store_import.h"
#include "storage/io/error.h"
#include "support/graphs.h"
#include "support/input_files.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::TempDir;
using testing::TinyStore;

/// A graph of a family under random ids, with random features, labels and splits.
TinyStore scattered(const testing::NamedGraph& graph, unsigned seed) {
  TinyStore store = testing::random_store(graph.nodes, 1, 5, seed);
  std::vector<NodeId> ids(graph.nodes);
  std::iota(ids.begin(), ids.end(), 0U);
  std::shuffle(ids.begin(), ids.end(), std::mt19937(seed));
  store.edges.clear();
  for (const Edge& edge : graph.edges) store.edges.push_back({ids[edge.u], ids[edge.v]});
  return store;
}

void import_ordered(const TempDir& dir, const TinyStore& contents, const std::string& order) {
  const auto lines = [](const auto& values) {
    std::string text;
    for (const auto value : values) text += std::to_string(value) + "\n";
    return text;
  };
  const auto file = [&](const char* name, const std::string& text) {
    return InputFile{testing::write_file(dir / name, text), {}};
  };
  std::string edges = "# u v\n";
  for (const Edge& edge : contents.edges) edges += std::to_string(edge.u) + " " + std::to_string(edge.v) + "\n";
  ImportOptions options;
  options.order = order;
  options.nodes = contents.nodes;
  options.edges = file("edges", edges);
  const std::string shape = "(" + std::to_string(contents.nodes) + ", " + std::to_string(contents.columns) + ")";
  options.features = file("x.npy", testing::npy("<f4", shape, contents.features));
  options.labels = file("labels", lines(contents.labels));
  options.classes = contents.classes;
  options.train = file("train", "# nodes\n" + lines(contents.train));
  options.test = file("test", "# nodes\n" + lines(contents.test));
  WorkMeter nobody;
  import_store(dir / order, options, ample_budget(), nobody);
}

/// Requests of every kind, some of which change nothing or name nodes that there are not.
std::vector<Request> random_requests(const TinyStore& contents, std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < count; ++i) {
    const auto node = [&]() -> std::uint64_t { return random() % 20 == 0 ? random() : random() % contents.nodes; };
    const std::uint64_t u = node(), v = node();
    const auto kind = random() % 8;
    if (kind < 3 && !contents.edges.empty()) {
      const Edge& edge = contents.edges[random() % contents.edges.size()];
      requests.push_back({RequestKind::remove_edge, edge.v, edge.u});
    } else if (kind < 6) {
      requests.push_back({kind == 5 ? RequestKind::remove_edge : RequestKind::insert_edge, u, v});
    } else {
      requests.push_back({kind == 6 ? RequestKind::remove_node : RequestKind::remove_feature, u, 0});
    }
  }
  return requests;
}

/// What a store says of itself, in words that users see.
void describe(const LiveStore& store, const TempDir& dir, std::ostream& out) {
  const Embedding& embedding = store.embedding();
  out << "digest " << digest_text(content_digest(store)) << " stale " << embedding.stale_rows() << " rows "
      << embedding.cone().rows(embedding.levels()) << '\n';
  export_edges(store, dir / "edges.npy");
  out << testing::read_all(dir / "edges.npy");
  const std::vector<double> weights{0.5, 0.25, 0.25};
  std::vector<NodeId> targets;
  for (NodeId user = store.contents().num_nodes(); user-- > 0;)
    if (embedding.is_target(store.contents().order().position(user))) targets.push_back(user);
  export_embeddings(store, targets, weights, dir / "some.npy");
  out << testing::read_all(dir / "some.npy");
  if (targets.size() < store.contents().num_nodes()) return;
  export_embeddings(store, std::nullopt, weights, dir / "all.npy");
  out << testing::read_all(dir / "all.npy");
}

void describe(const BatchReport& report, std::ostream& out) {
  const BatchChanges& c = report.changes;
  for (const std::uint64_t number :
       {c.requests, c.applied, c.rejected, c.edges_removed, c.nodes_removed, c.features_removed, c.edges_inserted,
        report.last_request, report.update.rows_touched, report.update.arcs_visited, report.update.pushes})
    out << number << ' ';
  for (const RequestStatus status : c.statuses) out << name_of(status) << ' ';
  for (const std::string& plan : report.update.plan) out << plan << ' ';
  out << '\n';
}

constexpr StreamMode kModes[] = {
    {}, {0.02, ThresholdScale::absolute}, {0.001, ThresholdScale::paper}, {0.01, ThresholdScale::code}};

/// The life of one store, told in bytes: import, propagate, stream, a crash, a reader, a flush.
std::string life_of(const TempDir& dir, const TinyStore& contents, const std::string& order, bool all_rows,
                    const StreamMode& mode, const std::vector<Request>& requests) {
  CAPTURE(order);
  std::filesystem::remove_all(dir / order);
  import_ordered(dir, contents, order);
  testing::propagate_store(dir / order, testing::tiny_spec(2, all_rows));
  std::ostringstream out;
  constexpr std::size_t kBatch = 9;
  for (std::size_t first = 0; first < requests.size();) {
    StoreWriter store(dir / order, ample_budget());
    // The planner may read other lists in another order, and choose otherwise.
    store.set_plan(first / kBatch % 4 < 2 ? Plan::push : Plan::recompute);
    describe(store, dir, out);
    // What is journaled and not checkpointed comes back by replay.
    for (int batch = 0; batch < 2 && first < requests.size(); ++batch, first += kBatch) {
      const auto some = std::span(requests).subspan(first, std::min(kBatch, requests.size() - first));
      describe(store.apply(some, store.resolve(some), mode), out);
    }
    const std::string now = digest_text(content_digest(store));
    CHECK(digest_text(content_digest(StoreReader(dir / order, ample_budget()))) == now);
    if (first % (4 * kBatch) == 0) store.checkpoint();
  }
  StoreWriter store(dir / order, ample_budget());
  store.publish_stale();
  store.checkpoint();
  describe(store, dir, out);
  const VerifyReport report = verify_store(dir / order, {std::nullopt, true}, ample_budget());
  CHECK(report.ok());
  return out.str();
}

std::vector<std::string> all_orders() {
  std::vector<std::string> names;
  std::istringstream text(order_names());
  for (std::string name; std::getline(text, name, ',');) names.push_back(name.substr(name.find_first_not_of(' ')));
  return names;
}

void check_lives(const testing::NamedGraph& graph, std::size_t requests, unsigned seed) {
  CAPTURE(graph.name);
  const TempDir dir;
  const TinyStore contents = scattered(graph, seed);
  const std::vector<Request> stream = random_requests(contents, requests, seed);
  for (const bool all_rows : {true, false}) {
    for (const StreamMode& mode : kModes) {
      CAPTURE(all_rows);
      CAPTURE(mode.r_max);
      const std::string wanted = life_of(dir, contents, "none", all_rows, mode, stream);
      for (const std::string& order : all_orders()) {
        CAPTURE(order);
        CHECK((life_of(dir, contents, order, all_rows, mode, stream) == wanted));
      }
    }
  }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the same life in every order, on small graphs" * doctest::test_suite("slow")) {
    unsigned seed = 1;
    for (const testing::NamedGraph& graph : testing::graph_family())
      if (graph.nodes <= 200) check_lives(graph, 40, seed++);
  }

  TEST_CASE("messages name the user's ids") {
    const TempDir dir;
    // A star around node 3, which stands at position 0; node 1 has no label.
    TinyStore star;
    star.nodes = 5;
    star.edges = {{3, 0}, {3, 1}, {3, 2}, {3, 4}};
    star.columns = 1;
    star.features = {1, 1, 1, 1, 1};
    star.labels = {0, 0, 0, -1, 0};
    star.classes = 1;
    star.train = {0, 1};
    star.test = {2, 4};
    import_ordered(dir, star, "degree");
    testing::propagate_store(dir / "degree", testing::tiny_spec(1, false));
    const StoreReader store(dir / "degree", ample_budget());
    CHECK(store.contents().order().position(3) == 0);
    const std::vector<double> weights{0, 1};
    const std::string message = testing::message_of<UsageError>([&] {
      export_embeddings(store, std::vector<NodeId>{4, 3}, weights, dir / "z.npy");
    });
    testing::check_message(message, {"node 3 "});
  }

  TEST_CASE("a training row that is not finite is named by the user's id") {
    const TempDir dir;
    TinyStore contents = testing::random_store(20, 1, 3, 4);
    contents.edges = {{7, 8}, {7, 9}, {7, 10}};
    contents.labels[7] = 1;
    contents.train = {7};
    std::erase(contents.test, NodeId{7});
    import_ordered(dir, contents, "degree");
    testing::propagate_store(dir / "degree", testing::tiny_spec(1));
    const StoreReader store(dir / "degree", ample_budget());
    CHECK(store.contents().order().position(7) == 0);
    const std::string message = testing::message_of<DataError>([&] {
      const TrainingRows rows(store, std::vector<double>{std::numeric_limits<double>::quiet_NaN(), 1}, 1,
                              ample_budget());
    });
    testing::check_message(message, {(dir / "degree").string() + ": ", "node 7 ", "run `verify "});
  }

  TEST_CASE("an order that was computed from the graph is no public constant: runs over slots are not certified") {
    const TempDir dir;
    const TinyStore contents = testing::random_store(80, 240, 6, 5);
    for (const std::string order : {"none", "degree", "bfs"}) {
      CAPTURE(order);
      import_ordered(dir, contents, order);
      testing::propagate_store(dir / order, testing::tiny_spec(2, true));
      StoreWriter live(dir / order, ample_budget());
      for (const std::string solver : {"newton", "langevin", "rewind", "descend", "hessian-free"}) {
        CAPTURE(solver);
        SolverOptions options;
        options.lambda = 0.01;
        const Learner learner =
            Learner::train(live, ample_budget(), solver, options, live.embedding().spec().weights, {false, "test", {}});
        CHECK(learner.last_step().certified == (order == "none" || solver == "newton"));
        const bool later = learner.record().certificate.find("all-later") != std::string::npos;
        CHECK(later == (order == "none" && (solver == "newton" || solver == "langevin")));
      }
    }
  }

  TEST_CASE("the journal keeps requests as they were made") {
    const TempDir dir;
    const TinyStore contents = scattered(testing::random_graph_with_hub(60, 100, 1), 2);
    import_ordered(dir, contents, "degree");
    const std::vector<Request> requests = random_requests(contents, 20, 3);
    StoreWriter store(dir / "degree", ample_budget());
    store.apply(requests, store.resolve(requests), {});
    std::vector<Request> kept;
    read_journal(dir / "degree", *store.manifest().journal, 0, [&](const JournalBatch& batch) {
      kept.insert(kept.end(), batch.requests.begin(), batch.requests.end());
    });
    CHECK(kept == requests);
  }

  TEST_CASE("training in another order sums in another order and agrees but for rounding") {
    const TempDir dir;
    TinyStore contents = scattered(testing::random_graph_with_hub(400, 1500, 2), 3);
    std::vector<Matrix> weights;
    std::vector<double> accuracies;
    std::vector<std::string> names = all_orders();
    names.insert(names.begin(), "none");
    for (const std::string& order : names) {
      import_ordered(dir, contents, order);
      testing::propagate_store(dir / order, testing::tiny_spec(2));
      StoreWriter store(dir / order, ample_budget());
      SolverOptions options;
      options.seed = 1;
      options.epsilon = 10;
      options.tau = 1e-8;  // little noise, and the same where the weights agree
      const std::vector<double> levels = store.embedding().spec().weights;
      Learner learner = Learner::train(store, ample_budget(), "newton", options, levels, {false, "test", {}});
      const std::vector<Request> requests = random_requests(contents, 30, 8);
      learner.absorb(store.apply(requests, store.resolve(requests), {}));
      weights.push_back(learner.model().published);
      accuracies.push_back(*evaluate_model(store, learner.record()).test);
    }
    for (std::size_t i = 1; i < names.size(); ++i) {
      CAPTURE(names[i]);
      CHECK((weights[i] - weights[0]).norm() <= 1e-5 * weights[0].norm());
      CHECK(accuracies[i] == accuracies[0]);
    }
  }
}

TEST_SUITE("slow") {
  TEST_CASE("the same life in every order, on a larger graph with a hub") {
    check_lives(testing::random_graph_with_hub(1700, 6000, 3), 120, 77);
  }
}

}  // namespace unweave
