// tests/algorithms/propagation/run_test.cpp - the files of a propagation: equal bytes whatever the
// memory, tiles and threads; what happens when the disk or the memory is too small.
#include "algorithms/propagation/run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "algorithms/live/propagate.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/propagation/sum_form.h"
#include "engine/resources/parallel.h"
#include "engine/state/level_image.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/special_values.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::kPlenty;

/// A store of two spans, the second one not full, with a hub; a fiftieth of the rows is labelled.
void make_store(const std::filesystem::path& path, std::uint32_t columns = 40) {
  testing::Sample sample;
  sample.nodes = 70'000;
  std::mt19937 random(4);
  for (int i = 0; i < 100'000; ++i) {
    const auto u = static_cast<NodeId>(random() % sample.nodes);
    const auto v = i % 100 == 0 ? NodeId{5} : static_cast<NodeId>(random() % sample.nodes);
    if (u != v) sample.edges.insert({std::min(u, v), std::max(u, v)});
  }
  testing::add_features(sample, columns, 3, 0.02);
  testing::build_store(path, sample);
}

struct Propagated {
  std::uint64_t tiles = 0;
  bool refills = false;
  std::map<std::string, std::string> files;
};

Propagated propagated(const std::filesystem::path& path, const PropagationSpec& spec, std::uint64_t memory) {
  Propagated result;
  MemoryBudget budget(memory);
  {
    StoreWriter store(path, budget);
    if (spec.levels < 100) result.refills = plan_propagation(store.contents(), spec, budget).state.tiles.refills;
    result.tiles = propagate(store, spec, budget, {}).tiles;
  }
  CHECK(budget.used() == 0);
  result.files = testing::folder_bytes(path / "state");
  return result;
}

void fill_ones(TileColumns columns, NodeRange rows, std::int32_t* out) {
  std::fill_n(out, columns.count * rows.size(), 1);
}

