// tests/algorithms/maintenance/level_files_test.cpp - each kind of file of a level in a store:
// damage to it is found and mended, and checkpoints, plans and purges treat it as its role says.
#include "storage/formats/level_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge_plan.h"
#include "algorithms/verification/verify.h"
#include "support/input_files.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::text_of;

constexpr std::uint32_t kLevels = 2;

/// A store whose levels have files of every kind: few nodes have a label, and a checkpoint followed
/// a lazy stream.
struct StoreOfAllKinds {
  testing::TempDir folder;
  fs::path store = folder / "s";
  testing::Sample sample = testing::random_sample(800, 0.008, 3, 3);

  StoreOfAllKinds() {
    testing::add_features(sample, 3, 4, 0.05);
    testing::build_store(store, sample);
    testing::propagate_store(store, testing::tiny_spec(kLevels, false));
    stream(0, 2);
  }
  /// Applies requests that remove edges, lazily, and makes a checkpoint.
  void stream(std::size_t first, std::size_t last) const {
    std::vector<Request> requests;
    std::size_t at = 0;
    for (const auto& [u, v] : sample.edges)
      if (at++ % 100 == 0 && requests.size() < last) requests.push_back({RequestKind::remove_edge, u, v});
    requests.erase(requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(first));
    StoreWriter live(store, ample_budget());
    live.set_plan(Plan::push);  // a recomputation writes partitions anew
    live.apply(requests, live.resolve(requests), {0.5, ThresholdScale::absolute});
    live.checkpoint();
  }
  [[nodiscard]] Manifest manifest() const { return read_manifest(store); }
  [[nodiscard]] VerifyReport verify() const { return verify_store(store, {}, ample_budget()); }
};

/// The files of a kind at all levels.
std::vector<FileEntry> files_of(const Manifest& manifest, const LevelFileKind& kind) {
  std::vector<FileEntry> files;
  for (const LevelFiles& level : manifest.levels)
    for (const FileEntry& file : files_of(level, kind)) files.push_back(file);
  return files;
}

std::set<std::string> names_in_state(const fs::path& store) {
  std::set<std::string> names;
  for (const auto& item : fs::directory_iterator(store / "state"))
    names.insert("state/" + item.path().filename().string());
  return names;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("damage to a file of any kind is found, and mended from the contents") {
    const StoreOfAllKinds made;
    REQUIRE(text_of(made.verify()) == "");
    const Manifest manifest = made.manifest();
    for (const LevelFileKind& kind : kLevelFileKinds) {
      CAPTURE(std::string(kind.key));
      if (kind.only_with_rows) continue;  // a store of its own has them: algorithms.kept_rows
      const std::vector<FileEntry> files = files_of(manifest, kind);
      CHECK_FALSE(files.empty());  // a new kind needs a file here
      for (const FileEntry& one : files) {
        CAPTURE(one.path);
        const fs::path file = made.store / one.path;
        const std::string good = testing::read_all(file);
        testing::flip_middle(file);
        CHECK(text_of(made.verify()).find(one.path) != std::string::npos);
        if (&one == files.data()) {
          const testing::TempDir copy;
          fs::copy(made.store, copy / "s", fs::copy_options::recursive);
          const auto report = testing::repair(copy / "s");
          REQUIRE(report.size() == 1);
          CHECK_FALSE(report[0].lost);
          CHECK(text_of(verify_store(copy / "s", {std::nullopt, true}, ample_budget())) == "");
          const std::size_t left = files_of(read_manifest(copy / "s"), kind).size();
          CHECK(left == (kind.role == FileRole::overlay ? 0 : files.size()));
        }
        testing::write_file(file, good);
      }
    }
    CHECK(text_of(made.verify()) == "");
  }

  TEST_CASE("a checkpoint names whole files of every kind and removes the others; indexes stay as they are") {
    const StoreOfAllKinds made;
    const Manifest before = made.manifest();
    made.stream(2, 4);
    const Manifest after = made.manifest();
    std::set<std::string> named;
    for (const LevelFileKind& kind : kLevelFileKinds) {
      CAPTURE(std::string(kind.key));
      if (kind.role == FileRole::index) CHECK(files_of(after, kind) == files_of(before, kind));
      if (kind.role == FileRole::base) CHECK(files_of(after, kind).size() == files_of(before, kind).size());
      for (const FileEntry& file : files_of(after, kind)) named.insert(file.path);
    }
    CHECK(names_in_state(made.store) == named);
    CHECK(text_of(made.verify()) == "");
  }

  TEST_CASE("a purge plans for every kind, leaves no overlay, and makes the rest as a propagation does") {
    const StoreOfAllKinds made;
    const Manifest before = made.manifest();
    std::uint64_t least = 0;
    for (const LevelFileKind& kind : kLevelFileKinds)
      if (kind.role != FileRole::overlay && !kind.one_a_span) least += bytes_of(files_of(before, kind));
    {
      const StoreReader live(made.store, ample_budget());
      CHECK(plan_purge(live, {}, ample_budget()).written_bytes >= least);
    }
    testing::purge(made.store);
    const Manifest after = made.manifest();
    testing::propagate_store(made.store, testing::tiny_spec(kLevels, false));
    const Manifest fresh = made.manifest();
    std::set<std::string> named;
    for (const LevelFileKind& kind : kLevelFileKinds) {
      CAPTURE(std::string(kind.key));
      CHECK(files_of(after, kind) == files_of(fresh, kind));
      CHECK(files_of(after, kind).empty() == (kind.only_with_rows || kind.role == FileRole::overlay));
      for (const FileEntry& file : files_of(after, kind)) named.insert(file.path);
    }
    CHECK(names_in_state(made.store) == named);
    CHECK(text_of(made.verify()) == "");
  }
}

}  // namespace unweave
