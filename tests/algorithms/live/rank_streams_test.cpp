// tests/algorithms/live/rank_streams_test.cpp - streams whose columns are held by several ranks, against one process.
#include <doctest/doctest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/recorded_release.h"
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
  const LiveStore store(path, Access::read, budget, release_ledger());
  return {digest_text(content_digest(store)), testing::sums_of(store.embedding(), nodes)};
}

struct RankRun {
  std::size_t ranks = 1;
  std::uint64_t memory = kAmpleRanks;
  std::size_t batch = 30;
  LastLevel last = LastLevel::deferred;
  Plan plan = Plan::automatic;
  bool checkpoint = true;  ///< at the end; else the journal is left
  std::size_t middle = 0;  ///< a checkpoint after so many batches as well; 0: there is no such
};

void stream(const std::filesystem::path& path, const std::vector<Request>& requests, const RankRun& run) {
  testing::run_ranks(run.ranks, [&](Ranks& ranks) {
    const ThreadLimit one(1);
    MemoryBudget budget(run.memory);
    LiveStore store(path, ranks, budget, release_ledger());
    if (!ranks.first()) return store.follow();
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

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("streams of several ranks leave what one process leaves") {
    const testing::Sample sample = testing::random_sample(300, 0.02, 11, 5);
    const std::vector<Request> requests = testing::random_requests(sample, 240, 9);
    for (const bool all_rows : {true, false}) {
      CAPTURE(all_rows);
      const testing::TempDir folder;
      testing::build_store(folder / "s", sample);
      testing::propagate_store(folder / "s", testing::tiny_spec(3, all_rows));
      std::optional<Left> wanted;
      for (const RankRun& run :
           {RankRun{1}, RankRun{2}, RankRun{3, kAmpleRanks, 7}, RankRun{4, kAmpleRanks, 30, LastLevel::at_once},
            RankRun{8, kAmpleRanks, 30, LastLevel::deferred, Plan::push}, RankRun{11, kAmpleRanks, 100},
            RankRun{2, kAmpleRanks, 30, LastLevel::deferred, Plan::recompute},
            RankRun{3, kAmpleRanks, 30, LastLevel::at_once, Plan::recompute},
            RankRun{3, kAmpleRanks, 30, LastLevel::deferred, Plan::push, true, 4},
            RankRun{2, kAmpleRanks, 30, LastLevel::deferred, Plan::automatic, false}}) {
        CAPTURE(run.ranks);
        CAPTURE(run.batch);
        const std::filesystem::path copy = folder / "copy";
        std::filesystem::remove_all(copy);
        std::filesystem::copy(folder / "s", copy, std::filesystem::copy_options::recursive);
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
    }
  }
}

}  // namespace unweave
