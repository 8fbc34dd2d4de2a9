// tests/algorithms/propagation/propagation_forecast_test.cpp - what a prediction charges: disk,
// cache, threads and tiles.
#include "algorithms/propagation/propagation_forecast.h"

#include <doctest/doctest.h>

#include "algorithms/live/store_reader.h"
#include "algorithms/propagation/plan.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

MachineProfile plain_machine() {
  MachineProfile machine;
  machine.disk = {1e9, 1e9, 5e4, 1e-3};
  machine.measured_at = 1;
  for (const std::uint64_t buffer : {std::uint64_t{1} << 20, std::uint64_t{512} << 20})
    for (const std::uint32_t row : {64U, 128U, 256U, 512U}) machine.fetches.push_back({buffer, row, row * 5e-11});
  return machine;
}

/// A graph of a million nodes, warm.
PropagationWork warm_work() {
  PropagationWork work;
  work.nodes = 1e6;
  work.terms = 2e7;
  work.rows = {1e6, 1e6};
  work.arcs = {2e7, 2e7};
  work.columns = work.tile_columns = 64;
  work.graph_bytes = 5e7;
  work.feature_bytes = 2.56e8;
  work.state_bytes = 5.12e8;
  work.write_buffer_bytes = 6.4e7;
  work.decode_seconds = 2e-9;
  work.threads = 2;
  return work;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("bytes that are not in memory cost what the disk needs, once where the cache holds them, else each pass") {
    const MachineProfile machine = plain_machine();
    PropagationWork work = warm_work();
    const PropagationSeconds warm = predict_propagation(work, machine);
    CHECK(warm.cone == 0);
    CHECK_FALSE(warm.waits_for_disk);
    // Sums that fill the next tile are read meanwhile, and put in their places by the threads.
    PropagationWork refilled = work;
    refilled.refill_bytes = 64e6;
    CHECK_FALSE(predict_propagation(refilled, machine).waits_for_disk);
    refilled.refill_bytes = 1e10;
    CHECK(predict_propagation(refilled, machine).waits_for_disk);
    work.graph_resident = work.features_resident = 0;
    const PropagationSeconds cold = predict_propagation(work, machine);
    CHECK(cold.fill > warm.fill);
    CHECK(cold.sweep == warm.sweep);
    work.graph_bytes = 5e9;
    work.free_memory = 1e9;
    const PropagationSeconds large = predict_propagation(work, machine);
    CHECK(large.sweep == doctest::Approx(2 * 5));  // each level reads all of it
    CHECK(large.waits_for_disk);
    MachineProfile memory = machine;
    memory.is_memory = true;
    CHECK(predict_propagation(work, memory).sweep < 1);
  }

  TEST_CASE("labelled rows have a pass before, and tiles of few columns read the graph as many times") {
    const MachineProfile machine = plain_machine();
    PropagationWork work = warm_work();
    work.all_rows = false;
    CHECK(predict_propagation(work, machine).cone > 0);
    work.all_rows = true;
    const double one = predict_propagation(work, machine).sweep;
    work.tiles = 4;
    work.tile_columns = 16;
    work.spooled_bytes = work.state_bytes;
    const double spooled = predict_propagation(work, machine).sweep;
    CHECK(spooled > one);
    work.refill_bytes = 2.56e8;  // nothing goes on while they are read
    CHECK(predict_propagation(work, machine).sweep == doctest::Approx(spooled + 0.256));
    work.refill_bytes = 0;
    work.rows.clear();
    work.arcs.clear();
    CHECK(predict_propagation(work, machine).sweep == 0);
  }

  TEST_CASE("rows that were used shortly before are fetched from a cache") {
    MachineProfile machine = plain_machine();
    for (std::size_t i = 4; i < machine.fetches.size(); ++i) machine.fetches[i].seconds *= 10;
    const double far = row_seconds(machine, 1e6, 256, {0, 0, 0});
    const double near = row_seconds(machine, 1e6, 256, {0.5, 0.7, 0.9});
    CHECK(near < far);
    CHECK(row_seconds(machine, 1000, 256, {0, 0, 0}) == doctest::Approx(machine.fetch_seconds(256e3, 256)));
  }

  TEST_CASE("a survey of a store has its sizes, and what was just written lies in memory") {
    const testing::TempDir folder;
    testing::write_store(folder / "s", testing::random_store(5'000, 20'000, 6, 4));
    const StoreReader store(folder / "s", testing::ample_budget());
    const PropagationSpec spec = testing::tiny_spec(2);
    PropagationWork work = survey_store(folder / "s", store.manifest(), store.contents(), spec);
    CHECK(work.nodes == 5'000);
    CHECK(work.graph_resident == 1);
    CHECK(work.features_resident == 1);
    CHECK(work.decode_seconds > 0);
    for (const double share : work.near) CHECK((share >= 0 && share <= 1));
    add_plan(plan_propagation(store.contents(), spec, testing::ample_budget()), work);
    CHECK(work.rows == std::vector<double>{5'000, 5'000});
    const PropagationSeconds seconds = predict_propagation(work, plain_machine());
    CHECK(seconds.total() > 0);
    CHECK(seconds.total() == seconds.cone + seconds.fill + seconds.sweep + seconds.write);
  }
}

}  // namespace unweave
