// tests/tools/commands/limits_test.cpp - what the caller limits or takes away: descriptors, address
// space, sizes of files.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "storage/formats/manifest.h"
#include "support/input_files.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

/// A limit of this process and its children as long as it lives.
class Limit {
 public:
  Limit(__rlimit_resource_t resource, rlim_t most) : resource_(resource) {
    REQUIRE(::getrlimit(resource, &before_) == 0);
    const rlimit limit{most, before_.rlim_max};
    REQUIRE(::setrlimit(resource, &limit) == 0);
  }
  ~Limit() { ::setrlimit(resource_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource_t resource_;
  rlimit before_{};
};

/// A store of a path of nodes, and requests for some of its edges.
struct SmallStore {
  explicit SmallStore(const std::filesystem::path& dir)
      : store((dir / "s").string()), requests((dir / "requests").string()) {
    std::string edges, lines;
    for (int i = 0; i < 4000; ++i) edges += std::to_string(i) + " " + std::to_string(i + 1) + "\n";
    for (int i = 0; i < 40; ++i) lines += "edge " + std::to_string(50 * i) + " " + std::to_string(50 * i + 1) + "\n";
    testing::write_file(dir / "edges", edges);
    testing::write_file(requests, lines);
    REQUIRE(testing::run_process({"import", store, "--edges", (dir / "edges").string()}).code == 0);
  }
  std::string store, requests;
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("standard streams that are closed do not become files of the store") {
    const testing::TempDir dir;
    struct Call {
      std::string redirections;
      bool ends_well;
    };
    for (const Call& call :
         {Call{"<&- >&- 2>/dev/null", false}, Call{">&- 2>/dev/null", false}, Call{"<&- >/dev/null", true},
          Call{"2>&- >/dev/null", true}, Call{"<&- >&- 2>&-", false}}) {
      CAPTURE(call.redirections);
      std::filesystem::remove_all(dir / "s");
      const SmallStore small(dir.path());
      const std::string words =
          std::string(UNWEAVE_BINARY) + " stream " + small.store + " --requests " + small.requests;
      CHECK((std::system((words + " --batch 10 --json " + call.redirections).c_str()) == 0) == call.ends_well);
      CHECK(std::filesystem::file_size(dir / "s/lock") == 0);
      CHECK(testing::run_process({"verify", small.store}).code == 0);
      testing::write_file(dir / "s/lock", "{}");
      CHECK(testing::run_process({"verify", small.store}).code == 2);
    }
  }

  TEST_CASE("a limit of file sizes is an error like a full disk") {
    const testing::TempDir dir;
    const SmallStore small(dir.path());
    testing::Finished done;
    {
      const Limit size(RLIMIT_FSIZE, 4096);
      done = testing::run_process({"import", (dir / "t").string(), "--edges", (dir / "edges").string()});
    }
    CHECK(done.code == 3);
    CHECK(done.error.find("raise the limit of file sizes") != std::string::npos);
    CHECK(!std::filesystem::exists(dir / "t/manifest.json"));
  }

  TEST_CASE("a folder for temporary files that is missing hinders nobody who needs none, and is named to others") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), gone = (dir / "gone").string();
    testing::must({"generate", store, "--model", "sbm", "--nodes", "500", "--features", "8", "--quiet"});
    testing::must({"propagate", store, "--quiet"});
    const char* const set = std::getenv("TMPDIR");
    const std::string before = set == nullptr ? "" : set;
    ::setenv("TMPDIR", gone.c_str(), 1);
    for (const std::string command : {"info", "plan", "train", "evaluate", "verify"}) {
      CAPTURE(command);
      CHECK(testing::run_process({command, store}).code == 0);
    }
    const testing::Finished audited = testing::run_process({"audit", store, "--canary", "hub", "--trials", "16"});
    before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
    CHECK(audited.code != 0);
    CHECK(audited.error.find(gone + ": there is no such folder") != std::string::npos);
  }

  TEST_CASE("a stream that finds no room at its end says that its requests are not to be sent again") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), requests = (dir / "requests").string();
    testing::must(
        {"generate", store, "--model", "sbm", "--nodes", "4000", "--edges", "20000", "--features", "32", "--quiet"});
    testing::must({"propagate", store, "--hops", "2", "--quiet"});
    testing::must({"export", store, "--requests", requests, "--draw", "edge", "--count", "40"});
    testing::Finished done;
    {
      const Limit size(RLIMIT_FSIZE, 1 << 16);
      done = testing::run_process({"stream", store, "--requests", requests});
    }
    CAPTURE(done.error);
    CHECK(done.code == 3);
    CHECK(done.error.find("; send no request of " + requests + " again, even where the command is to be run again") !=
          std::string::npos);
    CHECK(testing::info_of(dir / "s")["acknowledged"] == 40);
    testing::must({"verify", store, "--quiet"});
  }
}

TEST_SUITE("slow") {
  TEST_CASE("little address space is no reason not to end") {
    const testing::TempDir dir;
    const SmallStore small(dir.path());
    const std::string words =
        "ulimit -v 204800 && exec timeout 300 " UNWEAVE_BINARY " info " + small.store + " > /dev/null";
    CHECK(std::system(words.c_str()) == 0);
  }

  TEST_CASE("a store of hundreds of files needs few descriptors and little address space") {
    constexpr std::size_t kNodes = 4'500'000;  // 69 shards, files of features and partitions of each level
    const testing::TempDir dir;
    std::mt19937 random(1);
    std::string edges, requests;
    for (int i = 0; i < 20'000; ++i) {
      const std::string edge = std::to_string(random() % kNodes) + " " + std::to_string(random() % kNodes) + "\n";
      edges += edge;
      if (i % 100 == 0) requests += "edge " + edge;
    }
    testing::write_file(dir / "edges", edges);
    testing::write_file(dir / "requests", requests);
    testing::write_file(dir / "x.npy",
                        testing::npy("<f4", "(" + std::to_string(kNodes) + ", 1)", std::vector<float>(kNodes, 0.5F)));
    const std::string store = (dir / "s").string();
    const std::vector<std::vector<std::string>> commands = {
        {"import", store, "--edges", (dir / "edges").string(), "--features", (dir / "x.npy").string(), "--nodes",
         std::to_string(kNodes)},
        {"propagate", store, "--hops", "2", "--rows", "all"},
        {"stream", store, "--requests", (dir / "requests").string(), "--batch", "50"},
        {"verify", store},
        {"export", store, "--embeddings", (dir / "z.npy").string(), "--edges", (dir / "e.npy").string()},
        {"purge", store},
    };
    const Limit descriptors(RLIMIT_NOFILE, 32), space(RLIMIT_AS, rlim_t{2} << 30);
    for (std::vector<std::string> words : commands) {
      words.insert(words.end(), {"--memory", "256M", "--threads", "2"});
      const testing::Finished done = testing::run_process(words);
      CAPTURE(words[0]);
      CAPTURE(done.error);
      CHECK(done.code == 0);
      if (words[0] == "propagate") CHECK(read_manifest(store).files().size() > 250);
    }
  }
}

}  // namespace unweave
