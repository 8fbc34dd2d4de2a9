// tests/algorithms/live/pairs_test.cpp - stores that hold edges out of their graph, against fresh
// imports of what plain sets hold.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/export.h"
#include "algorithms/live/export_all.h"
#include "algorithms/live/request_draw.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge.h"
#include "algorithms/rows/pair_list.h"
#include "algorithms/verification/verify.h"
#include "engine/ingest/store_import.h"
#include "storage/formats/run_file.h"
#include "storage/io/error.h"
#include "storage/types/pair_rules.h"
#include "support/changed_world.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/npy_file.h"
#include "support/pair_world.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::pair_spec;
using testing::PairWorld;
using testing::TempDir;

std::string pair_findings(const fs::path& store) {
  return testing::text_of(verify_store(store, {std::nullopt, false, 1}, ample_budget()));
}

Digest digest_of_fresh(const PairWorld& world) {
  const TempDir dir;
  world.import(dir / "fresh");
  testing::propagate_store(dir / "fresh", pair_spec());
  return content_digest(StoreReader(dir / "fresh", ample_budget()));
}

/// Orders of a store, and whether its edges have directions.
const std::vector<std::pair<std::string, bool>> kKinds{{"none", false}, {"bfs", false}, {"none", true}, {"bfs", true}};

/// A pair of nodes whose edge, which is not there, would have this role.
std::pair<NodeId, NodeId> pair_of(const PairWorld& world, int role) {
  for (NodeId u = 0; u < world.base.nodes; ++u)
    for (NodeId v = world.base.directed ? 0 : u + 1; v < world.base.nodes; ++v)
      if (!world.base.edges.contains({u, v}) && world.slow().role(u, v) == role) return {u, v};
  return {0, 0};
}

