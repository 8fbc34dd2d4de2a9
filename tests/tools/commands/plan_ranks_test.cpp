// tests/tools/commands/plan_ranks_test.cpp - what `plan --ranks` says of a batch and of a training;
// tests/ranks holds it against jobs.
#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::Result;
using testing::run;
using Json = nlohmann::json;

/// Three columns, four classes.
std::string ranked_store(const testing::TempDir& dir) {
  std::string store = (dir / "s").string();
  REQUIRE(run({"generate", store, "--model", "sbm", "--nodes", "2000", "--features", "3", "--classes", "4", "--seed",
               "1", "--quiet"})
              .code == 0);
  REQUIRE(run({"propagate", store, "--hops", "1", "--quiet"}).code == 0);
  return store;
}

class Planned {
 public:
  [[nodiscard]] Result plan(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"plan", store_};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  [[nodiscard]] Json json(std::vector<std::string> more) const {
    more.emplace_back("--json");
    const Result result = plan(more);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
  }
  /// A file of requests.
  [[nodiscard]] std::string requests(const std::string& lines) const {
    testing::write_file(dir_ / "requests", lines);
    return (dir_ / "requests").string();
  }

 private:
  testing::TempDir dir_;
  std::string store_ = ranked_store(dir_);
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("what ranks say for a batch follows from its requests, and goes to each other rank") {
    const Planned store;
    const auto bytes_of = [&](const std::string& lines, const char* ranks) {
      const Json plan = store.json({"--requests", store.requests(lines), "--ranks", ranks});
      CHECK(plan["verbs"] == 4);
      return plan["received_bytes"].get<std::uint64_t>();
    };
    const std::uint64_t one = bytes_of("node 1\n", "2"), two = bytes_of("node 1\nnode 2\n", "2");
    CHECK(bytes_of("node 1\nnode 2\nnode 3\n", "2") == two + (two - one));
    CHECK(bytes_of("node 1 id=seven\n", "2") == one + 5);
    CHECK(bytes_of("node 1\n", "3") == 2 * one);
    const Json plan =
        store.json({"--requests", store.requests("node 1\nnode 2\nnode 3\n"), "--batch", "2", "--ranks", "3"});
    CHECK(plan["batches"] == 2);
    CHECK(plan["requests"] == 2);
    CHECK(plan["rounds"] == 2 + 2 + 1 + 2 * 3);  // two broadcasts, a barrier, and what each says
    CHECK(store.plan({"--requests", store.requests("node 1\n"), "--ranks", "3"}).out.find("a batch of 1 request") !=
          std::string::npos);
  }

  TEST_CASE("what ranks say in a training is sums of its shape") {
    const Planned store;
    const Json plan = store.json({"--solver", "newton", "--ranks", "3"});
    constexpr std::uint64_t kFeatures = 4, kClasses = 4;  // an intercept among them
    const auto sum = [](std::uint64_t bytes) { return 2 * (2 * bytes + 8); };
    CHECK(plan["product"]["received_bytes"] == sum(kFeatures * kClasses * 4));
    CHECK(plan["gradient"]["received_bytes"] == sum((kFeatures * kClasses + 2 * kClasses + 18) * 8));
    for (const char* const pass : {"product", "gradient"}) {
      CHECK(plan[pass]["verbs"] == 1);
      CHECK(plan[pass]["rounds"] == 5);
    }
    const auto rows = plan["rows"].get<std::uint64_t>();
    constexpr std::uint64_t kFactor = kFeatures * (kFeatures + 1) / 2 + 1;  // a triangle, and a number beside it
    CHECK(plan["preconditioner"]["verbs"] == 3 + kClasses);
    CHECK(plan["preconditioner"]["received_bytes"] == 2 * kClasses * (rows * 4 + kFactor * 8));
    CHECK(plan["most_rows_of_a_rank"].get<std::uint64_t>() * 3 >= rows);
    CHECK(plan["most_rows_of_a_rank"].get<std::uint64_t>() < rows);
    CHECK(store.plan({"--solver", "newton", "--ranks", "3"}).out.find("training rows") != std::string::npos);
  }

  TEST_CASE("plans of ranks that are not to be had") {
    const Planned store;
    const auto refused = [&](const std::vector<std::string>& more, const std::string& text) {
      CAPTURE(text);
      const Result result = store.plan(more);
      CHECK(result.code == 1);
      CHECK(result.error.find(text) != std::string::npos);
    };
    const std::string requests = store.requests("node 1\n");
    refused({"--ranks", "4", "--requests", requests}, "3 columns, too few for 4 ranks");
    refused({"--ranks", "0", "--requests", requests}, "--ranks must be at least 1");
    refused({"--ranks", "2", "--requests", requests, "--batch", "0"}, "--batch must be at least 1");
    refused({"--ranks", "2", "--requests", requests, "--solver", "newton"}, "leave out --requests or --solver");
    refused({"--ranks", "2", "--purge"}, "leave out --purge");
    refused({"--ranks", "2", "--exact"}, "--exact");
    refused({"--ranks", "2", "--solver", "rewind"}, "does not train over several ranks");
    refused({"--ranks", "2", "--solver", "newton", "--removed", "2"}, "--removed");
  }
}

}  // namespace unweave
