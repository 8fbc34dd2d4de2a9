// tests/tools/commands/upgrade_test.cpp - `unweave upgrade`, and `export --all` with the import that takes it back, as users call
// them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "storage/formats/manifest.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/process.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::run;

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("upgrade: a store of version 4 says what it needs, and is read afterwards") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    fs::copy(fs::path(UNWEAVE_SOURCE_DIR) / "tests" / "golden" / "version-4", store, fs::copy_options::recursive);
    const testing::Result before = run({"info", store});
    CHECK(before.code == 2);
    CHECK(before.error.find(
              "the store has version 4, this program reads version 5 to 11; bring it there by `unweave upgrade " +
              store + "`") != std::string::npos);
    const testing::Result upgraded = run({"upgrade", store, "--json"});
    CHECK(upgraded.code == 0);
    CHECK(upgraded.json()["upgraded"] == true);
    CHECK(upgraded.json()["from"] == 4);
    CHECK(upgraded.json()["to"] == kManifestVersion);
    CHECK(run({"verify", store, "--rebuild"}).code == 0);
    CHECK(run({"upgrade", store}).out == "version 5 already\n");
    CHECK(run({"upgrade", (dir / "none").string()}).code == 2);
    CHECK_FALSE(fs::exists(dir / "none"));
    CHECK(run({"upgrade"}).code == 1);
  }

  TEST_CASE("export --all: import.txt makes the store again, whose digest is equal") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), all = (dir / "all").string(), again = (dir / "again").string();
    testing::write_store(store, testing::random_store(80, 300, 4, 5));
    testing::write_file(dir / "r",
                        "node 3\nset-feature 5 0.5 0 0.25 0\nset-label 7 1\nmove-split 7 train\nfeature 9\n");
    REQUIRE(run({"stream", store, "--requests", (dir / "r").string()}).code == 0);
    const testing::Result exported = run({"export", store, "--all", all});
    CHECK(exported.error == "");
    REQUIRE(exported.code == 0);
    const std::string text = testing::read_all(fs::path(all) / "import.txt");
    CHECK(text.ends_with("\n" + exported.out));
    std::vector<std::string> words;
    std::istringstream in(exported.out);
    for (std::string word; in >> word;) {
      // The command is to be given in the folder; here its files get their whole names.
      for (const char* key : {"train=", "valid=", "test=", "indptr=", "indices=", "values="})
        for (std::size_t at = word.find(key); at != std::string::npos; at = word.find(key, at + 1))
          word.insert(at + std::string(key).size(), all + "/");
      if (word == "edges.npy" || word == "features.npy" || word == "labels.npy") word = all + "/" + word;
      words.push_back(word == "STORE" ? again : word);
    }
    REQUIRE(words.front() == "unweave");
    words.erase(words.begin());
    CHECK(run(words).code == 0);
    CHECK(run({"info", again, "--json"}).json()["digest"] == run({"info", store, "--json"}).json()["digest"]);
    CHECK(run({"export", store, "--all", all}).code == 1);
    CHECK(run({"export", store, "--all", (dir / "s" / "in").string()}).code == 1);
    CHECK(run({"export", store, "--all", (dir / "new").string(), "--labels", "-"}).code == 1);
  }
}

}  // namespace unweave
