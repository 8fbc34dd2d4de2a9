// tests/algorithms/live/rank_streams_test.cpp - streams whose columns are held by several ranks,
// against one process.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/ranked_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/verification/verify.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

constexpr std::uint64_t kAmpleRanks = std::uint64_t{1} << 30;

/// What a stream leaves: the digest of the contents, and every sum.
struct Left {
  std::string digest;
  testing::AllSums sums;
};

Left left_in(const std::filesystem::path& path, NodeId nodes) {
  MemoryBudget budget(kAmpleRanks);
  CHECK(verify_store(path, {{}, true, 1, {}}, budget).findings.empty());
  const StoreReader store(path, budget);
  return {digest_text(content_digest(store)), testing::sums_of(store.embedding(), nodes)};
}

struct RankRun {
  std::size_t ranks = 1;
  std::size_t batch = 30;
  LastLevel last = LastLevel::deferred;
  Plan plan = Plan::automatic;
  bool checkpoint = true;  ///< at the end; else the journal is left
  std::size_t middle = 0;  ///< a checkpoint after so many batches as well; 0: there is no such
};

void stream(const std::filesystem::path& path, const std::vector<Request>& requests, const RankRun& run) {
  testing::run_ranks(run.ranks, [&](Ranks& ranks) {
    const ThreadLimit one(1);
    MemoryBudget budget(kAmpleRanks);
    if (!ranks.first()) return RankedStore(path, ranks, budget).follow();
    StoreWriter store(path, ranks, budget);
    store.set_plan(run.plan);
    std::size_t batches = 0;
    for (std::size_t at = 0; at < requests.size(); at += run.batch) {
      const auto some = std::span(requests).subspan(at, std::min(run.batch, requests.size() - at));
      const Reservation room = store.reserve_batch(some.size(), text_bytes(some));
      store.apply(some, store.resolve(some), {}, run.last);
      if (++batches == run.middle) store.checkpoint();
    }
    if (run.checkpoint) store.checkpoint();
    store.record();
    store.dismiss_ranks();
  });
}

std::filesystem::path copy_of(const testing::TempDir& folder) {
  std::filesystem::path copy = folder / "copy";
  std::filesystem::remove_all(copy);
  std::filesystem::copy(folder / "s", copy, std::filesystem::copy_options::recursive);
  return copy;
}

/// Runs `lead` as rank 0, which dismisses the others afterwards.
void run_stream(const std::filesystem::path& path, std::size_t size, const std::function<void(StoreWriter&)>& lead,
                const std::function<std::uint64_t(std::size_t rank)>& memory = {}) {
  testing::run_ranks(size, [&](Ranks& ranks) {
    MemoryBudget budget(memory ? memory(ranks.rank()) : kAmpleRanks);
    if (!ranks.first()) return RankedStore(path, ranks, budget).follow();
    StoreWriter store(path, ranks, budget);
    lead(store);
    store.dismiss_ranks();
  });
}

void send(StoreWriter& store, const std::vector<Request>& requests, const StreamMode& mode = {}) {
  store.apply(requests, store.resolve(requests), mode, LastLevel::deferred);
}

