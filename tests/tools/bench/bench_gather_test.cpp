// tests/tools/bench/bench_gather_test.cpp - the benchmark runs on a small graph and its figures make sense.
#include "tools/bench/bench_gather.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "tools/commands/commands.h"

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("run_bench_gather fills every figure and gives its memory back") {
    const ThreadLimit limit(2);
    MemoryBudget budget(std::uint64_t{1} << 31);
    GatherBenchOptions options;
    options.scale = 8;
    options.features = 20;
    options.repeats = 1;
    const GatherBench bench = run_bench_gather(options, budget);
    CHECK(bench.nodes == 256);
    CHECK(bench.arcs > 256);
    CHECK(bench.arcs < 2 * 16 * 256);
    CHECK(bench.threads == 2);
    CHECK(!bench.vector_target.empty());
    CHECK(bench.triad_bytes_per_second > 1e8);
    CHECK(bench.limit_per_second > 0);
    CHECK(bench.sweep_per_second > 0);
    CHECK(bench.short_sweep_per_second > 0);
    CHECK(bench.tile_width == 20);
    CHECK(budget.used() == 0);
  }

  TEST_CASE("a run for the limit alone takes what gather_limit_bytes() says") {
    GatherBenchOptions options;
    options.scale = 9;
    options.features = 33;
    options.repeats = 1;
    options.limit_only = true;
    MemoryBudget enough(gather_limit_bytes(options)), little(gather_limit_bytes(options) - 1);
    CHECK(run_bench_gather(options, enough).limit_per_second > 0);
    CHECK(enough.peak() == enough.limit());
    CHECK_THROWS_AS((void)run_bench_gather(options, little), ResourceError);
  }

  TEST_CASE("propagate --measure-limit takes a smaller graph, or none, where memory is short" *
            doctest::test_suite("slow")) {
    const testing::TempDir folder;
    testing::TinyStore contents;
    contents.nodes = 1 << 17;
    contents.edges = {{3, 70'000}};
    contents.columns = 1;
    contents.features.assign(contents.nodes, 0.5F);
    testing::write_store(folder / "s", contents);
    const auto run = [&](const std::string& memory, std::string& error) {
      std::ostringstream out, log;
      const int code = run_program(
          all_commands(), {"propagate", (folder / "s").string(), "--measure-limit", "--json", "--memory", memory},
          {out, log, false});
      error = log.str();
      CAPTURE(error);
      REQUIRE(code == 0);
      return nlohmann::json::parse(out.str());
    };
    std::string error;
    const nlohmann::json all = run("256M", error);
    CHECK(all.at("limit_nodes") == 1 << 17);
    CHECK(all.at("limit_ratio").get<double>() > 0);
    CHECK(error.empty());
    const nlohmann::json smaller = run("64M", error);
    CHECK(smaller.at("limit_nodes") == 1 << 16);
    CHECK(smaller.at("limit_ratio").get<double>() > 0);
    CHECK(error.find("measured on a smaller graph, 2^17 nodes") != std::string::npos);
    const nlohmann::json none = run("32M", error);
    CHECK(none.at("limit_nodes").is_null());
    CHECK(none.at("limit_ratio").is_null());
    CHECK(none.at("arc_features_per_second").get<double>() > 0);
    CHECK(error.find("not measured") != std::string::npos);
  }
}

}  // namespace unweave
