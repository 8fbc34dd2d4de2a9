// tests/algorithms/live/real_weights_test.cpp - edges with real weights: sums against plain loops,
// streams against imports, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/export.h"
#include "algorithms/live/export_all.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge.h"
#include "algorithms/verification/verify.h"
#include "engine/ingest/store_import.h"
#include "storage/io/error.h"
#include "support/changed_world.h"
#include "support/exported_options.h"
#include "support/folder_bytes.h"
#include "support/graph_world.h"
#include "support/input_files.h"
#include "support/pair_world.h"
#include "support/relation_world.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::changed_world;
using testing::ChangedWorld;
using testing::TempDir;

ChangedWorld real_world(std::uint64_t seed, const WeightUnit& unit, std::uint32_t most, NodeId nodes = 40) {
  ChangedWorld world = changed_world(nodes, 3, seed, false);
  world.weigh_all(most, seed);
  world.max_weight = kMostWeight;
  world.unit = unit;
  return world;
}

/// Sums of a world by loops over its edges, from the level 0 of a store, whose nodes from `first`
/// on are those of the world.
testing::AllSums plain_sums(const ChangedWorld& world, const Embedding& embedding, std::uint32_t levels,
                            NodeId first = 0) {
  std::vector<std::vector<std::int64_t>> t(world.nodes);
  std::vector<std::int64_t> degrees(world.nodes, world.unit->self);
  for (NodeId u = 0; u < world.nodes; ++u) {
    std::vector<std::int32_t> row(world.columns);
    embedding.normalised_sums(0, first + u, row.data());
    t[u].assign(row.begin(), row.end());
  }
  for (const auto& edge : world.edges) {
    degrees[edge.first] += world.weight_of(edge);
    degrees[edge.second] += world.weight_of(edge);
  }
  testing::AllSums all;
  for (std::uint32_t level = 1; level <= levels; ++level) {
    auto sums = t;
    for (auto& row : sums)
      for (std::int64_t& value : row) value *= world.unit->self;
    for (const auto& edge : world.edges)
      for (std::uint32_t c = 0; c < world.columns; ++c) {
        sums[edge.first][c] += std::int64_t{world.weight_of(edge)} * t[edge.second][c];
        sums[edge.second][c] += std::int64_t{world.weight_of(edge)} * t[edge.first][c];
      }
    for (NodeId u = 0; u < world.nodes; ++u)
      for (std::uint32_t c = 0; c < world.columns; ++c)
        t[u][c] = static_cast<std::int64_t>(
            std::nearbyint(static_cast<double>(sums[u][c]) / static_cast<double>(degrees[u])));
    all.push_back(sums);
  }
  return all;
}

std::string verified(const fs::path& store, bool rebuild = false) {
  return testing::text_of(verify_store(store, {std::nullopt, rebuild, 1}, ample_budget()));
}

std::string statuses(LiveStore& store, const std::vector<std::string>& lines) {
  std::string text;
  for (const RequestStatus status : store.resolve(testing::requests_of(lines, true)).statuses)
    text += std::string(name_of(status)) + " ";
  return text;
}

ImportReport import_edges(const TempDir& dir, const std::string& edges, const WeightUnit& unit) {
  ImportOptions options;
  options.edges = InputFile{testing::write_file(dir / "edges.txt", edges), {}};
  options.max_weight = kMostWeight;
  options.weight_unit = unit;
  options.nodes = 3;
  WorkMeter nobody;
  return import_store(dir / "s", options, ample_budget(), nobody);
}

/// The store `s` of a folder, which requests made what `world` is, is an import of that, and has
/// its bytes after a purge, a step for each file.
template <class World>
void check_fresh(const TempDir& dir, const World& world, const PropagationSpec& spec) {
  CHECK(verified(dir / "s", true) == "");
  world.import(dir / "fresh");
  testing::propagate_store(dir / "fresh", spec);
  CHECK(testing::digest_now(dir / "s") == testing::digest_now(dir / "fresh"));
  testing::purge(dir / "s", {.step_bytes = 1});
  testing::check_same_store(dir / "s", dir / "fresh");
  CHECK(verified(dir / "s") == "");
}

