// tests/bench/limits/bench_gather_test.cpp - the benchmark runs on a small graph and its figures
// make sense.
#include "bench/limits/bench_gather.h"

#include <doctest/doctest.h>

#include <string>

#include "engine/resources/parallel.h"

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
}

}  // namespace unweave
