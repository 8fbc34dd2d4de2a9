// tests/algorithms/live/export_all_test.cpp - what a streamed store holds goes into files, and an
// import takes them back: the contents are equal, and so is every byte once the store is purged.
#include "algorithms/live/export_all.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "storage/io/error.h"
#include "support/changed_world.h"
#include "support/folder_bytes.h"
#include "support/store_fixture.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::ChangedWorld;
using testing::TempDir;

std::string exported_digest(const fs::path& store) {
  return digest_text(content_digest(StoreReader(store, ample_budget())));
}

/// The import that the constants ask for.
void import_again(const fs::path& folder, const ExportedStore& exported, const fs::path& store) {
  const auto file = [&](const char* name) { return InputFile{folder / name, {}}; };
  ImportOptions options;
  options.nodes = exported.nodes;
  options.order = exported.order;
  options.feature_type = exported.type;
  options.scale = exported.scale;
  if (exported.has_names) options.ids = file("names.txt");
  if (exported.edges > 0) options.edges = file("edges.npy");
  if (exported.edges == 2) options.edges->columns = "0,1";  // as the command that `export` prints has it
  if (exported.columns > 0 && exported.sparse)
    options.features = CsrInput{
        {file("features_indptr.npy"), file("features_indices.npy"), file("features_values.npy")}, exported.columns};
  if (exported.columns > 0 && !exported.sparse) options.features = file("features.npy");
  if (exported.has_labels) options.labels = file("labels.npy");
  if (exported.classes > 0) options.classes = exported.classes;
  if (exported.has_train) options.train = file("train.npy");
  if (exported.has_valid) options.valid = file("valid.npy");
  if (exported.has_test) options.test = file("test.npy");
  WorkMeter nobody;
  import_store(store, options, ample_budget(), nobody);
}

void check_round_trip(const fs::path& store, const fs::path& dir, MemoryBudget& budget) {
  const ExportedStore exported = export_all(StoreReader(store, budget), dir / "all");
  import_again(dir / "all", exported, dir / "again");
  CHECK(exported_digest(dir / "again") == exported_digest(store));
  testing::purge(store, {.always = true});
  CHECK(testing::folder_bytes(dir / "again") == testing::folder_bytes(store));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("import, requests of every kind, export, import: equal digests, and the bytes of the purged store") {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      CAPTURE(seed);
      ChangedWorld world = testing::changed_world(40 + static_cast<NodeId>(seed),
                                                  static_cast<std::uint32_t>(2 + seed % 5), seed, seed % 2 == 0);
      world.order = std::vector<std::string>{"none", "bfs", "degree"}[seed % 3];
      world.sparse = seed % 4 >= 2;
      world.type = seed % 5 == 0 ? FeatureType::f16 : FeatureType::f32;
      if (seed % 8 == 1) world.scale.divisor = 3.7;
      if (seed % 8 == 4) world.scale.divisor = 0.01;
      if (seed % 8 == 3) world.scale.as_given = true;
      world.named = seed % 3 == 1;
      const TempDir dir;
      world.import(dir / "s");
      const std::vector<Request> requests =
          testing::requests_of(testing::changing_lines(world, 60, seed, seed % 2 == 0));
      {
        StoreWriter store(dir / "s", ample_budget());
        const std::span<const Request> all = requests;
        store.apply(all.first(30), store.resolve(all.first(30)), {});
        store.checkpoint();
        store.apply(all.subspan(30), store.resolve(all.subspan(30)), {});
      }
      check_round_trip(dir / "s", dir.path(), ample_budget());
    }
  }

  TEST_CASE("stores without edges, features, labels or anything removed") {
    for (const testing::Sample& sample : testing::sample_families(3)) {
      CAPTURE(sample.name);
      const TempDir dir;
      testing::build_store(dir / "s", sample);
      check_round_trip(dir / "s", dir.path(), ample_budget());
    }
    const TempDir dir;
    testing::TinyStore bare;
    bare.nodes = 5;
    bare.edges = {{0, 1}, {3, 4}};
    testing::write_store(dir / "s", bare);
    check_round_trip(dir / "s", dir.path(), ample_budget());
  }

  TEST_CASE("a folder that holds something, and a standardized store, are refused") {
    const TempDir dir;
    testing::changed_world(20, 3, 1, false).import(dir / "s");
    fs::create_directory(dir / "full");
    testing::write_file(dir / "full" / "x", "mine");
    const auto refused = [&](const fs::path& folder, const char* words) {
      const StoreReader store(dir / "s", ample_budget());
      CHECK_THROWS_WITH_AS(static_cast<void>(export_all(store, folder)), doctest::Contains(words), UsageError);
    };
    refused(dir / "full", "exists and is not an empty folder");
    refused(dir / "full" / "x", "exists and is not an empty folder");
    Manifest manifest = read_manifest(dir / "s");
    manifest.standardized = true;
    write_manifest(dir / "s", manifest);
    refused(dir / "new", "scaled by statistics of the data");
    CHECK_FALSE(fs::exists(dir / "new"));
  }
}

}  // namespace unweave
