// tests/algorithms/live/layers_test.cpp - stores whose edges have directions, against plain loops
// over arcs and against fresh imports.
#include "storage/types/layers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/export.h"
#include "algorithms/live/export_all.h"
#include "algorithms/live/request_draw.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/rows/row_maker.h"
#include "algorithms/verification/verify.h"
#include "engine/ingest/store_import.h"
#include "storage/formats/feature_file.h"
#include "storage/formats/manifest.h"
#include "storage/io/error.h"
#include "support/changed_world.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/npy_file.h"
#include "support/relation_world.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::ChangedWorld;
using testing::TempDir;

ChangedWorld directed_world(std::uint64_t seed, const std::string& order = "none") {
  ChangedWorld world = testing::changed_world(50, 4, seed, false);
  world.direct_all(seed);
  world.order = order;
  return world;
}

const PropagationSpec& spec() {
  static const PropagationSpec means = testing::tiny_spec(2, true, 1);
  return means;
}

std::string findings_of(const fs::path& store) {
  return testing::text_of(verify_store(store, {std::nullopt, false, 1}, ample_budget()));
}

/// Exact sums of level 1, then the means that the next level adds up, by loops over arcs.
class PlainMeans {
 public:
  /// `out`: over where arcs of a node lead, and the node; else over where they come from.
  explicit PlainMeans(const ChangedWorld& world) : world_(world), own_(2 * world.nodes * world.columns) {
    for (std::size_t i = 0; i < world.features.size(); ++i)
      own_[i] = own_[i + world.features.size()] = std::rint(float_of(world.features[i]) * 0x1p24);
  }
  /// Adds a hop: copy 0 of u meets copy 1 of where its arcs lead, and the other way round.
  void hop() {
    const std::size_t columns = world_.columns;
    std::vector<double> sums = own_;
    std::vector<double> counts(2 * world_.nodes, 1);
    const auto add = [&](std::size_t to, std::size_t from, double weight) {
      counts[to] += weight;
      for (std::size_t c = 0; c < columns; ++c) sums[to * columns + c] += weight * own_[from * columns + c];
    };
    for (const auto& arc : world_.edges) {
      const double weight = world_.weight_of(arc);
      add(arc.first, arc.second + world_.nodes, weight);
      add(arc.second + world_.nodes, arc.first, weight);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) own_[i] = std::rint(sums[i] / counts[i / columns]);
  }
  [[nodiscard]] double at(std::size_t copy, NodeId node, std::size_t column) const {
    return own_[(copy * world_.nodes + node) * world_.columns + column] * 0x1p-24;
  }

 private:
  static double float_of(double value) { return static_cast<double>(static_cast<float>(value)); }
  const ChangedWorld& world_;
  std::vector<double> own_;
};

/// Rows of levels 1 and 2 are the means of this world, over where arcs lead in the block of `copy`
/// and over where they come from in the next one.
void check_means(const StoreReader& store, const ChangedWorld& world, std::size_t copy) {
  const NodeOrder& order = store.contents().order();
  PlainMeans means(world);
  for (std::size_t level = 1; level <= 2; ++level) {
    means.hop();
    std::vector<double> weights(3);
    weights[level] = 1;
    RowProgram program(weights);
    program.copies = order.copies();
    const RowMaker maker(row_source(store), program);
    REQUIRE(maker.width() == std::size_t{order.copies()} * world.columns);
    std::vector<float> row(maker.width());
    for (NodeId user = 0; user < world.nodes; ++user) {
      const NodeId node = order.position(user);
      maker.rows({&node, 1}, row.data());
      for (std::size_t side = 0; side < 2; ++side)
        for (std::size_t c = 0; c < world.columns; ++c)  // a level's value is not rounded to the grid
          CHECK(std::abs(row[(copy + side) * world.columns + c] - means.at(side, user, c)) <= 0x1p-23);
    }
  }
}

Digest digest_of_import(const ChangedWorld& world) {
  const TempDir dir;
  world.import(dir / "fresh");
  testing::propagate_store(dir / "fresh", spec());
  return content_digest(StoreReader(dir / "fresh", ample_budget()));
}