std::uint64_t acknowledged(const std::filesystem::path& path) {
  MemoryBudget budget(kAmpleRanks);
  return StoreReader(path, budget).sequence();
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("what an append that was ended has left in the journal is cut off when no rank reads it any more") {
    const testing::Sample sample = testing::random_sample(200, 0.05, 8, 5);
    const testing::TempDir folder;
    testing::build_store(folder / "s", sample);
    testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
    const std::vector<Request> requests = testing::random_requests(sample, 60, 9);
    stream(folder / "s", requests, {.ranks = 1, .batch = 20, .checkpoint = false});
    const std::filesystem::path journal = folder / "s" / read_manifest(folder / "s").journal->path;
    std::ofstream(journal, std::ios::app) << "an append";
    for (int trial = 0; trial < 20; ++trial) {
      const std::filesystem::path copy = copy_of(folder);
      run_stream(copy, 4, [](StoreWriter& store) { CHECK(store.sequence() == 60); });
    }
  }

  TEST_CASE("a row that a generation has in its run alone goes with the edge that it came with") {
    const testing::Sample sample = testing::random_sample(600, 0.004, 6, 5);
    const testing::TempDir folder;
    testing::build_store(folder / "s", sample);
    testing::propagate_store(folder / "s", testing::tiny_spec(2, false));
    // Nodes that no row is kept of get one by an edge, which the next session takes away.
    std::vector<Request> insertions, removals;
    for (NodeId node = 0; node < 20; ++node) {
      const NodeId u = node * 7, v = node * 13 + 300;
      if (sample.edges.contains({u, v})) continue;
      insertions.push_back({.kind = RequestKind::insert_edge, .u = u, .v = v});
      removals.push_back({.kind = RequestKind::remove_edge, .u = u, .v = v});
    }
    std::optional<Left> one;
    for (const std::size_t ranks : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
      const std::filesystem::path copy = copy_of(folder);
      for (const std::vector<Request>* const session : {&insertions, &removals})
        stream(copy, *session, {.ranks = ranks});
      const Left left = left_in(copy, sample.nodes);
      if (!one) one = left;
      CHECK(left.digest == one->digest);
      CHECK((left.sums == one->sums));
    }
  }

  TEST_CASE("streams of several ranks leave what one process leaves") {
    // Edges are many, and the values of one column large, so that some rows need 64 bits, in that
    // column alone.
    testing::Sample sample = testing::random_sample(200, 0.15, 11, 5);
    for (NodeId node = 0; node < sample.nodes; ++node) {
      for (std::uint32_t c = 0; c < sample.columns; ++c) sample.features[node * sample.columns + c] *= 0.1F;
      sample.features[node * sample.columns + 4] = 0.9F;
    }
    std::vector<Request> requests = testing::random_requests(sample, 240, 9);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].id = "r" + std::to_string(i);
      if (i >= 200) requests[i] = requests[i - 200];  // some come twice
    }
    for (const bool all_rows : {true, false}) {
      CAPTURE(all_rows);
      const testing::TempDir folder;
      testing::build_store(folder / "s", sample);
      PropagationSpec spec = testing::tiny_spec(3, all_rows);
      spec.scale_bits = 29;
      testing::propagate_store(folder / "s", spec);
      std::optional<Left> wanted;
      for (const RankRun& run :
           {RankRun{1}, RankRun{2}, RankRun{3, 7}, RankRun{4, 30, LastLevel::at_once},
            RankRun{8, 30, LastLevel::deferred, Plan::push}, RankRun{11, 100},
            RankRun{2, 30, LastLevel::deferred, Plan::recompute}, RankRun{3, 30, LastLevel::at_once, Plan::recompute},
            RankRun{3, 30, LastLevel::deferred, Plan::push, true, 4},
            RankRun{2, 30, LastLevel::deferred, Plan::automatic, false}}) {
        CAPTURE(run.ranks);
        CAPTURE(run.batch);
        const std::filesystem::path copy = copy_of(folder);
        stream(copy, requests, run);
        const Left left = left_in(copy, sample.nodes);
        if (!wanted) wanted = left;
        CHECK(left.digest == wanted->digest);
        CHECK(left.sums == wanted->sums);
        if (run.checkpoint) continue;
        // Another number of ranks goes on from the journal.
        stream(copy, {}, RankRun{3});
        CHECK(read_manifest(copy).sequence == requests.size());
        CHECK(left_in(copy, sample.nodes).digest == wanted->digest);
      }
      const auto is_wide = [](const std::vector<std::int64_t>& row) {
        return std::any_of(row.begin(), row.end(),
                           [](std::int64_t sum) { return sum != static_cast<std::int32_t>(sum); });
      };
      CHECK(std::any_of(wanted->sums[0].begin(), wanted->sums[0].end(), is_wide));
      CHECK_FALSE(std::all_of(wanted->sums[0].begin(), wanted->sums[0].end(), is_wide));
    }
  }

  TEST_CASE("ranks with little memory make generations and new shards in the midst of a stream") {
    constexpr NodeId kRing = 6000;
    constexpr std::uint64_t kLittle = std::uint64_t{3} << 20;
    testing::Sample ring;
    ring.nodes = kRing;
    for (NodeId node = 0; node < kRing; ++node) ring.edges.insert(std::minmax(node, (node + 1) % kRing));
    // Changed rows fill the memory where there are many columns, and changed lists where there are
    // few.
    for (const std::uint32_t columns : {12U, 40U}) {
      CAPTURE(columns);
      testing::add_features(ring, columns, 1);
      const testing::TempDir folder;
      testing::build_store(folder / "s", ring);
      testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
      std::optional<Left> wanted;
      for (const auto& job : {std::pair(std::size_t{1}, kAmpleRanks), {2, kLittle}, {4, kLittle}}) {
        const std::size_t size = job.first;
        const std::uint64_t memory = job.second;
        CAPTURE(size);
        const std::filesystem::path copy = copy_of(folder);
        const std::vector<FileEntry> before = read_manifest(copy).shards;
        std::mutex mutex;
        std::uint64_t peak = 0;
        testing::run_ranks(size, [&](Ranks& ranks) {
          const ThreadLimit one(1);
          MemoryBudget budget(memory);
          {
            if (ranks.first()) {
              StoreWriter store(copy, ranks, budget);
              store.set_plan(Plan::push);
              for (const NodeId chord : {kRing / 2, kRing / 3})
                for (NodeId node = 0; node < kRing / 2; node += 100) {
                  std::vector<Request> requests;
                  for (NodeId k = node; k < node + 100; ++k)
                    requests.push_back({RequestKind::insert_edge, k, k + chord});
                  send(store, requests);
                }
              CHECK((store.manifest().sequence > 0) == (memory == kLittle));
              if (memory == kAmpleRanks || columns == 12)
                CHECK((store.manifest().shards != before) == (memory == kLittle));
              store.checkpoint();
              store.dismiss_ranks();
            } else {
              RankedStore(copy, ranks, budget).follow();
            }
          }
          const std::scoped_lock lock(mutex);
          peak = std::max(peak, budget.peak());
        });
        CHECK(peak <= memory);
        const Left left = left_in(copy, ring.nodes);
        if (!wanted) wanted = left;
        CHECK(left.digest == wanted->digest);
        CHECK(left.sums == wanted->sums);
      }
    }
  }

  TEST_CASE("a batch for which some rank has no room is not acknowledged, one that fails later is") {
    const testing::Sample sample = testing::random_sample(3000, 0.002, 6, 5);
    const std::vector<Request> requests = testing::random_requests(sample, 2000, 9);
    const std::vector<Request> few(requests.begin(), requests.begin() + 5);
    const testing::TempDir folder;
    testing::build_store(folder / "s", sample);
    testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
    const ThreadLimit one(1);
    const auto little_at_2 = [](std::size_t rank) { return rank == 2 ? std::uint64_t{800} << 10 : kAmpleRanks; };
    const std::filesystem::path copy = copy_of(folder);
    CHECK_THROWS_WITH_AS(run_stream(
                             copy, 3,
                             [&](StoreWriter& store) {
                               send(store, few);
                               send(store, requests);
                             },
                             little_at_2),
                         doctest::Contains("requests of a batch"), ResourceError);
    CHECK(acknowledged(copy) == few.size());
    CHECK_THROWS_WITH_AS(run_stream(copy, 4,
                                    [&](StoreWriter& store) {
                                      store.watch_appends({}, [] { throw DataError("after the append"); });
                                      send(store, requests);
                                    }),
                         "after the append", DataError);
    CHECK(acknowledged(copy) == few.size() + requests.size());
    stream(copy, {}, RankRun{2});
    const Left left = left_in(copy, sample.nodes);
    const std::filesystem::path other = copy_of(folder);
    stream(other, few, RankRun{1});
    stream(other, requests, RankRun{1, requests.size()});
    const Left wanted = left_in(other, sample.nodes);
    CHECK(left.digest == wanted.digest);
    CHECK(left.sums == wanted.sums);
  }

  TEST_CASE("what ranks cannot do together is refused") {
    const testing::Sample sample = testing::random_sample(100, 0.1, 3, 5);
    const std::vector<Request> requests = testing::random_requests(sample, 20, 9);
    const testing::TempDir folder;
    testing::build_store(folder / "s", sample);
    testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
    const auto nothing = [](StoreWriter&) {};
    const StreamMode lazy{100, ThresholdScale::absolute};
    CHECK_THROWS_WITH_AS(run_stream(folder / "s", 4, nothing), doctest::Contains("3 columns, too few for 4 ranks"),
                         UsageError);
    CHECK_THROWS_WITH_AS(run_stream(folder / "s", 2, [&](StoreWriter& store) { send(store, requests, lazy); }),
                         doctest::Contains("exact"), UsageError);
    CHECK_THROWS_WITH_AS(run_stream(folder / "s", 2, [&](StoreWriter& store) { store.acknowledge(requests); }),
                         doctest::Contains("one process"), UsageError);
    CHECK(acknowledged(folder / "s") == 0);
    MemoryBudget budget(kAmpleRanks);
    {
      StoreWriter store(folder / "s", budget);
      send(store, requests, lazy);
    }
    CHECK_THROWS_WITH_AS(run_stream(folder / "s", 2, nothing), doctest::Contains("exact"), UsageError);
    StoreWriter(folder / "s", budget).checkpoint();
    CHECK_THROWS_WITH_AS(run_stream(folder / "s", 2, nothing), doctest::Contains("residues"), UsageError);
    {
      StoreWriter store(folder / "s", budget);
      send(store, {{RequestKind::remove_edge, 0, 1}});
      store.checkpoint();
    }
    run_stream(folder / "s", 2, nothing);
  }
}

}  // namespace unweave
