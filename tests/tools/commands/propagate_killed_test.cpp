// tests/tools/commands/propagate_killed_test.cpp - `propagate` that is killed, and jobs of it at
// the same time: the bytes of one process that nobody disturbs.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "support/folder_bytes.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::run_process;
using testing::start_program;
using testing::wait_for;

std::map<std::string, std::string> bytes_of_store(const fs::path& store) {
  auto files = testing::folder_bytes(store);
  files.erase("lock");
  return files;
}

void make_store(const fs::path& store) {
  testing::must({"generate", store.string(), "--model", "rmat", "--scale", "17", "--features", "40", "--quiet"});
}

std::vector<std::string> command(const fs::path& store, const std::vector<std::string>& options) {
  std::vector<std::string> words{"propagate", store.string(), "--hops", "4", "--quiet"};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

void fresh_copy(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("killed before any call that changes files and given again, it ends with the bytes of one that was not") {
    const testing::TempDir dir(testing::Where::disk);
    make_store(dir / "imported");
    std::mt19937 random(7);
    const std::vector<std::vector<std::string>> ways{{"--rows", "all", "--memory", "44M"},
                                                     {"--rows", "all", "--memory", "1G"},
                                                     {"--memory", "30M"},
                                                     {"--rows", "all", "--keep", "embedding", "--memory", "44M"}};
    for (const auto& options : ways) {
      CAPTURE(options.back());
      fresh_copy(dir / "imported", dir / "one");
      const long calls = testing::calls_of(command(dir / "one", options));
      const auto expected = bytes_of_store(dir / "one");
      for (int round = 0; round < 4; ++round) {
        fresh_copy(dir / "imported", dir / "s");
        bool is_begun = false;
        for (const int signal : {SIGKILL, SIGTERM, SIGKILL}) {
          // The second and third one go on with what is there, and may have fewer calls to make.
          const long call = 1 + static_cast<long>(random()) % (calls * 9 / 10);
          const int code = testing::run_stopped(command(dir / "s", options), {signal, call}, dir / "out");
          CAPTURE(call);
          REQUIRE((code == -signal || (code == 0 && is_begun)));
          is_begun = true;
        }
        testing::must(command(dir / "s", options));
        CHECK(bytes_of_store(dir / "s") == expected);
      }
    }
  }

  TEST_CASE("workers at the same time, one of which is killed, claim all jobs") {
    const testing::TempDir dir(testing::Where::disk);
    make_store(dir / "imported");
    fresh_copy(dir / "imported", dir / "one");
    testing::must(command(dir / "one", {"--rows", "all"}));
    const auto expected = bytes_of_store(dir / "one");
    fresh_copy(dir / "imported", dir / "s");
    const std::vector<std::string> worker{"--rows", "all", "--tiles", "5", "--memory", "200M"};
    std::vector<pid_t> workers;
    for (int i = 0; i < 3; ++i) workers.push_back(start_program(command(dir / "s", worker), dir / std::to_string(i)));
    // Somebody does a job that may be another's at this time, too.
    CHECK(run_process(command(dir / "s", {"--rows", "all", "--tile", "0/5"})).code == 0);
    ::kill(workers[0], SIGKILL);
    for (const pid_t one : workers) static_cast<void>(wait_for(one));
    const nlohmann::json last =
        nlohmann::json::parse(testing::must(command(dir / "s", {"--rows", "all", "--tiles", "5", "--json"})));
    CHECK(last["jobs_busy"] == 0);
    CHECK(last["missing"].empty());
    const nlohmann::json info = testing::info_of(dir / "s");
    CHECK(info["bytes"]["tiles"] > 0);
    testing::must({"verify", (dir / "s").string()});
    testing::must(command(dir / "s", {"--rows", "all", "--assemble"}));
    CHECK(bytes_of_store(dir / "s") == expected);
    CHECK_FALSE(testing::info_of(dir / "s")["bytes"].contains("tiles"));
  }

  TEST_CASE("a propagation that goes on with parts of another one tells no rate of arcs, since it summed fewer") {
    const testing::TempDir dir;
    make_store(dir / "s");
    const auto told = [&](const std::vector<std::string>& options) {
      std::vector<std::string> words = command(dir / "s", options);
      words.emplace_back("--json");
      return nlohmann::json::parse(testing::must(words));
    };
    CHECK(told({"--rows", "all"})["arc_features_per_second"] > 0);
    testing::must(command(dir / "s", {"--rows", "all", "--rho", "0.25", "--tile", "0/2"}));
    CHECK(told({"--rows", "all", "--rho", "0.25"})["arc_features_per_second"].is_null());
  }

  TEST_CASE("words that name no job are refused with what they should be") {
    const testing::TempDir dir;
    testing::must({"generate", (dir / "s").string(), "--model", "sbm", "--nodes", "100", "--features", "4", "--quiet"});
    const auto refused = [&](const std::vector<std::string>& options) {
      const testing::Finished ended = run_process(command(dir / "s", options));
      CHECK(ended.code == 1);
      return ended.error;
    };
    for (const std::string word : {"", "1", "a/b", "1/", "/2", "-1/2", "1/2/3"})
      CHECK(refused({"--tile", word}).find("i/N, such as 0/8") != std::string::npos);
    CHECK(refused({"--tile", "2/2"}).find("0 to 1") != std::string::npos);
    CHECK(refused({"--tile", "0/5"}).find("4 columns") != std::string::npos);
    CHECK(refused({"--tiles", "2", "--tile", "0/2"}).find("exclude each other") != std::string::npos);
    CHECK(refused({"--tile", "0/2", "--assemble"}).find("does not go with") != std::string::npos);
    CHECK(refused({"--assemble"}).find("--tile") != std::string::npos);
    CHECK(refused({"--assemble", "--restart"}).find("exclude each other") != std::string::npos);
    testing::must(command(dir / "s", {"--tile", "0/2"}));
    const testing::Finished other = run_process({"propagate", (dir / "s").string(), "--hops", "1"});
    CHECK(other.code == 1);
    CHECK(other.error.find("--restart") != std::string::npos);
    testing::must({"propagate", (dir / "s").string(), "--hops", "1", "--restart"});
    CHECK_FALSE(fs::exists(dir / "s" / "tiles"));
  }
}

}  // namespace unweave
