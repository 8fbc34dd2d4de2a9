// tests/algorithms/live/small_budget_test.cpp - streams whose changed rows exceed the budget,
// against ample memory.
#include <doctest/doctest.h>

#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/verification/verify.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/opened_store.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

constexpr NodeId kNodes = 12'000;
constexpr std::uint32_t kColumns = 24;
constexpr std::uint64_t kSmall = std::uint64_t{1} << 20, kAmple = std::uint64_t{1} << 30;

/// Two hubs, whose features every node reads, and edges anywhere. A level has 1.1 MiB of sums.
testing::Sample two_hubs() {
  testing::Sample sample;
  sample.nodes = kNodes;
  std::mt19937 random(8);
  for (NodeId node = 2; node < kNodes; ++node) {
    for (const NodeId hub : {0U, 1U}) sample.edges.insert({hub, node});
    const auto other = static_cast<NodeId>(2 + random() % (kNodes - 2));
    if (other != node) sample.edges.insert(std::minmax(node, other));
  }
  testing::add_features(sample, kColumns, 3);
  return sample;
}

/// Every batch removes some edges, two of them the features of a hub.
std::vector<std::vector<Request>> batches_of(const testing::Sample& sample) {
  std::vector<std::vector<Request>> batches;
  auto edge = sample.edges.begin();
  for (NodeId batch = 0; batch < 4; ++batch) {
    auto& requests = batches.emplace_back();
    for (int i = 0; i < 40; ++i) {
      std::advance(edge, 97);
      requests.push_back({RequestKind::remove_edge, edge->first, edge->second});
    }
    if (batch % 2 == 0) requests.push_back({RequestKind::remove_feature, batch / 2, 0});
  }
  return batches;
}

struct SpilledRows {
  testing::AllSums sums;
  std::vector<std::map<NodeId, std::vector<std::int32_t>>> stale;

  friend bool operator==(const SpilledRows&, const SpilledRows&) = default;
};

SpilledRows rows_of(const Embedding& embedding) {
  SpilledRows rows{testing::sums_of(embedding, kNodes), {}};
  for (std::uint32_t level = 0; level < embedding.levels(); ++level) {
    auto& stale = rows.stale.emplace_back();
    for (const NodeId node : embedding.stale(level).nodes()) {
      auto& row = stale[node];
      row.resize(embedding.columns());
      embedding.stale(level).add_to(node, 1, row.data());
    }
  }
  return rows;
}

SpilledRows rows_of(const std::filesystem::path& path, Access access, std::uint64_t memory) {
  MemoryBudget budget(memory);
  const std::unique_ptr<LiveStore> opened = testing::opened_store(path, access, budget);
  LiveStore& store = *opened;
  CHECK(budget.peak() <= memory);
  return rows_of(store.embedding());
}

struct Streamed {
  SpilledRows rows;
  std::uint64_t peak = 0;  ///< most that was charged at a time
  std::size_t folds = 0;   ///< partitions that no manifest named yet, seen after batches
};

