// tests/tools/commands/stream_memory_test.cpp - streams whose changed rows are larger than
// --memory.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/process.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using Json = nlohmann::json;
using testing::must;

/// RssAnon of a process that runs the program; 0 when it is gone, or still a copy of this one.
std::uint64_t anonymous_bytes(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  bool is_program = false;
  for (std::string line; std::getline(status, line);) {
    is_program |= line == "Name:\tunweave";
    if (is_program && line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) << 10;
  }
  return 0;
}

/// Runs the program to a good end; returns the most anonymous memory that it was seen with.
std::uint64_t peak_of(const std::vector<std::string>& words, const std::filesystem::path& output) {
  const pid_t process = testing::start_program(words, output);
  std::uint64_t peak = 0;
  siginfo_t ended{};
  while (ended.si_pid == 0) {
    peak = std::max(peak, anonymous_bytes(process));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
  }
  REQUIRE(testing::wait_for(process) == 0);
  REQUIRE(peak > 0);
  return peak;
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("streams keep to --memory, however many rows they push, leave stale or put off") {
    const testing::TempDir folder;
    const std::string store = (folder / "s").string(), requests = (folder / "requests").string();
    must({"generate", store, "--model", "rmat", "--scale", "16", "--features", "96", "--classes", "2", "--seed", "1"});
    must({"propagate", store, "--hops", "2"});
    must({"export", store, "--requests", requests, "--draw", "edge", "--count", "600"});
    const std::vector<std::vector<std::string>> kinds = {
        {"--batch", "100", "--plan", "push"}, {"--batch", "300", "--r-max", "1e-4"}, {"--batch", "150"}};
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      CAPTURE(kind);
      std::vector<std::string> digests;
      for (const std::uint64_t memory : {24U, 1024U}) {  // MiB; a level has 25
        const std::string copy = (folder / ("s" + std::to_string(kind) + "-" + std::to_string(memory))).string();
        std::filesystem::copy(store, copy, std::filesystem::copy_options::recursive);
        std::vector<std::string> words{
            "stream", copy, "--requests", requests, "--memory", std::to_string(memory) + "M", "--threads", "2"};
        words.insert(words.end(), kinds[kind].begin(), kinds[kind].end());
        const std::uint64_t peak = peak_of(words, folder / "out");
        CAPTURE(memory);
        CHECK(peak <= memory << 20);
        if (kind == 0 && memory > 24) CHECK(peak > std::uint64_t{48} << 20);  // the rows did not fit the smaller budget
        digests.push_back(Json::parse(must({"info", copy, "--json"}))["digest"]);
        std::filesystem::remove_all(copy);
      }
      CHECK(digests[0] == digests[1]);
    }
  }

  TEST_CASE("a batch that is too large for --memory is refused before anything is acknowledged") {
    const testing::TempDir folder;
    const std::string store = (folder / "s").string(), requests = (folder / "requests").string();
    must({"generate", store, "--model", "rmat", "--scale", "16", "--features", "16", "--seed", "1"});
    must({"propagate", store, "--hops", "2"});
    {
      std::ofstream lines(requests);
      std::mt19937 random(2);
      for (int i = 0; i < 60'000; ++i) lines << "insert-edge " << random() % 65'536 << ' ' << random() % 65'536 << '\n';
    }
    const std::vector<std::string> words{"stream", store,       "--requests", requests, "--memory",
                                         "24M",    "--threads", "2",          "--batch"};
    const auto with_batch = [&](const char* batch) {
      std::vector<std::string> all = words;
      all.emplace_back(batch);
      return all;
    };
    const testing::Finished refused = testing::run_process(with_batch("60000"));
    CHECK(refused.code == 3);
    CHECK(refused.error.find("--batch") != std::string::npos);
    CHECK(Json::parse(must({"info", store, "--json"}))["acknowledged"] == 0);
    CHECK(peak_of(with_batch("6000"), folder / "out") <= std::uint64_t{24} << 20);
    CHECK(Json::parse(must({"info", store, "--json"}))["acknowledged"] == 60'000);
  }
}

}  // namespace unweave
