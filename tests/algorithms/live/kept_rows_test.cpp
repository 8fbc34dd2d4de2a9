// tests/algorithms/live/kept_rows_test.cpp - stores that keep rows in place of sums: the bits of
// those that sums give, whatever the memory; what they serve and what they refuse; verification,
// repair, purge and digest.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge_plan.h"
#include "algorithms/propagation/plan.h"
#include "algorithms/verification/verify.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/kept_store.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::kept_spec;
using testing::propagate_store;
using testing::rows_of;
using testing::TempDir;
using testing::text_of;

const std::vector<std::string> kSchemes{"sgc", "ppr:0.2", "heat:1.5", "chebyshev"};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
         });
}

/// Values of 16 bits as readers get them.
std::vector<float> through_halves(const std::vector<float>& rows, std::int32_t exponent) {
  std::vector<Half> halves(rows.size());
  REQUIRE(round_to_halves(rows, exponent, halves.data()) == rows.size());
  std::vector<float> back(rows.size());
  widen_halves(halves, back.data());
  for (float& value : back) value = std::ldexp(value, -exponent);
  return back;
}

std::string verified(const fs::path& store, bool rebuild = false) {
  return text_of(verify_store(store, {std::nullopt, rebuild}, ample_budget()));
}

/// Names and roots of all files of rows.
std::vector<FileEntry> row_files(const fs::path& store) {
  std::vector<FileEntry> files;
  for (const LevelFiles& level : read_manifest(store).levels)
    files.insert(files.end(), level.rows.begin(), level.rows.end());
  return files;
}

