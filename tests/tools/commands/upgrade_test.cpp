// tests/tools/commands/upgrade_test.cpp - `unweave upgrade`: stores of this version, of a later
// one, of before the first release, and the steps between versions.
#include "algorithms/maintenance/upgrade.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engine/graph/store.h"
#include "storage/formats/manifest.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::run;

/// Gives the manifest another version: its checksum is that of the contents alone.
void set_version(const fs::path& store, std::int64_t version) {
  std::string text = testing::read_all(store / "manifest.json");
  const std::string key = "\"version\": ";
  const std::size_t at = text.find(key) + key.size();
  text.replace(at, text.find(',', at) - at, std::to_string(version));
  replace_file(store / "manifest.json", text);
}

/// A step that finds the writer's lock held.
void raise_version(const fs::path& store, MemoryBudget&) {
  CHECK_THROWS_AS(WriterLock(store).require_held(), ResourceError);
  set_version(store, manifest_version(store) + 1);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a store of the present version needs nothing") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    REQUIRE(run({"generate", store, "--model", "sbm", "--scale", "6", "--classes", "2"}).code == 0);
    const auto before = testing::folder_bytes(store);
    const testing::Result said = run({"upgrade", store});
    CHECK(said.code == 0);
    CHECK(said.out ==
          "the store is of the present version, " + std::to_string(kManifestVersion) + ", and needs nothing\n");
    const nlohmann::json json = run({"upgrade", store, "--json"}).json();
    CHECK(json ==
          nlohmann::json{{"upgraded", false}, {"version_before", kManifestVersion}, {"version", kManifestVersion}});
    CHECK(testing::folder_bytes(store) == before);
  }

  TEST_CASE("a store of a later version, and one that no release wrote, are refused and stay") {
    const testing::TempDir dir;
    const fs::path store = dir / "s";
    REQUIRE(run({"generate", store.string(), "--model", "sbm", "--scale", "6", "--classes", "2"}).code == 0);
    const auto refused = [&](std::int64_t version) {
      set_version(store, version);
      const auto before = testing::folder_bytes(store);
      const testing::Result said = run({"upgrade", store.string()});
      CHECK(said.code == 2);
      CHECK(testing::folder_bytes(store) == before);
      return said.error;
    };
    CHECK(refused(kManifestVersion + 1).find("a later unweave wrote it: use that one, or a newer one") !=
          std::string::npos);
    CHECK(refused(11).find("which no release of unweave wrote") != std::string::npos);
    CHECK(refused(11).find("exports by `unweave export " + store.string() + " --all DIR`") != std::string::npos);
    CHECK(run({"upgrade", (dir / "none").string()}).error.find("no store here") != std::string::npos);
    testing::write_file(store / "manifest.json", "{\"format\": \"unweave store\", \"version\": \"x\"}\n");
    CHECK(run({"upgrade", store.string()}).error.find("version: not a whole number") != std::string::npos);
  }

  TEST_CASE("steps lead from a store's version to the present one, each once and under the writer's lock") {
    const testing::TempDir dir;
    const fs::path store = dir / "s";
    testing::build_store(store, testing::random_sample(50, 0.1, 3, 2));
    const std::string present = testing::read_all(store / "manifest.json");
    const std::vector<UpgradeStep> steps{{kManifestVersion - 3, raise_version},
                                         {kManifestVersion - 2, raise_version},
                                         {kManifestVersion - 1, raise_version}};
    for (const std::int64_t back : {0, 1, 2, 3}) {
      set_version(store, kManifestVersion - back);
      const UpgradeReport report = upgrade_store(store, testing::ample_budget(), steps);
      CHECK(report.version_before == kManifestVersion - back);
      CHECK(report.version == kManifestVersion);
      CHECK(testing::read_all(store / "manifest.json") == present);
    }
    // Without a step from its version a store stays as it is.
    set_version(store, kManifestVersion - 2);
    CHECK_THROWS_AS(upgrade_store(store, testing::ample_budget(), std::span(steps).last(1)), DataError);
    CHECK(manifest_version(store) == kManifestVersion - 2);
  }
}

}  // namespace unweave
