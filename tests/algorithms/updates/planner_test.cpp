// tests/algorithms/updates/planner_test.cpp - the choice between push and recompute, and what it is
// made from.
#include "algorithms/updates/planner.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "algorithms/live/store_writer.h"
#include "algorithms/updates/level_work.h"
#include "algorithms/updates/receivers.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

/// A level of a graph of a million nodes, all in files.
LevelWork million() {
  LevelWork work;
  work.rows = work.nodes = 1'000'000;
  work.graph_arcs = 20'000'000;
  work.columns = 64;
  return work;
}

/// Receivers that must not be counted.
Receivers never() {
  FAIL("counted");
  return {};
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("few arcs are pushed and many lead to a recomputation, without counting receivers") {
    LevelWork work = million();
    work.arcs = 1000;
    const LevelChoice push = choose(work, never);
    CHECK_FALSE(push.recompute);
    CHECK(push.seconds == forecast_push(work, scattered_receivers(work)));
    work.arcs = work.graph_arcs;
    work.least_receivers = work.rows;
    const LevelChoice recompute = choose(work, never);
    CHECK(recompute.recompute);
    CHECK(recompute.seconds == forecast_recompute(work));
  }

  TEST_CASE("pages that are not in memory make a push dearer than a recomputation, which reads in order") {
    LevelWork work = million();
    work.changed = 1000;
    work.sources = 10'000;
    work.arcs = 200'000;
    const Receivers some = scattered_receivers(work);
    const double push = forecast_push(work, some), recompute = forecast_recompute(work);
    CHECK(push < recompute);
    work.cold.byte_seconds = 1e-9;
    work.cold.page_seconds = 2e-5;
    work.cold.graph_bytes = 6e7;
    work.cold.below_bytes = 2.56e8;
    CHECK(forecast_push(work, some) == push);  // all of it is in memory
    work.cold.level = 1;
    CHECK(forecast_push(work, some) > push + 0.9);  // some 60,000 pages of the level
    CHECK(forecast_recompute(work) == recompute);
    CHECK(choose(work, [&] { return some; }).recompute);
    work.cold.graph = work.cold.below = 1;
    const double cold = forecast_push(work, some);
    CHECK(cold > push + 1);
    work.is_resident = work.is_below_resident = true;
    CHECK(forecast_push(work, some) < cold - 0.9);
    work.scan_arcs = work.arcs;
    const double scanned = forecast_push(work, some);
    work.cold.lists = 1;
    work.cold.list_bytes = 1e9;
    CHECK(forecast_push(work, some) == doctest::Approx(scanned + 1));
    work.cold.byte_seconds = 1e-7;  // a disk that is slow all over
    CHECK(forecast_recompute(work) >= 6);
  }

  TEST_CASE("in between the number of receivers decides") {
    LevelWork work = million();
    work.arcs = work.graph_arcs / 20;
    work.least_receivers = 1000;
    int counted = 0;
    const auto choice = [&](double receivers) {
      return choose(work, [&] {
        ++counted;
        return Receivers{receivers, 0};
      });
    };
    CHECK_FALSE(choice(1000).recompute);
    CHECK(choice(1000).seconds == forecast_push(work, {1000, 0}));
    CHECK(choice(1e6).recompute);
    CHECK(counted == 3);
  }

  TEST_CASE("a batch takes a part of its new memory for granted, a delivery does not") {
    LevelWork work = million();
    work.arcs = work.graph_arcs / 20;
    work.least_receivers = 1000;
    // Receivers for whom a push costs all but a tenth of what room for the level does less than a
    // recomputation.
    LevelWork resident = work;
    resident.is_resident = true;
    const double room = forecast_recompute(work) - forecast_recompute(resident);
    const double each = forecast_push(work, {0, 2e5}) - forecast_push(work, {0, 1e5});
    const double wanted = forecast_recompute(work) - room / 10 - forecast_push(work, {0, 0});
    const Receivers receivers{0, 1e5 * wanted / each};
    CHECK_FALSE(choose(work, [&] { return receivers; }).recompute);
    work.changed = 1;
    CHECK(choose(work, [&] { return receivers; }).recompute);
  }

  TEST_CASE("memory that is slow to come by is charged to both ways") {
    LevelWork work = million();
    work.threads = 2;
    work.arcs = work.graph_arcs * 3 / 4;
    work.sources = work.nodes / 2;
    work.least_receivers = work.sources;
    const Receivers most{0.7 * static_cast<double>(work.rows), 0};
    const double push = forecast_push(work, most), recompute = forecast_recompute(work);
    work.cold.room_seconds = 2e-9;
    // Rows that change, rows that are pushed and arcs that are sorted take more of it than all rows
    // of the level do.
    const auto row_bytes = static_cast<double>(sizeof(std::int32_t) * work.columns);
    CHECK(forecast_push(work, most) - push > (most.in_files + static_cast<double>(work.sources)) * row_bytes * 1e-9);
    CHECK(forecast_push(work, most) - push > forecast_recompute(work) - recompute);
    CHECK(choose(work, [&] { return most; }).recompute);
    LevelWork batch = work;
    batch.changed = 1;  // whose rows to push there are already
    CHECK(forecast_push(batch, most) < forecast_push(work, most));
    LevelWork scanned = work;
    scanned.scan_arcs = work.arcs;  // nothing is sorted
    CHECK(forecast_push(scanned, most) < forecast_push(work, most) - 1e-9 * 12 * static_cast<double>(work.arcs));
    const Receivers known{0, most.in_files};
    batch.cold.room_seconds = 0;
    const double usual = forecast_push(batch, known);
    batch.cold.room_seconds = 1e-12;  // faster than memory mostly is
    CHECK(forecast_push(batch, known) == usual);
  }

  TEST_CASE("a push whose receivers have no room costs their way through a file, however many slices they make") {
    LevelWork work = million();
    work.changed = 1000;
    work.sources = 10'000;
    work.arcs = 200'000;
    const Receivers some = scattered_receivers(work);
    const double once = forecast_push(work, some);
    const auto count = [&] { return some; };
    CHECK_FALSE(choose(work, count).recompute);
    work.slices = 2;
    const double twice = forecast_push(work, some);
    CHECK(twice > once);
    work.slices = 1000;
    CHECK(forecast_push(work, some) > once);
    CHECK(forecast_push(work, some) <= twice);
    CHECK_FALSE(choose(work, count).recompute);
    work.scan_arcs = work.arcs;  // lists of the rows that receive are gone through once
    const double scanned = forecast_push(work, some);
    work.slices = 1;
    CHECK(forecast_push(work, some) == scanned);

    MemoryBudget budget(4 << 20);
    CHECK(receiver_slices(0, budget) == 1);
    CHECK(receiver_slices(1'000'000, budget) == 1 + 1'000'000 * kReceiverBytes / (1 << 20));
  }

  TEST_CASE("work for a push grows with each of its parts, and with rows that lie in files") {
    LevelWork work = million();
    work.arcs = 50'000;
    const Receivers some{20'000, 20'000};
    const double seconds = forecast_push(work, some);
    CHECK(forecast_push(work, {some.in_files + some.in_memory, 0}) > seconds);
    CHECK(forecast_push(work, {0, some.in_files + some.in_memory}) < seconds);
    for (std::uint64_t LevelWork::*part : {&LevelWork::arcs, &LevelWork::changed}) {
      LevelWork more = work;
      more.*part += 10'000;
      CHECK(forecast_push(more, some) > seconds);
    }
    LevelWork later = work;
    later.rows_in_memory = work.rows / 10;  // their pages have been read
    CHECK(forecast_push(later, some) < seconds);
    later.is_resident = true;
    CHECK(forecast_push(later, some) < seconds);
    LevelWork scanned = work;
    scanned.scan_arcs = 1000;
    CHECK(forecast_push(scanned, some) < seconds);
    work.threads = 2;
    CHECK(forecast_push(work, some) == seconds / 2);
  }

  TEST_CASE("a recomputation costs less where memory is at hand, where rows are few and where less has changed") {
    const LevelWork work = million();
    const double seconds = forecast_recompute(work);
    LevelWork other = work;
    other.is_resident = true;
    CHECK(forecast_recompute(other) < seconds);
    other = work;
    other.is_below_resident = true;
    CHECK(forecast_recompute(other) < seconds);
    other = work;
    other.rows /= 100;
    CHECK(forecast_recompute(other) < seconds);
    other = work;
    other.changed_arcs = 100'000;
    CHECK(forecast_recompute(other) > seconds);
    CHECK(forecast_recompute({}) == 0);
    CHECK(forecast_push({}, {}) == 0);
  }

  TEST_CASE("scattered receivers are at most the arcs and the rows, part of them in memory") {
    LevelWork work = million();
    work.rows_in_memory = work.rows / 4;
    for (const std::uint64_t arcs : {1ULL, 1000ULL, 1'000'000ULL, 20'000'000ULL}) {
      work.arcs = arcs;
      const Receivers receivers = scattered_receivers(work);
      const double all = receivers.in_files + receivers.in_memory;
      CHECK(all <= static_cast<double>(std::min(work.arcs, work.rows)));
      CHECK(all > 0.6 * static_cast<double>(std::min(work.arcs, work.rows)));
      CHECK(receivers.in_memory == doctest::Approx(all / 4));
      CHECK(most_receivers(work).in_files == static_cast<double>(std::min(work.arcs, work.rows)));
    }
    CHECK(scattered_receivers({}).in_files == 0);
  }

  TEST_CASE("receivers are counted from so many lists as cost little, and extrapolated") {
    LevelWork work = million();
    work.arcs = 1000;
    CHECK(count_stride(work, 100) == 1);
    work.arcs = 5'000'000;
    const std::size_t stride = count_stride(work, 500'000);
    CHECK(stride > 1);
    CHECK(stride < 500'000);
    // Ends of a tenth of the arcs: all in 1000 nodes, in 400,000, or anywhere.
    for (const double nodes : {1e3, 4e5, 1e6}) {
      const double found = -nodes * std::expm1(-500'000 / nodes);
      CHECK(extrapolate_receivers(work, found, 500'000) ==
            doctest::Approx(-nodes * std::expm1(-5'000'000 / nodes)).epsilon(1e-4));
      CHECK(extrapolate_receivers(work, found, 5'000'000) <= nodes);
    }
    CHECK(extrapolate_receivers(work, 500'000, 500'000) <= 1e6);  // no two met
    work.arcs = 500'000;
    CHECK(extrapolate_receivers(work, 300'000, 500'000) == 300'000);
  }

  TEST_CASE("the work at a level and its receivers are those of the sample, for all rows and for a cone") {
    for (const testing::Sample& sample : testing::sample_families(3)) {
      for (const bool all_rows : {true, false}) {
        CAPTURE(sample.name);
        CAPTURE(all_rows);
        const testing::TempDir folder;
        testing::build_store(folder / "s", sample);
        testing::propagate_store(folder / "s", testing::tiny_spec(2, all_rows));
        StoreWriter store(folder / "s", testing::ample_budget());
        const Request request{RequestKind::remove_feature, 1, 0};
        store.apply({&request, 1}, store.resolve({&request, 1}), {});  // some rows get into memory
        const Embedding& embedding = store.embedding();
        std::vector<NodeId> sources;
        for (NodeId node = 0; node < sample.nodes; node += 3) sources.push_back(node);
        for (const std::uint32_t level : {1U, 2U}) {
          std::set<NodeId> kept;
          std::uint64_t arcs = 0, in_memory = 0, own = 0;
          const auto receive = [&](NodeId node) {
            ++arcs;
            if (embedding.cone().contains(level, node)) kept.insert(node);
          };
          for (const NodeId source : sources) {
            receive(source);
            if (kept.contains(source)) ++own;
            for (const auto& [u, v] : sample.edges)
              if (u == source || v == source) receive(u == source ? v : u);
          }
          for (const NodeId node : kept) in_memory += embedding.level(level).is_at_hand(node) ? 1 : 0;
          LevelWork work = level_work(store.contents(), embedding, level, sources, 5, testing::ample_budget());
          CHECK(work.arcs == arcs);
          CHECK(work.changed == 5);
          CHECK(work.slices == 1);
          CHECK(work.rows == embedding.cone().rows(level));
          CHECK(work.graph_arcs == 2 * sample.edges.size() + sample.nodes);
          CHECK(work.least_receivers == own);
          work.scan_arcs = 0;
          work.graph_arcs = 1'000'000'000;  // to read all lists is little beside it
          const Receivers receivers = count_receivers(store.contents(), embedding, level, sources, work);
          CHECK(receivers.in_memory == doctest::Approx(static_cast<double>(in_memory)));
          CHECK(receivers.in_files == doctest::Approx(static_cast<double>(kept.size() - in_memory)));
        }
      }
    }
  }
}

}  // namespace unweave
