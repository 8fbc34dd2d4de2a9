// tests/algorithms/updates/stream_plan_test.cpp - what is estimated of a batch is what the batch
// then reports.
#include "algorithms/updates/stream_plan.h"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::Sample;
using testing::TempDir;

/// No row of features is zero: every change of a degree changes normalised features.
void make_dense(Sample& sample, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(0.05F, 0.1F);
  for (float& value : sample.features) value = uniform(random);
}

/// With a hub.
Sample dense_sample(NodeId nodes, double density, std::uint32_t columns, double labelled, std::uint64_t seed) {
  Sample sample = testing::random_sample(nodes, density, columns, seed);
  testing::add_features(sample, columns, seed + 1, labelled);
  make_dense(sample, seed);
  return sample;
}

/// Edges between random nodes.
Sample sparse_sample(NodeId nodes, std::size_t edges, std::uint32_t columns, double labelled, std::uint64_t seed) {
  Sample sample;
  sample.nodes = nodes;
  std::mt19937_64 random(seed);
  while (sample.edges.size() < edges) {
    const auto u = static_cast<NodeId>(random() % nodes), v = static_cast<NodeId>(random() % nodes);
    if (u != v) sample.edges.insert({std::min(u, v), std::max(u, v)});
  }
  testing::add_features(sample, columns, seed + 1, labelled);
  make_dense(sample, seed);
  return sample;
}

struct Totals {
  std::uint64_t rows = 0, arcs = 0;
  std::vector<std::string> plan;
  friend bool operator==(const Totals&, const Totals&) = default;
};

Totals totals_of(const StreamPlan& plan) {
  Totals totals;
  for (const LevelForecast& level : plan.levels) {
    totals.rows += level.rows;
    totals.arcs += level.arcs;
    totals.plan.emplace_back(level.recompute ? "recompute" : "push");
  }
  return totals;
}

Totals totals_of(const UpdateReport& report) {
  return {report.rows_touched, report.arcs_visited, report.plan};
}

StreamPlan forecast_of(const std::filesystem::path& path, const std::vector<Request>& requests,
                       std::uint64_t batches = 1) {
  StoreReader store(path, testing::ample_budget());
  const BatchChanges changes = store.resolve(requests);
  return std::move(store).forecast(changes, batches);
}

/// The plan with another bound of what is followed exactly, for a store without a journal.
StreamPlan forecast_within(const std::filesystem::path& path, const std::vector<Request>& requests,
                           std::uint64_t exact_arcs) {
  const Manifest manifest = read_manifest(path);
  Contents contents(path, manifest);
  Embedding embedding(path, manifest, contents);
  return plan_stream(contents, &embedding, resolve_batch(contents, requests), 1, testing::ample_budget(), exact_arcs);
}

UpdateReport apply(StoreWriter& store, const std::vector<Request>& requests) {
  return store.apply(requests, store.resolve(requests), {}).update;
}