void stream(StoreWriter& store, PairWorld& world, const std::vector<std::string>& lines, std::size_t batch) {
  for (std::size_t at = 0; at < lines.size(); at += batch) {
    const std::vector<std::string> some(
        lines.begin() + static_cast<std::ptrdiff_t>(at),
        lines.begin() + static_cast<std::ptrdiff_t>(std::min(at + batch, lines.size())));
    store.set_plan(at % (2 * batch) == 0 ? Plan::push : Plan::recompute);
    const std::vector<Request> requests = testing::requests_of(some);
    BatchChanges changes = store.resolve(requests);
    for (std::size_t i = 0; i < some.size(); ++i) {
      CAPTURE(some[i]);
      CHECK((changes.statuses[i] == RequestStatus::applied) == world.base.apply(some[i]));
    }
    store.apply(requests, std::move(changes), {0, ThresholdScale::absolute});
    if (at / batch == 8) store.checkpoint();
  }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("streams of every kind of request lead to the digest, and a purge to the bytes, of a fresh import") {
    for (const std::string rules : {"valid=.2,test=.1", "valid=.1,test=.1,share=.5,apart,negatives=2,key=3"})
      for (const auto& kind : kKinds) {
        const std::string order = kind.first;
        const bool directed = kind.second;
        CAPTURE(rules);
        CAPTURE(order);
        CAPTURE(directed);
        PairWorld world = testing::pair_world_of(directed, 5, rules, order);
        const TempDir dir;
        world.import(dir / "s");
        testing::propagate_store(dir / "s", pair_spec());
        CHECK(pair_findings(dir / "s").empty());
        const std::vector<std::string> lines = testing::changing_lines(world.base, 300, 6, false);
        {
          StoreWriter store(dir / "s", ample_budget());
          stream(store, world, lines, 10);
          CHECK(content_digest(store) == digest_of_fresh(world));
        }
        {
          const StoreReader replayed(dir / "s", ample_budget());
          CHECK(content_digest(replayed) == digest_of_fresh(world));
          for (const int role : {0, 1, 2}) {
            const PairList pairs(replayed.contents(), static_cast<PairRole>(role), ample_budget());
            CHECK(pairs.size() == world.pairs(role).size());
          }
        }
        CHECK(pair_findings(dir / "s").empty());
        testing::purge(dir / "s", {.step_bytes = 1});
        CHECK(pair_findings(dir / "s").empty());
        const TempDir other;
        world.import(other / "fresh");
        testing::propagate_store(other / "fresh", pair_spec());
        testing::check_same_store(dir / "s", other / "fresh");
      }
  }

  TEST_CASE("weights of edges count in the graph, and held edges once") {
    PairWorld world = testing::pair_world(8, "valid=.3,test=.2");
    world.base.weigh_all(4, 8);
    const auto forget_held_weights = [&] {
      std::erase_if(world.base.weights,
                    [&](const auto& one) { return world.slow().is_held(one.first.first, one.first.second); });
    };
    forget_held_weights();
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", pair_spec());
    StoreWriter store(dir / "s", ample_budget());
    const auto [u, v] = pair_of(world, 0);
    const std::string ends = std::to_string(u) + " " + std::to_string(v);
    const std::vector<Request> requests =
        testing::requests_of({"insert-edge " + ends + " weight 3", "set-weight " + ends + " 2",
                              "set-weight " + ends + " 1", "insert-edge " + ends});
    BatchChanges changes = store.resolve(requests);
    CHECK(changes.statuses[0] == RequestStatus::applied);
    CHECK(changes.statuses[1] == RequestStatus::weight_outside);
    CHECK(changes.statuses[2] == RequestStatus::repeated);
    CHECK(changes.edges_held == 1);
    CHECK(changes.nodes.empty());
    store.apply(requests, std::move(changes), {0, ThresholdScale::absolute});
    world.base.edges.insert({u, v});
    CHECK(content_digest(store) == digest_of_fresh(world));
  }

  TEST_CASE("what is exported says the roles of edges, and imports to the same store") {
    for (const auto& kind : kKinds) {
      const std::string order = kind.first;
      const bool directed = kind.second;
      const PairWorld world = testing::pair_world_of(directed, 7, "valid=.2,test=.1,share=.6,apart,key=2", order);
      const TempDir dir;
      world.import(dir / "s");
      const StoreReader store(dir / "s", ample_budget());
      const ExportedStore exported = export_all(store, dir / "all");
      CHECK(exported.pairs == world.rules);
      CHECK(exported.edges == world.base.edges.size());
      export_edges(store, NpyTarget(dir / "e.npy"), std::nullopt, {}, NpyTarget(dir / "r.npy"));
      const std::vector<std::int64_t> pairs = testing::Npy<std::int64_t>(dir / "e.npy").values,
                                      roles = testing::Npy<std::int64_t>(dir / "r.npy").values;
      REQUIRE(pairs.size() == 2 * world.base.edges.size());
      REQUIRE(roles.size() == world.base.edges.size());
      std::size_t at = 0;
      for (const auto& [u, v] : world.base.edges) {
        CHECK(pairs[2 * at] == u);
        CHECK(pairs[2 * at + 1] == v);
        CHECK(roles[at++] == world.slow().role(u, v));
      }
      ImportOptions options;
      options.nodes = exported.nodes;
      options.classes = exported.classes;
      options.order = exported.order;
      options.edges = InputFile{dir / "all" / "edges.npy", {}};
      options.features = InputFile{dir / "all" / "features.npy", {}};
      options.labels = InputFile{dir / "all" / "labels.npy", {}};
      options.train = InputFile{dir / "all" / "train.npy", {}};
      options.valid = InputFile{dir / "all" / "valid.npy", {}};
      options.test = InputFile{dir / "all" / "test.npy", {}};
      options.layers.directed = directed;
      options.pairs = pair_rules_named(text_of(*exported.pairs));
      WorkMeter nobody;
      import_store(dir / "again", options, ample_budget(), nobody);
      CHECK(content_digest(StoreReader(dir / "again", ample_budget())) == content_digest(store));
      testing::check_same_store(dir / "s", dir / "again");
    }
  }

  TEST_CASE("other rules are other contents, and a store without rules keeps its digest") {
    PairWorld world = testing::pair_world(4, "valid=.2,test=.1");
    const Digest first = digest_of_fresh(world);
    for (const std::string rules :
         {"valid=.2,test=.1,key=1", "valid=.2,test=.1,negatives=2", "valid=.1,test=.2", "valid=.2,test=.1,share=.5",
          "valid=.2,test=.1,apart", "valid=.2,test=.1,uniform=9"}) {
      world.rules = pair_rules_named(rules);
      CHECK(digest_of_fresh(world) != first);
    }
  }

  TEST_CASE("requests about held edges are drawn, told and expire as all others") {
    for (const auto& kind : kKinds) {
      const std::string order = kind.first;
      const bool directed = kind.second;
      CAPTURE(order);
      CAPTURE(directed);
      PairWorld world = testing::pair_world_of(directed, 9, "valid=.3,test=.3", order);
      const TempDir dir;
      world.import(dir / "s");
      testing::propagate_store(dir / "s", pair_spec());
      StoreWriter store(dir / "s", ample_budget());
      DrawOptions draw;
      draw.kind = DrawKind::kEdge;
      draw.count = world.base.edges.size();
      std::size_t held = 0;
      for (const Request& one : draw_requests(store, draw)) {
        CHECK(world.base.edges.contains(world.slow().edge_of(one.u, one.v)));
        held += world.slow().is_held(one.u, one.v) ? 1 : 0;
      }
      CHECK(held == store.contents().held()->num_edges());
      draw.kind = DrawKind::kAdversarialEdge;
      draw.count = 30;
      for (const Request& one : draw_requests(store, draw)) {
        CHECK_FALSE(world.base.edges.contains(world.slow().edge_of(one.u, one.v)));
      }
      const auto held_edge = std::find_if(world.base.edges.begin(), world.base.edges.end(),
                                          [&](const auto& e) { return world.slow().is_held(e.first, e.second); });
      REQUIRE(held_edge != world.base.edges.end());
      const std::string ends = std::to_string(held_edge->first) + " " + std::to_string(held_edge->second);
      const std::vector<Request> note = testing::requests_of({"edge " + ends + " expires 2030-01-01T00:00:00Z"});
      store.apply(note, store.resolve(note), {0, ThresholdScale::absolute});
      store.checkpoint();
      CHECK(store.contents().expiries().size() == 1);
      const std::vector<Request> gone = testing::requests_of({"node " + std::to_string(held_edge->first)});
      store.apply(gone, store.resolve(gone), {0, ThresholdScale::absolute});
      CHECK(store.contents().expiries().size() == 0);
      store.checkpoint();
      CHECK(pair_findings(dir / "s").empty());
    }
  }

  TEST_CASE("verify names an edge that is where its role does not put it") {
    for (const bool is_directed : {false, true}) {
      const PairWorld world = testing::pair_world_of(is_directed, 11, "valid=.2,test=.2", "none");
      const TempDir dir;
      world.import(dir / "s");
      const auto forge = [&](bool held, int role) {
        const auto [u, v] = pair_of(world, role);
        Manifest manifest = read_manifest(dir / "s");
        Changes changes;
        changes.inserted.push_back({u, is_directed ? v + world.base.nodes : v});
        (held ? manifest.pairs->changes : manifest.changes) =
            held ? write_held_changes(dir / "s", changes) : write_changes(dir / "s", changes);
        ++(held ? manifest.pairs->edges : manifest.edges);
        write_manifest(dir / "s", manifest);
        const std::string found = pair_findings(dir / "s");
        CAPTURE(found);
        CHECK(found.find("pairs: the edge of " + std::to_string(u) + " and " + std::to_string(v)) != std::string::npos);
      };
      const std::string before = testing::read_all(dir / "s" / "manifest.json");
      forge(true, 2);
      testing::write_file(dir / "s" / "manifest.json", before);
      forge(false, 1);
    }
  }

  TEST_CASE("a flipped bit of held edges, or of their changes, is found and named") {
    const PairWorld world = testing::pair_world(13, "valid=.2,test=.2");
    const TempDir dir;
    world.import(dir / "s");
    {
      StoreWriter store(dir / "s", ample_budget());
      const auto [u, v] = pair_of(world, 0);
      const std::vector<Request> requests =
          testing::requests_of({"insert-edge " + std::to_string(u) + " " + std::to_string(v)});
      store.apply(requests, store.resolve(requests), {0, ThresholdScale::absolute});
      store.checkpoint();
    }
    std::size_t files = 0;
    for (const auto& item : fs::directory_iterator(dir / "s" / "pairs")) {
      const std::string bytes = testing::read_all(item.path());
      ++files;
      for (std::size_t bit = 5; bit < 8 * bytes.size(); bit += 8 * bytes.size() / 40 + 1) {
        std::string damaged = bytes;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
        testing::write_file(item.path(), damaged);
        CHECK(pair_findings(dir / "s").find(item.path().filename().string()) != std::string::npos);
      }
      testing::write_file(item.path(), bytes);
    }
    CHECK(files == 2);
    CHECK(pair_findings(dir / "s").empty());
  }

  TEST_CASE("the manifest reads back as it was written, and refuses rules that are none") {
    const PairWorld world =
        testing::pair_world(13, "valid=.2,test=.2,share=.3,apart,uniform=7,key=18446744073709551615");
    const TempDir dir;
    world.import(dir / "s");
    Manifest manifest = read_manifest(dir / "s");
    REQUIRE(manifest.pairs.has_value());
    CHECK(manifest.pairs->rules == world.rules);
    CHECK(manifest.needs() == std::vector<std::string>{"pairs"});
    {
      const TempDir other;
      testing::directed_pair_world(13, "valid=.2").import(other / "s");
      Manifest directed = read_manifest(other / "s");
      CHECK(directed.needs() == std::vector<std::string>{"layers", "shared-features", "pairs"});
      CHECK(directed.pairs->rules.directed);
      directed.layers = {false, {{"cites"}, {"writes"}}, {}};
      CHECK_THROWS_WITH_AS(static_cast<void>(parse_manifest(manifest_text(directed), other / "s" / "manifest.json")),
                           doctest::Contains("relations"), FormatError);
    }
    CHECK(parse_manifest(manifest_text(manifest), dir / "s" / "manifest.json").pairs == manifest.pairs);
    const auto refusal = [&](const auto& change) {
      Manifest other = manifest;
      change(*other.pairs);
      CHECK_THROWS_AS(static_cast<void>(parse_manifest(manifest_text(other), dir / "s" / "manifest.json")),
                      FormatError);
    };
    refusal([](PairFiles& pairs) { pairs.rules.below_valid = PairRules::kWhole; });
    refusal([](PairFiles& pairs) { pairs.rules.below_label = PairRules::kWhole + 1; });
    refusal([](PairFiles& pairs) { pairs.rules.negatives = 1; });
    refusal([](PairFiles& pairs) { pairs.shards.clear(); });
    ++manifest.pairs->edges;
    write_manifest(dir / "s", manifest);
    CHECK_THROWS_AS(StoreReader(dir / "s", ample_budget()), FormatError);
  }

  TEST_CASE("what links cannot be predicted with is refused in one line") {
    const TempDir dir;
    WorkMeter nobody;
    const auto refusal = [&](const auto& change) {
      ImportOptions options;
      options.pairs = pair_rules_named("valid=.2,test=.1");
      options.edges = InputFile{testing::write_file(dir / "e.txt", "0 1\n1 2\n"), {}};
      change(options);
      try {
        import_store(dir / "refused", options, ample_budget(), nobody);
      } catch (const UsageError& error) {
        return std::string(error.what());
      }
      return std::string("imported");
    };
    CHECK(refusal([](ImportOptions& o) {
            o.layers.relations = {{"cites"}};
            o.relations = {{*std::exchange(o.edges, std::nullopt), {}}};
          }).find("relation") != std::string::npos);
    CHECK(refusal([](ImportOptions& o) {
            o.edges.reset();
            o.nodes = 5;
          }).find("edges") != std::string::npos);
    CHECK(refusal([](ImportOptions& o) {
            o.pairs->below_test = 0;
            o.pairs->below_valid = 7;
          }).find("shares") != std::string::npos);
    CHECK_FALSE(fs::exists(dir / "refused"));
    // Room for nodes is made up to the next power of two: beyond it all negatives would be others.
    const PairWorld world = testing::pair_world(12, "valid=.2,test=.1");
    world.import(dir / "s");
    PurgeOptions options;
    options.nodes = 65;
    CHECK_THROWS_WITH_AS(testing::purge(dir / "s", options), doctest::Contains("predicts links"), UsageError);
    options.nodes = 64;
    testing::purge(dir / "s", options);
    PairWorld grown = world;
    grown.base.grow(64);
    const TempDir other;
    grown.import(other / "fresh");
    testing::check_same_store(dir / "s", other / "fresh");
  }
}

TEST_SUITE("golden") {
  TEST_CASE("held files and the digest of a pinned store") {
    PairWorld world = testing::pinned_pair_world();
    const TempDir dir;
    world.import(dir / "s");
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator(dir / "s" / "pairs"))
      names.push_back(item.path().filename().string());
    REQUIRE(names.size() == 1);
    CHECK(names.front() == "0000000000-3b2aecd0cdf9ef8e.shard");  // the name has a hash of the bytes
    CHECK(testing::digest_now(dir / "s") == "de2b4c6881404cd249203c65c35669d45fc70a99034f02b2243e11cc9cec597d");
  }
}

}  // namespace unweave
