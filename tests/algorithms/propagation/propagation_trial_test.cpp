// tests/algorithms/propagation/propagation_trial_test.cpp - a trial stays within the memory that it reserves, and gives it back.
#include "algorithms/propagation/propagation_trial.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/live/live_store.h"
#include "algorithms/models/recorded_release.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/special_values.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::kPlenty;

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a trial reserves tiles, workers, masks and ranks") {
    constexpr NodeId kNodes = 20'000;
    constexpr std::uint32_t kColumns = 6;
    const testing::TempDir folder;
    testing::write_store(folder / "s", testing::random_store(kNodes, 20'000, kColumns, 3));
    const LiveStore store(folder / "s", Access::read, testing::ample_budget(), release_ledger());
    const ThreadLimit limit(1);
    for (const bool all_rows : {true, false}) {
      CAPTURE(all_rows);
      const PropagationSpec spec = testing::tiny_spec(3, all_rows);
      const PropagationPlan plan = plan_propagation(store.contents(), spec, testing::ample_budget());
      REQUIRE(plan.state.tiles.width == kColumns);
      MemoryBudget budget(kPlenty);
      const PropagationTrial trial = try_propagation(store.contents(), spec, plan, budget);
      CHECK(trial.sweep_seconds > 0);
      const auto tile = [](std::uint64_t rows) { return HugeBuffer::charge((rows * kColumns + kTilePadding) * 4); };
      // In the middle level of labelled rows, ranks of those read and of those left to the next.
      CHECK(budget.peak() == tile(kNodes) + tile(plan.rows.front()) + RowMask::bytes(kNodes) +
                                 (all_rows ? 1 : 2) * RowRanks::bytes(kNodes) +
                                 sweep_worker_bytes(block_source(store.contents().graph()), kColumns));
      CHECK(budget.used() == 0);
    }
  }

  TEST_CASE("rows of level 0 are read as wide as a tile, of many columns fewer at a time") {
    constexpr NodeId kNodes = 300;
    for (const std::uint32_t columns : {3U, 5000U}) {
      CAPTURE(columns);
      const testing::TempDir folder;
      testing::write_store(folder / "s", testing::random_store(kNodes, 500, columns, 3));
      const LiveStore store(folder / "s", Access::read, testing::ample_budget(), release_ledger());
      const PropagationSpec spec = testing::tiny_spec(1);
      PropagationPlan plan = plan_propagation(store.contents(), spec, testing::ample_budget());
      for (const std::uint64_t width : {columns, columns / 3}) {
        plan.state.tiles.width = width;
        const std::uint64_t rows = width < 64 ? 4096 : (std::uint64_t{1} << 18) / width;
        for (const std::size_t threads : {1U, 3U}) {
          const ThreadLimit limit(threads);
          const std::uint64_t needed = threads * rows * width * 8;
          MemoryBudget enough(kPlenty), less(needed - 1);
          CHECK(std::isfinite(try_propagation(store.contents(), spec, plan, enough).read_seconds));
          const std::uint64_t tile = HugeBuffer::charge((kNodes * width + kTilePadding) * 4);
          const std::uint64_t worker = sweep_worker_bytes(block_source(store.contents().graph()), width);
          CHECK(enough.peak() >= needed);
          CHECK(enough.peak() <= std::max(needed, tile + RowMask::bytes(kNodes) + threads * worker));
          CHECK_THROWS_AS(static_cast<void>(try_propagation(store.contents(), spec, plan, less)), ResourceError);
        }
      }
    }
  }

  TEST_CASE("without levels only the norms of the columns are tried, without nodes nothing") {
    testing::TinyStore none;
    none.columns = 3;
    for (const testing::TinyStore& contents : {testing::path_of_three(), none}) {
      const testing::TempDir folder;
      testing::write_store(folder / "s", contents);
      const LiveStore store(folder / "s", Access::read, testing::ample_budget(), release_ledger());
      const PropagationSpec spec = testing::tiny_spec(0);
      const PropagationPlan plan = plan_propagation(store.contents(), spec, testing::ample_budget());
      MemoryBudget nothing(0);
      const PropagationTrial trial = try_propagation(store.contents(), spec, plan, nothing);
      CHECK(std::isfinite(trial.read_seconds));  // no quotient of zeros
      CHECK(trial.sweep_seconds == 0);
    }
  }
}

}  // namespace unweave
