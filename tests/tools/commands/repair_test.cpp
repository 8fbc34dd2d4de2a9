// tests/tools/commands/repair_test.cpp - `unweave repair` as programs call it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "storage/formats/manifest.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::read_all;
using testing::Result;
using testing::run;
using testing::write_file;

TEST_SUITE("unit") {
  TEST_CASE("repair: exit code 0 where all could be rebuilt, 2 where something is lost, one line a file") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    testing::write_store(store, testing::random_store(120, 400, 5, 9));
    testing::propagate_store(store, testing::tiny_spec(2, false));
    const std::string digest = run({"info", store, "--json"}).json()["digest"];
    CHECK(run({"repair", store}).out == "nothing is damaged\n");
    const Manifest manifest = read_manifest(store);
    const auto damage = [&](const FileEntry& entry) { testing::flip_middle(dir / "s" / entry.path); };
    for (const auto& entry : {manifest.levels[1].partitions[0], *manifest.levels[1].counts}) damage(entry);
    CHECK(run({"info", store}).code == 2);
    const Result rebuilt = run({"repair", store, "--json"});
    CHECK(rebuilt.code == 0);
    CHECK(rebuilt.json()["ok"] == true);
    CHECK(rebuilt.json()["files"].size() == 2);
    CHECK(rebuilt.json()["files"][0]["lost"] == false);
    CHECK(run({"info", store, "--json"}).json()["digest"] == digest);
    CHECK(run({"verify", store, "--rebuild"}).code == 0);

    damage(manifest.feature_files[0]);
    const Result lost = run({"repair", store});
    CHECK(lost.code == 2);
    CHECK(lost.out.find(manifest.feature_files[0].path + ": lost: restore the file from a copy") != std::string::npos);
    CHECK(lost.error.find(manifest.feature_files[0].path) != std::string::npos);
    // Whoever reads this has called repair, and is not sent there again.
    for (const std::string& said : {lost.out, run({"repair", store, "--json"}).out, rebuilt.out}) {
      CAPTURE(said);
      CHECK(said.find("checksum") != std::string::npos);
      CHECK(said.find("makes anew") == std::string::npos);
      CHECK(said.find("`repair`") == std::string::npos);
      CHECK(said.find("unweave repair") == std::string::npos);
    }
    CHECK(run({"repair", store, "--json"}).json()["ok"] == false);
    CHECK(run({"repair", (dir / "none").string()}).code == 2);
    CHECK(run({"repair"}).code == 1);
  }
}

}  // namespace
}  // namespace unweave
