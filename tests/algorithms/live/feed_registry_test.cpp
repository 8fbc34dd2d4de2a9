// tests/algorithms/live/feed_registry_test.cpp - the list of a store's feeds, written by whoever
// made the store: what is looked at where it points to, and what is told of it.
#include "algorithms/live/feed_registry.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "storage/io/message.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;
using testing::write_file;

/// A feed of 3 entries that ends at request 7, and a reader that has taken 1.
void write_feed(const fs::path& folder, const std::string& reader = "index") {
  fs::create_directories(folder / "readers");
  write_file(folder / "changes.jsonl", "{\"entry\":3,\"sequence\":7}\n");
  write_file(folder / "readers" / reader, "1\n");
}

struct World {
  TempDir folder;
  fs::path store = folder / "s";
  World() { fs::create_directories(store / "certificates"); }
  [[nodiscard]] std::vector<std::string> lags_of(const std::string& list) const {
    write_file(store / kFeedList, list);
    std::vector<std::string> shown;
    for (const std::string& lag : lagging_feeds(store, 9)) shown.push_back(plain(lag));
    return shown;
  }
};

bool has(const std::vector<std::string>& texts, const std::string& part) {
  for (const std::string& text : texts)
    if (text.find(part) != std::string::npos) return true;
  return false;
}

TEST_SUITE("unit") {
  TEST_CASE("the command that brings a feed up to date is one that a shell reads as it is meant") {
    const World world;
    const fs::path feed = world.folder / "x; touch PWNED #";
    write_feed(feed);
    const std::vector<std::string> lags = world.lags_of(feed.string() + "\n");
    CHECK(has(lags, "changes='" + feed.string() + "'"));
    CHECK(has(lags, ": the reader index has yet to take entries 2 to 3"));
  }

  TEST_CASE("a line that register_feed() would not write leads nowhere") {
    const World world;
    write_feed(world.folder / "elsewhere");
    const std::string absolute = (world.folder / "elsewhere").string();
    for (const std::string& line : {std::string("elsewhere"), std::string("../elsewhere"), std::string(),
                                    absolute + "/../elsewhere", absolute + '\0' + "x", std::string("~/elsewhere")}) {
      CAPTURE(line);
      const std::vector<std::string> lags = world.lags_of(line + "\n");
      REQUIRE(lags.size() == 1);
      CHECK(has(lags, "no absolute path of a feed of changes"));
      CHECK_FALSE(has(lags, "index"));
    }
  }

  TEST_CASE("no link is followed, nothing but a file is opened, and names that are no words are not told") {
    const World world;
    write_feed(world.folder / "real", "a b\x1b[31m");
    fs::create_directories(world.folder / "linked");
    fs::create_symlink(world.folder / "real" / "changes.jsonl", world.folder / "linked" / "changes.jsonl");
    CHECK(has(world.lags_of((world.folder / "linked").string() + "\n"), "it is a link"));
    fs::create_directories(world.folder / "pipe");
    REQUIRE(::mkfifo((world.folder / "pipe" / "changes.jsonl").c_str(), 0600) == 0);
    CHECK(has(world.lags_of((world.folder / "pipe").string() + "\n"), "it is not a regular file"));
    const std::vector<std::string> lags = world.lags_of((world.folder / "real").string() + "\n");
    CHECK(has(lags, ": a reader has yet to take entries 2 to 3"));
    CHECK_FALSE(has(lags, "a b"));
  }
}

}  // namespace
}  // namespace unweave
