// tests/algorithms/live/local_lists_test.cpp - whoever opens a store while copies of its lists live
// reads those; then they are gone.
#include "engine/graph/local_lists.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "engine/graph/graph.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("lists are read from their copies, which go with the object; a damaged list is not copied") {
    const TempDir folder;
    const fs::path store = folder / "s", copies = folder / "copies";
    fs::create_directories(copies);
    testing::build_store(store, testing::random_sample(200, 0.03, 5, 3));
    const Manifest manifest = read_manifest(store);
    const fs::path shard = store / manifest.shards.front().path, away = folder / "away";
    {
      const LocalLists lists(store, copies);
      CHECK(!fs::is_empty(copies));
      fs::rename(shard, away);  // nobody needs the store's own
      CHECK(Graph(store, manifest, Changes()).num_edges() == manifest.edges);
      CHECK_THROWS_AS(Graph(folder / "other", manifest, Changes()), DataError);
      fs::rename(away, shard);
    }
    CHECK(fs::is_empty(copies));
    CHECK(LocalLists::folder_of(store, manifest.shards.front()) == store);

    testing::flip_middle(shard);
    CHECK_THROWS_AS(LocalLists(store, copies), DataError);
    CHECK(fs::is_empty(copies));
    CHECK_THROWS_AS(LocalLists(store, folder / "none"), UsageError);
  }
}

}  // namespace unweave
