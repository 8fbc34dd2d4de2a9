// tests/algorithms/propagation/field_estimate_test.cpp - estimates of the receptive field beside
// the counted one.
#include "algorithms/propagation/field_estimate.h"

#include <doctest/doctest.h>

#include <cmath>

#include "algorithms/live/store_reader.h"
#include "algorithms/propagation/plan.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

/// One node in `each` has a label.
testing::TinyStore sparsely_labelled(NodeId nodes, std::size_t edges, NodeId each, std::uint32_t seed) {
  testing::TinyStore contents = testing::random_store(nodes, edges, 2, seed);
  for (NodeId node = 0; node < contents.nodes; ++node) contents.labels[node] = node % each == each / 2 ? 1 : -1;
  contents.train.clear();
  contents.valid.clear();
  contents.test.clear();
  return contents;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("estimates of the rows and arcs that labelled nodes read lie within four standard errors") {
    for (const NodeId each : {3U, 40U, 2000U}) {
      CAPTURE(each);
      const testing::TempDir folder;
      testing::write_store(folder / "s", sparsely_labelled(40'000, 200'000, each, each));
      const StoreReader store(folder / "s", testing::ample_budget());
      const PropagationPlan exact =
          plan_propagation(store.contents(), testing::tiny_spec(3, false), testing::ample_budget());
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        CAPTURE(seed);
        const FieldEstimate field = estimate_field(store.contents(), 3, 3000, seed);
        CHECK(field.rows[2] == static_cast<double>(exact.rows[2]));
        CHECK(field.arcs[2] == static_cast<double>(exact.arcs[2]));
        CHECK(field.rows_error[2] == 0);
        for (std::size_t l = 0; l < 3; ++l) {
          CAPTURE(l);
          const auto rows = static_cast<double>(exact.rows[l]), arcs = static_cast<double>(exact.arcs[l]);
          // Below level L-1 neighbours whose lists are not read count as independent, which adds a
          // little.
          const double slack = l == 0 ? 0.02 : 0;
          CHECK(std::fabs(field.rows[l] - rows) <= 4 * field.rows_error[l] + slack * rows);
          CHECK(std::fabs(field.arcs[l] - arcs) <= 4 * field.arcs_error[l] + slack * arcs);
          CHECK(field.rows_error[l] <= (each == 2000 ? 0.4 : 0.1) * rows);  // few rows are found by few lists
        }
      }
    }
  }

  TEST_CASE("what is read whole has no error, and nothing is read where nobody or everybody is labelled") {
    const testing::TempDir folder;
    testing::write_store(folder / "few", sparsely_labelled(500, 900, 7, 3));
    const StoreReader few(folder / "few", testing::ample_budget());
    const PropagationPlan exact =
        plan_propagation(few.contents(), testing::tiny_spec(2, false), testing::ample_budget());
    const FieldEstimate all = estimate_field(few.contents(), 2, 100'000);
    CHECK(all.rows[0] == doctest::Approx(static_cast<double>(exact.rows[0])));
    CHECK(all.arcs[0] == doctest::Approx(static_cast<double>(exact.arcs[0])));
    CHECK(all.rows_error[0] == 0);
    testing::write_store(folder / "all", sparsely_labelled(500, 900, 1, 3));
    const StoreReader everybody(folder / "all", testing::ample_budget());
    CHECK(estimate_field(everybody.contents(), 2).rows == std::vector<double>{500, 500});
    testing::write_store(folder / "none", sparsely_labelled(500, 900, 100'000, 3));
    const StoreReader nobody(folder / "none", testing::ample_budget());
    CHECK(estimate_field(nobody.contents(), 2, 50).rows[1] == 0);
    CHECK(estimate_field(nobody.contents(), 2, 50).rows[0] == 0);
  }

  TEST_CASE("a plan of estimated rows has the tiles, memory and disk of the counted one, about") {
    const testing::TempDir folder;
    testing::write_store(folder / "s", sparsely_labelled(40'000, 200'000, 40, 9));
    const StoreReader store(folder / "s", testing::ample_budget());
    const PropagationSpec spec = testing::tiny_spec(2, false);
    MemoryBudget budget(std::uint64_t{64} << 20);
    const PropagationPlan exact = plan_propagation(store.contents(), spec, budget);
    const PropagationPlan estimated = estimate_propagation(store.contents(), spec, budget);
    CHECK(estimated.wanted.empty());
    CHECK(estimated.state.tiles.tiles == exact.state.tiles.tiles);
    const auto near = [](std::uint64_t one, std::uint64_t other) {
      return std::fabs(static_cast<double>(one) / static_cast<double>(other) - 1) < 0.05;
    };
    CHECK(near(estimated.rows[0], exact.rows[0]));
    CHECK(near(estimated.state.state_bytes, exact.state.state_bytes));
    CHECK(near(estimated.state.memory_bytes(), exact.state.memory_bytes()));
  }
}

}  // namespace unweave
