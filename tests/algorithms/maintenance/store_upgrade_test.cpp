// tests/algorithms/maintenance/store_upgrade_test.cpp - a store as version 4 wrote it comes to the present version with its contents,
// sums and requests.
#include "algorithms/maintenance/store_upgrade.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/verification/verify.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "support/folder_bytes.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::ample_budget;
using testing::TempDir;

const fs::path kGoldenFolder = fs::path(UNWEAVE_SOURCE_DIR) / "tests" / "golden";
constexpr const char* kOldJournal = "after-00000000000000000000.log";

/// The store that the program of that time wrote; its journal lies there, and the manifest does not name it.
void version4_store(const fs::path& store) {
  fs::copy(kGoldenFolder / "version-4", store, fs::copy_options::recursive);
}

/// The store of version 2 or 3 has these very files beside its manifest.
void older_store(const fs::path& store, int version) {
  version4_store(store);
  if (version < 4)
    fs::copy_file(kGoldenFolder / ("version-" + std::to_string(version)) / "manifest.json", store / "manifest.json",
                  fs::copy_options::overwrite_existing);
}

/// Changes the manifest as its writer would have written it.
void rewrite_manifest(const fs::path& store, const std::function<void(Json&)>& change) {
  Json json = Json::parse(testing::read_all(store / "manifest.json"));
  change(json);
  const std::string body = json["contents"].dump();
  json["checksum"] = to_hex(checksum128(std::as_bytes(std::span(body)), {}));
  testing::write_file(store / "manifest.json", json.dump(1) + "\n");
}

std::string upgraded_digest(const fs::path& store) {
  return digest_text(content_digest(LiveStore(store, Access::read, ample_budget(), release_ledger())));
}

}  // namespace

TEST_SUITE("golden") {
  TEST_CASE("a store of version 2, 3 or 4 becomes, byte for byte, the store that is written today") {
    for (const int version : {2, 3, 4}) {
      CAPTURE(version);
      const TempDir dir;
      older_store(dir / "s", version);
      fs::remove_all(dir / "s" / "journal");
      CHECK_THROWS_WITH_AS(static_cast<void>(read_manifest(dir / "s")), doctest::Contains("bring it there by"),
                           DataError);
      const UpgradeReport report = upgrade_store(dir / "s");
      CHECK(report.from == version);
      CHECK(report.to == kManifestVersion);
      CHECK(report.requests == 0);
      CHECK_FALSE(report.had_models);
      auto files = testing::folder_bytes(dir / "s");
      files.erase("lock");
      CHECK(files == testing::folder_bytes(kGoldenFolder / "path"));
      CHECK(upgraded_digest(dir / "s") == "9c40cfab28e0b7f8419255d66513cdeca748f09efce5fd2a5838ef1fda441e71");
      CHECK(upgrade_store(dir / "s").from == kManifestVersion);
    }
  }

  TEST_CASE("requests of its journal are replayed to the bits that they give today") {
    for (const int version : {2, 3, 4}) {
      CAPTURE(version);
      const TempDir dir;
      older_store(dir / "s", version);
      rewrite_manifest(dir / "s", [](Json& json) { json["contents"]["journal"] = kOldJournal; });
      CHECK(upgrade_store(dir / "s").requests == 3);
      CHECK_FALSE(fs::exists(dir / "s" / "journal" / kOldJournal));
      fs::copy(kGoldenFolder / "path", dir / "now", fs::copy_options::recursive);
      {
        LiveStore now(dir / "now", Access::write, ample_budget(), release_ledger());
        const std::vector<Request> first{{RequestKind::remove_edge, 0, 1}, {RequestKind::remove_node, 2, 0}};
        const std::vector<Request> second{{RequestKind::insert_edge, 1, 2}};
        now.apply(first, now.resolve(first), {});
        now.apply(second, now.resolve(second), {0.001, ThresholdScale::paper});
      }
      CHECK(upgraded_digest(dir / "s") == upgraded_digest(dir / "now"));
      CHECK(LiveStore(dir / "s", Access::read, ample_budget(), release_ledger()).sequence() == 3);
      CHECK(testing::text_of(verify_store(dir / "s", {}, ample_budget())) == "");
    }
  }
}

TEST_SUITE("unit") {
  TEST_CASE("what is damaged or of another time is told in one line, and nothing changes") {
    const TempDir dir;
    int turn = 0;
    const auto refused = [&](const std::string& words, const std::function<void(const fs::path&)>& damage) {
      CAPTURE(words);
      const fs::path store = dir / std::to_string(turn++);
      version4_store(store);
      rewrite_manifest(store, [](Json& json) { json["contents"]["journal"] = kOldJournal; });
      damage(store);
      const std::string before = testing::read_all(store / "manifest.json");
      CHECK_THROWS_WITH_AS(static_cast<void>(upgrade_store(store)), doctest::Contains(words.c_str()), DataError);
      CHECK(testing::read_all(store / "manifest.json") == before);
    };
    const auto journal = [](const fs::path& store) { return store / "journal" / kOldJournal; };
    refused("checksum", [](const fs::path& store) {
      std::string text = testing::read_all(store / "manifest.json");
      text[text.find("\"edges\": 2") + 9] = '3';
      testing::write_file(store / "manifest.json", text);
    });
    refused("layout", [](const fs::path& store) {
      testing::write_file(store / "manifest.json", testing::read_all(store / "manifest.json") + " ");
    });
    refused("version 1",
            [](const fs::path& store) { rewrite_manifest(store, [](Json& json) { json["version"] = 1; }); });
    refused("labels-a898393b9bf07557.labels",
            [](const fs::path& store) { testing::flip_middle(store / "labels" / "labels-a898393b9bf07557.labels"); });
    refused("version 99, this program reads version 5 to 11; use the unweave that wrote it; its",
            [](const fs::path& store) { rewrite_manifest(store, [](Json& json) { json["version"] = 99; }); });
    refused("a member is missing", [](const fs::path& store) {
      rewrite_manifest(store, [](Json& json) { json["contents"].erase("journal"); });
    });
    refused("not a plain file name", [](const fs::path& store) {
      rewrite_manifest(store, [](Json& json) { json["contents"]["journal"] = "../x"; });
    });
    refused("a record is damaged", [&](const fs::path& store) {
      std::string bytes = testing::read_all(journal(store));
      bytes[70] ^= 1;
      testing::write_file(journal(store), bytes);
    });
    refused("a crash cut it short", [&](const fs::path& store) {
      const std::string bytes = testing::read_all(journal(store));
      testing::write_file(journal(store), bytes.substr(0, bytes.size() - 3));
    });
    refused("not the journal of this store", [&](const fs::path& store) {
      std::string bytes = testing::read_all(journal(store));
      bytes[24] ^= 1;
      testing::write_file(journal(store), bytes);
    });
    refused("a purge of this store was interrupted",
            [](const fs::path& store) { testing::write_file(store / "purge", "A purge of this store has begun.\n"); });
  }

  TEST_CASE("a streamed store may have had a threshold, and models are to be trained again") {
    const TempDir dir;
    version4_store(dir / "s");
    rewrite_manifest(dir / "s", [](Json& json) { json["contents"]["sequence"] = 4; });
    testing::write_file(dir / "s" / "journal" / kOldJournal, "");
    fs::create_directory(dir / "s" / "models");
    testing::write_file(dir / "s" / "models" / "newton.model", "weights");
    CHECK(upgrade_store(dir / "s").had_models);
    CHECK(read_manifest(dir / "s").lazy);
    CHECK(read_manifest(dir / "s").sequence == 4);
  }
}

}  // namespace unweave
