// tests/algorithms/maintenance/purge_erasure_test.cpp - what a purge leaves no byte of, what it leaves alone, and what it takes.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/live/propagate.h"
#include "algorithms/maintenance/purge.h"
#include "algorithms/models/recorded_release.h"
#include "storage/codec/half.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/imported_sample.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::purge;
using testing::Sample;
using testing::TempDir;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Files that hold these bytes.
std::vector<std::string> files_with(const fs::path& store, const std::string& bytes) {
  std::vector<std::string> found;
  for (const auto& [name, content] : testing::folder_bytes(store))
    if (content.find(bytes) != std::string::npos) found.push_back(name);
  return found;
}

/// A large graph of few edges: three spans of nodes.
Sample three_spans() {
  Sample sample;
  sample.nodes = 140'000;
  for (NodeId u = 0; u + 1 < 1000; ++u)
    for (const NodeId span : {0U, 65'536U, 131'072U}) sample.edges.insert({span + u, span + u + 1});
  sample.edges.insert({5, 70'000});
  testing::add_features(sample, 3, 1, 0.001);
  return sample;
}

std::map<std::string, ino_t> inodes(const fs::path& store) {
  std::map<std::string, ino_t> found;
  for (const auto& item : fs::recursive_directory_iterator(store)) {
    struct stat status {};
    REQUIRE(::stat(item.path().c_str(), &status) == 0);
    if (item.is_regular_file()) found[item.path().lexically_relative(store).string()] = status.st_ino;
  }
  return found;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("no byte of what was removed is left: features, edges, nodes, requests") {
    for (const FeatureType type : {FeatureType::f32, FeatureType::f16}) {
      for (const std::string order : {"none", "degree"}) {
        CAPTURE(feature_type_name(type));
        CAPTURE(order);
        const TempDir dir;
        Sample sample = testing::random_sample(100, 0.05, 6, 31);
        constexpr NodeId kNode = 41;
        const std::vector<float> row{0.125F, -0.0625F, 0.34375F, 0.28125F, -0.40625F, 0.015625F};  // exact in 16 bits
        std::copy(row.begin(), row.end(), sample.features.begin() + kNode * 6);
        sample.edges.insert({3, 97});
        testing::import_sample(dir / "s", sample, {order, type, false});
        testing::propagate_store(dir / "s", testing::tiny_spec(2));
        const std::vector<Request> requests{{RequestKind::remove_node, kNode, 0},
                                            {RequestKind::remove_edge, 97, 3},
                                            {RequestKind::insert_edge, 11, 12},
                                            {RequestKind::remove_edge, 11, 12}};
        testing::apply_batch(dir / "s", requests, 0.01, true);
        testing::apply_batch(dir / "s", std::vector<Request>{{RequestKind::remove_feature, 55, 0}}, 0.01, false);
        std::vector<Half> halves(row.size());
        truncate_to_halves(row, halves.data());
        std::vector<NodeId> edge;
        {
          const LiveStore live(dir / "s", Access::read, ample_budget(), release_ledger());
          edge = {live.contents().order().position(3), live.contents().order().position(97)};
          std::sort(edge.begin(), edge.end());
        }
        std::map<std::string, std::string> markers;
        markers["row"] = type == FeatureType::f32 ? bytes_of(row) : bytes_of(halves);
        markers["edge"] = bytes_of(edge);
        markers["request"] = bytes_of(std::vector<std::uint64_t>{55, 0, 3});
        for (const auto& [what, marker] : markers) {
          const auto& shown = what;
          CAPTURE(shown);
          CHECK(files_with(dir / "s", marker).size() == 1);
        }
        // A temporary file of a killed writer holds what it was about to write.
        testing::write_file(dir / "s" / "features" / ".0000000000.dense.new", markers["row"]);
        testing::write_file(dir / "s" / "unweave-spool-a1b2c3", markers["row"]);
        fs::create_directories(dir / "s" / "graph" / "by-ids" / "graph");
        testing::write_file(dir / "s" / "graph" / "by-ids" / "graph" / "x.shard", markers["edge"]);
        purge(dir / "s");
        for (const auto& [what, marker] : markers) {
          const auto& shown = what;
          CAPTURE(shown);
          CHECK(files_with(dir / "s", marker).empty());
        }
        CHECK_FALSE(fs::exists(dir / "s" / "journal"));
      }
    }
  }

  TEST_CASE("no key of an earlier release is left, by which a guess of what was removed could be confirmed") {
    const testing::TrainedStore world(5);
    std::vector<std::string> keys;
    const auto key = [&] { return load_model(world.store, "exact").release_key; };
    world.train("exact");
    keys.push_back(key());
    for (const NodeId node : {7, 9}) {
      world.stream({{RequestKind::remove_node, node, 0}}, {"exact"});
      keys.push_back(key());
    }
    CHECK(files_with(world.store, keys[0]).empty());
    CHECK(files_with(world.store, keys[1]).size() == 1);  // in `before`: a crash might have left either model
    CHECK(files_with(world.store, keys[2]).size() == 1);
    CHECK(purge(world.store).kept_models.size() == 1);
    for (const std::string& old : keys) CHECK(files_with(world.store, old).empty());
    CHECK(files_with(world.store, "\"before\":").empty());
    CHECK(files_with(world.store, key()).size() == 1);
  }

  TEST_CASE("only spans with changes are written anew") {
    const TempDir dir;
    Sample sample = three_spans();
    testing::import_sample(dir / "s", sample, {});
    testing::propagate_store(dir / "s", testing::tiny_spec(1));
    const auto before = inodes(dir / "s");
    testing::apply_batch(
        dir / "s",
        std::vector<Request>{{RequestKind::remove_edge, 131'080, 131'081}, {RequestKind::remove_feature, 65'600, 0}}, 0,
        true);
    const PurgeReport report = purge(dir / "s");
    CHECK(report.bytes_kept > report.bytes_written);
    const auto after = inodes(dir / "s");
    const auto kept = [&](const std::string& folder, const std::string& stem) {
      bool found = false;
      for (const auto& [name, inode] : after)
        if (name.starts_with(folder + "/" + stem)) found |= before.contains(name) && before.at(name) == inode;
      return found;
    };
    CHECK(kept("graph", "0000000000"));
    CHECK(kept("graph", "0000065536"));
    CHECK_FALSE(kept("graph", "0000131072"));
    CHECK(kept("features", "0000000000"));
    CHECK_FALSE(kept("features", "0000065536"));
    CHECK(kept("features", "0000131072"));
    CHECK(kept("state", "level1-0000000000"));
    CHECK_FALSE(kept("state", "level1-0000065536"));
    CHECK_FALSE(kept("state", "level1-0000131072"));
  }

  TEST_CASE("a budget is kept to or refused, and a refusal leaves the store as it was" * doctest::test_suite("slow")) {
    const TempDir dir;
    Sample sample = three_spans();
    for (const std::string order : {"none", "degree", "bfs", "community", "auto"}) {
      CAPTURE(order);
      const fs::path store = dir / order;
      testing::import_sample(store, sample, {order, FeatureType::f32, false});
      testing::propagate_store(store, testing::tiny_spec(2, order == "bfs"));
      Sample rest = sample;
      testing::stream_sample(store, rest, testing::random_requests(sample, 60, 4), 30, 0);
      const auto before = testing::folder_bytes(store);
      bool refused = false, done = false;
      for (std::uint64_t limit = std::uint64_t{1} << 20; !done; limit += limit / 4) {
        MemoryBudget budget(limit);
        try {
          purge(store, {}, budget);
          done = true;
        } catch (const ResourceError&) {
          refused = true;
          CHECK(testing::folder_bytes(store) == before);
        }
        CHECK(budget.used() == 0);
        CHECK(budget.peak() <= limit);
      }
      CHECK(refused);
      testing::import_sample(dir / "fresh", rest, {order, FeatureType::f32, false});
      testing::propagate_store(dir / "fresh", testing::tiny_spec(2, order == "bfs"));
      CHECK(testing::folder_bytes(store) == testing::folder_bytes(dir / "fresh"));
      fs::remove_all(dir / "fresh");
    }
  }
}

}  // namespace unweave
