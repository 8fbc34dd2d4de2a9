// tests/algorithms/updates/update_test.cpp - streams against fresh runs, integer by integer.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "algorithms/live/live_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/propagation/recompute.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::Sample;

constexpr std::uint64_t kMemory = std::uint64_t{1} << 30;

/// Requests of all kinds, some of which change nothing; the same for a given seed whatever the
/// sample holds by then.
std::vector<Request> mixed_requests(const Sample& sample, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::pair<NodeId, NodeId>> edges(sample.edges.begin(), sample.edges.end());
  std::vector<Request> requests;
  const auto node = [&] { return random() % (sample.nodes + 1); };  // once in a while out of range
  for (std::size_t i = 0; i < count; ++i) {
    const auto dice = random() % 10;
    if (dice < 5 && !edges.empty()) {
      const auto& edge = edges[random() % edges.size()];
      requests.push_back({RequestKind::remove_edge, edge.second, edge.first});
    } else if (dice < 7) {
      requests.push_back({RequestKind::insert_edge, node(), node()});
    } else if (dice < 8) {
      requests.push_back({RequestKind::remove_node, node(), 0});
    } else if (dice < 9) {
      requests.push_back({RequestKind::remove_feature, node(), 0});
    } else {
      requests.push_back({RequestKind::remove_edge, node(), node()});
    }
  }
  return requests;
}

/// Sends the requests in batches of `batch`, closing and opening the store after every `reopen`
/// batches. Work on the last level is done at once in every `at_once`-th batch.
void stream(const std::filesystem::path& path, std::span<const Request> requests, std::size_t batch, std::size_t reopen,
            const StreamMode& mode, bool checkpoint = true, std::size_t at_once = 1) {
  std::size_t batches = 0;
  for (std::size_t at = 0; at < requests.size();) {
    MemoryBudget budget(kMemory);
    StoreWriter store(path, budget);
    for (std::size_t i = 0; i < reopen && at < requests.size(); ++i) {
      const auto part = requests.subspan(at, std::min(batch, requests.size() - at));
      store.apply(part, store.resolve(part), mode, ++batches % at_once == 0 ? LastLevel::at_once : LastLevel::deferred);
      at += part.size();
    }
    if (checkpoint) store.checkpoint();
  }
}

