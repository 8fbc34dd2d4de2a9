// tests/tools/plan_test.cpp - what `plan` foresees is what `propagate` then does.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "algorithms/live_store.h"
#include "algorithms/propagate.h"
#include "algorithms/propagation_plan.h"
#include "engine/parallel.h"
#include "support/folder_bytes.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::Result;
using testing::run;

using Json = nlohmann::json;

std::uint64_t bytes_of(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& [name, content] : testing::folder_bytes(folder))
    if (name.ends_with(".sums")) bytes += content.size();
  return bytes;
}

void check_within_twice(double foreseen, double done) {
  CHECK(foreseen < 2 * done);
  CHECK(foreseen > done / 2);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows, tiles and bytes of a plan are those of the propagation, and planning leaves the store alone") {
    const testing::TempDir dir(testing::Where::disk);
    const std::string store = (dir / "s").string();
    REQUIRE(run({"generate", store, "--model", "sbm", "--nodes", "70000", "--edges", "150000", "--features", "24",
                 "--classes", "5"})
                .code == 0);
    for (const std::string rows : {"all", "labelled"}) {
      for (const std::string memory : {"2G", "24M"}) {
        CAPTURE(rows);
        CAPTURE(memory);
        const std::vector<std::string> options{store, "--hops", "3", "--rows", rows, "--memory", memory, "--json"};
        const auto with = [&](const std::string& command) {
          std::vector<std::string> words{command};
          words.insert(words.end(), options.begin(), options.end());
          const Result result = run(words);
          CAPTURE(result.error);
          REQUIRE(result.code == 0);
          return Json::parse(result.out);
        };
        const Json plan = with("plan");
        const Json done = with("propagate");
        const auto kept = plan["rows"].get<std::vector<std::uint64_t>>();
        CHECK(kept.size() == 3);
        CHECK(std::accumulate(kept.begin(), kept.end(), std::uint64_t{0}) == done["rows"]);
        CHECK(plan["tiles"] == done["tiles"]);
        CHECK(plan["fits"] == true);
        CHECK(plan["state_bytes"] == bytes_of(dir / "s" / "state"));
        CHECK(plan["disk_bytes"].get<double>() >= plan["state_bytes"].get<double>());
        CHECK((plan["disk_bytes"] > plan["state_bytes"]) == (plan["tiles"] > 1));
        check_within_twice(plan["disk_bytes"].get<double>(), done["bytes_written"].get<double>());
        for (const char* const field :
             {"seconds_predicted", "sweep_arc_features_per_second", "disk_bytes_per_second"}) {
          CAPTURE(field);
          CHECK(std::isfinite(plan.at(field).get<double>()));
          CHECK(plan.at(field).get<double>() > 0);
        }
      }
    }
    const auto propagated = testing::folder_bytes(dir / "s");
    CHECK(run({"plan", store, "--hops", "2", "--rows", "all"}).code == 0);
    CHECK(testing::folder_bytes(dir / "s") == propagated);
  }

  TEST_CASE("the memory of a plan is what the propagation takes of the budget") {
    const ThreadLimit limit(2);
    const testing::TempDir dir;
    testing::write_store(dir / "s", testing::random_store(40'000, 100'000, 24, 7));
    for (const std::uint64_t mebibytes : {256, 8}) {
      MemoryBudget budget(mebibytes << 20);
      LiveStore store(dir / "s", Access::write, budget);
      const PropagationSpec spec = testing::tiny_spec(2);
      const std::uint64_t foreseen = plan_propagation(store.contents(), spec, budget).state.memory_bytes;
      CHECK((propagate(store, spec, budget, {}).tiles > 1) == (mebibytes == 8));
      check_within_twice(static_cast<double>(foreseen), static_cast<double>(budget.peak()));
    }
  }

  TEST_CASE("without a store or features there is nothing to plan") {
    const testing::TempDir dir(testing::Where::disk);
    const std::string store = (dir / "s").string();
    REQUIRE(run({"generate", store, "--model", "rmat", "--scale", "6", "--features", "0"}).code == 0);
    const Result none = run({"plan", store});
    CHECK(none.code == 2);
    CHECK(none.error.find("has no features") != std::string::npos);
    CHECK(run({"plan", (dir / "missing").string()}).code == 2);
  }
}

}  // namespace unweave