/// What a layer of a world with directions is by itself: edges that weigh as many units as
/// relations have them.
ChangedWorld world_of(const testing::RelationWorld& world, std::uint32_t layer) {
  ChangedWorld one = world.base;
  one.directed = true;
  one.max_weight = 3;
  for (NodeId u = 0; u < one.nodes; ++u)
    for (NodeId v = 0; v < one.nodes; ++v) {
      const std::uint32_t units = world.units(layer, u, v);
      if (units > 0) one.edges.insert({u, v});
      if (units > 1) one.weights[{u, v}] = units;
    }
  return one;
}

/// An edge of a set weighs as many units as its relations have it: a multiset, and no union.
void check_layers_of(const testing::RelationWorld& world, const fs::path& dir) {
  const StoreReader store(dir / "s", ample_budget());
  const NodeOrder& order = store.contents().order();
  REQUIRE(order.copies() == (world.directed ? 10 : 5));
  for (NodeId u = 0; u < order.users(); ++u)
    for (NodeId v = 0; v < order.users(); ++v)
      for (std::uint32_t layer = 0; layer < 5; ++layer) {
        const auto [from, to] = order.layers().copies_of(layer);
        CHECK(store.contents().graph().weight(order.position(u, from), order.position(v, to)) ==
              world.units(layer, u, v));
      }
  for (std::uint32_t r = 0; r < 3; ++r) CHECK(count_edges(store, world.names[r]) == world.edges[r].size());
  CHECK_THROWS_AS(static_cast<void>(count_edges(store, "")), UsageError);
  export_edges(store, NpyTarget(dir / "e.npy"), std::nullopt, "writes");
  const std::vector<std::int64_t> pairs = testing::Npy<std::int64_t>(dir / "e.npy").values;
  std::size_t at = 0;
  for (const auto& [u, v] : world.edges[1]) {
    CHECK(pairs.at(at++) == u);
    CHECK(pairs.at(at++) == v);
  }
  const ExportedStore exported = export_all(store, dir / "all");
  CHECK(exported.relation_files.size() == 3);
  CHECK(exported.max_weight == 1);
}