testing::Sample weighted_sample() {
  testing::Sample sample = testing::random_sample(400, 0.02, 9, 3);
  testing::add_features(sample, 9, 4, 0.3);
  std::size_t at = 0;
  for (const auto& edge : sample.edges)
    if (at++ % 3 == 0) sample.weights[edge] = static_cast<std::uint32_t>(2 + at % 50);
  return sample;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("an embedding has the bits that sums give, under every scheme, of all rows or the labelled ones") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::write_store(store, testing::random_store(300, 1200, 7, 3));
    for (const std::string& scheme : kSchemes)
      for (const bool all_rows : {true, false})
        for (const std::uint32_t levels : {0U, 1U, 3U})
          for (const double rho : {0.5, 0.3}) {
            CAPTURE(scheme);
            CAPTURE(all_rows);
            CAPTURE(levels);
            propagate_store(store, kept_spec(levels, scheme, {}, all_rows, rho));
            const std::vector<double> weights = read_manifest(store).propagation->weights;
            const std::vector<float> wanted = rows_of(store, weights);
            const std::string before = testing::digest_now(store);
            propagate_store(store, kept_spec(levels, scheme, {Keep::embedding, FeatureType::f32, 0}, all_rows, rho));
            CHECK(same_bits(rows_of(store, weights), wanted));
            CHECK(testing::digest_now(store) != before);
            CHECK(verified(store, levels > 0) == "");
            propagate_store(store, kept_spec(levels, scheme, {Keep::embedding, FeatureType::f16, 5}, all_rows, rho));
            CHECK(same_bits(rows_of(store, weights), through_halves(wanted, 5)));
            CHECK(verified(store, levels > 0) == "");
            std::vector<double> others = weights;
            others[0] += 1;
            CHECK_THROWS_AS(rows_of(store, others), UsageError);
          }
  }

  TEST_CASE("hops serve any weights: those of one level its very bits, others the sums of what is kept") {
    const TempDir folder;
    const fs::path store = folder / "s";
    const testing::TinyStore contents = testing::random_store(200, 700, 19, 5);
    testing::write_store(store, contents);
    for (const bool all_rows : {true, false})
      for (const FeatureType type : {FeatureType::f32, FeatureType::f16}) {
        constexpr std::uint32_t kLevels = 3;
        propagate_store(store, kept_spec(kLevels, "sgc", {}, all_rows));
        std::vector<std::vector<float>> levels;
        for (std::uint32_t l = 0; l <= kLevels; ++l) {
          std::vector<double> one(kLevels + 1);
          one[l] = 1;
          levels.push_back(rows_of(store, one));
        }
        const std::int32_t exponent = type == FeatureType::f16 ? 3 : 0;
        propagate_store(store, kept_spec(kLevels, "sgc", {Keep::hops, type, exponent}, all_rows));
        CHECK(verified(store, true) == "");
        for (std::uint32_t l = 1; l <= kLevels; ++l) {
          std::vector<double> one(kLevels + 1);
          one[l] = 1;
          if (type == FeatureType::f16) levels[l] = through_halves(levels[l], exponent);
          CHECK(same_bits(rows_of(store, one), levels[l]));
        }
        levels[0].clear();
        for (NodeId node = 0; node < contents.nodes; ++node)
          if (all_rows || contents.labels[node] >= 0)
            levels[0].insert(levels[0].end(), contents.features.begin() + node * 19,
                             contents.features.begin() + (node + 1) * 19);
        const std::vector<double> weights{0.5, -2, 0, 0.25};
        std::vector<float> wanted(levels[0].size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          double sum = 0;
          for (const std::size_t l : {0U, 1U, 3U}) sum += weights[l] * static_cast<double>(levels[l][i]);
          wanted[i] = static_cast<float>(sum);
        }
        CHECK(same_bits(rows_of(store, weights), wanted));
        CHECK(rows_of(store, {1, 0, 0, 0, 0, 1, 0, 0}).size() == 2 * wanted.size());
      }
  }

  TEST_CASE("whatever the memory, and with it the width of the tiles, the files are the same") {
    const TempDir folder;
    const fs::path store = folder / "s";
    const NodeId nodes = 9000;
    testing::TinyStore contents = testing::random_store(nodes, 20000, 44, 7);
    testing::write_store(store, contents);
    for (const std::string& scheme : kSchemes)
      for (const Keep keep : {Keep::embedding, Keep::hops}) {
        if (keep == Keep::hops && scheme != "sgc") continue;
        CAPTURE(scheme);
        const PropagationSpec spec = kept_spec(2, scheme, {keep, FeatureType::f32, 0});
        propagate_store(store, spec);
        const std::vector<FileEntry> wanted = row_files(store);
        std::set<std::size_t> widths;
        for (std::uint64_t memory = std::uint64_t{24} << 20; memory > 200'000; memory = memory / 10 * 8) {
          MemoryBudget budget(memory);
          try {
            StoreWriter live(store, budget);
            const PropagateReport report = propagate(live, spec, budget, {});
            widths.insert(report.tile_width);
          } catch (const ResourceError&) {
            break;
          }
          CHECK(budget.peak() <= memory);
          CHECK(row_files(store) == wanted);
        }
        CHECK(widths.contains(44));
        CHECK(std::any_of(widths.begin(), widths.end(), [](std::size_t one) { return one % 16 == 0; }));
        CHECK(std::any_of(widths.begin(), widths.end(), [](std::size_t one) { return one < 16; }));
      }
  }

  TEST_CASE("sums beyond 32 bits become values as others do") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::TinyStore star;
    star.nodes = 300;
    star.columns = 17;
    for (NodeId node = 1; node < star.nodes; ++node) star.edges.push_back({0, node});
    for (NodeId node = 0; node < star.nodes; ++node)
      for (std::uint32_t c = 0; c < star.columns; ++c) star.features.push_back(c == node % 3 ? 0.9F : 0.01F);
    testing::write_store(store, star);
    for (const char* const scheme : {"sgc", "ppr:0.5"}) {
      PropagationSpec spec = kept_spec(2, scheme, {}, true, 1);
      spec.scale_bits = 29;
      propagate_store(store, spec);
      const std::vector<float> wanted = rows_of(store, spec.weights);
      spec.kept.keep = Keep::embedding;
      propagate_store(store, spec);
      CHECK(same_bits(rows_of(store, spec.weights), wanted));
      CHECK(verified(store, true) == "");
    }
  }

  TEST_CASE("a value that 16 bits do not hold is one error with its place, and the store stays as it was") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::write_store(store, testing::path_of_three());
    propagate_store(store, kept_spec(2, "sgc", {}));
    const std::string before = testing::read_all(store / "manifest.json");
    try {
      propagate_store(store, kept_spec(2, "sgc", {Keep::hops, FeatureType::f16, 18}));
      FAIL("the value fits");
    } catch (const DataError& error) {
      const std::string text = error.what();
      CAPTURE(text);
      for (const char* const part : {"level 1", "node 0", "column 0", "2^18", "keep-exponent", "f32"})
        CHECK(text.find(part) != std::string::npos);
    }
    CHECK(testing::read_all(store / "manifest.json") == before);
    CHECK_THROWS_AS(propagate_store(store, kept_spec(2, "sgc", {Keep::state, FeatureType::f16, 0})), UsageError);
    CHECK_THROWS_AS(propagate_store(store, kept_spec(2, "sgc", {Keep::hops, FeatureType::f32, 1})), UsageError);
    CHECK_THROWS_AS(propagate_store(store, kept_spec(2, "sgc", {Keep::hops, FeatureType::f16, 65})), UsageError);
  }

  TEST_CASE("verify takes right rows of random stores, and finds one value that is wrong; repair makes it anew") {
    const TempDir folder;
    std::mt19937 generator(11);
    const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
    for (int round = 0; round < 24; ++round) {
      CAPTURE(round);
      const fs::path store = folder / std::to_string(round);
      const bool is_weighted = round % 4 == 3;
      if (is_weighted)
        testing::build_store(store, weighted_sample());
      else
        testing::write_store(store, testing::random_store(50 + random() % 300, 900, 1 + random() % 40,
                                                          static_cast<std::uint32_t>(20 + round)));
      const std::string& scheme = kSchemes[random() % kSchemes.size()];
      const Keep keep = random() % 2 == 0 ? Keep::embedding : Keep::hops;
      const FeatureType type = random() % 2 == 0 ? FeatureType::f32 : FeatureType::f16;
      KeptForm kept{keep, type, type == FeatureType::f16 ? static_cast<std::int32_t>(random() % 8) - 4 : 0};
      const auto levels = static_cast<std::uint32_t>(1 + random() % 4);
      PropagationSpec spec =
          kept_spec(levels, scheme, kept, random() % 2 == 0, std::array{0.0, 0.25, 0.5, 1.0}[random() % 4]);
      if (scheme != "chebyshev") spec.scale_bits = 12 + random() % 18;
      CAPTURE(scheme);
      CAPTURE(spec.scale_bits);
      CAPTURE(spec.rho);
      propagate_store(store, spec);
      CHECK(verified(store) == "");
      const std::uint32_t level = keep == Keep::embedding ? levels : 1 + random() % levels;
      std::vector<NodeId> targets;
      float most_degree = 0;
      {
        const StoreReader live(store, ample_budget());
        for (NodeId node = 0; node < live.contents().num_nodes(); ++node) {
          if (live.embedding().is_target(node)) targets.push_back(node);
          most_degree = std::max(most_degree, static_cast<float>(live.contents().graph().degree(node)));
        }
      }
      // Above twice the bound divided by the least factor, which is 1/2.
      const std::uint32_t columns = read_manifest(store).features;
      float weights = 0;
      for (const double weight : spec.weights) weights += static_cast<float>(std::fabs(weight));
      const float more = 8 * static_cast<float>(columns) *
                         (std::pow(most_degree, static_cast<float>(1 - spec.rho)) *
                              std::ldexp(static_cast<float>(levels + 1) * std::max(1.0F, weights),
                                         -static_cast<int>(spec.scale_bits)) +
                          (type == FeatureType::f16 ? 0x1p-10F : 0x1p-23F) * 8 + 1e-6F);
      const NodeId node = targets[random() % targets.size()];
      const auto column = static_cast<std::uint32_t>(random() % read_manifest(store).row_width());
      testing::falsify_row(store, level, node, column, more);
      const std::string text = verified(store);
      CAPTURE(text);
      CHECK(text.find("beyond all rounding") != std::string::npos);
      const auto repaired = testing::repair(store);
      REQUIRE(repaired.size() == 1);
      CHECK_FALSE(repaired[0].lost);
      CHECK(verified(store, true) == "");
    }
  }

  TEST_CASE("damage to a file of rows is found and mended") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::write_store(store, testing::random_store(100, 300, 18, 8));
    propagate_store(store, kept_spec(2, "sgc", {Keep::hops, FeatureType::f16, 0}));
    const std::vector<FileEntry> files = row_files(store);
    const std::string digest = testing::digest_now(store);
    REQUIRE(files.size() == 2);
    for (const FileEntry& file : files) {
      testing::flip_middle(store / file.path);
      CHECK(verified(store).find(file.path) != std::string::npos);
      CHECK_FALSE(testing::repair(store).front().lost);
      CHECK(verified(store, true) == "");
      CHECK(row_files(store) == files);
      CHECK(testing::digest_now(store) == digest);
    }
  }

  TEST_CASE("what needs sums is refused with the remedy, and nothing is acknowledged") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::write_store(store, testing::random_store(100, 300, 4, 8));
    propagate_store(store, kept_spec(2, "sgc", {Keep::embedding, FeatureType::f32, 0}));
    const std::string before = testing::read_all(store / "manifest.json");
    const std::vector<Request> requests{{RequestKind::remove_node, 3, 0}};
    const auto refused = [&](const auto& body) {
      try {
        StoreWriter live(store, ample_budget());
        body(live);
        FAIL("it was done");
      } catch (const UsageError& error) {
        CHECK(std::string(error.what()).find("propagate") != std::string::npos);
        CHECK(std::string(error.what()).find("state") != std::string::npos);
      }
    };
    refused([&](StoreWriter& live) { static_cast<void>(live.resolve(requests)); });
    refused([&](StoreWriter& live) { live.acknowledge(requests); });
    refused([&](StoreWriter& live) { live.apply(requests, {}, {}); });
    refused([&](StoreWriter& live) { static_cast<void>(live.embedding().level(1)); });
    CHECK(testing::read_all(store / "manifest.json") == before);
  }

  TEST_CASE("a purge leaves what a propagation with these options writes, also where nodes are added") {
    const TempDir folder;
    for (const Keep keep : {Keep::embedding, Keep::hops})
      for (const bool all_rows : {true, false}) {
        const fs::path store = folder / (std::string(keep_name(keep)) + (all_rows ? "a" : "l"));
        testing::write_store(store, testing::random_store(400, 1500, 20, 12));
        const PropagationSpec spec = kept_spec(2, "ppr:0.1", {keep, FeatureType::f16, 2}, all_rows);
        propagate_store(store, kept_spec(2, "sgc", {}, all_rows));
        {
          StoreWriter live(store, ample_budget());
          const std::vector<Request> requests{{RequestKind::remove_node, 5, 0}, {RequestKind::remove_feature, 9, 0}};
          live.apply(requests, live.resolve(requests), {});
          live.checkpoint();
        }
        propagate_store(store, spec);
        const std::string digest = testing::digest_now(store);
        {
          const StoreReader live(store, ample_budget());
          CHECK(plan_purge(live, {}, ample_budget()).disk_bytes() > 0);
        }
        testing::purge(store);
        CHECK(testing::digest_now(store) == digest);
        CHECK(verified(store, true) == "");
        const Manifest purged = read_manifest(store);
        CHECK(purged.sequence == 0);
        propagate_store(store, spec);
        CHECK(manifest_text(read_manifest(store)) == manifest_text(purged));
        PurgeOptions more;
        more.nodes = 450;
        testing::purge(store, more);
        CHECK(read_manifest(store).nodes == 450);
        CHECK(verified(store, true) == "");
      }
  }

  TEST_CASE("the plan knows the bytes of the files") {
    const TempDir folder;
    const fs::path store = folder / "s";
    testing::write_store(store, testing::random_store(500, 1500, 21, 12));
    for (const bool all_rows : {true, false})
      for (const std::uint32_t levels : {0U, 2U})
        for (const KeptForm& kept :
             {KeptForm{Keep::embedding, FeatureType::f32, 0}, KeptForm{Keep::hops, FeatureType::f16, 0}}) {
          const PropagationSpec spec = kept_spec(levels, "sgc", kept, all_rows);
          std::uint64_t planned = 0;
          {
            const StoreReader live(store, ample_budget());
            planned = plan_propagation(live.contents(), spec, ample_budget()).state.state_bytes;
          }
          propagate_store(store, spec);
          CHECK(planned == bytes_of(row_files(store)));
        }
  }
}

}  // namespace unweave
