// tests/algorithms/live/whole_graphs_test.cpp - stores of whole graphs, their rows and models,
// against plain loops and against fresh imports.
#include "engine/graph/whole_graphs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/live/digest.h"
#include "algorithms/live/export_all.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge.h"
#include "algorithms/models/learner.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/rows/row_maker.h"
#include "algorithms/verification/verify.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/graph_world.h"
#include "support/npy_file.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::GraphWorld;
using testing::TempDir;

const PropagationSpec& means_of_two_hops() {
  static const PropagationSpec means = testing::tiny_spec(2, true, 1);
  return means;
}

std::string findings_in(const fs::path& store) {
  return testing::text_of(verify_store(store, {std::nullopt, false, 1}, ample_budget()));
}

RowProgram pooled_program(Pool pool, RowScale scale = RowScale::clip, std::optional<Lift> lift = {}) {
  RowProgram program(scheme_weights("stack", 2, {}));
  program.blocks = {"degree"};
  program.scale = scale;
  program.pool = pool;
  program.lift = lift;
  return program;
}

std::vector<RowProgram> pooled_programs() {
  RowProgram levels(scheme_weights("sgc", 2, {}));
  levels.pool = Pool{Pool::By::number, 4};
  return {pooled_program({Pool::By::nodes, 0}), pooled_program({Pool::By::root, 0}, RowScale::unit), levels,
          pooled_program({Pool::By::root, 0}, RowScale::unit, Lift{40, 3, 0.25}),
          pooled_program({Pool::By::nodes, 0}, RowScale::unit, Lift{40, 3, 0.25, true})};
}

/// A row by loops over the nodes of a graph: whole numbers in long double, one division.
std::vector<float> slow_row(const LiveStore& store, const GraphWorld& world, const RowProgram& program,
                            std::int32_t graph) {
  RowProgram of_nodes = program;
  of_nodes.pool.reset();
  const bool at_nodes = program.lift && program.lift->of_nodes;
  if (at_nodes)
    of_nodes.lift->of_nodes = false;
  else
    of_nodes.lift.reset();
  const RowMaker maker(row_source(store), of_nodes);
  std::vector<long double> sums(maker.width());
  std::vector<float> row(maker.width());
  double count = 0;
  for (NodeId user = world.base.nodes; user-- > 0;) {  // backwards: the order means nothing
    if (world.graph_of[user] != graph) continue;
    const NodeId node = store.contents().order().position(user);
    maker.rows({&node, 1}, row.data());
    clip_row(row, 1);
    for (std::size_t c = 0; c < row.size(); ++c) sums[c] += std::rint(std::ldexp(static_cast<double>(row[c]), 24));
    ++count;
  }
  const double divisor = program.pool->by == Pool::By::nodes  ? count
                         : program.pool->by == Pool::By::root ? std::sqrt(count)
                                                              : program.pool->divisor;
  for (std::size_t c = 0; c < row.size(); ++c)
    row[c] = static_cast<float>(std::ldexp(static_cast<double>(sums[c]), -24) / divisor);
  if (!program.lift || at_nodes) return row;
  const LiftTransform lift(row.size(), *program.lift);
  LiftTransform::Room room;
  clip_row(row, 1);
  std::vector<float> beside(lift.width());
  lift.lift(row.data(), 1, row.size(), beside.data(), room);
  row.insert(row.end(), beside.begin(), beside.end());
  for (float& x : row) x = static_cast<float>(x / std::sqrt(2.0));
  return row;
}

bool equal_sets(const TrainingSet& a, const TrainingSet& b) {
  if (a.size() != b.size() || !std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin()) ||
      !std::equal(a.labels().begin(), a.labels().end(), b.labels().begin()))
    return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!std::equal(a.row(i).begin(), a.row(i).end(), b.row(i).begin())) return false;
  return true;
}

/// Applies some lines, and holds each status against what the world says.
BatchReport send(StoreWriter& store, GraphWorld& world, const std::vector<std::string>& lines) {
  const std::vector<Request> requests = testing::requests_of(lines);
  BatchChanges changes = store.resolve(requests);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CAPTURE(lines[i]);
    CHECK(text_of(requests[i]) == text_of(parse_request(text_of(requests[i])).value()));
    CHECK((changes.statuses[i] == RequestStatus::applied) == world.apply(lines[i]));
  }
  return store.apply(requests, std::move(changes), {0, ThresholdScale::absolute});
}