std::vector<Request> real_requests(const std::vector<std::string>& lines) {
  return testing::requests_of(lines, true);
}

/// The store `s` of a folder takes some more nodes in a purge, as a fresh import of them has it.
template <class World>
void check_grown(const TempDir& dir, World world, const PropagationSpec& spec) {
  world.base.grow(world.base.nodes + 3);
  testing::purge(dir / "s", {.nodes = world.base.nodes});
  world.import(dir / "grown");
  testing::propagate_store(dir / "grown", spec);
  testing::check_same_store(dir / "s", dir / "grown");
}

/// A store that lines changed, some at a time, with a checkpoint between, is an import of what the
/// same lines make of the world. `parse`: requests of lines.
template <class World, class Parse>
void check_streamed(World world, const std::vector<std::string>& lines, const Parse& parse) {
  const TempDir dir;
  world.import(dir / "s");
  const PropagationSpec spec = testing::tiny_spec(2, true, 1);
  testing::propagate_store(dir / "s", spec);
  {
    StoreWriter store(dir / "s", ample_budget());
    for (std::size_t first = 0; first < lines.size(); first += 15) {
      const std::vector<std::string> some(lines.begin() + static_cast<std::ptrdiff_t>(first),
                                          lines.begin() + static_cast<std::ptrdiff_t>(first + 15));
      const std::vector<Request> batch = parse(some);
      const BatchChanges changes = store.resolve(batch);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        CAPTURE(some[i]);
        const bool is_applied = changes.statuses[i] == RequestStatus::applied;
        CHECK(is_applied == world.apply(some[i]));
      }
      store.apply(batch, store.resolve(batch), {});
      if (first == 60) store.checkpoint();
    }
    store.checkpoint();
  }
  check_fresh(dir, world, spec);
  if constexpr (std::is_same_v<World, testing::RelationWorld> || std::is_same_v<World, testing::PairWorld>)
    check_grown(dir, world, spec);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("sums are those of plain loops, whatever the unit, the order and the self loop") {
    for (const char* const order : {"none", "degree"})
      for (const auto& [unit, most] : {std::pair(WeightUnit{0, 1}, 9U), std::pair(WeightUnit{-4, 16}, 60U),
                                       std::pair(WeightUnit{-10, 1024}, 3000U), std::pair(WeightUnit{-16, 7}, 65535U)})
        for (const double rho : {0.0, 0.5, 1.0}) {
          ChangedWorld world = real_world(3, unit, most);
          const TempDir dir;
          world.import(dir / "s");
          testing::propagate_store(dir / "s", testing::tiny_spec(3, true, rho));
          const StoreReader store(dir / "s", ample_budget());
          const Manifest manifest = read_manifest(dir / "s");
          CHECK(manifest.needs() == std::vector<std::string>{"weights", "real-weights"});
          CHECK(manifest.weight_unit == unit);
          CHECK(testing::sums_of(store.embedding(), world.nodes) == plain_sums(world, store.embedding(), 3));
          world.order = order;
          CHECK(verified(dir / "s", true) == "");
        }
  }

  TEST_CASE("with a unit of 1 sums have the bits of a store of whole weights") {
    ChangedWorld world = real_world(8, {0, 1}, 300);
    const TempDir dir;
    world.import(dir / "real");
    world.unit.reset();
    world.import(dir / "whole");
    for (const bool all_rows : {true, false}) {
      std::vector<testing::AllSums> sums;
      for (const char* const name : {"real", "whole"}) {
        testing::propagate_store(dir / name, testing::tiny_spec(2, all_rows));
        sums.push_back(testing::sums_of(StoreReader(dir / name, ample_budget()).embedding(), world.nodes));
      }
      CHECK(sums[0] == sums[1]);
    }
    CHECK(testing::digest_now(dir / "real") != testing::digest_now(dir / "whole"));
  }

  TEST_CASE("a store that was streamed is a fresh import, and once purged byte for byte") {
    for (const char* const order : {"none", "degree"})
      for (const bool all_rows : {true, false})
        for (const LastLevel last : {LastLevel::at_once, LastLevel::deferred}) {
          ChangedWorld world = real_world(11, {-5, 32}, 200);
          world.order = order;
          const TempDir dir;
          world.import(dir / "s");
          const PropagationSpec spec = testing::tiny_spec(2, all_rows);
          testing::propagate_store(dir / "s", spec);
          const std::vector<std::string> lines = testing::changing_lines(world, 120, 5, false);
          {
            StoreWriter store(dir / "s", ample_budget());
            for (std::size_t first = 0; first < lines.size(); first += 12) {
              const auto batch = testing::requests_of({lines.begin() + static_cast<std::ptrdiff_t>(first),
                                                       lines.begin() + static_cast<std::ptrdiff_t>(first + 12)},
                                                      true);
              store.apply(batch, store.resolve(batch), {}, last);
            }
            store.settle();
            store.checkpoint();
          }
          for (const std::string& line : lines) world.apply(line);
          check_fresh(dir, world, spec);
        }
  }

  TEST_CASE("arcs of a directed graph and edges of whole graphs have real weights, too") {
    ChangedWorld arcs = real_world(23, {-15, 1 << 15}, 65535);
    arcs.direct_all(23);
    arcs.weigh_all(65535, 24);
    testing::GraphWorld graphs = testing::graph_world(60, 12, 25);
    graphs.base.weigh_all(65535, 25);
    graphs.base.unit = arcs.unit;
    check_streamed(arcs, testing::changing_lines(arcs, 150, 26, false), real_requests);
    check_streamed(graphs, testing::changing_lines(graphs, 150, 27), real_requests);
  }

  TEST_CASE("edges of relations and of sets of them have real weights, with directions and without") {
    for (const char* const order : {"none", "degree"})
      for (const bool directed : {false, true})
        for (const bool sets : {false, true}) {
          testing::RelationWorld world = testing::relation_world(31, directed);
          world.weigh_all({-12, 1 << 12}, kMostWeight / 3, 32);
          if (!sets) world.subsets.clear();
          world.base.order = order;
          check_streamed(world, testing::changing_lines(world, 150, 33),
                         [&](const auto& lines) { return testing::requests_of(world, lines); });
        }
  }

  TEST_CASE("sums of relations, and of sets of them, are those of plain loops") {
    testing::RelationWorld world = testing::relation_world(34);
    world.weigh_all({-12, 99}, kMostWeight / 3, 34);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", testing::tiny_spec(2, true));
    const StoreReader store(dir / "s", ample_budget());
    CHECK(read_manifest(dir / "s").needs() ==
          std::vector<std::string>{"weights", "layers", "shared-features", "real-weights"});
    const auto layers = static_cast<std::uint32_t>(world.names.size() + world.subsets.size());
    const testing::AllSums all = testing::sums_of(store.embedding(), world.base.nodes * layers);
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      ChangedWorld plain = world.base;
      for (NodeId u = 0; u < plain.nodes; ++u)
        for (NodeId v = u + 1; v < plain.nodes; ++v)
          if (const std::uint32_t units = world.units(layer, u, v); units > 0) {
            plain.edges.insert({u, v});
            plain.weigh({u, v}, units);
          }
      const NodeId first = layer * plain.nodes;
      const testing::AllSums wanted = plain_sums(plain, store.embedding(), 2, first);
      for (std::size_t level = 0; level < wanted.size(); ++level)
        for (NodeId u = 0; u < plain.nodes; ++u) CHECK(all[level][first + u] == wanted[level][u]);
    }
  }

  TEST_CASE("edges that are held out of the graph keep their real weights") {
    for (const bool directed : {false, true})
      for (const char* const order : {"none", "degree"}) {
        testing::PairWorld world =
            testing::pair_world_of(directed, 35, "valid=.2,test=.2,share=.5,apart,negatives=2", order);
        world.base.weigh_all(kMostWeight, 35);
        world.base.unit = WeightUnit{-13, 1 << 13};
        {
          const TempDir dir;
          world.import(dir / "s");
          const StoreReader store(dir / "s", ample_budget());
          const NodeOrder& positions = store.contents().order();
          for (const auto& edge : world.base.edges) {
            const Edge pair = positions.ends(edge.first, edge.second);
            if (pair.u == pair.v) continue;
            const Graph& graph = store.contents().graph_of(pair.u, pair.v);
            CHECK(graph.weight(pair.u, pair.v) == world.base.weight_of(edge));
          }
        }
        check_streamed(world, testing::changing_lines(world.base, 150, 36, false), real_requests);
      }
  }

  TEST_CASE("lists of few targets, in which the last level looks for who receives, have the bits of a fresh import") {
    ChangedWorld world = real_world(19, {-15, 1 << 15}, 65535, 200);
    for (NodeId node = 0; node < world.nodes; ++node)
      if (node % 20 != 3) {
        world.labels[node] = -1;
        world.splits[node] = "none";
      }
    const TempDir dir;
    world.import(dir / "s");
    const PropagationSpec spec = testing::tiny_spec(2, false);
    testing::propagate_store(dir / "s", spec);
    const std::vector<std::string> lines = testing::changing_lines(world, 300, 8, false);
    {
      StoreWriter store(dir / "s", ample_budget());
      REQUIRE(store.embedding().indexes().target_lists() != nullptr);
      store.set_plan(Plan::push);
      for (std::size_t first = 0; first < lines.size(); first += 10) {
        std::vector<std::string> some;
        for (std::size_t i = first; i < first + 10; ++i)
          if (!lines[i].starts_with("set-label")) some.push_back(lines[i]);
        const auto batch = testing::requests_of(some, true);
        store.apply(batch, store.resolve(batch), {});
        for (const std::string& line : some) world.apply(line);
      }
      store.checkpoint();
    }
    check_fresh(dir, world, spec);
  }

  TEST_CASE("requests say real weights, and 1 where they say none") {
    ChangedWorld world = real_world(1, {-2, 4}, 9);
    world.edges.insert({1, 2});
    world.weigh({1, 2}, 4);
    world.edges.erase({3, 4});
    world.weights.erase({3, 4});
    const TempDir dir;
    world.import(dir / "s");
    StoreReader store(dir / "s", ample_budget());
    CHECK(statuses(store, {"set-weight 2 1 1", "set-weight 1 2 1.1", "set-weight 1 2 1.2", "set-weight 2 1 1.25",
                           "set-weight 1 2 0.1", "set-weight 1 2 16384"}) ==
          "same-weight same-weight applied repeated weight-outside weight-outside ");
    CHECK(statuses(store, {"set-weight 3 4 2", "insert-edge 3 4 weight 0.6", "insert-edge 4 3 weight 0.5",
                           "insert-edge 3 4", "edge 3 4", "insert-edge 3 4", "insert-edge 3 4 weight 1"}) ==
          "absent-edge applied repeated present-edge applied applied repeated ");
    RequestWords real;
    real.real_weights = true;
    CHECK(text_of(parse_request("set-weight 1 2 0.350", real).value()) == "set-weight 1 2 0.35");
    CHECK(text_of(parse_request("insert-edge 1 2 weight 3e-1 id=T1", real).value()) ==
          "insert-edge 1 2 weight 0.3 id=T1");
    CHECK(text_of(parse_request("insert-edge 1 2 weight 1.0", real).value()) == "insert-edge 1 2");
    for (const char* const bad : {"set-weight 1 2 0", "set-weight 1 2 -0.5", "set-weight 1 2 nan", "set-weight 1 2 inf",
                                  "insert-edge 1 2 weight x"})
      CHECK_MESSAGE(!parse_request(bad, real), bad);
    CHECK_FALSE(parse_request("set-weight 1 2 0.5"));
  }

  TEST_CASE("what is exported is imported again to the same units") {
    ChangedWorld world = real_world(5, {-12, 99}, 65535);
    const TempDir dir;
    world.import(dir / "s");
    const ExportedStore exported = export_all(StoreReader(dir / "s", ample_budget()), dir / "out");
    CHECK(exported.weight_unit == world.unit);
    ImportOptions options = testing::exported_options(dir / "out", exported);
    options.edges = InputFile{dir / "out" / "edges.npy", {}};
    options.edge_weights = InputFile{dir / "out" / "weights.npy", {}};
    WorkMeter nobody;
    static_cast<void>(import_store(dir / "again", options, ample_budget(), nobody));
    testing::check_same_store(dir / "again", dir / "s");
  }

  TEST_CASE("relations and held edges are exported with their weights, and imported again to the same units") {
    testing::RelationWorld relations = testing::relation_world(41);
    relations.weigh_all({-12, 99}, kMostWeight / 3, 41);
    testing::PairWorld pairs = testing::pair_world(42, "valid=.2,test=.2");
    pairs.base.weigh_all(kMostWeight, 42);
    pairs.base.unit = relations.base.unit;
    const auto check = [](const auto& world) {
      const TempDir dir;
      world.import(dir / "s");
      const ExportedStore exported = export_all(StoreReader(dir / "s", ample_budget()), dir / "out");
      CHECK(exported.max_weight == kMostWeight);
      ImportOptions options = testing::exported_options(dir / "out", exported);
      if (exported.relation_files.empty()) {
        options.edges = InputFile{dir / "out" / "edges.npy", {}};
        options.edge_weights = InputFile{dir / "out" / "weights.npy", {}};
      }
      for (std::size_t r = 0; r < exported.relation_files.size(); ++r)
        options.relations.push_back({InputFile{dir / "out" / exported.relation_files[r], {}},
                                     {},
                                     InputFile{dir / "out" / ("weights-" + std::to_string(r) + ".npy"), {}}});
      options.layers = exported.layers;
      options.pairs = exported.pairs;
      WorkMeter nobody;
      static_cast<void>(import_store(dir / "again", options, ample_budget(), nobody));
      testing::check_same_store(dir / "again", dir / "s");
    };
    check(relations);
    check(pairs);
  }

  TEST_CASE("weights of relations that are two, or too many in a set, name the file, the edge and a remedy") {
    const TempDir dir;
    const auto import_relations = [&](const std::string& cites, const std::string& writes) {
      ImportOptions options;
      options.layers.relations = {{"cites"}, {"writes"}};
      options.layers.subsets = {{0, 1}};
      options.relations = {{InputFile{testing::write_file(dir / "cites.txt", cites), {}}},
                           {InputFile{testing::write_file(dir / "writes.txt", writes), {}}}};
      options.max_weight = kMostWeight;
      options.weight_unit = WeightUnit{-12, 1 << 12};
      options.nodes = 3;
      WorkMeter nobody;
      return import_store(dir / "s", options, ample_budget(), nobody);
    };
    CHECK_THROWS_WITH_AS(import_relations("0 1 1\n", "1 2 1\n2 1 0.5\n"), doctest::Contains("writes.txt: edge 1 2"),
                         InputError);
    CHECK_THROWS_WITH_AS(import_relations("0 1 1\n", "1 2\n"), doctest::Contains("writes.txt"), InputError);
    CHECK_THROWS_WITH_AS(
        import_relations("0 1 10\n", "0 1 10\n"),
        doctest::Contains("of the set cites,writes add up to 81920 units of 2^-12, the limit is 65535"), InputError);
    CHECK_FALSE(fs::exists(dir / "s"));
    CHECK(import_relations("0 1 8\n0 2 4\n", "0 1 7\n").weight_sum == std::uint64_t{2} * 19 * 4096);
    StoreReader store(dir / "s", ample_budget());
    const auto said = [&](const std::vector<std::string>& lines) {
      testing::RelationWorld words;
      words.names = {"cites", "writes"};
      words.base.unit = WeightUnit{-12, 1 << 12};
      std::string text;
      for (const RequestStatus status : store.resolve(testing::requests_of(words, lines)).statuses)
        text += std::string(name_of(status)) + " ";
      return text;
    };
    CHECK(said({"set-weight 0 1 cites 8", "set-weight 0 1 cites 9", "set-weight 0 1 cites 8.5", "edge 0 1 writes",
                "set-weight 1 0 cites 15", "insert-edge 0 1 writes", "insert-edge 0 1 writes weight 0.9"}) ==
          "same-weight too-heavy applied applied applied too-heavy applied ");
    CHECK(said({"set-weight 0 2 writes 1", "set-weight 0 2 cites 16", "insert-edge 1 2 writes weight 15.9"}) ==
          "absent-edge weight-outside applied ");
  }

  TEST_CASE("weights that vanish, overflow or are too many name their line, node and remedy") {
    const TempDir dir;
    CHECK_THROWS_WITH_AS(static_cast<void>(import_edges(dir, "0 1 0.5\n1 2 1e-4\n", {-10, 1024})),
                         doctest::Contains("line 2"), InputError);
    CHECK_THROWS_WITH_AS(static_cast<void>(import_edges(dir, "0 1 0.5\n1 2 1e-4\n", {-10, 1024})),
                         doctest::Contains("at most half of the unit 2^-10"), InputError);
    CHECK_THROWS_WITH_AS(static_cast<void>(import_edges(dir, "0 1 64\n", {-10, 1024})),
                         doctest::Contains("more than 65535 times the unit"), InputError);
    CHECK_THROWS_WITH_AS(static_cast<void>(import_edges(dir, "0 1 0.5\n", {-30, 1})),
                         doctest::Contains("more than 65535 times the unit 2^-30"), InputError);
    CHECK_THROWS_WITH_AS(static_cast<void>(import_edges(dir, "0 1 -2\n", {-10, 1024})), doctest::Contains("negative"),
                         InputError);
    CHECK_THROWS_WITH_AS(static_cast<void>(import_edges(dir, "0 1 nan\n", {-10, 1024})), doctest::Contains("line 1"),
                         InputError);
    CHECK_THROWS_WITH_AS(static_cast<void>(import_edges(dir, "0 1 1\n1 2 3\n", {0, (1U << 29) - 3})),
                         doctest::Contains("its weights and its self loop add up to 536870913 units of 1"), InputError);
    CHECK_THROWS_AS(static_cast<void>(import_edges(dir, "0 1 1\n", {-30, 1U << 30})), UsageError);
    CHECK_FALSE(fs::exists(dir / "s"));
    const ImportReport report = import_edges(dir, "0 1 0.5\n1 2 0\n1 0 0.50001\n", {-10, (1U << 29) - 514});
    CHECK(report.edges == 1);
    CHECK(report.weight_sum == 512);
    CHECK(report.left_out.zeros == 1);
    CHECK(report.duplicates == 1);
    StoreReader store(dir / "s", ample_budget());
    CHECK(statuses(store, {"set-weight 0 1 0.502", "set-weight 0 1 0.51", "insert-edge 1 2",
                           "insert-edge 1 2 weight 0.002"}) == "too-heavy too-heavy too-heavy too-heavy ");
    CHECK(statuses(store, {"edge 0 1", "insert-edge 1 2 weight 0.5"}) == "applied applied ");
  }

  TEST_CASE("what real weights do not go with is refused, and both options are named") {
    const TempDir dir;
    const auto refused = [&](const auto& change) {
      ImportOptions options;
      options.edges = InputFile{testing::write_file(dir / "edges.txt", "0 1 0.5\n"), {}};
      options.max_weight = kMostWeight;
      options.weight_unit = WeightUnit{-10, 1024};
      change(options);
      WorkMeter nobody;
      try {
        static_cast<void>(import_store(dir / "s", options, ample_budget(), nobody));
      } catch (const UsageError& error) {
        return std::string(error.what());
      }
      return std::string("taken");
    };
    CHECK(refused([](ImportOptions& options) {
            options.max_weight = 1;
            options.ignore_weights = true;
          }).find("ignore-weights") != std::string::npos);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("weights of 65,535 units on 100,000 edges go through import, stream and purge within 64 MiB") {
    // Lists that name an end once a unit would take 52 GB.
    constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;
    constexpr std::size_t kBatches = 4, kBatch = 250;
    ChangedWorld world;
    world.nodes = 20'000;
    world.columns = 4;
    world.max_weight = kMostWeight;
    world.unit = WeightUnit{-16, 1 << 16};
    std::mt19937_64 random(5);
    const auto units = [&] { return static_cast<std::uint32_t>(kMostWeight - random() % 1000); };
    const auto any = [&] { return static_cast<NodeId>(random() % world.nodes); };
    while (world.edges.size() < 100'000) {
      const std::pair<NodeId, NodeId> edge = std::minmax(random() % 20 == 0 ? NodeId{7} : any(), any());
      if (edge.first == edge.second) continue;
      if (world.edges.insert(edge).second) world.weigh(edge, units());
    }
    for (std::size_t i = 0; i < std::size_t{world.nodes} * world.columns; ++i)
      world.features.push_back(static_cast<double>(random() % 2001) / 4004 - 0.25);
    for (NodeId node = 0; node < world.nodes; ++node) {
      world.labels.push_back(static_cast<std::int32_t>(node % 3));
      world.splits.push_back(node % 3 == 0 ? "train" : "test");
    }
    const TempDir dir;
    const auto import = [&](const fs::path& store) {
      const TempDir files;
      MemoryBudget budget(kMemory);
      WorkMeter nobody;
      static_cast<void>(import_store(store, world.options_in(files.path()), budget, nobody));
    };
    import(dir / "s");
    const PropagationSpec spec = testing::tiny_spec(2, true, 1);
    testing::propagate_store(dir / "s", spec);
    {
      MemoryBudget budget(kMemory);
      StoreWriter store(dir / "s", budget);
      std::vector<std::pair<NodeId, NodeId>> known(world.edges.begin(), world.edges.end());
      for (std::size_t batch = 0; batch < kBatches; ++batch) {
        store.set_plan(batch % 2 == 0 ? Plan::push : Plan::recompute);
        std::vector<std::string> lines;
        for (std::size_t i = 0; i < kBatch; ++i) {
          const auto& [u, v] = known[random() % known.size()];
          const std::string ends = std::to_string(u) + " " + std::to_string(v);
          lines.push_back(i % 3 == 0   ? "edge " + ends
                          : i % 3 == 1 ? "set-weight " + ends + " " + world.text_of_weight(units())
                                       : "insert-edge " + std::to_string(any()) + " " + std::to_string(any()) +
                                             " weight " + world.text_of_weight(units()));
        }
        lines.push_back("node " + std::to_string(any()));
        const auto requests = testing::requests_of(lines, true);
        const BatchChanges changes = store.resolve(requests);
        for (std::size_t i = 0; i < lines.size(); ++i) {
          const bool is_applied = changes.statuses[i] == RequestStatus::applied;
          REQUIRE(is_applied == world.apply(lines[i]));
        }
        store.apply(requests, store.resolve(requests), {});
      }
      store.checkpoint();
    }
    import(dir / "fresh");
    testing::propagate_store(dir / "fresh", spec);
    CHECK(testing::digest_now(dir / "s") == testing::digest_now(dir / "fresh"));
    {
      MemoryBudget budget(kMemory);
      static_cast<void>(testing::purge(dir / "s", {}, budget));
    }
    testing::check_same_store(dir / "s", dir / "fresh");
    CHECK(verified(dir / "s") == "");
  }
}

}  // namespace unweave