/// Streams into the store at `path`, and opens copies of it as a crash after the last batch would
/// leave it.
Streamed stream(const std::filesystem::path& path, std::uint64_t memory, Plan plan, const StreamMode& mode,
                LastLevel last) {
  Streamed result;
  MemoryBudget budget(memory);
  {
    StoreWriter store(path, budget);
    store.set_plan(plan);
    for (const std::vector<Request>& requests : batches_of(two_hubs())) {
      store.apply(requests, store.resolve(requests), mode, last);
      std::set<std::string> named;
      for (const FileEntry& entry : store.manifest().files()) named.insert(entry.path);
      for (std::uint32_t l = 1; l <= store.embedding().levels(); ++l)
        for (const FileEntry& entry : store.embedding().level(l).entries())
          result.folds += named.contains(entry.path) ? 0 : 1;
    }
    const testing::TempDir copies;
    int opened = 0;
    for (const auto& [access, least] : {std::pair(Access::read, memory), {Access::write, kAmple}}) {
      const auto copy = copies / std::to_string(opened++);
      std::filesystem::copy(path, copy, std::filesystem::copy_options::recursive);
      const SpilledRows replayed = rows_of(copy, access, least);
      if (result.rows.sums.empty()) result.rows = replayed;
      CHECK(replayed == result.rows);
    }
    store.checkpoint();
    result.peak = budget.peak();
    CHECK(rows_of(store.embedding()) == result.rows);
  }
  CHECK(rows_of(path, Access::read, kAmple) == result.rows);
  return result;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("maps are charged for the levels that there are, also where there is none") {
    Manifest manifest;
    manifest.nodes = kNodes;
    for (const std::uint32_t levels : {0U, 1U, 2U}) {
      CAPTURE(levels);
      manifest.levels.assign(levels + 1, {});
      const auto bytes = [&](bool all_rows) {
        manifest.propagation = testing::tiny_spec(levels, all_rows);
        return Embedding::map_bytes(manifest);
      };
      CHECK(bytes(true) == levels * StateLevel::map_bytes(kNodes) + (levels + 1) * StaleRows::map_bytes(kNodes));
      CHECK(bytes(false) == bytes(true) + (levels > 1 ? Cone::map_bytes(kNodes) : 0));
    }
  }

  TEST_CASE("what a stream leaves does not depend on the budget: pushed, put off or lazy, also after a crash" *
            doctest::test_suite("slow")) {
    const testing::TempDir folder;
    testing::build_store(folder / "s", two_hubs());
    testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
    struct Case {
      std::string name;
      Plan plan;
      double r_max;
      LastLevel last;
    };
    for (const Case& one :
         {Case{"at once", Plan::push, 0, LastLevel::at_once}, Case{"deferred", Plan::push, 0, LastLevel::deferred},
          Case{"lazy", Plan::push, 1e-2, LastLevel::deferred}}) {
      CAPTURE(one.name);
      const ThreadLimit two(2);  // more threads need more memory
      std::vector<Streamed> runs;
      for (const std::uint64_t memory : {kSmall, kAmple}) {
        const auto copy = folder / (one.name + std::to_string(memory));
        std::filesystem::copy(folder / "s", copy, std::filesystem::copy_options::recursive);
        runs.push_back(stream(copy, memory, one.plan, {one.r_max, ThresholdScale::absolute}, one.last));
      }
      CHECK(runs[0].rows == runs[1].rows);
      CHECK(runs[0].peak <= kSmall);
      CHECK(runs[1].peak > 2 * kSmall);
      if (one.last == LastLevel::at_once) CHECK(runs[0].folds > 0);  // others end in a checkpoint
      CHECK(runs[1].folds == 0);
      if (one.r_max > 0) CHECK_FALSE(runs[0].rows.stale[1].empty());
    }
  }

  TEST_CASE("a batch whose rows have no room to be captured puts them into a file, and leaves the same sums") {
    constexpr std::uint32_t kWidth = 160;
    constexpr std::uint64_t kCaptured = std::uint64_t{2} * kNodes * kWidth * sizeof(std::int32_t);  // with one level
    testing::Sample star;
    star.nodes = kNodes;
    for (NodeId leaf = 1; leaf < kNodes; ++leaf) star.edges.insert({0, leaf});
    testing::add_features(star, kWidth, 3);
    const testing::TempDir folder;
    testing::build_store(folder / "s", star);
    const std::vector<Request> requests{{RequestKind::remove_node, 0, 0}};
    const auto stream_into = [&](const std::filesystem::path& path, std::uint64_t memory, double r_max,
                                 LastLevel last) {
      MemoryBudget budget(memory);
      StoreWriter live(path, budget);
      live.set_plan(Plan::push);
      const UpdateReport report =
          live.apply(requests, live.resolve(requests), {r_max, ThresholdScale::absolute}, last).update;
      static_cast<void>(live.settle());
      CHECK(budget.peak() <= memory);
      return std::pair(report.plan, testing::sums_of(live.embedding(), kNodes));
    };
    using Plans = std::vector<std::string>;
    const ThreadLimit two(2);  // more threads need more memory
    for (const std::uint32_t levels : {1U, 2U}) {
      CAPTURE(levels);
      const auto path = folder / std::to_string(levels);
      std::filesystem::copy(folder / "s", path, std::filesystem::copy_options::recursive);
      testing::propagate_store(path, testing::tiny_spec(levels, true));
      int copies = 0;
      const auto copy = [&] {
        auto to = folder / (std::to_string(levels) + "-" + std::to_string(copies++));
        std::filesystem::copy(path, to, std::filesystem::copy_options::recursive);
        return to;
      };
      for (const LastLevel last : {LastLevel::at_once, LastLevel::deferred}) {
        const auto put_off = [&](Plans plan) {
          if (last == LastLevel::deferred) plan.back() = "defer";
          return plan;
        };
        const auto ample = stream_into(copy(), kAmple, 0, last);
        CHECK(ample.first == put_off(Plans(levels, "push")));
        const auto small = copy();
        const auto [plan, sums] = stream_into(small, kCaptured - kCaptured / 4, 0, last);
        CHECK(plan == ample.first);
        CHECK(sums == ample.second);
        CHECK(rows_of(small, Access::read, kAmple).sums == ample.second);
      }
      const auto lazy = copy();
      const auto sums = stream_into(lazy, kCaptured - kCaptured / 4, 1e-2, LastLevel::at_once).second;
      CHECK(sums == stream_into(copy(), kAmple, 1e-2, LastLevel::at_once).second);
      CHECK_NOTHROW(rows_of(lazy, Access::write, kAmple));
    }
  }

  TEST_CASE("levels anew that were asked for and have no room are refused before the journal has the batch") {
    testing::Sample path;
    path.nodes = kNodes;
    for (NodeId node = 1; node < kNodes; ++node) path.edges.insert({node - 1, node});
    testing::add_features(path, 8, 3);
    const testing::TempDir folder;
    testing::build_store(folder / "s", path);
    testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
    const std::vector<Request> requests{{RequestKind::remove_edge, 3, 4}};
    int refused = 0, done = 0;
    for (std::uint64_t memory = 3 * kSmall; memory > 0; memory -= kSmall / 16) {
      CAPTURE(memory);
      const auto copy = folder / std::to_string(memory);
      std::filesystem::copy(folder / "s", copy, std::filesystem::copy_options::recursive);
      MemoryBudget budget(memory);
      std::optional<StoreWriter> live;
      try {
        live.emplace(copy, budget);
      } catch (const ResourceError&) {
        break;  // nothing less does
      }
      live->set_plan(Plan::recompute);
      try {
        live->apply(requests, live->resolve(requests), {0, ThresholdScale::absolute}, LastLevel::at_once);
        ++done;
      } catch (const ResourceError& error) {
        ++refused;
        CHECK(std::string(error.what()).find("raise") != std::string::npos);
        CHECK(live->sequence() == 0);
        live.reset();
        CHECK(StoreReader(copy, testing::ample_budget()).sequence() == 0);
      }
    }
    CHECK(done > 0);
    CHECK(refused > 0);
  }

  TEST_CASE("where receivers of a push fit the memory in many slices alone, they go through a file, to the same sums") {
    constexpr NodeId kMany = 130'000, kSources = 1500, kReceivers = 400;
    testing::Sample dense;
    dense.nodes = kMany;
    for (NodeId source = 0; source < kSources; ++source)
      for (NodeId receiver = 0; receiver < kReceivers; ++receiver) dense.edges.insert({source, kMany - 1 - receiver});
    testing::add_features(dense, 64, 3);
    const testing::TempDir folder;
    testing::build_store(folder / "s", dense);
    testing::propagate_store(folder / "s", testing::tiny_spec(1, true));
    std::vector<Request> requests;
    for (NodeId source = 0; source < kSources; ++source) requests.push_back({RequestKind::remove_feature, source, 0});
    const ThreadLimit two(2);
    std::vector<testing::AllSums> sums;
    for (const std::uint64_t memory : {kAmple, 5 * kSmall}) {
      const auto copy = folder / std::to_string(memory);
      std::filesystem::copy(folder / "s", copy, std::filesystem::copy_options::recursive);
      MemoryBudget budget(memory);
      StoreWriter live(copy, budget);
      const UpdateReport report = live.apply(requests, live.resolve(requests), {}, LastLevel::at_once).update;
      CHECK(report.plan == std::vector<std::string>{"push"});
      sums.push_back(testing::sums_of(live.embedding(), kMany));
    }
    CHECK(sums[0] == sums[1]);
  }

  TEST_CASE("a store that was streamed with much memory opens and goes on within little") {
    constexpr std::uint32_t kWidth = 160;
    testing::Sample ring;
    ring.nodes = kNodes;
    for (NodeId node = 0; node < kNodes; ++node) ring.edges.insert(std::minmax(node, (node + 1) % kNodes));
    testing::add_features(ring, kWidth, 3);
    const testing::TempDir folder;
    testing::build_store(folder / "s", ring);
    testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
    const auto removals = [](NodeId first) {
      std::vector<Request> requests;
      for (NodeId node = first; node < kNodes; node += 40)
        requests.push_back({RequestKind::remove_edge, node, node + 1});
      return requests;
    };
    const auto stream_into = [&](const std::string& store, std::uint64_t memory, NodeId first) {
      MemoryBudget budget(memory);
      StoreWriter live(folder / store, budget);
      live.set_plan(Plan::push);
      const std::vector<Request> requests = removals(first);
      live.apply(requests, live.resolve(requests), {0, ThresholdScale::absolute}, LastLevel::at_once);
      live.checkpoint();
      CHECK(budget.peak() <= memory);
      return rows_of(live.embedding());
    };
    const SpilledRows streamed = stream_into("s", kAmple, 10);
    std::uint64_t bytes = 0;  // rows that the checkpoint left beside the partitions
    for (const LevelFiles& level : read_manifest(folder / "s").levels) bytes += level.run ? level.run->bytes : 0;
    CHECK(bytes > kSmall);
    CHECK(rows_of(folder / "s", Access::read, kSmall / 2) == streamed);
    CHECK(rows_of(folder / "s", Access::write, kSmall / 2) == streamed);
    CHECK_THROWS_WITH_AS(rows_of(folder / "s", Access::read, kSmall / 8), doctest::Contains("raise memory"),
                         ResourceError);

    // What a change replaces lies in the run's file: the rows beside it stay.
    std::filesystem::copy(folder / "s", folder / "t", std::filesystem::copy_options::recursive);
    const SpilledRows more = stream_into("s", 2 * kSmall, 20);
    CHECK(stream_into("t", kAmple, 20) == more);
    CHECK(rows_of(folder / "s", Access::read, kAmple) == more);
    MemoryBudget budget(kAmple);
    CHECK(verify_store(folder / "s", {{}, true, 1, {}}, budget).findings.empty());
  }
}

}  // namespace unweave