std::vector<std::string> some_of(const std::vector<std::string>& lines, std::size_t at, std::size_t count) {
  return {lines.begin() + static_cast<std::ptrdiff_t>(at),
          lines.begin() + static_cast<std::ptrdiff_t>(std::min(at + count, lines.size()))};
}

RequestStatus status_of_line(StoreWriter& store, const std::string& line) {
  return store.resolve(testing::requests_of({line})).statuses.at(0);
}

std::string refusal_of(const ImportOptions& options) {
  const TempDir dir;
  WorkMeter nobody;
  try {
    import_store(dir / "s", options, ample_budget(), nobody);
  } catch (const Error& error) {
    CHECK_FALSE(fs::exists(dir / "s" / "manifest.json"));
    return error.what();
  }
  return "imported";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows of whole graphs are those of plain loops, in any order of the store") {
    for (const std::string order : {"none", "bfs"}) {
      GraphWorld world = testing::graph_world(70, 9, 3);
      world.base.order = order;
      const TempDir dir;
      world.import(dir / "s");
      testing::propagate_store(dir / "s", means_of_two_hops());
      CHECK(findings_in(dir / "s").empty());
      const StoreReader store(dir / "s", ample_budget());
      for (const RowProgram& program : pooled_programs()) {
        CAPTURE(text_of(program));
        const auto units = row_units(store, program);
        std::vector<NodeId> graphs;
        for (NodeId graph = 9; graph-- > 0;) graphs.push_back(graph);
        graphs.push_back(4);  // once more
        std::vector<float> rows(graphs.size() * units->width());
        units->rows(graphs, rows.data());
        for (std::size_t i = 0; i < graphs.size(); ++i) {
          const std::vector<float> slow = slow_row(store, world, program, static_cast<std::int32_t>(graphs[i]));
          REQUIRE(slow.size() == units->width());
          CHECK(std::equal(slow.begin(), slow.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * slow.size())));
        }
      }
    }
  }

  TEST_CASE("a graph of more nodes than are read at once has the row of plain loops") {
    GraphWorld world = testing::graph_world(60, 5, 4);
    const NodeId many = 30'000;  // rows of 44 numbers: 4 MiB have 23,831
    world.base.nodes = many;
    world.base.features.resize(std::size_t{many} * world.base.columns);
    world.base.labels.resize(many, -1);
    world.base.splits.resize(many, "none");
    world.graph_of.resize(many, 2);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", means_of_two_hops());
    const StoreReader store(dir / "s", ample_budget());
    const RowProgram program = pooled_program({Pool::By::nodes, 0});
    const auto units = row_units(store, program);
    const std::vector<NodeId> graphs{0, 1, 2, 3, 4};
    std::vector<float> rows(graphs.size() * units->width());
    units->rows(graphs, rows.data());
    for (const NodeId graph : graphs) {
      const std::vector<float> slow = slow_row(store, world, program, static_cast<std::int32_t>(graph));
      CHECK(std::equal(slow.begin(), slow.end(), rows.begin() + static_cast<std::ptrdiff_t>(graph * slow.size())));
    }
  }

  TEST_CASE("streams of every kind of request lead to the digest, and a purge to the bytes, of a fresh import") {
    for (const std::string order : {"none", "degree"})
      for (const std::uint32_t heaviest : {1U, 4U}) {
        CAPTURE(order);
        GraphWorld world = testing::graph_world(60, 8, 5);
        world.base.order = order;
        if (heaviest > 1) world.base.weigh_all(heaviest, 5);
        const TempDir dir;
        world.import(dir / "s");
        testing::propagate_store(dir / "s", means_of_two_hops());
        const std::vector<std::string> lines = testing::changing_lines(world, 240, 6);
        {
          StoreWriter store(dir / "s", ample_budget());
          for (std::size_t at = 0; at < lines.size(); at += 10) {
            store.set_plan(at % 20 == 0 ? Plan::push : Plan::recompute);
            send(store, world, some_of(lines, at, 10));
            if (at == 100) store.checkpoint();
            if (at == 160) store.fold();
          }
        }
        const TempDir other;
        world.import(other / "fresh");
        testing::propagate_store(other / "fresh", means_of_two_hops());
        {
          const StoreReader store(dir / "s", ample_budget());  // which replays the journal
          CHECK(content_digest(store) == content_digest(StoreReader(other / "fresh", ample_budget())));
          for (NodeId user = 0; user < world.base.nodes; ++user)
            CHECK(store.contents().graphs().of(store.contents().order().position(user)) == world.graph_of[user]);
          for (std::uint32_t graph = 0; graph < 8; ++graph) {
            CHECK(store.contents().graphs().size(graph) == world.size(graph));
            CHECK(store.contents().graphs().nodes(graph).size() == world.size(graph));
            CHECK(store.contents().graphs().label(graph) == world.labels[graph]);
          }
        }
        CHECK(findings_in(dir / "s").empty());
        testing::purge(dir / "s", {.step_bytes = 1});
        testing::check_same_store(dir / "s", other / "fresh");
      }
  }

  TEST_CASE("models of graphs that follow requests are those of a fresh import, bit for bit") {
    for (const RowProgram& program : pooled_programs()) {
      CAPTURE(text_of(program));
      GraphWorld world = testing::graph_world(60, 12, 7);
      const TempDir dir;
      world.import(dir / "s");
      testing::propagate_store(dir / "s", means_of_two_hops());
      const std::vector<std::string> lines = testing::changing_lines(world, 60, 8);
      {
        StoreWriter store(dir / "s", ample_budget());
        Learner learner =
            Learner::train(store, ample_budget(), "exact", testing::unseeded(), program, testing::kContext);
        CHECK(learner.record().certificate.find("of the training graphs") != std::string::npos);
        for (std::size_t at = 0; at < lines.size(); at += 4) {
          const std::vector<std::string> some = some_of(lines, at, 4);
          const BatchReport report = send(store, world, some);
          static_cast<void>(learner.absorb(report, testing::requests_of(some)));
          const TrainingRows fresh(store, program, learner.rows().form(), ample_budget());
          REQUIRE(equal_sets(learner.rows(), fresh.set()));
        }
        store.checkpoint();
        const TempDir other;
        world.import(other / "fresh");
        testing::propagate_store(other / "fresh", means_of_two_hops());
        StoreWriter imported(other / "fresh", ample_budget());
        Learner anew =
            Learner::train(imported, ample_budget(), "exact", testing::unseeded(), program, testing::kContext);
        CHECK(equal_sets(learner.rows(), anew.rows()));
        CHECK(learner.model().published == anew.model().published);
        const ModelRecord read = load_model(dir / "s", "exact");
        CHECK(read.rows == program);
        CHECK(read.options.unit == RowUnit::graph);
        const Accuracies held = evaluate_model(store, read, &learner.rows()), found = evaluate_model(store, read);
        CHECK(held.train == found.train);
        CHECK(found.test == evaluate_model(imported, anew.record()).test);
      }
      CHECK(findings_in(dir / "s").empty());
    }
  }

  TEST_CASE("a request says which graph it may have moved, and one that a node has left is known by its size") {
    GraphWorld world = testing::graph_world(80, 16, 13);
    for (NodeId node = 60; node < 80; ++node)  // without edges: nothing else in their graphs moves when they leave
      std::erase_if(world.base.edges, [&](const auto& edge) { return edge.first == node || edge.second == node; });
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", means_of_two_hops());
    const RowProgram program = pooled_program({Pool::By::nodes, 0});
    StoreWriter store(dir / "s", ample_budget());
    TrainingRows rows(store, program, {}, ample_budget());
    const auto all_rows = [&] {
      const auto units = row_units(store, program);
      std::vector<std::vector<float>> all(16, std::vector<float>(units->width()));
      for (NodeId graph = 0; graph < 16; ++graph)
        if (world.size(graph) > 0) units->rows({&graph, 1}, all[graph].data());
      return all;
    };
    std::vector<std::string> lines = testing::changing_lines(world, 120, 14);
    for (NodeId node = 60; node < 80; ++node) lines.insert(lines.begin() + node, "node " + std::to_string(node));
    std::size_t moved_alone = 0;
    for (const std::string& line : lines) {
      CAPTURE(line);
      const auto before = all_rows();
      std::vector<std::size_t> sizes;
      for (std::size_t graph = 0; graph < 16; ++graph) sizes.push_back(world.size(graph));
      store.set_plan(Plan::push);  // whoever recomputes a level does not know which rows it moves
      const BatchReport report = send(store, world, {line});
      std::vector<NodeId> touched;
      for (const NodeChange& node : report.changes.nodes) touched.push_back(node.node);
      const auto changed = row_units(store, program)->changed(report.update, touched);
      REQUIRE(changed);
      if (!line.starts_with("graph ")) CHECK(changed->size() <= 1);
      const auto after = all_rows();
      for (NodeId graph = 0; graph < 16; ++graph) {
        const bool is_told = std::binary_search(changed->begin(), changed->end(), graph);
        if (world.size(graph) > 0 && sizes[graph] > 0 && before[graph] != after[graph])
          CHECK((is_told || sizes[graph] != world.size(graph)));
        moved_alone += !is_told && sizes[graph] != world.size(graph) ? 1 : 0;
      }
      CHECK(rows.follow(report.update, true, touched).begins_anew);
      REQUIRE(equal_sets(rows.set(), TrainingRows(store, program, {}, ample_budget()).set()));
    }
    CHECK(moved_alone > 5);
  }

  TEST_CASE("every solver of graphs publishes what verify forms again, and others are refused") {
    const GraphWorld world = testing::graph_world(60, 12, 9);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", means_of_two_hops());
    const RowProgram program = pooled_program({Pool::By::nodes, 0});
    StoreWriter store(dir / "s", ample_budget());
    for (const char* solver : {"exact", "newton", "retrain"}) {
      SolverOptions options = testing::unseeded();
      options.intercept = true;
      static_cast<void>(Learner::train(store, ample_budget(), solver, options, program, testing::kContext));
    }
    for (const char* solver : {"langevin", "rewind", "scalegun", "streaming"}) try {
        static_cast<void>(
            Learner::train(store, ample_budget(), solver, testing::unseeded(), program, testing::kContext));
        FAIL("trained");
      } catch (const UsageError& error) {
        CHECK(contains(error.what(), "learns on rows of nodes alone"));
      }
    CHECK(findings_in(dir / "s").empty());
  }

  TEST_CASE("requests of graphs that ask for what there is not have a reason") {
    const GraphWorld world = testing::graph_world(40, 4, 11);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", means_of_two_hops());
    StoreWriter store(dir / "s", ample_budget());
    CHECK(status_of_line(store, "graph 4") == RequestStatus::graph_outside);
    CHECK(status_of_line(store, "graph 99999999999999") == RequestStatus::graph_outside);
    CHECK(status_of_line(store, "set-graph-label 4 0") == RequestStatus::graph_outside);
    CHECK(status_of_line(store, "set-graph-label 0 3") == RequestStatus::class_outside);
    CHECK(status_of_line(store, "set-graph-label 0 " + std::to_string(world.labels[0])) == RequestStatus::same_label);
    CHECK(status_of_line(store, "move-graph-split 0 " + world.splits[0]) == RequestStatus::same_split);
    const auto in_graph = [&](std::int32_t graph) {
      return static_cast<NodeId>(std::find(world.graph_of.begin(), world.graph_of.end(), graph) -
                                 world.graph_of.begin());
    };
    const std::string a = std::to_string(in_graph(0)), b = std::to_string(in_graph(1)),
                      none = std::to_string(in_graph(-1));
    CHECK(status_of_line(store, "insert-edge " + a + " " + b) == RequestStatus::joins_graphs);
    CHECK(status_of_line(store, "insert-edge " + a + " " + none) == RequestStatus::joins_graphs);
    CHECK(status_of_line(store, "insert-node " + a + " 0 0 0 0.5 graph=1") == RequestStatus::present_node);
    const std::vector<Request> requests =
        testing::requests_of({"graph 0", "graph 0", "node " + a, "set-graph-label 0 none", "move-graph-split 0 train",
                              "insert-node " + a + " 0 0 0 0 graph=9", "insert-node " + a + " 0 0 0 0",
                              "insert-node " + a + " 0 0 0 0 graph=1", "insert-edge " + a + " " + b});
    BatchChanges changes = store.resolve(requests);
    CHECK(changes.statuses ==
          std::vector<RequestStatus>{RequestStatus::applied, RequestStatus::repeated, RequestStatus::repeated,
                                     RequestStatus::repeated, RequestStatus::no_label, RequestStatus::graph_outside,
                                     RequestStatus::repeated, RequestStatus::applied, RequestStatus::applied});
    CHECK(changes.graphs_removed == 1);
    CHECK_FALSE(changes.only_edges());
    store.apply(requests, std::move(changes), {0, ThresholdScale::absolute});
    CHECK(status_of_line(store, "graph 0") == RequestStatus::empty_graph);
    CHECK(store.contents().graphs().of(store.contents().order().position(in_graph(0))) == 1);
    store.checkpoint();
    CHECK(findings_in(dir / "s").empty());
  }

  TEST_CASE("requests of graphs in a store without them are rejected") {
    const testing::ChangedWorld world = testing::changed_world(20, 3, 2, false);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", means_of_two_hops());
    StoreWriter store(dir / "s", ample_budget());
    CHECK(status_of_line(store, "graph 0") == RequestStatus::graph_outside);
    CHECK(status_of_line(store, "move-graph-split 0 none") == RequestStatus::graph_outside);
    CHECK(status_of_line(store, "insert-node 19 1 0 0 graph=0") == RequestStatus::graph_outside);
    RowProgram program(scheme_weights("sgc", 2, {}));
    program.pool = Pool{};
    CHECK_THROWS_AS(static_cast<void>(row_units(store, program)), UsageError);
  }

  TEST_CASE("an export of all is imported to the same digest") {
    GraphWorld world = testing::graph_world(50, 6, 13);
    const TempDir dir;
    world.import(dir / "s");
    const StoreReader store(dir / "s", ample_budget());
    const ExportedStore exported = export_all(store, dir / "all");
    CHECK(exported.graphs == 6);
    CHECK(exported.has_graph_labels);
    CHECK_FALSE(exported.has_labels);
    const std::vector<std::int64_t> graphs = testing::Npy<std::int64_t>(dir / "all" / "graphs.npy").values;
    CHECK(std::equal(graphs.begin(), graphs.end(), world.graph_of.begin(), world.graph_of.end()));
    ImportOptions options = world.options_in(dir.path());
    options.graphs = InputFile{dir / "all" / "graphs.npy", {}};
    options.graph_labels = InputFile{dir / "all" / "graph_labels.npy", {}};
    options.graph_train = InputFile{dir / "all" / "graph_train.npy", {}};
    options.graph_valid = InputFile{dir / "all" / "graph_valid.npy", {}};
    options.graph_test = InputFile{dir / "all" / "graph_test.npy", {}};
    WorkMeter nobody;
    import_store(dir / "again", options, ample_budget(), nobody);
    CHECK(content_digest(StoreReader(dir / "again", ample_budget())) == content_digest(store));
  }

  TEST_CASE("graphs that make no sense are refused with the place and what to do") {
    const TempDir dir;
    GraphWorld world = testing::graph_world(30, 4, 17);
    const auto edge = std::find_if(world.base.edges.begin(), world.base.edges.end(),
                                   [&](const auto& one) { return world.graph_of[one.first] != -1; });
    REQUIRE(edge != world.base.edges.end());
    GraphWorld torn = world;
    torn.graph_of[edge->second] = (torn.graph_of[edge->second] + 1) % 4;
    const std::string refusal = refusal_of(torn.options_in(dir.path()));
    CHECK(contains(refusal, "joins a node of graph "));
    CHECK(contains(refusal, "edges: edge "));
    GraphWorld beyond = world;
    beyond.graph_of[7] = 4;
    CHECK(contains(refusal_of(beyond.options_in(dir.path())), "node 7: graph 4, and there are the graphs 0 to 3"));
    ImportOptions options = world.options_in(dir.path());
    options.number_of_graphs = 5;
    CHECK(contains(refusal_of(options), "4 graphs, but number-of-graphs says 5"));
    options = world.options_in(dir.path());
    options.graphs.reset();
    CHECK(contains(refusal_of(options), "graph-labels needs"));
    options = world.options_in(dir.path());
    options.labels = options.graphs;
    CHECK(contains(refusal_of(options), "exclude each other"));
    options = world.options_in(dir.path());
    options.layers.directed = true;
    CHECK(contains(refusal_of(options), "exclude each other"));
    options = world.options_in(dir.path());
    options.graph_labels.reset();
    CHECK(contains(refusal_of(options), "graph-split needs"));
  }
}

}  // namespace unweave