void check_near(std::uint64_t foreseen, std::uint64_t done, double factor) {
  CHECK(static_cast<double>(foreseen) < factor * static_cast<double>(done));
  CHECK(static_cast<double>(foreseen) > static_cast<double>(done) / factor);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows, arcs and choice of each level are those of the batch: pushes, sweeps and scans of targets' lists" *
            doctest::test_suite("slow")) {
    int pushed = 0, swept = 0, scanned = 0;
    for (const double labelled : {1.0, 0.5, 0.03}) {
      for (const std::uint64_t count : {1U, 8U, 80U}) {
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
          const bool all_rows = labelled == 1.0;
          CAPTURE(labelled);
          CAPTURE(count);
          CAPTURE(seed);
          const Sample sample = dense_sample(600, 0.004, 8, labelled, seed);
          const std::vector<Request> requests = random_requests(sample, count, seed);
          StreamPlan lower;
          for (std::uint32_t levels = 0; levels <= 3; ++levels) {
            CAPTURE(levels);
            const TempDir folder;
            testing::build_store(folder / "s", sample);
            testing::propagate_store(folder / "s", testing::tiny_spec(levels, all_rows));
            const StreamPlan plan = forecast_of(folder / "s", requests);
            StoreWriter store(folder / "s", testing::ample_budget());
            const UpdateReport report = apply(store, requests);
            CHECK(totals_of(plan) == totals_of(report));
            CHECK(plan.seconds == doctest::Approx(report.seconds_predicted).epsilon(1e-12));
            CHECK(plan.levels.size() == levels);
            for (const std::string& way : report.plan) ++(way == "push" ? pushed : swept);
            if (const TargetLists* lists = store.embedding().indexes().target_lists())
              scanned += !plan.levels.empty() && plan.levels.back().arcs == lists->arcs() ? 1 : 0;
            // Where all rows are kept the levels do not depend on their number: totals agree for
            // every number of them only where each level does.
            if (all_rows) {
              for (std::size_t l = 0; l < lower.levels.size(); ++l) {
                CHECK(plan.levels[l].rows == lower.levels[l].rows);
                CHECK(plan.levels[l].arcs == lower.levels[l].arcs);
              }
            }
            lower = plan;
          }
        }
      }
    }
    CHECK(pushed > 20);
    CHECK(swept > 20);
    CHECK(scanned > 5);
  }

  TEST_CASE("arcs that are summed are those of the rows that are kept") {
    const Sample sample = dense_sample(600, 0.004, 3, 0.1, 2);
    const std::vector<Request> requests = random_requests(sample, 20, 4);
    std::uint64_t summed = 0;
    for (const Plan way : {Plan::push, Plan::recompute}) {
      const TempDir folder;
      testing::build_store(folder / "s", sample);
      testing::propagate_store(folder / "s", testing::tiny_spec(2, false));
      StoreWriter store(folder / "s", testing::ample_budget());
      store.set_plan(way);
      const UpdateReport report = apply(store, requests);
      const Graph& graph = store.contents().graph();
      CHECK(report.arcs_summed < report.arcs_visited);
      CHECK(report.arcs_summed > summed);  // a push adds a part of what a sweep does
      summed = report.arcs_summed;
      if (way == Plan::push) continue;
      std::uint64_t kept = 0;
      for (std::uint32_t level = 1; level <= 2; ++level)
        for (NodeId node = 0; node < graph.num_nodes(); ++node)
          if (store.embedding().cone().contains(level, node)) kept += graph.degree(node);
      CHECK(summed == kept);
      CHECK(report.arcs_visited == 2 * (graph.num_arcs() + graph.num_nodes()));
    }
  }

  TEST_CASE("samples foresee nearly what the sets of rows do") {
    const Sample sample = sparse_sample(60'000, 70'000, 2, 0.4, 5);
    for (const bool all_rows : {true, false}) {
      const TempDir folder;
      testing::build_store(folder / "s", sample);
      testing::propagate_store(folder / "s", testing::tiny_spec(4, all_rows));
      const std::vector<Request> requests = random_requests(sample, 20, 7);
      const StreamPlan exact = forecast_within(folder / "s", requests, std::uint64_t{1} << 40);
      // By sets, then by a sample, then by degrees alone: each time one level sooner.
      for (const std::uint64_t arcs : {exact.levels[1].arcs, exact.levels[0].arcs, std::uint64_t{0}}) {
        CAPTURE(arcs);
        const StreamPlan plan = forecast_within(folder / "s", requests, arcs);
        REQUIRE(plan.levels.size() == exact.levels.size());
        bool is_known = true;  // the set of rows to push
        for (std::size_t l = 0; l < plan.levels.size(); ++l) {
          CAPTURE(l);
          const LevelForecast &level = plan.levels[l], &true_level = exact.levels[l];
          REQUIRE((l == 3 || !true_level.recompute));
          if (true_level.recompute || level.recompute) break;
          if (is_known) CHECK(level.arcs == true_level.arcs);
          if (is_known && level.arcs <= arcs) {
            CHECK(level.rows == true_level.rows);
            continue;
          }
          check_near(level.rows, true_level.rows, is_known ? 1.15 : 1.6);
          check_near(level.arcs, true_level.arcs, 1.25);
          is_known = false;
        }
      }
    }
  }

  TEST_CASE("memory and disk are what changed rows and a checkpoint take") {
    const Sample sample = sparse_sample(6'000, 9'000, 40, 1, 3);
    for (const std::size_t count : {2U, 1500U}) {
      CAPTURE(count);
      const TempDir folder;
      testing::build_store(folder / "s", sample);
      testing::propagate_store(folder / "s", testing::tiny_spec(2));
      const std::vector<Request> requests = random_requests(sample, count, 11);
      const StreamPlan plan = forecast_of(folder / "s", requests);
      const StreamPlan twice = forecast_of(folder / "s", requests, 2);
      const auto before = testing::folder_bytes(folder / "s");
      StoreWriter store(folder / "s", testing::ample_budget());
      const UpdateReport report = apply(store, requests);
      const bool swept = totals_of(plan).plan.back() == "recompute";
      CHECK(swept == (count == 1500));
      std::uint64_t overlay = 0, taken = 0;  // by the rows, and in the blocks that memory is taken in
      for (std::uint32_t l = 1; l <= 2; ++l) {
        const StateLevel& level = store.embedding().level(l);
        overlay += StateLevel::overlay_bytes(level.overlay_rows(), sample.columns);
        taken += level.overlay_bytes();
      }
      if (!swept) {
        CHECK(overlay == StateLevel::overlay_bytes(report.rows_touched, sample.columns));
        CHECK(overlay <= taken);
        CHECK(plan.memory_bytes > overlay);
        CHECK(plan.memory_bytes < 3 * overlay);
        CHECK(twice.memory_bytes == plan.memory_bytes + overlay);
      }
      CHECK(twice.disk_bytes > plan.disk_bytes);
      std::uint64_t journal = 0, checkpoint = 0;
      for (const auto& [name, content] : testing::folder_bytes(folder / "s"))
        if (name.find("journal") != std::string::npos) journal += content.size();
      store.checkpoint();
      for (const auto& [name, content] : testing::folder_bytes(folder / "s"))
        if (!before.contains(name)) checkpoint += content.size();
      check_near(plan.disk_bytes, journal + checkpoint, 1.1);
      CHECK(plan.written_bytes == plan.disk_bytes);
      CHECK(twice.written_bytes == twice.disk_bytes);
    }
  }

  TEST_CASE("a reader foresees the batch after those of the journal, and changes no file") {
    const Sample sample = dense_sample(600, 0.004, 3, 0.5, 9);
    const TempDir folder;
    testing::build_store(folder / "s", sample);
    testing::propagate_store(folder / "s", testing::tiny_spec(2, false));
    const std::vector<Request> requests = random_requests(sample, 12, 2);
    const std::vector<Request> before(requests.begin(), requests.begin() + 6),
        after(requests.begin() + 6, requests.end());
    static_cast<void>(apply(*std::make_unique<StoreWriter>(folder / "s", testing::ample_budget()), before));
    const auto bytes = testing::folder_bytes(folder / "s");
    const StreamPlan plan = forecast_of(folder / "s", after);
    CHECK(testing::folder_bytes(folder / "s") == bytes);
    StoreWriter store(folder / "s", testing::ample_budget());
    REQUIRE(store.pending_requests() == 6);
    CHECK(totals_of(plan) == totals_of(apply(store, after)));
  }

  TEST_CASE("nothing that changes anything touches no row, and before propagate there is only the graph") {
    const Sample sample = dense_sample(100, 0.05, 2, 1, 4);
    const TempDir folder;
    testing::build_store(folder / "s", sample);
    const std::vector<Request> one = random_requests(sample, 1, 1);
    const StreamPlan bare = forecast_of(folder / "s", one);
    CHECK(bare.levels.empty());
    CHECK(bare.seconds == 0);
    CHECK(bare.memory_bytes == 0);
    CHECK(bare.disk_bytes > 0);
    testing::propagate_store(folder / "s", testing::tiny_spec(2));
    const StreamPlan idle =
        forecast_of(folder / "s", {{RequestKind::remove_edge, 5, 5}, {RequestKind::remove_node, 100, 0}});
    CHECK(totals_of(idle) == Totals{0, 0, {"push", "push"}});
    CHECK(idle.seconds == 0);
    CHECK(idle.memory_bytes == 0);
  }

  TEST_CASE("a recomputation that has no room in memory goes to files") {
    const Sample sample = dense_sample(3'000, 2e-3, 64, 1, 6);
    const TempDir folder;
    testing::build_store(folder / "s", sample);
    testing::propagate_store(folder / "s", testing::tiny_spec(2));
    const std::vector<Request> requests = random_requests(sample, 600, 5);
    const std::uint64_t sums = 2 * std::uint64_t{sample.nodes} * sample.columns * sizeof(std::int32_t);
    std::vector<std::uint64_t> memory, written;
    for (const std::uint64_t mebibytes : {256, 2}) {
      MemoryBudget budget(mebibytes << 20);
      StoreReader store(folder / "s", budget);
      const std::uint64_t available = budget.available();
      const BatchChanges changes = store.resolve(requests);
      const StreamPlan plan = std::move(store).forecast(changes, 3);
      CHECK(totals_of(plan).plan == std::vector<std::string>{"recompute", "recompute"});
      CHECK(plan.memory_bytes <= available);
      CHECK(plan.disk_bytes > sums);
      memory.push_back(plan.memory_bytes);
      written.push_back(plan.written_bytes);
    }
    CHECK(written[0] < 2 * sums);  // once, by the checkpoint
    CHECK(written[1] > 3 * sums);
    CHECK(memory[0] > sums);
    CHECK(memory[1] < (std::uint64_t{2} << 20));
    MemoryBudget budget(64 << 10);
    StoreReader store(folder / "s", budget);
    const BatchChanges changes = StoreReader(folder / "s", testing::ample_budget()).resolve(requests);
    CHECK_THROWS_AS((void)std::move(store).forecast(changes, 1), ResourceError);
  }
}

}  // namespace unweave
