// tests/algorithms/live/live_store_test.cpp - who may write, and what a writer needs before it
// acknowledges.
#include "algorithms/live/live_store.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/verification/verify.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("a writer whose lock was removed acknowledges nothing more") {
    const testing::TempDir folder;
    testing::Sample ring;
    ring.nodes = 50;
    for (NodeId node = 0; node + 1 < ring.nodes; ++node) ring.edges.insert({node, node + 1});
    testing::add_features(ring, 2, 1);
    testing::build_store(folder / "s", ring);
    MemoryBudget budget(std::uint64_t{1} << 30);
    const auto remove_edge = [](StoreWriter& store, NodeId node) {
      const std::vector<Request> requests{{RequestKind::remove_edge, node, node + 1}};
      return store.apply(requests, store.resolve(requests), {}).last_request;
    };
    {
      StoreWriter first(folder / "s", budget);
      CHECK(remove_edge(first, 3) == 1);
      CHECK_THROWS_AS(StoreWriter(folder / "s", budget), ResourceError);
      std::filesystem::remove(folder / "s/lock");
      StoreWriter second(folder / "s", budget);
      CHECK_THROWS_WITH_AS(remove_edge(first, 5), doctest::Contains("the lock was removed"), ResourceError);
      CHECK_THROWS(first.checkpoint());
      CHECK(remove_edge(second, 7) == 2);
    }
    CHECK(StoreReader(folder / "s", budget).sequence() == 2);
  }

  TEST_CASE(
      "a batch has room before it is resolved, edges of removed nodes too, and changed lists before it is acknowledged") {
    const testing::TempDir folder;
    testing::Sample star;
    star.nodes = 3000;
    for (NodeId leaf = 1; leaf < star.nodes; ++leaf) star.edges.insert({0, leaf});
    testing::add_features(star, 1, 1);
    testing::build_store(folder / "s", star);
    const std::vector<Request> hub{{RequestKind::remove_node, 0, 0}};
    MemoryBudget little(std::uint64_t{200} << 10), some(std::uint64_t{2} << 20), ample(std::uint64_t{1} << 30);
    const ThreadLimit two(2);  // more threads need more memory
    {
      StoreWriter store(folder / "s", little);
      CHECK_THROWS_WITH_AS(static_cast<void>(store.reserve_batch(100'000)),
                           doctest::Contains("a smaller batch has fewer"), ResourceError);
      CHECK_THROWS_WITH_AS(static_cast<void>(store.resolve(hub)), doctest::Contains("edges of removed nodes"),
                           ResourceError);
    }
    {
      StoreWriter store(folder / "s", some);
      CHECK_THROWS_WITH_AS(store.apply(hub, store.resolve(hub), {}), doctest::Contains("changed lists"), ResourceError);
    }
    StoreWriter store(folder / "s", ample);
    CHECK(store.sequence() == 0);
    CHECK(store.apply(hub, store.resolve(hub), {}).last_request == 1);
    CHECK(ample.used() > std::uint64_t{200} << 10);
  }

  TEST_CASE("nodes that lost their features take no room for changed lists") {
    testing::Sample path;
    path.nodes = 20'000;
    path.edges.insert({0, 1});
    testing::add_features(path, 1, 1);
    const testing::TempDir folder;
    testing::build_store(folder / "s", path);
    MemoryBudget ample(std::uint64_t{1} << 30), little(std::uint64_t{1} << 20);
    std::vector<Request> requests;
    for (NodeId node = 0; node < path.nodes; ++node) requests.push_back({RequestKind::remove_feature, node, 0});
    {
      StoreWriter store(folder / "s", ample);
      store.apply(requests, store.resolve(requests), {});
      store.checkpoint();
    }
    CHECK(StoreReader(folder / "s", little).contents().cleared().size() > 10'000);
  }

  TEST_CASE("shards are written anew where a long stream has changed more lists than the budget holds") {
    constexpr NodeId kNodes = 6000;
    testing::Sample ring;
    ring.nodes = kNodes;
    for (NodeId node = 0; node < kNodes; ++node) ring.edges.insert(std::minmax(node, (node + 1) % kNodes));
    testing::add_features(ring, 3, 1);
    const ThreadLimit two(2);  // more threads need more memory
    for (const bool propagated : {true, false}) {
      CAPTURE(propagated);
      const testing::TempDir folder;
      testing::build_store(folder / "s", ring);
      if (propagated) testing::propagate_store(folder / "s", testing::tiny_spec(2, false));
      std::vector<std::string> digests;
      for (const std::uint64_t memory : {std::uint64_t{3} << 20, std::uint64_t{1} << 30}) {
        CAPTURE(memory);
        const std::filesystem::path copy = folder / std::to_string(memory);
        std::filesystem::copy(folder / "s", copy, std::filesystem::copy_options::recursive);
        MemoryBudget budget(memory);
        const std::vector<FileEntry> before = read_manifest(copy).shards;
        {
          StoreWriter store(copy, budget);
          store.set_plan(Plan::push);
          // Chords come, one node loses its features, every second edge of the ring and some chords
          // go.
          const auto send = [&](std::vector<Request> requests) {
            static_cast<void>(store.apply(requests, store.resolve(requests), {}, LastLevel::at_once));
          };
          const auto chords = [&](RequestKind kind, NodeId step) {
            for (NodeId node = 0; node < kNodes / 2; node += 100 * step) {
              std::vector<Request> requests;
              for (NodeId k = node; k < node + 100 * step; k += step) requests.push_back({kind, k, k + kNodes / 2});
              send(std::move(requests));
            }
          };
          chords(RequestKind::insert_edge, 1);
          send({{RequestKind::remove_feature, 17, 0}, {RequestKind::remove_edge, 20, 21}});
          chords(RequestKind::remove_edge, 3);
          chords(RequestKind::insert_edge, 3);
          CHECK(budget.peak() <= memory);
          digests.push_back(digest_text(content_digest(store)));
          CHECK((store.manifest().shards != before) == (memory < std::uint64_t{1} << 30));
          if (memory < std::uint64_t{1} << 30) CHECK(store.manifest().sequence > 0);
        }
        MemoryBudget ample(std::uint64_t{1} << 30);
        CHECK(digest_text(content_digest(StoreReader(copy, ample))) == digests.back());
        StoreWriter(copy, ample).checkpoint();
        CHECK(verify_store(copy, {{}, propagated, 1, {}}, ample).findings.empty());
        CHECK(digest_text(content_digest(StoreReader(copy, ample))) == digests.back());
      }
      CHECK(digests[0] == digests[1]);
    }
  }

  TEST_CASE("a generation is not written for little that has changed, and whoever opens the store applies it again") {
    constexpr NodeId kNodes = 4000;
    constexpr std::uint64_t kLittle = 1;  // bytes from which on a checkpoint has to be worth it
    const testing::TempDir folder;
    testing::Sample ring;
    ring.nodes = kNodes;
    for (NodeId node = 0; node < kNodes; ++node) ring.edges.insert(std::minmax(node, (node + 1) % kNodes));
    testing::add_features(ring, 64, 1);
    testing::build_store(folder / "s", ring);
    testing::propagate_store(folder / "s", testing::tiny_spec(2, true));
    MemoryBudget budget(std::uint64_t{1} << 30);
    const auto remove_edges = [](StoreWriter& store, NodeId first, NodeId last) {
      std::vector<Request> requests;
      for (NodeId node = first; node < last; ++node)
        requests.push_back({RequestKind::remove_edge, 4 * node, 4 * node + 1});
      store.set_plan(Plan::push);  // a recomputation would leave no run
      static_cast<void>(store.apply(requests, store.resolve(requests), {}, LastLevel::at_once));
    };
    const auto pending = [&](const std::filesystem::path& store) {
      return StoreReader(store, budget).pending_requests();
    };
    {
      StoreWriter store(folder / "s", budget);
      remove_edges(store, 0, 3);
      store.checkpoint_if_worth(kLittle);
      CHECK(store.pending_requests() == 0);  // nothing was written before that would be again
      remove_edges(store, 3, 4);
      store.checkpoint_if_worth(kLittle);
      CHECK(store.pending_requests() == 1);
    }
    CHECK(pending(folder / "s") == 1);
    const std::string digest = digest_text(content_digest(StoreReader(folder / "s", budget)));
    std::filesystem::copy(folder / "s", folder / "written", std::filesystem::copy_options::recursive);
    StoreWriter(folder / "written", budget).checkpoint_if_worth();  // small stores are always written
    CHECK(pending(folder / "written") == 0);
    CHECK(digest_text(content_digest(StoreReader(folder / "written", budget))) == digest);
    CHECK(verify_store(folder / "s", {{}, true, 1, {}}, budget).findings.empty());
    {
      StoreWriter store(folder / "s", budget);
      remove_edges(store, 4, kNodes / 4);  // more than a MiB of rows
      store.checkpoint_if_worth(kLittle);
    }
    CHECK(pending(folder / "s") == 0);
    CHECK(verify_store(folder / "s", {{}, true, 1, {}}, budget).findings.empty());
  }

  TEST_CASE("requests that are acknowledged and wait outlive checkpoints and crashes, and end in the same store") {
    testing::Sample ring;
    ring.nodes = 50;
    for (NodeId node = 0; node < ring.nodes; ++node)
      for (const NodeId step : {1U, 7U}) ring.edges.insert(std::minmax(node, (node + step) % ring.nodes));
    testing::add_features(ring, 2, 1);
    MemoryBudget budget(std::uint64_t{1} << 30);
    std::vector<Request> requests;
    for (NodeId node = 0; node < 12; ++node)
      requests.push_back({node % 3 == 2 ? RequestKind::remove_node : RequestKind::remove_edge, node,
                          node % 3 == 2 ? 0U : node + 1, "T" + std::to_string(node)});
    std::optional<Digest> wanted;
    for (std::size_t applied = 0; applied <= 6; ++applied) {  // calls of two requests before the crash
      for (const bool checkpoint : {false, true}) {
        CAPTURE(applied);
        CAPTURE(checkpoint);
        const testing::TempDir folder;
        testing::build_store(folder / "s", ring);
        testing::propagate_store(folder / "s", testing::tiny_spec(2));
        {
          StoreWriter store(folder / "s", budget);
          for (std::size_t i = 0; i < requests.size(); i += 2)
            CHECK(store.acknowledge(std::span(requests).subspan(i, 2)) == i + 2);
          CHECK(store.waiting() == 12);
          CHECK(store.sequence() == 0);
          CHECK_THROWS_AS(store.apply(requests, store.resolve(requests), {}), UsageError);
          if (checkpoint) store.checkpoint();
          for (std::size_t i = 0; i < applied; ++i) {
            std::vector<Request> taken;
            const BatchReport report = store.apply_acknowledged(3, LastLevel::deferred, taken);  // whole calls
            CHECK(taken == std::vector<Request>(requests.begin() + static_cast<std::ptrdiff_t>(2 * i),
                                                requests.begin() + static_cast<std::ptrdiff_t>(2 * i + 2)));
            CHECK(report.last_request == 2 * i + 2);
            CHECK(report.times.size() == 2);
            if (checkpoint) store.checkpoint();
          }
          CHECK(store.waiting() == 12 - 2 * applied);
        }
        StoreWriter store(folder / "s", budget);
        CHECK(store.sequence() == 12);
        CHECK(store.waiting() == 0);
        const Digest digest = content_digest(store);
        if (!wanted) wanted = digest;
        CHECK(digest == *wanted);
        std::vector<std::string> ids;
        store.visit_requests([&](const LoggedRequest& request) { ids.emplace_back(request.id); });
        CHECK(ids.size() == 12);
        std::vector<Request> nothing;
        CHECK(store.apply_acknowledged(3, LastLevel::at_once, nothing).last_request == 12);
        CHECK(nothing.empty());
      }
    }
  }
}

}  // namespace unweave