std::vector<std::string> state_files(const std::filesystem::path& store) {
  std::vector<std::string> names;
  if (std::filesystem::exists(store / "state"))
    for (const auto& file : std::filesystem::directory_iterator(store / "state"))
      names.push_back(file.path().filename().string());
  return names;
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("the same files whatever the memory, the tiles and the threads, for both widths of densities") {
    const testing::TempDir folder(testing::Where::disk);
    make_store(folder / "s");
    for (const std::uint32_t scale_bits : {24U, 14U}) {
      for (const bool all_rows : {true, false}) {
        CAPTURE(scale_bits);
        CAPTURE(all_rows);
        PropagationSpec spec = testing::tiny_spec(2, all_rows);
        spec.scale_bits = scale_bits;
        Propagated expected;
        {
          const ThreadLimit limit(1);
          expected = propagated(folder / "s", spec, kPlenty);
        }
        CHECK(expected.tiles == 1);
        CHECK(expected.files.size() >= 4);
        for (const std::size_t threads : {1, 3}) {
          // Small budgets cut the columns into tiles; 16-bit ones take half, and so do levels of
          // few rows. With all rows the first of them has room for one buffer of all columns, which
          // is filled anew from partitions.
          const std::uint64_t small = (all_rows ? 20U : 10U) / (scale_bits == 14 ? 2 : 1) + 1;
          for (const std::uint64_t mebibytes : {std::uint64_t{0}, small, small * 3 / 5}) {
            CAPTURE(mebibytes);
            const ThreadLimit limit(threads);
            const Propagated got = propagated(folder / "s", spec, mebibytes == 0 ? kPlenty : mebibytes << 20);
            CHECK(got.files == expected.files);
            if (!all_rows || mebibytes == 0) CHECK_FALSE(got.refills);
            if (all_rows && mebibytes == small) CHECK(got.refills);
            CHECK((got.tiles > 1) == (mebibytes > 0 && (!all_rows || mebibytes < small)));
          }
        }
      }
    }
  }

  TEST_CASE("where lists are long, tiles are filled anew from their files, with the same files in the end") {
    const testing::TempDir folder(testing::Where::disk);
    testing::Sample sample;
    sample.nodes = 20'000;
    std::mt19937 random(5);
    for (int i = 0; i < 500'000; ++i) {
      const auto u = static_cast<NodeId>(random() % sample.nodes), v = static_cast<NodeId>(random() % sample.nodes);
      if (u != v) sample.edges.insert({std::min(u, v), std::max(u, v)});
    }
    testing::add_features(sample, 40, 3, 0.02);
    testing::build_store(folder / "s", sample);
    const ThreadLimit limit(2);
    for (const std::uint32_t scale_bits : {24U, 14U}) {
      PropagationSpec spec = testing::tiny_spec(3, true);
      spec.scale_bits = scale_bits;
      const Propagated expected = propagated(folder / "s", spec, kPlenty);
      CHECK_FALSE(expected.refills);
      bool seen = false;
      for (std::uint64_t memory = std::uint64_t{7} << 20; memory > std::uint64_t{2} << 20; memory -= 512U << 10) {
        CAPTURE(memory);
        try {
          const Propagated got = propagated(folder / "s", spec, memory);
          CHECK(got.files == expected.files);
          seen |= got.refills && got.tiles > 1;
        } catch (const ResourceError&) {
          break;  // not even one column
        }
      }
      CHECK(seen);
    }
  }

  TEST_CASE("many levels and tiles: what waits to be complete does not use up the buffers of writes") {
    const testing::TempDir folder(testing::Where::disk);
    make_store(folder / "s", 24);
    const ThreadLimit limit(1);  // the fewest buffers
    const PropagationSpec spec = testing::tiny_spec(60, true);
    const Propagated got = propagated(folder / "s", spec, std::uint64_t{8} << 20);
    CHECK(got.tiles > 1);
    CHECK(got.files == propagated(folder / "s", spec, kPlenty).files);
  }

  TEST_CASE("the masks of a deep cone are charged before they are made") {
    const testing::TempDir folder;
    make_store(folder / "s");
    std::string message;
    try {
      static_cast<void>(propagated(folder / "s", testing::tiny_spec(1000, false), std::uint64_t{8} << 20));
    } catch (const ResourceError& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find("masks of the rows") != std::string::npos);
  }

  TEST_CASE("too little memory for the buffers of writes is a clear error") {
    const testing::TempDir folder;
    make_store(folder / "s");
    CHECK_THROWS_AS(propagated(folder / "s", testing::tiny_spec(2, true), std::uint64_t{1} << 20), ResourceError);
    CHECK(state_files(folder / "s").empty());
  }

  TEST_CASE("the least memory that a plan asks for is enough, and its bytes are those of the partitions") {
    const testing::TempDir folder;
    make_store(folder / "s", 1);  // one tile: nothing is put together
    const StoreWriter store(folder / "s", testing::ample_budget());
    SweepSpec sweep;
    sweep.levels = 2;
    sweep.columns.count = 1;
    const SumForm form(store.contents(), sweep);
    std::uint64_t least = 0, enough = kPlenty;
    while (enough - least > 1) {
      const std::uint64_t bytes = (least + enough) / 2;
      (form.plan(bytes).fits() ? enough : least) = bytes;
    }
    CHECK_THROWS_AS(static_cast<void>(form.plan(least).require()), ResourceError);
    std::vector<RowMask> masks;
    for (const bool all_rows : {true, false}) {
      CAPTURE(all_rows);
      if (!all_rows) {  // no row of the second span is wanted
        constexpr NodeId kSpan = 65'536;
        masks.assign(2, RowMask(store.contents().num_nodes()));
        std::vector<NodeId> list;
        for (NodeId node = 0; node < kSpan; ++node) {
          masks[0].insert(node);
          store.contents().graph().neighbours(node, list);
          if (node % 3 == 0 && (list.empty() || list.back() < kSpan)) masks[1].insert(node);
        }
        sweep.wanted = masks;
      }
      MemoryBudget budget(all_rows ? enough : kPlenty);
      const StatePlan plan = form.plan(budget.available()).require();
      CHECK(plan.memory_bytes() <= budget.limit());
      const std::filesystem::path path = folder / "s";
      const SweepResult result = run_whole({path, store.contents(), sweep, form, plan, {fill_ones}, budget});
      std::uint64_t written = 0;
      for (const auto& level : result.files)
        for (const FileEntry& entry : level) written += entry.bytes;
      CHECK(plan.state_bytes == written);
      CHECK(budget.used() == 0);
    }
  }

  TEST_CASE("buffers of writes are small where that saves passes over the graph, and ample where it does not") {
    constexpr std::uint32_t kColumns = 4096;  // planned for, not in the store
    const testing::TempDir folder;
    make_store(folder / "s", 1);
    const StoreReader store(folder / "s", testing::ample_budget());
    SweepSpec sweep;
    sweep.levels = 2;
    sweep.columns.count = kColumns;
    const std::uint64_t written = std::uint64_t{2} * store.contents().num_nodes() * kColumns * sizeof(std::int32_t);
    constexpr std::uint64_t kEnough = std::uint64_t{1} << 40;
    const std::uint64_t one_tile = plan_tiles(block_source(store.contents().graph()), sweep, kEnough).memory_bytes();
    const auto buffers = [](std::uint64_t bytes, std::uint64_t memory) {
      return WriteBuffers::charge(WriteBuffers::size_for(bytes, memory));
    };
    const auto small = [&](std::uint64_t memory) { return buffers(std::uint64_t{256} << 20, memory); };
    const auto ample = [&](std::uint64_t memory) { return buffers(written, memory); };
    const auto plan = [&](std::uint64_t memory) { return SumForm(store.contents(), sweep).plan(memory); };

    const std::uint64_t with_small = one_tile + small(kEnough), with_ample = one_tile + ample(kEnough);
    REQUIRE(ample(with_small) > small(with_small));
    CHECK(plan(with_small).tiles.tiles == 1);
    CHECK(plan(with_small).memory_bytes() == with_small);
    CHECK(plan(with_ample).tiles.tiles == 1);
    CHECK(plan(with_ample).memory_bytes() == one_tile + ample(with_ample));
    // With less, one buffer takes the rows of all columns, and is filled anew for the second level.
    const StatePlan filled = plan(with_small - 1);
    CHECK(filled.tiles.tiles == 1);
    CHECK(filled.tiles.refills);
    CHECK(filled.refill_bytes == written / 2);
    CHECK(filled.spooled_bytes == 0);
    const std::uint64_t one_buffer =
        plan_tiles(block_source(store.contents().graph()), sweep, kEnough, TileBuffers::one).memory_bytes();
    const StatePlan cut = plan(one_buffer + small(kEnough) - 1);
    CHECK(cut.tiles.tiles > 1);
    CHECK(cut.spooled_bytes == written);
    CHECK(cut.refill_bytes == (cut.tiles.refills ? written / 2 : 0));
  }

  TEST_CASE("a propagation that fails half way leaves no file behind") {
    const testing::TempDir folder(testing::Where::disk);
    make_store(folder / "s");
    MemoryBudget budget(kPlenty);
    {
      const StoreWriter store(folder / "s", budget);
      SweepSpec sweep;
      sweep.levels = 2;
      sweep.columns.count = store.contents().features().columns();
      const SumForm form(store.contents(), sweep);
      const StatePlan plan = form.plan(budget.available()).require();
      const std::filesystem::path path = folder / "s";
      PropagationJob job{path, store.contents(), sweep, form, plan, {fill_ones}, budget};
      std::vector<std::string> half_way;
      job.progress = [&](std::uint64_t, std::uint64_t) {
        if (!half_way.empty()) return;
        half_way = state_files(folder / "s");
        if (!half_way.empty()) throw ResourceError("no more");
      };
      CHECK_THROWS_AS(static_cast<void>(run_whole(job)), ResourceError);
      CHECK_FALSE(half_way.empty());
    }
    CHECK(state_files(folder / "s").empty());
    CHECK(budget.used() == 0);
  }
}

}  // namespace unweave
