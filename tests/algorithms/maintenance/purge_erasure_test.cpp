// tests/algorithms/maintenance/purge_erasure_test.cpp - what a purge leaves no byte of, what it
// leaves alone, and what it takes.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "algorithms/live/propagate.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge.h"
#include "engine/generations/store_purge.h"
#include "storage/codec/half.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/time_text.h"
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

/// Times of the last change of all that lies in a store, and of its own folder, and of the last
/// access of files, in nanoseconds. Who lists a folder has accessed it.
std::set<std::int64_t> times_of(const fs::path& store) {
  std::vector<fs::path> places{store};
  for (const auto& item : fs::recursive_directory_iterator(store)) places.push_back(item.path());
  std::set<std::int64_t> times;
  for (const fs::path& place : places) {
    struct stat status {};
    REQUIRE(::lstat(place.c_str(), &status) == 0);
    for (const timespec& time : {status.st_mtim, S_ISDIR(status.st_mode) ? status.st_mtim : status.st_atim})
      times.insert(std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec);
  }
  return times;
}

/// As if the file had been written, and read, long ago.
void make_old(const fs::path& file) {
  const timespec old[]{{1'000'000'000, 7}, {1'000'000'000, 7}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), old, AT_SYMLINK_NOFOLLOW) == 0);
}

/// The stored values of a row, from the file.
std::vector<std::uint32_t> bits_of_row(const fs::path& store, NodeId node) {
  const Manifest manifest = read_manifest(store);
  const Contents contents(store, manifest);
  std::vector<float> row(manifest.features);
  contents.features().read({node, node + 1}, 0, manifest.features, row.data());
  std::vector<std::uint32_t> bits;
  for (const float value : row) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
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
          const StoreReader live(dir / "s", ample_budget());
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
    // Which they are no time tells.
    CHECK(times_of(dir / "s").size() == 1);
  }

  TEST_CASE("all files and folders have one time after a purge, with models and without, and after one that was cut") {
    const testing::TrainedStore world(5);
    world.train("exact");
    world.train("newton");
    const fs::path newest = world.store / "certificates" / "newton.jsonl";
    make_old(newest);
    make_old(world.store / "lock");
    world.stream({{RequestKind::remove_node, 7, 0}}, {"exact"});
    const std::int64_t before = present_time() / 1000;
    CHECK(purge(world.store).kept_models.size() == 1);
    std::set<std::int64_t> times = times_of(world.store);
    REQUIRE(times.size() == 1);
    CHECK(*times.begin() >= before * 1'000'000'000);  // a copy that compares sizes and times notices it
    CHECK(*times.begin() <= present_time() * 1'000'000);
    const std::int64_t first = *times.begin();
    CHECK(purge(world.store).nothing);
    CHECK(times_of(world.store).contains(first));

    // It was cut behind its decision: whoever writes next ends it.
    for (const char* const name : {"graph", "lock", "certificates", "certificates/newton.jsonl"})
      make_old(world.store / name);
    const std::string manifest = testing::read_all(world.store / "manifest.json");
    testing::write_file(world.store / "purge", "A purge of this store has begun.\n" +
                                                   to_hex(checksum128(std::as_bytes(std::span(manifest)), {})) + "\n");
    REQUIRE(purge_state(world.store) == PurgeState::decided);
    { const StoreWriter live(world.store, ample_budget()); }
    CHECK(purge_state(world.store) == PurgeState::none);
    times = times_of(world.store);
    CHECK(*times.begin() > 1'000'000'007LL * 1'000'000'000);

    // What is not the store's is left alone.
    const fs::path other = testing::write_file(world.store / "mine.txt", "not the store's");
    make_old(other);
    CHECK_FALSE(purge(world.store, {.always = true}).nothing);
    struct stat status {};
    REQUIRE(::stat(other.c_str(), &status) == 0);
    CHECK(status.st_mtim.tv_sec == 1'000'000'000);
    CHECK(times_of(world.store / "certificates").size() == 1);
  }

  TEST_CASE("a row that was removed, or rounds to nothing, is zeros in every bit") {
    for (const FeatureType type : {FeatureType::f32, FeatureType::f16}) {
      for (const bool labelled : {false, true}) {
        CAPTURE(feature_type_name(type));
        CAPTURE(labelled);
        const TempDir dir;
        Sample sample = testing::random_sample(60, 0.1, 4, 3);
        const std::vector<float> row{-1e-9F, 1e-9F, -0.0F, -1e-9F};
        std::copy(row.begin(), row.end(), sample.features.begin() + 5 * 4);
        sample.labels[5] = labelled ? 0 : kNoLabel;
        std::erase_if(sample.edges, [](const auto& edge) { return edge.first == 5 || edge.second == 5; });
        testing::import_sample(dir / "s", sample, {"none", type, false});
        const std::vector<std::uint32_t> zeros(4);
        const bool has_row = type == FeatureType::f32;  // in 16 bits these values are zeros
        CHECK((bits_of_row(dir / "s", 5) == zeros) == !has_row);
        const std::vector<Request> requests{{RequestKind::remove_feature, 5, 0},
                                            {RequestKind::set_feature, 6, 0, {}, "-0 0 -1e-9 -0"}};
        {
          StoreWriter live(dir / "s", ample_budget());
          const BatchChanges changes = live.resolve(requests);
          CHECK((changes.statuses.at(0) == RequestStatus::applied) == (has_row || labelled));
          CHECK(changes.statuses.at(1) == RequestStatus::applied);
          live.apply(requests, changes, {0, ThresholdScale::absolute});
        }
        purge(dir / "s");
        CHECK(bits_of_row(dir / "s", 5) == zeros);
        CHECK(bits_of_row(dir / "s", 6).at(0) == 0);
        CHECK(bits_of_row(dir / "s", 6).at(3) == 0);
        CHECK((bits_of_row(dir / "s", 6) == zeros) == !has_row);
      }
    }
  }

  TEST_CASE("a purge takes signs of zeros out of a store of an earlier program, whose digest stays") {
    for (const FeatureType type : {FeatureType::f32, FeatureType::f16}) {
      const TempDir dir;
      testing::TinyStore old = testing::random_store(80, 200, 5, 2);
      old.type = type;
      std::fill_n(old.features.begin() + 7 * 5, 5, -0.0F);
      old.labels[7] = kNoLabel;
      testing::write_store(dir / "s", old);
      testing::propagate_store(dir / "s", testing::tiny_spec(1));
      CHECK(bits_of_row(dir / "s", 7) == std::vector<std::uint32_t>(5, 0x80000000));
      const std::string digest = testing::digest_now(dir / "s");
      purge(dir / "s", {.always = true});
      CHECK(testing::digest_now(dir / "s") == digest);
      CHECK(bits_of_row(dir / "s", 7) == std::vector<std::uint32_t>(5));
      for (float& value : old.features) value += 0.0F;
      testing::write_store(dir / "fresh", old);
      CHECK(read_manifest(dir / "s").feature_files == read_manifest(dir / "fresh").feature_files);
    }
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