testing::AllSums present_sums(const std::filesystem::path& path, NodeId nodes) {
  MemoryBudget budget(kMemory);
  const StoreReader store(path, budget);
  return testing::sums_of(store.embedding(), nodes);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("propagate gives the integers of the reference on the path 0-1-2") {
    Sample path;
    path.nodes = 3;
    path.edges = {{0, 1}, {1, 2}};
    path.columns = 1;
    path.features = {1.0F, 0.5F, -0.25F};
    const testing::TempDir folder;
    testing::build_store(folder / "s", path);
    testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
    MemoryBudget budget(kMemory);
    const StoreReader store(folder / "s", budget);
    const testing::AllSums sums = testing::sums_of(store.embedding(), 3);
    const std::int64_t s1[] = {16706448, 13740627, 1877344};
    const std::int64_t s2[] = {12933433, 13872105, 5518881};
    const std::int32_t t0[] = {11863283, 4843165, -2965821};
    const std::int32_t t1[] = {8353224, 4580209, 938672};
    const std::int32_t t2[] = {6466716, 4624035, 2759440};
    for (NodeId node = 0; node < 3; ++node) {
      CHECK(sums[0][node][0] == s1[node]);
      CHECK(sums[1][node][0] == s2[node]);
      std::int32_t t = 0;
      store.embedding().normalised_sums(0, node, &t);
      CHECK(t == t0[node]);
      store.embedding().normalised_sums(1, node, &t);
      CHECK(t == t1[node]);
      store.embedding().normalised_sums(2, node, &t);
      CHECK(t == t2[node]);
    }
  }

  TEST_CASE("propagate equals naive sums over all families, levels, rho and row choices" *
            doctest::test_suite("slow")) {
    for (const Sample& sample : testing::sample_families(5)) {
      for (const std::uint32_t levels : {0U, 1U, 2U, 4U}) {
        for (const double rho : {0.0, 0.5, 1.0}) {
          for (const bool all_rows : {true, false}) {
            CAPTURE(sample.name);
            CAPTURE(levels);
            CAPTURE(rho);
            CAPTURE(all_rows);
            const testing::TempDir folder;
            testing::build_store(folder / "s", sample);
            PropagationSpec spec = testing::tiny_spec(levels, all_rows, rho);
            for (const std::uint32_t scale_bits : {24U, 14U}) {
              CAPTURE(scale_bits);
              spec.scale_bits = scale_bits;
              testing::propagate_store(folder / "s", spec);
              CHECK(present_sums(folder / "s", sample.nodes) ==
                    testing::naive_sums(sample, levels, all_rows, rho, scale_bits));
            }
          }
        }
      }
    }
  }

  TEST_CASE("an exact stream leaves the integers of a fresh run, whatever the batches, reopenings and row choice" *
            doctest::test_suite("slow")) {
    for (const Sample& original : testing::sample_families(4)) {
      for (const std::uint32_t levels : {1U, 2U, 3U}) {
        for (const bool all_rows : {true, false}) {
          const std::vector<Request> requests = mixed_requests(original, 60, 5 + levels);
          Sample after = original;
          std::uint64_t applied = 0;
          for (const Request& request : requests) applied += testing::apply_naively(after, request) ? 1 : 0;
          PropagationSpec spec = testing::tiny_spec(levels, all_rows);
          if (levels == 2) spec.scale_bits = 14;  // 16 bits between levels of a sweep, 32 bits in updates
          const testing::AllSums fresh = testing::naive_sums(after, levels, all_rows, 0.5, spec.scale_bits);
          for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{60}}) {
            CAPTURE(original.name);
            CAPTURE(levels);
            CAPTURE(all_rows);
            CAPTURE(batch);
            const testing::TempDir folder;
            testing::build_store(folder / "s", original);
            testing::propagate_store(folder / "s", spec);
            stream(folder / "s", requests, batch, batch == 1 ? 11 : 3, {}, batch != 7);
            CHECK(present_sums(folder / "s", original.nodes) == fresh);
            if (batch == 60) continue;
            // The last level put off for some batches, or for as long as the store is open.
            const testing::TempDir later;
            testing::build_store(later / "s", original);
            testing::propagate_store(later / "s", spec);
            stream(later / "s", requests, batch, batch == 1 ? 23 : 4, {}, batch != 7, batch == 1 ? 1000 : 3);
            CHECK(present_sums(later / "s", original.nodes) == fresh);
          }
        }
      }
    }
  }

  TEST_CASE("pushing, recomputing in memory and recomputing into files give the same integers") {
    for (const Sample& original : testing::sample_families(6)) {
      const std::vector<Request> requests = mixed_requests(original, 30, 3);
      Sample after = original;
      for (const Request& request : requests) testing::apply_naively(after, request);
      const ThreadLimit limit(2);  // more threads need more memory
      for (const auto& [all_rows, scale_bits] : {std::pair(true, 24U), std::pair(false, 24U), std::pair(true, 14U)}) {
        const testing::AllSums fresh = testing::naive_sums(after, 3, all_rows, 0.5, scale_bits);
        const testing::TempDir folder;
        testing::build_store(folder / "s", original);
        PropagationSpec spec = testing::tiny_spec(3, all_rows);
        spec.scale_bits = scale_bits;
        testing::propagate_store(folder / "s", spec);
        const Manifest manifest = read_manifest(folder / "s");
        for (const Plan plan : {Plan::push, Plan::recompute, Plan::automatic}) {
          // The small budget has no room for resident rows, and cuts the columns into several
          // tiles.
          for (const bool small : {false, true}) {
            for (const bool defer : {false, true}) {
              const std::uint64_t memory = small ? std::uint64_t{6} << 20 : kMemory;
              CAPTURE(defer);
              CAPTURE(original.name);
              CAPTURE(spec.all_rows);
              CAPTURE(spec.scale_bits);
              CAPTURE(static_cast<int>(plan));
              CAPTURE(memory);
              MemoryBudget budget(memory);
              Contents contents(folder / "s", manifest);
              Embedding embedding(folder / "s", manifest, contents);
              ChangedRows rows(budget, folder / "s", [&](StateLevel& level) { level.fold(folder / "s", budget); });
              Update update(contents, embedding, rows, {folder / "s", plan, defer});
              for (std::size_t at = 0; at < requests.size(); at += 10) {
                const BatchChanges changes = resolve_batch(contents, std::span(requests).subspan(at, 10));
                update.apply(changes, Threshold(original.columns, 0));
              }
              update.deliver();
              CHECK(embedding.deferred().empty());
              CHECK(testing::sums_of(embedding, original.nodes) == fresh);
            }
          }
        }
      }
    }
  }

  TEST_CASE("a batch of more nodes than a task takes leaves the integers of a fresh run for any number of threads") {
    constexpr NodeId kNodes = 3000;
    const Sample original = testing::random_sample(kNodes, 0.0025, 3, 11);
    const std::vector<Request> requests = mixed_requests(original, 1500, 4);
    Sample after = original;
    for (const Request& request : requests) testing::apply_naively(after, request);
    const testing::AllSums fresh = testing::naive_sums(after, 2, true, 0.5, 24);
    for (const std::size_t threads : {1U, 2U, 3U}) {
      for (const bool defer : {false, true}) {
        CAPTURE(threads);
        CAPTURE(defer);
        const ThreadLimit limit(threads);
        const testing::TempDir folder;
        testing::build_store(folder / "s", original);
        testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
        MemoryBudget budget(kMemory);
        Contents contents(folder / "s", read_manifest(folder / "s"));
        Embedding embedding(folder / "s", read_manifest(folder / "s"), contents);
        ChangedRows rows(budget, folder / "s", [&](StateLevel& level) { level.fold(folder / "s", budget); });
        Update update(contents, embedding, rows, {folder / "s", Plan::push, defer});
        const BatchChanges changes = resolve_batch(contents, requests);
        CHECK(changes.nodes.size() > 1500);
        update.apply(changes, Threshold(original.columns, 0));
        update.deliver();
        CHECK(testing::sums_of(embedding, kNodes) == fresh);
      }
    }
  }

  TEST_CASE("the masks of a recomputation are charged before they are made") {
    const Sample sample = testing::random_sample(2000, 0.001, 2, 9);
    const testing::TempDir folder;
    testing::build_store(folder / "s", sample);
    testing::propagate_store(folder / "s", testing::tiny_spec(3, false));
    const Manifest manifest = read_manifest(folder / "s");
    const Contents contents(folder / "s", manifest);
    Embedding embedding(folder / "s", manifest, contents);
    MemoryBudget less(3 * RowMask::bytes(sample.nodes) - 1);
    std::string message;
    try {
      recompute_levels(contents, embedding, less, folder / "s", 1, 3);
    } catch (const ResourceError& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find("masks of the rows") != std::string::npos);
    CHECK(less.used() == 0);
  }

  TEST_CASE("requests are applied and rejected as the naive sample does") {
    const Sample original = testing::random_sample(40, 0.1, 3, 9);
    const std::vector<Request> requests = mixed_requests(original, 200, 77);
    const testing::TempDir folder;
    testing::build_store(folder / "s", original);
    MemoryBudget budget(kMemory);
    StoreWriter store(folder / "s", budget);
    Sample sample = original;
    for (std::size_t at = 0; at < requests.size(); at += 10) {
      const auto part = std::span(requests).subspan(at, 10);
      std::uint64_t applied = 0;
      for (const Request& request : part) applied += testing::apply_naively(sample, request) ? 1 : 0;
      const BatchReport report = store.apply(part, store.resolve(part), {});
      CHECK(report.changes.applied == applied);
      CHECK(report.changes.rejected == 10 - applied);
      CHECK(report.last_request == at + 10);
      CHECK(store.contents().graph().num_arcs() == 2 * sample.edges.size());
    }
  }

  TEST_CASE("a lazy stream keeps S = A published, stays within its thresholds and flushes to the fresh run" *
            doctest::test_suite("slow")) {
    for (const Sample& original : testing::sample_families(4)) {
      for (const double r_max : {1e-3, 1e-2, 1e-1}) {
        for (const bool all_rows : {true, false}) {
          CAPTURE(original.name);
          CAPTURE(r_max);
          CAPTURE(all_rows);
          const std::uint32_t levels = 3;
          const std::vector<Request> requests = mixed_requests(original, 40, 31);
          Sample after = original;
          for (const Request& request : requests) testing::apply_naively(after, request);
          const testing::TempDir folder;
          testing::build_store(folder / "s", original);
          testing::propagate_store(folder / "s", testing::tiny_spec(levels, all_rows));
          const StreamMode mode{r_max, ThresholdScale::absolute};
          stream(folder / "s", requests, 5, 3, mode);

          MemoryBudget budget(kMemory);
          StoreWriter store(folder / "s", budget);
          const Embedding& embedding = store.embedding();
          const Graph& graph = store.contents().graph();
          std::vector<NodeId> list;
          for (std::uint32_t l = 1; l <= levels; ++l) {
            for (NodeId node = 0; node < original.nodes; ++node) {
              std::vector<std::int64_t> row(embedding.columns());
              if (!embedding.level(l).load(node, row.data())) continue;
              std::vector<std::int64_t> expected(embedding.columns());
              graph.neighbours(node, list);
              list.push_back(node);
              for (const NodeId other : list) {
                std::vector<std::int32_t> told(embedding.columns());
                embedding.published(l - 1, other, told.data());
                for (std::uint32_t c = 0; c < embedding.columns(); ++c) expected[c] += told[c];
              }
              CHECK(row == expected);
            }
          }
          const double limit = std::ldexp(r_max, 24);
          for (std::uint32_t l = 0; l < levels; ++l) {
            for (const NodeId node : embedding.stale(l).nodes()) {
              std::vector<std::int32_t> delta(embedding.columns());
              embedding.stale(l).add_to(node, 1, delta.data());
              for (const std::int32_t one : delta)
                CHECK(std::fabs(static_cast<double>(one)) * graph.degree(node) <= limit);
            }
          }
          store.publish_stale();
          CHECK(store.embedding().stale_rows() == 0);
          CHECK(testing::sums_of(store.embedding(), original.nodes) == testing::naive_sums(after, levels, all_rows));
          store.checkpoint();
          CHECK(present_sums(folder / "s", original.nodes) == testing::naive_sums(after, levels, all_rows));
        }
      }
    }
  }

  TEST_CASE("lazy streams give the same bits with and without reopening, checkpoints and readers") {
    const Sample original = testing::random_sample(80, 0.08, 4, 3);
    const std::vector<Request> requests = mixed_requests(original, 60, 13);
    const StreamMode mode{0.02, ThresholdScale::absolute};
    std::vector<testing::AllSums> results;
    struct Way {
      std::size_t reopen;
      bool checkpoint;
      std::size_t at_once;
    };
    for (const Way& way : {Way{100, true, 1}, Way{1, true, 1}, Way{2, false, 1}, Way{100, true, 1000},
                           Way{3, false, 1000}, Way{100, true, 4}}) {
      const testing::TempDir folder;
      testing::build_store(folder / "s", original);
      testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
      stream(folder / "s", requests, 6, way.reopen, mode, way.checkpoint, way.at_once);
      results.push_back(present_sums(folder / "s", original.nodes));
    }
    for (const testing::AllSums& one : results) CHECK(one == results[0]);
  }

  TEST_CASE("rows are not given out while the last level is behind") {
    const testing::TempDir folder;
    testing::build_store(folder / "s", testing::random_sample(30, 0.2, 3, 5));
    testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
    MemoryBudget budget(kMemory);
    StoreWriter store(folder / "s", budget);
    const Request request{RequestKind::remove_node, 4, 0};
    store.apply({&request, 1}, store.resolve({&request, 1}), {}, LastLevel::deferred);
    const NodeId node = 3;
    const std::vector<double> weights{0, 0, 1};
    std::vector<float> row(3);
    CHECK_THROWS_AS(store.embedding().rows({&node, 1}, weights, row.data()), std::logic_error);
    CHECK(store.settle().rows_touched > 0);
    store.embedding().rows({&node, 1}, weights, row.data());
  }
}

}  // namespace unweave
