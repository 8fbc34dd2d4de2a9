// tests/algorithms/maintenance/purge_steps_test.cpp - a purge that replaces some files after the
// others ends with the bytes of one that writes all beside the old ones, and may end anywhere.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "algorithms/live/propagate.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge.h"
#include "algorithms/maintenance/purge_plan.h"
#include "engine/generations/store_purge.h"
#include "storage/formats/manifest.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/imported_sample.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::Importing;
using testing::purge;
using testing::Sample;
using testing::TempDir;

constexpr NodeId kThree = 140'000;  // nodes of three spans
const PurgeOptions kOneFileAStep{.keep_order = true, .step_bytes = 1};
const PurgeOptions kAtOnce{.keep_order = true, .step_bytes = std::numeric_limits<std::uint64_t>::max()};

/// Few edges within and across three spans of nodes, some of which have labels.
Sample scattered(std::uint32_t max_weight) {
  Sample sample;
  sample.nodes = kThree;
  for (NodeId u = 0; u < 60; ++u) {
    for (const NodeId span : {0U, 65'536U, 131'072U}) sample.edges.insert({span + u, span + u + 1});
    if (u % 6 == 0) sample.edges.insert({u, 65'536 + u});
    if (u % 9 == 0) sample.edges.insert({65'536 + u, 131'072 + u});
    if (u % 10 == 0) sample.edges.insert({u, 131'072 + 2 * u});
  }
  testing::add_features(sample, 3, 1, 0.3);
  std::uint32_t weight = 0;
  if (max_weight > 1)
    for (const auto& edge : sample.edges) sample.weights[edge] = 1 + weight++ % max_weight;
  return sample;
}

/// Edges whose ends lie in each pair of spans, and nodes and features of all spans.
const std::vector<Request> kRemovals{{RequestKind::remove_edge, 1, 2},
                                     {RequestKind::remove_edge, 6, 65'542},
                                     {RequestKind::remove_edge, 131'080, 131'081},
                                     {RequestKind::remove_edge, 65'545, 131'081},
                                     {RequestKind::remove_edge, 10, 131'092},
                                     {RequestKind::insert_edge, 3, 139'999},
                                     {RequestKind::insert_edge, 70'000, 90'000},
                                     {RequestKind::remove_feature, 65'540, 0},
                                     {RequestKind::remove_node, 20, 0},
                                     {RequestKind::remove_node, 131'090, 0},
                                     {RequestKind::remove_edge, 65'550, 65'551},
                                     {RequestKind::remove_edge, 131'110, 131'111}};

/// What is set beside.
std::vector<Request> settings(bool weights) {
  std::vector<Request> requests{{RequestKind::set_feature, 5, 0, {}, "0.1 0 -0.2"},
                                {RequestKind::set_label, 70'001, 0, {}, "1"}};
  if (weights) requests.push_back({RequestKind::set_weight, 131'100, 131'101, {}, "5"});
  return requests;
}

/// A streamed store of three spans, and one of what is left.
struct Streamed {
  TempDir dir;
  fs::path store = dir / "s";
  std::string digest;  ///< that of the present contents
  std::map<std::string, std::string> fresh;

  Streamed(const Importing& importing, bool all_rows, bool propagated = true, bool sets = false) {
    const Sample sample = scattered(importing.max_weight);
    testing::import_sample(store, sample, importing);
    if (propagated) testing::propagate_store(store, testing::tiny_spec(2, all_rows));
    Sample rest = sample;
    testing::stream_sample(store, rest, kRemovals, 5, 0);
    if (sets) testing::apply_batch(store, settings(importing.max_weight > 1), 0, false);
    digest = testing::digest_now(store);
    fs::copy(store, dir / "fresh", fs::copy_options::recursive);
    purge(dir / "fresh", kAtOnce);
    fresh = testing::bytes_but_certificates(dir / "fresh");
    if (importing.order != "none" || sets) return;
    testing::import_sample(dir / "imported", rest, importing);
    if (propagated) testing::propagate_store(dir / "imported", testing::tiny_spec(2, all_rows));
    CHECK(fresh == testing::bytes_but_certificates(dir / "imported"));
  }
  [[nodiscard]] fs::path copy(const std::string& name) const {
    fs::remove_all(dir / name);
    fs::copy(store, dir / name, fs::copy_options::recursive);
    return dir / name;
  }
};

/// Ends the work at its n-th call, as a user does, and looks at a folder at each.
class Interruption : public WorkMeter {
 public:
  explicit Interruption(long at, std::function<void()> look = {}) : at_(at), look_(std::move(look)) {}

 protected:
  void add(std::uint64_t) noexcept override { ++calls_; }
  [[nodiscard]] bool cancelled() noexcept override {
    const std::scoped_lock lock(mutex_);
    if (look_) look_();
    return at_ > 0 && calls_ >= at_;
  }

 private:
  std::atomic<long> calls_ = 0;
  long at_;
  std::mutex mutex_;
  std::function<void()> look_;
};

std::uint64_t size_of(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    std::error_code gone;
    const std::uint64_t size = item.is_regular_file(gone) ? item.file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

void check_whole(const fs::path& store) {
  const VerifyReport verified = verify_store(store, {std::nullopt, true, 1}, ample_budget());
  CAPTURE(testing::text_of(verified));
  CHECK(verified.ok());
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a purge in steps of one file leaves the bytes of one at once, and of a fresh import") {
    for (const Importing& importing :
         {Importing{}, Importing{"none", FeatureType::f16, true}, Importing{"degree", FeatureType::f32, false},
          Importing{"none", FeatureType::f32, false, {}, 7}}) {
      for (const bool sets : {false, true}) {
        CAPTURE(importing.order);
        CAPTURE(importing.max_weight);
        CAPTURE(sets);
        const Streamed world(importing, !sets, true, sets);
        const PurgeReport report = purge(world.store, kOneFileAStep);
        CHECK(testing::bytes_but_certificates(world.store) == world.fresh);
        CHECK(digest_text(report.digest) == world.digest);
        CHECK(report.bytes_written > 0);
        CHECK(report.bytes_removed > 0);
        CHECK(purge(world.store, kOneFileAStep).nothing);
      }
    }
    const Streamed bare({}, false, false);
    purge(bare.store, kOneFileAStep);
    CHECK(testing::bytes_but_certificates(bare.store) == bare.fresh);
  }

  TEST_CASE("a purge in steps keeps to the room that it asks for, which is that of a step and the largest file") {
    const Streamed world({}, true);
    const auto plan = [&](const PurgeOptions& options) {
      const StoreReader live(world.store, ample_budget());
      return plan_purge(live, options, ample_budget());
    };
    const PurgePlan steps = plan(kOneFileAStep), once = plan(kAtOnce);
    CHECK(steps.written_bytes == once.written_bytes);
    CHECK(once.disk_bytes() == once.written_bytes);
    CHECK(steps.disk_bytes() < once.disk_bytes() / 2);
    for (const PurgeOptions& options : {kOneFileAStep, kAtOnce}) {
      const fs::path store = world.copy("p");
      const std::uint64_t before = size_of(store);
      std::uint64_t most = 0;
      Interruption look(0, [&] { most = std::max(most, size_of(store)); });
      purge_store(store, options, ample_budget(), look);
      constexpr std::uint64_t kBeside = std::uint64_t{64} << 10;  // manifest, journal, logs
      CHECK(most <= before + plan(options).disk_bytes() + kBeside);
      CHECK((most > before + steps.disk_bytes() + kBeside) == (options.step_bytes != kOneFileAStep.step_bytes));
    }
  }

  TEST_CASE("a purge in steps that ends anywhere leaves the contents; readers, writers and purges go on" *
            doctest::test_suite("slow")) {
    for (const Importing& importing : {Importing{}, Importing{"none", FeatureType::f32, false, {}, 7}}) {
      const Streamed world(importing, false, true, true);
      std::size_t halves = 0;
      bool ended = false;
      for (long at = 1; !ended; ++at) {
        CAPTURE(at);
        const fs::path store = world.copy("cut");
        try {
          Interruption cut(at);
          purge_store(store, kOneFileAStep, ample_budget(), cut);
          ended = true;
        } catch (const Cancelled&) {
        }
        CHECK(testing::digest_now(store) == world.digest);
        CHECK(purge_state(store) == PurgeState::none);
        const Manifest manifest = read_manifest(store);
        if (manifest.folded_spans > 0) {
          ++halves;
          check_whole(store);
          CHECK(parse_manifest(manifest_text(manifest), "m").folded_spans == manifest.folded_spans);
          const fs::path other = world.dir / "other";
          fs::remove_all(other);
          fs::copy(store, other, fs::copy_options::recursive);
          {
            StoreWriter live(other, ample_budget());
            CHECK(live.manifest().folded_spans == 0);
            const std::vector<Request> more{{RequestKind::remove_edge, 131'112, 131'113},
                                            {RequestKind::insert_edge, 1, 2}};
            live.apply(more, live.resolve(more), {0, ThresholdScale::absolute});
            live.checkpoint();
          }
          check_whole(other);
          purge(other, kOneFileAStep);
          check_whole(other);
        }
        if (!ended) purge(store, kOneFileAStep);
        CHECK(testing::bytes_but_certificates(store) == world.fresh);
      }
      CHECK(halves > 1);
    }
  }

  TEST_CASE("a manifest says of spans with changed edges what a fold leaves, or is refused") {
    const Streamed world({}, true);
    StoreWriter(world.store, ample_budget()).checkpoint();
    Manifest manifest = read_manifest(world.store);
    const auto fault = [&] {
      try {
        static_cast<void>(parse_manifest(manifest_text(manifest), "m"));
      } catch (const FormatError& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    manifest.folded_spans = 2;
    CHECK(fault().empty());
    CHECK(manifest.needs() == std::vector<std::string>{"folded-spans"});
    manifest.folded_spans = 3;
    CHECK(fault().find("folded_spans") != std::string::npos);
    manifest.folded_spans = 2;
    write_manifest(world.store, manifest);  // which is not so: edges of the shards do not add up
    CHECK_THROWS_AS(StoreReader(world.store, ample_budget()), FormatError);
    manifest.changes.reset();
    CHECK(fault().find("folded_spans") != std::string::npos);
  }
}

}  // namespace unweave
