// tests/tools/commands/import_killed_test.cpp - a killed `import` or `generate`: the same command
// again gives the same store.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "engine/graph/store.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::folder_bytes;
using testing::run_process;

/// A killed process's folder: as start_building() and half of the work leave it, under an order.
void leave_unfinished(const std::filesystem::path& store) {
  { const WriterLock lock = start_building(store); }
  std::filesystem::create_directories(store / "graph" / "by-ids" / "graph");
  for (const char* const folder : {"graph", "graph/by-ids/graph"})
    testing::write_file(store / folder / "0000000000-0123456789abcdef.shard", "half of a shard");
  testing::write_file(store / "manifest.json.new", "{");
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the remains of a killed import are removed, foreign files are not") {
    const testing::TempDir dir;
    const std::string edges = testing::write_file(dir / "e.txt", "0 1\n1 2\n").string();
    const auto fresh = run_process({"import", (dir / "fresh").string(), "--edges", edges});
    REQUIRE(fresh.code == 0);
    const auto expected = folder_bytes(dir / "fresh");
    CHECK_FALSE(expected.contains("unfinished"));

    const std::filesystem::path store = dir / "s";
    leave_unfinished(store);
    REQUIRE(run_process({"import", store.string(), "--edges", edges}).code == 0);
    CHECK(folder_bytes(store) == expected);

    const std::filesystem::path mixed = dir / "mixed";
    leave_unfinished(mixed);
    testing::write_file(mixed / "thesis.txt", "mine");
    const auto mixed_before = folder_bytes(mixed);
    const auto refused = run_process({"import", mixed.string(), "--edges", edges});
    CHECK(refused.code == 1);
    CHECK(refused.error.find("not an empty folder") != std::string::npos);
    CHECK(folder_bytes(mixed) == mixed_before);

    const std::filesystem::path own = dir / "own";  // a user's project, which happens to have these names
    std::filesystem::create_directories(own / "labels");
    testing::write_file(own / "labels" / "mine.txt", "mine");
    testing::write_file(own / "unfinished", "chapters 3 and 4\n");
    const auto before = folder_bytes(own);
    CHECK(run_process({"import", own.string(), "--edges", edges}).code == 1);
    CHECK(folder_bytes(own) == before);

    const std::filesystem::path spooled = dir / "spooled";  // killed between the making of a spool and its unlinking
    leave_unfinished(spooled);
    testing::write_file(spooled / "unweave-spool-a1b2c3", "arcs");
    REQUIRE(run_process({"import", spooled.string(), "--edges", edges}).code == 0);
    CHECK(folder_bytes(spooled) == expected);

    const std::filesystem::path locked = dir / "locked";  // killed between the lock and the mark
    {
      std::filesystem::create_directory(locked);
      testing::write_file(locked / "lock", "");
      testing::write_file(locked / "unfinished", "");
    }
    REQUIRE(run_process({"import", locked.string(), "--edges", edges}).code == 0);
    CHECK(folder_bytes(locked) == expected);

    testing::write_file(store / "unfinished", "");  // killed between the manifest and the removal of the mark
    CHECK(run_process({"import", store.string(), "--edges", edges}).code == 1);
    CHECK(run_process({"verify", store.string()}).code == 0);
  }

  TEST_CASE("a folder that somebody is building is refused until he ends") {
    const testing::TempDir dir;
    {
      const WriterLock lock = start_building(dir / "s");
      CHECK_THROWS_AS((void)start_building(dir / "s"), ResourceError);
      CHECK(run_process({"generate", (dir / "s").string(), "--model", "rmat", "--scale", "5"}).code == 3);
    }
    CHECK(run_process({"generate", (dir / "s").string(), "--model", "rmat", "--scale", "5"}).code == 0);
  }
}

TEST_SUITE("slow") {
  TEST_CASE(
      "kill -9 before calls that change files of an import, under any order; the next one makes the store of one that never was") {
    const testing::TempDir dir;
    std::mt19937 random(1);
    std::string text;
    for (int i = 0; i < 200'000; ++i)
      text += std::to_string(random() % 100'000) + " " + std::to_string(random() % 100'000) + "\n";
    std::vector<float> features(std::size_t{100'000} * 8);
    for (std::size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i % 7) / 100;
    const auto words = [&](const std::string& store, const std::string& order = "none") {
      const std::string memory = order == "none" ? "16M" : "64M";
      return std::vector<std::string>{"import",     (dir / store).string(),
                                      "--edges",    (dir / "e.txt").string(),
                                      "--features", (dir / "x.npy").string(),
                                      "--json",     "--memory",
                                      memory,       "--order",
                                      order};
    };
    testing::write_file(dir / "e.txt", text);
    testing::write_file(dir / "x.npy", testing::npy("<f4", "(100000, 8)", features));
    REQUIRE(run_process(words("fresh")).code == 0);
    const auto expected = folder_bytes(dir / "fresh");
    REQUIRE(run_process(words("ordered", "degree")).code == 0);
    const auto expected_ordered = folder_bytes(dir / "ordered");
    // Later and later, until one comes to its end; every second time the remains of several are
    // taken over. Those of an order are left to an import without.
    int kills = 0;
    for (long call = 1;; call += call / 20 + 1) {
      CAPTURE(call);
      const bool ordered = kills % 3 == 0;
      const int code = testing::run_stopped(words("s", ordered ? "degree" : "none"), {SIGKILL, call}, dir / "out");
      const bool complete = std::filesystem::exists(dir / "s" / "manifest.json");
      if (code == -SIGKILL) ++kills;
      REQUIRE((code == 0 || code == -SIGKILL));
      if (!complete && kills % 2 == 0) continue;
      if (!complete) REQUIRE(run_process(words("s")).code == 0);
      auto files = folder_bytes(dir / "s");
      files.erase("unfinished");  // where the kill came between the manifest and the removal of the mark
      CHECK(files == (complete && ordered ? expected_ordered : expected));
      std::filesystem::remove_all(dir / "s");
      if (code == 0) break;
    }
    CHECK(kills > 5);
  }
}

}  // namespace unweave
