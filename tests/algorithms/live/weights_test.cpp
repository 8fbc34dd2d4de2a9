// tests/algorithms/live/weights_test.cpp - edges with weights: what is refused, what stands for
// what, and what is found in damage.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/export.h"
#include "algorithms/live/export_all.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/verification/verify.h"
#include "engine/ingest/store_import.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/changed_world.h"
#include "support/exported_options.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::changed_world;
using testing::ChangedWorld;
using testing::TempDir;

ChangedWorld weighted_world(std::uint64_t seed, std::uint32_t most) {
  ChangedWorld world = changed_world(40, 3, seed, false);
  world.weigh_all(most, seed);
  return world;
}

std::string weight_statuses(LiveStore& store, const std::vector<std::string>& lines) {
  std::string text;
  for (const RequestStatus status : store.resolve(testing::requests_of(lines)).statuses)
    text += std::string(name_of(status)) + " ";
  return text;
}

std::string weights_verified(const fs::path& store, bool rebuild = false) {
  return testing::text_of(verify_store(store, {std::nullopt, rebuild, 1}, ample_budget()));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("requests for weights, and where there are none") {
    ChangedWorld world = weighted_world(1, 9);
    world.edges.insert({1, 2});
    world.weigh({1, 2}, 4);
    world.edges.erase({3, 4});
    world.weights.erase({3, 4});
    const TempDir dir;
    world.import(dir / "s");
    StoreReader store(dir / "s", ample_budget());
    CHECK(weight_statuses(store, {"set-weight 2 1 4", "set-weight 1 2 5", "set-weight 1 2 5", "set-weight 1 2 10"}) ==
          "same-weight applied repeated weight-outside ");
    CHECK(weight_statuses(store, {"set-weight 3 4 2", "insert-edge 3 4 weight 10", "insert-edge 4 3 weight 9",
                                  "insert-edge 3 4", "set-weight 3 4 9", "edge 3 4", "set-weight 3 4 1"}) ==
          "absent-edge weight-outside applied present-edge repeated applied absent-edge ");
    CHECK(weight_statuses(store, {"set-weight 1 1 2", "set-weight 1 99 2", "set-weight 1 2 18446744073709551615",
                                  "insert-edge 1 2 weight 3"}) == "self-loop id-outside weight-outside present-edge ");
    ChangedWorld plain = changed_world(20, 3, 2, false);
    plain.edges.insert({1, 2});
    plain.edges.erase({3, 4});
    plain.import(dir / "plain");
    StoreReader without(dir / "plain", ample_budget());
    CHECK(weight_statuses(without, {"set-weight 1 2 1", "set-weight 1 2 2", "insert-edge 3 4 weight 2",
                                    "insert-edge 3 4 weight 1"}) ==
          "same-weight weight-outside weight-outside applied ");
    for (const char* const bad :
         {"set-weight 1 2", "set-weight 1 2 0", "set-weight 1 2 1.5", "set-weight 1 2 -1",
          "set-weight 1 2 99999999999999999999", "insert-edge 1 2 weight", "insert-edge 1 2 weight 0",
          "insert-edge 1 2 3", "edge 1 2 weight 3", "set-weight 1 2 3 4"})
      CHECK_MESSAGE(!parse_request(bad), bad);
    for (const char* const line : {"insert-edge 1 2 weight 3 id=T1", "set-weight 1 2 3 id=T2", "insert-edge 1 2"})
      CHECK(text_of(parse_request(line).value()) == line);
    CHECK(text_of(parse_request("insert-edge 1 2 weight 1").value()) == "insert-edge 1 2");
  }

  TEST_CASE("weights of 1 alone are no weights: digest and sums are those of the same edges") {
    ChangedWorld world = changed_world(40, 3, 4, false);
    const TempDir dir;
    world.import(dir / "plain");
    world.max_weight = 5;
    world.import(dir / "ones");
    CHECK(read_manifest(dir / "ones").needs() == std::vector<std::string>{"weights"});
    CHECK(read_manifest(dir / "ones").weight_sum == world.edges.size());
    for (const char* const store : {"plain", "ones"}) testing::propagate_store(dir / store, testing::tiny_spec(2));
    CHECK(testing::digest_now(dir / "plain") == testing::digest_now(dir / "ones"));
    CHECK(weights_verified(dir / "ones", true) == "");
  }

  TEST_CASE("what is exported is imported again, weights too") {
    for (const char* const order : {"none", "degree"}) {
      ChangedWorld world = weighted_world(5, 700);
      world.order = order;
      const TempDir dir;
      world.import(dir / "s");
      const ExportedStore exported = export_all(StoreReader(dir / "s", ample_budget()), dir / "out");
      CHECK(exported.edges == world.edges.size());
      CHECK(exported.max_weight == 700);
      ImportOptions options = testing::exported_options(dir / "out", exported);
      options.edges = InputFile{dir / "out" / "edges.npy", {}};
      options.edge_weights = InputFile{dir / "out" / "weights.npy", {}};
      options.order = order;
      WorkMeter nobody;
      static_cast<void>(import_store(dir / "again", options, ample_budget(), nobody));
      testing::check_same_store(dir / "again", dir / "s");
    }
  }

  TEST_CASE("an edge of two weights is an error that names it; one weight twice is none") {
    const TempDir dir;
    const auto import = [&](const std::string& edges, std::uint32_t most) {
      ImportOptions options;
      options.edges = InputFile{testing::write_file(dir / "edges.txt", edges), {}};
      options.max_weight = most;
      WorkMeter nobody;
      return import_store(dir / "s", options, ample_budget(), nobody);
    };
    CHECK_THROWS_WITH_AS(static_cast<void>(import("0 1 2\n1 2 1\n1 0 3\n", 3)),
                         doctest::Contains("has the weight 2 in one place and 3 in another"), InputError);
    CHECK_FALSE(fs::exists(dir / "s"));
    CHECK_THROWS_AS(static_cast<void>(import("0 1 2\n", kMostWeight + 1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(import("0 1\n", 3)), InputError);
    // Ids and weights share the 64 bits of an arc.
    CHECK_THROWS_WITH_AS(static_cast<void>(import("0 16777215 65535\n", kMostWeight)),
                         doctest::Contains("nodes below 16777215"), DataError);
    {
      // The end of the arcs of all nodes is a key, too.
      ImportOptions options;
      options.nodes = std::uint64_t{1} << 24;
      options.max_weight = kMostWeight;
      WorkMeter nobody;
      CHECK_THROWS_WITH_AS(static_cast<void>(import_store(dir / "s", options, ample_budget(), nobody)),
                           doctest::Contains("at most 16777215"), UsageError);
    }
    const ImportReport report = import("0 1 2\n1 2 1\n1 0 2\n0 1 2\n2 2 3\n", 3);
    CHECK(report.edges == 2);
    CHECK(report.weight_sum == 3);
    CHECK(report.duplicates == 2);
    CHECK(report.self_loops == 1);
    CHECK(weights_verified(dir / "s") == "");
  }

  TEST_CASE("long lists that weights make are asked of the budget before they are made") {
    const TempDir dir;
    constexpr std::uint64_t kBudget = std::uint64_t{64} << 20;
    std::string heavy, light;
    std::vector<Request> requests;
    for (NodeId node = 1; node <= 400; ++node) {
      const std::string edge = "0 " + std::to_string(node);
      heavy += edge + " 65535\n";
      light += edge + " 1\n";
      requests.push_back({RequestKind::set_weight, 0, node, {}, "65535"});
    }
    const auto import = [&](const std::string& edges, MemoryBudget& budget) {
      ImportOptions options;
      options.edges = InputFile{testing::write_file(dir / "edges.txt", edges), {}};
      options.max_weight = kMostWeight;
      WorkMeter nobody;
      static_cast<void>(import_store(dir / "s", options, budget, nobody));
    };
    MemoryBudget small(kBudget);
    CHECK_THROWS_WITH_AS(import(heavy, small), doctest::Contains("whose edges weigh much"), ResourceError);
    CHECK_FALSE(fs::exists(dir / "s"));
    CHECK(small.used() == 0);
    import(light, small);
    {
      StoreWriter store(dir / "s", small);
      const BatchChanges changes = store.resolve(requests);
      CHECK(changes.weights_set == 400);
      CHECK_THROWS_AS(store.apply(requests, changes, {}), ResourceError);
    }
    StoreReader store(dir / "s", ample_budget());
    CHECK(store.sequence() == 0);
    CHECK(store.contents().graph().num_arcs() == 800);
  }

  TEST_CASE("where a sweep seems cheaper but its lists do not fit the memory, rows are pushed") {
    constexpr NodeId kLeaves = 400;
    constexpr std::uint32_t kWeight = 5000;  // the hub's list has 8 MB, for which a sweep asks the budget
    ChangedWorld world = changed_world(kLeaves + 1, 24, 3, false);
    world.max_weight = kWeight;
    std::vector<Request> requests;
    for (NodeId node = 0; node <= kLeaves; ++node) {
      requests.push_back({RequestKind::remove_feature, node, 0});
      if (node == 0) continue;
      world.edges.insert({0, node});
      world.weigh({0, node}, kWeight);
    }
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", testing::tiny_spec(2, true));
    const ThreadLimit two(2);  // more threads need more memory
    for (const LastLevel last : {LastLevel::at_once, LastLevel::deferred}) {
      std::vector<testing::AllSums> sums;
      for (const auto& [memory, way] : {std::pair(std::uint64_t{1} << 30, "recompute"), {4U << 20, "push"}}) {
        const TempDir copies;
        fs::copy(dir / "s", copies / "s", fs::copy_options::recursive);
        MemoryBudget budget(memory);
        StoreWriter live(copies / "s", budget);
        const UpdateReport report = live.apply(requests, live.resolve(requests), {}, last).update;
        CHECK(report.plan == std::vector<std::string>{way, last == LastLevel::deferred ? "defer" : way});
        CHECK_NOTHROW(live.settle());
        sums.push_back(testing::sums_of(live.embedding(), kLeaves + 1));
      }
      CHECK(sums[0] == sums[1]);
    }
  }

  TEST_CASE("lazy rows stay within the bound that is claimed, whatever weights do to degrees") {
    for (const double rho : {0.0, 0.25, 0.5}) {
      CAPTURE(rho);
      const TempDir dir;
      ChangedWorld world;
      world.nodes = 6;
      world.columns = 2;
      world.features.assign(12, 0.5);
      world.labels.assign(6, 0);
      world.splits.assign(6, "train");
      world.edges = {{0, 1}, {1, 2}};
      world.max_weight = kMostWeight;
      world.weigh({0, 1}, kMostWeight);
      const auto rows_of = [&](const fs::path& path, const std::string& name) {
        const StoreReader store(path, ample_budget());
        export_embeddings(store, std::nullopt, store.embedding().spec().weights, dir / name);
        return testing::read_all(dir / name);
      };
      world.import(dir / "s");
      testing::propagate_store(dir / "s", testing::tiny_spec(3, true, rho));
      double claimed = 0;
      {
        StoreWriter store(dir / "s", ample_budget());
        const std::vector<Request> requests = testing::requests_of({"set-feature 0 0.6 0.5"});
        store.apply(requests, store.resolve(requests), {1.0, ThresholdScale::absolute});
        REQUIRE(store.embedding().stale_rows() > 0);
        claimed = lazy_error_bound(store.embedding(), store.contents());
      }
      const std::string lazy = rows_of(dir / "s", "lazy.npy");
      CHECK(world.apply("set-feature 0 0.6 0.5"));
      world.import(dir / "fresh");
      testing::propagate_store(dir / "fresh", testing::tiny_spec(3, true, rho));
      const std::string fresh = rows_of(dir / "fresh", "fresh.npy");
      REQUIRE(lazy.size() == fresh.size());
      const std::size_t values = std::size_t{world.nodes} * world.columns;
      std::vector<float> one(values), other(values);
      std::memcpy(one.data(), lazy.data() + lazy.size() - values * sizeof(float), values * sizeof(float));
      std::memcpy(other.data(), fresh.data() + fresh.size() - values * sizeof(float), values * sizeof(float));
      for (std::size_t c = 0; c < world.columns; ++c) {
        double square = 0;
        for (std::size_t i = c; i < values; i += world.columns)
          square += std::pow(static_cast<double>(one[i]) - static_cast<double>(other[i]), 2);
        CHECK(std::sqrt(square) <= claimed);
      }
    }
  }

  TEST_CASE("lists that contradict each other, and counts of edges that are wrong, are found") {
    ChangedWorld world = weighted_world(6, 5);
    const TempDir dir;
    world.import(dir / "s");
    Manifest manifest = read_manifest(dir / "s");
    ++manifest.edges;
    write_manifest(dir / "s", manifest);
    CHECK(weights_verified(dir / "s").find("edges") != std::string::npos);
    manifest.edges -= 1;
    ++manifest.weight_sum;
    write_manifest(dir / "s", manifest);
    CHECK_THROWS_AS(static_cast<void>(StoreReader(dir / "s", ample_budget())), FormatError);
    manifest.weight_sum -= 1;
    manifest.max_weight = 4;  // another than the shards say
    write_manifest(dir / "s", manifest);
    CHECK_THROWS_AS(static_cast<void>(StoreReader(dir / "s", ample_budget())), FormatError);
  }
}

}  // namespace unweave