/// Sends requests of every kind to the store and to the world.
void follow_lines(testing::RelationWorld& world, const fs::path& path) {
  const std::vector<std::string> lines = testing::changing_lines(world, 200, 6);
  StoreWriter store(path, ample_budget());
  for (std::size_t at = 0; at < lines.size(); at += 8) {
    const std::vector<std::string> some(lines.begin() + static_cast<std::ptrdiff_t>(at),
                                        lines.begin() + static_cast<std::ptrdiff_t>(std::min(at + 8, lines.size())));
    const std::vector<Request> requests = testing::requests_of(world, some);
    BatchChanges changes = store.resolve(requests);
    for (std::size_t i = 0; i < some.size(); ++i) {
      CAPTURE(some[i]);
      CHECK(store.contents().order().names().text_of(requests[i]).starts_with(some[i].substr(0, 6)));
      CHECK((changes.statuses[i] == RequestStatus::applied) == world.apply(some[i]));
    }
    store.apply(requests, std::move(changes), {0, ThresholdScale::absolute});
    if (at == 96) store.checkpoint();
  }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a row has means over where arcs lead and over where they come from, in any order of the store") {
    for (const std::string order : {"none", "degree"})
      for (const std::uint32_t heaviest : {1U, 5U}) {
        ChangedWorld world = directed_world(3, order);
        if (heaviest > 1) world.weigh_all(heaviest, 3);
        const TempDir dir;
        world.import(dir / "s");
        testing::propagate_store(dir / "s", spec());
        CHECK(findings_of(dir / "s").empty());
        const StoreReader store(dir / "s", ample_budget());
        CHECK(store.contents().order().users() == world.nodes);
        CHECK(store.contents().graph().num_edges() == world.edges.size());
        REQUIRE(store.contents().order().copies() == 2);
        check_means(store, world, 0);
      }
  }

  TEST_CASE("streams of every kind of request lead to the digest, and a purge to the bytes, of a fresh import") {
    for (const std::string order : {"none", "bfs"})
      for (const std::uint32_t heaviest : {1U, 4U}) {
        CAPTURE(order);
        CAPTURE(heaviest);
        ChangedWorld world = directed_world(5, order);
        if (heaviest > 1) world.weigh_all(heaviest, 5);
        const TempDir dir;
        world.import(dir / "s");
        testing::propagate_store(dir / "s", spec());
        const std::vector<std::string> lines = testing::changing_lines(world, 200, 6, false);
        {
          StoreWriter store(dir / "s", ample_budget());
          for (std::size_t at = 0; at < lines.size(); at += 10) {
            const std::vector<std::string> some(
                lines.begin() + static_cast<std::ptrdiff_t>(at),
                lines.begin() + static_cast<std::ptrdiff_t>(std::min(at + 10, lines.size())));
            store.set_plan(at % 20 == 0 ? Plan::push : Plan::recompute);
            const std::vector<Request> requests = testing::requests_of(some);
            BatchChanges changes = store.resolve(requests);
            for (std::size_t i = 0; i < some.size(); ++i) {
              CAPTURE(some[i]);
              CHECK((changes.statuses[i] == RequestStatus::applied) == world.apply(some[i]));
            }
            store.apply(requests, std::move(changes), {0, ThresholdScale::absolute});
            if (at == 100) store.checkpoint();
          }
          CHECK(content_digest(store) == digest_of_import(world));
        }
        CHECK(findings_of(dir / "s").empty());
        testing::purge(dir / "s");
        const TempDir other;
        world.import(other / "fresh");
        testing::propagate_store(other / "fresh", spec());
        testing::check_same_store(dir / "s", other / "fresh");
      }
  }

  TEST_CASE("what is exported is what was imported, arcs by the user's ids") {
    for (const std::string order : {"none", "degree"}) {
      ChangedWorld world = directed_world(7, order);
      const TempDir dir;
      world.import(dir / "s");
      const StoreReader store(dir / "s", ample_budget());
      const ExportedStore exported = export_all(store, dir / "all");
      CHECK(exported.nodes == world.nodes);
      CHECK(exported.layers.directed);
      const std::vector<std::int64_t> pairs = testing::Npy<std::int64_t>(dir / "all" / "edges.npy").values;
      REQUIRE(pairs.size() == 2 * world.edges.size());
      std::size_t at = 0;
      for (const auto& [u, v] : world.edges) {
        CHECK(pairs[at++] == u);
        CHECK(pairs[at++] == v);
      }
      CHECK(testing::Npy<float>(dir / "all" / "features.npy").values.size() == world.features.size());
      CHECK(testing::Npy<std::int64_t>(dir / "all" / "labels.npy").values.size() == world.nodes);
    }
  }

  TEST_CASE("drawn requests name arcs that there are, and notes of arcs become requests of users") {
    ChangedWorld world = directed_world(9);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", spec());
    StoreWriter store(dir / "s", ample_budget());
    DrawOptions draw;
    draw.kind = DrawKind::kEdge;
    draw.count = world.edges.size();
    for (const Request& one : draw_requests(store, draw))
      CHECK(world.edges.contains({static_cast<NodeId>(one.u), static_cast<NodeId>(one.v)}));
    draw.kind = DrawKind::kAdversarialEdge;
    draw.count = 20;
    for (const Request& one : draw_requests(store, draw)) {
      CHECK(one.u < world.nodes);
      CHECK(one.v < world.nodes);
      CHECK_FALSE(world.edges.contains({static_cast<NodeId>(one.u), static_cast<NodeId>(one.v)}));
    }
    const auto [u, v] = *std::find_if(world.edges.begin(), world.edges.end(), [&](const auto& arc) {
      return arc.first > arc.second && !world.edges.contains({arc.second, arc.first});
    });
    const std::string ends = std::to_string(u) + " " + std::to_string(v);
    const std::vector<Request> notes =
        testing::requests_of({"edge " + ends + " expires 2030-01-01T00:00:00Z",
                              "edge " + std::to_string(v) + " " + std::to_string(u) + " expires 2030-01-01T00:00:00Z"});
    BatchChanges changes = store.resolve(notes);
    CHECK(changes.statuses[0] == RequestStatus::applied);
    CHECK(changes.statuses[1] == RequestStatus::absent_edge);
    store.apply(notes, std::move(changes), {0, ThresholdScale::absolute});
    store.checkpoint();
    export_expiries(store, NpyTarget(dir / "expiries.txt"));
    CHECK(testing::read_all(dir / "expiries.txt") == "edge " + ends + " expires 2030-01-01T00:00:00.000Z\n");
  }

  TEST_CASE("edges of several kinds have sums apart and together, which streams and purges keep right") {
    for (const auto& form : {std::pair(false, "none"), {true, "none"}, {true, "bfs"}}) {
      const bool directed = form.first;
      const char* const order_name = form.second;
      CAPTURE(directed);
      CAPTURE(order_name);
      testing::RelationWorld world = testing::relation_world(4, directed);
      world.base.order = order_name;
      const TempDir dir;
      world.import(dir / "s");
      testing::propagate_store(dir / "s", spec());
      CHECK(findings_of(dir / "s").empty());
      check_layers_of(world, dir.path());
      follow_lines(world, dir / "s");
      const TempDir other;
      world.import(other / "fresh");
      testing::propagate_store(other / "fresh", spec());
      {
        const StoreReader store(dir / "s", ample_budget());  // which replays the journal
        CHECK(content_digest(store) == content_digest(StoreReader(other / "fresh", ample_budget())));
        DrawOptions draw;
        draw.kind = DrawKind::kEdge;
        draw.count = world.edges[0].size() + world.edges[1].size() + world.edges[2].size();
        for (const Request& one : draw_requests(store, draw))
          CHECK(world.edges.at(one.relation - 1)
                    .contains(world.edge_of(static_cast<NodeId>(one.u), static_cast<NodeId>(one.v))));
      }
      CHECK(findings_of(dir / "s").empty());
      testing::purge(dir / "s", {.step_bytes = 1});
      testing::check_same_store(dir / "s", other / "fresh");
    }
  }

  TEST_CASE("each relation and each set of them has means over where arcs lead and over where they come from") {
    for (const std::string order : {"none", "degree"}) {
      testing::RelationWorld world = testing::relation_world(8, true);
      world.base.order = order;
      const TempDir dir;
      world.import(dir / "s");
      testing::propagate_store(dir / "s", spec());
      const StoreReader store(dir / "s", ample_budget());
      REQUIRE(store.contents().order().copies() == 10);
      for (std::uint32_t layer = 0; layer < 5; ++layer) check_means(store, world_of(world, layer), 2 * layer);
    }
  }

  TEST_CASE("a digest tells directions of relations from none, and notes of their arcs become requests of users") {
    testing::RelationWorld world = testing::relation_world(11);
    const TempDir dir;
    world.import(dir / "plain");
    world.directed = true;
    world.import(dir / "s");
    CHECK(content_digest(StoreReader(dir / "s", ample_budget())) !=
          content_digest(StoreReader(dir / "plain", ample_budget())));
    testing::propagate_store(dir / "s", spec());
    StoreWriter store(dir / "s", ample_budget());
    const auto [u, v] = *world.edges[1].begin();  // whose arc back there is not
    const std::string there = std::to_string(u) + " " + std::to_string(v) + " writes expires 2030-01-01T00:00:00Z",
                      back = std::to_string(v) + " " + std::to_string(u) + " writes expires 2030-01-01T00:00:00Z";
    const std::vector<Request> notes = testing::requests_of(world, {"edge " + there, "edge " + back});
    BatchChanges changes = store.resolve(notes);
    CHECK(changes.statuses[0] == RequestStatus::applied);
    CHECK(changes.statuses[1] == RequestStatus::absent_edge);
    store.apply(notes, std::move(changes), {0, ThresholdScale::absolute});
    store.checkpoint();
    export_expiries(store, NpyTarget(dir / "expiries.txt"));
    CHECK(testing::read_all(dir / "expiries.txt") ==
          "edge " + std::to_string(u) + " " + std::to_string(v) + " writes expires 2030-01-01T00:00:00.000Z\n");
  }

  TEST_CASE("requests insert edges between the types of nodes that a relation joins, and no others") {
    for (const bool directed : {false, true}) {
      const TempDir dir;
      ImportOptions options;
      options.types = {{"paper", 3}, {"author", 2}};
      options.nodes = 5;
      options.layers = {directed, {{"writes", EndTypes{1, 0}}, {"cites"}}, {}};
      options.relations = {{InputFile{testing::write_file(dir / "w", "# edges\n0 0\n1 2\n"), {}}},
                           {InputFile{testing::write_file(dir / "c", "# edges\n0 1\n"), {}}}};
      options.features = InputFile{testing::write_file(dir / "x.txt", "1\n0\n0.5\n0\n0.25\n"), {}};
      WorkMeter nobody;
      import_store(dir / "s", options, ample_budget(), nobody);
      testing::propagate_store(dir / "s", spec());
      CHECK(findings_of(dir / "s").empty());
      {
        StoreWriter store(dir / "s", ample_budget());
        RequestWords words;
        words.relations = {"writes", "cites"};
        std::vector<Request> requests;
        for (const char* line : {"insert-edge 0 1 writes", "insert-edge 4 3 writes", "insert-edge 1 3 writes",
                                 "edge 0 1 writes", "insert-edge 3 1 writes", "insert-edge 3 4 cites"})
          requests.push_back(parse_request(line, words, nullptr).value());
        BatchChanges changes = store.resolve(requests);
        using enum RequestStatus;
        const std::vector<RequestStatus> wanted{
            other_types, other_types, directed ? other_types : applied, absent_edge, directed ? applied : repeated,
            applied};
        CHECK(changes.statuses == wanted);
        store.apply(requests, std::move(changes), {0, ThresholdScale::absolute});
      }
      testing::purge(dir / "s");
      CHECK(read_manifest(dir / "s").layers == options.layers);
      CHECK(findings_of(dir / "s").empty());
      const StoreReader store(dir / "s", ample_budget());
      static_cast<void>(export_all(store, dir / "all"));
      const std::vector<std::int64_t> written = testing::Npy<std::int64_t>(dir / "all" / "edges-0.npy").values;
      std::set<std::pair<std::int64_t, std::int64_t>> pairs;
      for (std::size_t i = 0; i < written.size(); i += 2) pairs.emplace(written[i], written[i + 1]);
      CHECK(pairs == std::set<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {0, 1}, {1, 2}});
    }
  }

  TEST_CASE("rows of types without features are left out of the files, as after a purge, and nobody else tells") {
    constexpr NodeId kPapers = 60, kAuthors = 240;
    const auto import = [&](const fs::path& store, bool is_changed) {
      const TempDir dir;
      ImportOptions options;
      options.types = {{"paper", kPapers}, {"author", kAuthors}};
      options.nodes = kPapers + kAuthors;
      options.layers.relations = {{"writes", EndTypes{1, 0}}};
      std::string edges = "# edges\n";
      for (NodeId author = is_changed ? 1 : 0; author < kAuthors; ++author)
        edges += std::to_string(author) + " " + std::to_string(author % kPapers) + "\n";
      options.relations = {{InputFile{testing::write_file(dir / "w", edges), {}}}};
      std::vector<double> values;
      for (NodeId paper = 0; paper < kPapers; ++paper)
        for (const double value : {0.5, 0.0, paper / 128.0}) values.push_back(is_changed && paper == 5 ? 0 : value);
      options.features = TypedFeatures{
          {kPapers, kAuthors},
          {InputFile{testing::write_file(dir / "x.npy", testing::npy("<f8", "(60, 3)", values)), {}}, std::nullopt}};
      WorkMeter nobody;
      import_store(store, options, ample_budget(), nobody);
      testing::propagate_store(store, spec());
    };
    const TempDir dir;
    import(dir / "s", false);
    const Manifest before = read_manifest(dir / "s");
    REQUIRE(before.feature_files.size() == 1);
    CHECK(is_packed(before.feature_files[0]));
    CHECK(before.feature_files[0].bytes < kPapers * 12 + 300);
    CHECK(findings_of(dir / "s").empty());
    {
      StoreWriter store(dir / "s", ample_budget());
      RequestWords words;
      words.relations = {"writes"};
      std::vector<Request> requests;
      for (const char* line : {"feature 5", "edge 60 0 writes"})
        requests.push_back(parse_request(line, words, nullptr).value());
      BatchChanges changes = store.resolve(requests);
      CHECK(changes.applied == 2);
      store.apply(requests, std::move(changes), {0, ThresholdScale::absolute});
    }
    testing::purge(dir / "s");
    import(dir / "fresh", true);
    testing::check_same_store(dir / "s", dir / "fresh");
    CHECK(findings_of(dir / "s").empty());
  }

  TEST_CASE("copies of a node share its row of features, unless they lie in an order") {
    constexpr NodeId kNodes = 70'000;
    ChangedWorld world;
    world.nodes = kNodes;
    world.columns = 3;
    world.directed = true;
    for (std::size_t i = 0; i < std::size_t{kNodes} * 3; ++i)
      world.features.push_back(static_cast<double>(i % 97) / 256);
    for (NodeId node = 0; node < kNodes; ++node) world.labels.push_back(node % 500 == 0 ? 1 : -1);
    world.splits.assign(kNodes, "none");
    for (NodeId node = 0; node + 3 < kNodes; ++node) world.edges.insert({node, node + 1 + node % 3});
    for (const std::string order : {"none", "degree"})
      for (const bool sparse : {false, true}) {
        CAPTURE(order);
        CAPTURE(sparse);
        const bool shared = order == "none";
        ChangedWorld changed = world;
        changed.order = order;
        changed.sparse = sparse;
        changed.type = sparse != shared ? FeatureType::f16 : FeatureType::f32;
        const TempDir dir;
        changed.import(dir / "s");
        testing::propagate_store(dir / "s", spec());
        const Manifest manifest = read_manifest(dir / "s");
        CHECK(manifest.feature_files.size() == (shared ? 2 : 3));
        CHECK(manifest.feature_rows() == (shared ? kNodes : 2 * kNodes));
        const std::vector<std::string> needs = manifest.needs();
        CHECK((std::find(needs.begin(), needs.end(), "shared-features") != needs.end()) == shared);
        {
          const StoreReader store(dir / "s", ample_budget());
          const NodeOrder& numbers = store.contents().order();
          std::mt19937 random(1);
          for (const NodeId middle : {0U, 65'536U, kNodes, 131'072U, kNodes + 65'536U, 2 * kNodes}) {
            const auto some = [&] { return static_cast<NodeId>(random() % 300); };
            const NodeRange range{middle - std::min(middle, some()), std::min(2 * kNodes, middle + some())};
            std::vector<float> rows(std::size_t{range.size()} * 2);
            store.contents().features().read(range, 1, 2, rows.data());
            bool same = true;
            for (NodeId node = range.first; node < range.last; ++node)
              for (std::uint32_t c = 0; c < 2; ++c)
                same &= rows[std::size_t{node - range.first} * 2 + c] ==
                        static_cast<float>(changed.value(numbers.user(node), c + 1));
            CHECK(same);
          }
        }
        const std::vector<std::string> lines{"feature 69999", "set-feature 3 0:0.5", "node 66000",
                                             "insert-node 66000 1:0.25", "edge 5 8"};
        {
          StoreWriter store(dir / "s", ample_budget());
          const std::vector<Request> requests = testing::requests_of(lines);
          BatchChanges changes = store.resolve(requests);
          CHECK(changes.applied == lines.size());
          store.apply(requests, std::move(changes), {0, ThresholdScale::absolute});
        }
        for (const std::string& line : lines) CHECK(changed.apply(line));
        CHECK(findings_of(dir / "s").empty());
        changed.import(dir / "fresh");
        testing::propagate_store(dir / "fresh", spec());
        testing::purge(dir / "s", {.step_bytes = 1});
        testing::check_same_store(dir / "s", dir / "fresh");
        CHECK(findings_of(dir / "s").empty());
      }
  }

  TEST_CASE("a purge makes room for nodes of relations, whose copies, names and notes move with them") {
    struct Way {
      bool directed;
      const char* order;
      bool keep_order, named;
    };
    for (const Way& way : {Way{false, "none", false, true},
                           {true, "none", false, false},
                           {true, "bfs", false, true},
                           {false, "bfs", true, false}}) {
      CAPTURE(way.directed);
      const std::string order = way.order;
      CAPTURE(order);
      testing::RelationWorld world = testing::relation_world(4, way.directed);
      world.base.order = order;
      world.base.named = way.named;
      const TempDir dir;
      world.import(dir / "s");
      testing::propagate_store(dir / "s", spec());
      const auto [u, v] = *world.edges[1].begin();
      const std::string name = way.named ? "v" : "", line = "edge " + name + std::to_string(u) + " " + name +
                                                            std::to_string(v) +
                                                            " writes expires 2030-01-01T00:00:00.000Z";
      const NodeId nodes = world.base.nodes + 25;
      CHECK(findings_of(dir / "s").empty());
      CHECK(testing::purge(dir / "s", {.keep_order = way.keep_order, .nodes = nodes}).nodes_added == 25);
      world.base.grow(nodes);
      world.base.nameless = 25;
      world.import(dir / "fresh");
      testing::propagate_store(dir / "fresh", spec());
      CHECK(testing::digest_now(dir / "s") == testing::digest_now(dir / "fresh"));
      if (!way.keep_order) testing::check_same_store(dir / "s", dir / "fresh");
      CHECK(findings_of(dir / "s").empty());
      {
        StoreWriter store(dir / "s", ample_budget());
        const NodeNames& names = store.contents().order().names();
        RequestWords words;
        if (way.named) words.node = [&](std::string_view word) { return names.read(word); };
        words.relations = world.names;
        const std::vector<Request> notes{parse_request(line, words, nullptr).value()};
        store.apply(notes, store.resolve(notes), {0, ThresholdScale::absolute});
      }
      testing::purge(dir / "s", {.keep_order = way.keep_order, .nodes = nodes + 3});
      CHECK(findings_of(dir / "s").empty());
      export_expiries(StoreReader(dir / "s", ample_budget()), NpyTarget(dir / "expiries.txt"));
      CHECK(testing::read_all(dir / "expiries.txt") == line + "\n");
    }
  }

  TEST_CASE("an id stands for one arc, and not for the arc back") {
    ChangedWorld world = directed_world(13);
    world.edges.insert({3, 4});
    world.edges.insert({4, 3});
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", spec());
    StoreWriter store(dir / "s", ample_budget());
    const auto send = [&](const std::string& line) {
      const std::vector<Request> requests = testing::requests_of({line});
      return store.resolve(requests).conflict.has_value();
    };
    const std::vector<Request> first = testing::requests_of({"edge 3 4 id=T1"});
    store.apply(first, store.resolve(first), {0, ThresholdScale::absolute});
    CHECK_FALSE(send("edge 3 4 id=T1"));
    CHECK(send("edge 4 3 id=T1"));
  }

  TEST_CASE("requests of relations name one that there is, and layers that make no sense are refused") {
    RequestWords words;
    words.relations = {"cites", "writes"};
    RequestFault fault;
    CHECK_FALSE(parse_request("edge 1 2", words, &fault));
    CHECK(fault.what.find("the relation is missing") != std::string::npos);
    CHECK_FALSE(parse_request("edge 1 2 cite", words, &fault));
    CHECK(fault.what.find("cites") != std::string::npos);
    CHECK_FALSE(parse_request("edge 1 2 cites", {}, &fault));
    const Request request = parse_request("edge 1 2 writes expires 2030-01-01 id=a", words).value();
    CHECK(request.relation == 2);
    CHECK(text_of(
              request, [](std::uint64_t id, bool) { return std::to_string(id); }, words.relations) ==
          "edge 1 2 writes expires 2030-01-01T00:00:00.000Z id=a");
    const auto fault_of = [](const std::vector<std::string>& names, std::vector<std::vector<std::uint32_t>> subsets,
                             bool directed = false) {
      Layers layers{directed, {}, std::move(subsets)};
      for (const std::string& name : names) layers.relations.push_back({name});
      return layers_fault(layers, {});
    };
    CHECK(fault_of({"a", "b"}, {{0, 1}}).empty());
    for (const std::string name : {"", "7", "expires", "a b", "a,b", "a=b", "a\nb"})
      CHECK_FALSE(fault_of({name}, {}).empty());
    CHECK_FALSE(fault_of({"a", "a"}, {}).empty());
    CHECK_FALSE(fault_of({"a", "b"}, {{0}}).empty());
    CHECK_FALSE(fault_of({"a", "b"}, {{1, 0}}).empty());
    CHECK_FALSE(fault_of({"a", "b"}, {{0, 2}}).empty());
    CHECK_FALSE(fault_of({"a", "b"}, {{0, 1}, {0, 1}}).empty());
    CHECK_FALSE(fault_of({}, {{0, 1}}).empty());
    CHECK(fault_of({"a", "b"}, {{0, 1}}, true).empty());
    const NodeTypes types{{"paper", 3}, {"author", 2}};
    CHECK(layers_fault({false, {{"a", EndTypes{1, 0}}}, {}}, types).empty());
    CHECK_FALSE(layers_fault({false, {{"a", EndTypes{2, 0}}}, {}}, types).empty());
    CHECK_FALSE(layers_fault({false, {{"a", EndTypes{0, 0}}}, {}}, {}).empty());
  }

  TEST_CASE("formats whose edges have no direction, and what cannot be read twice, are refused") {
    const TempDir dir;
    WorkMeter nobody;
    ImportOptions options;
    options.layers.directed = true;
    const auto refusal = [&](const std::string& name, const std::string& bytes) {
      options.edges = InputFile{testing::write_file(dir / name, bytes), {}};
      try {
        import_store(dir / "s", options, ample_budget(), nobody);
      } catch (const Error& error) {
        return std::string(error.what());
      }
      return std::string("imported");
    };
    CHECK(refusal("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n2 1\n").find("no direction") !=
          std::string::npos);
    CHECK(refusal("a.metis", "3 2\n2\n1 3\n2\n").find("no direction") != std::string::npos);
    CHECK(refusal("b.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n2 1\n3 3\n") == "imported");
    const StoreReader store(dir / "s", ample_budget());
    CHECK(store.contents().graph().num_edges() == 2);
    CHECK(store.contents().order().users() == 3);

    // In an order each copy has a row of its own.
    ImportOptions ordered = options;
    ordered.edges = InputFile{dir / "b.mtx", {}};
    ordered.features = InputFile{"/dev/null", {}};
    ordered.order = "degree";
    CHECK(testing::message_of<UsageError>([&] {
            import_store(dir / "o", ordered, ample_budget(), nobody);
          }).find("a pipe can be read once") != std::string::npos);

    // Parts of a table can be read as often as there are copies; ids are bounded before they are
    // formed.
    std::filesystem::create_directory(dir / "parts");
    testing::write_file(dir / "parts" / "a.csv", "# arcs\n0,1\n");
    testing::write_file(dir / "parts" / "b.csv", "# arcs\n4,2\n");
    options.edges = InputFile{dir / "parts", {}};
    options.edges->header = Header::no;
    import_store(dir / "t", options, ample_budget(), nobody);
    CHECK(StoreReader(dir / "t", ample_budget()).contents().order().users() == 5);
    ImportOptions many;
    many.nodes = 3'000'000'000;
    many.layers = {false, {{"a"}, {"b"}}, {{0, 1}}};
    many.relations = {{*options.edges}, {*options.edges}};
    CHECK_THROWS_AS(import_store(dir / "u", many, ample_budget(), nobody), UsageError);
  }
}

}  // namespace unweave
