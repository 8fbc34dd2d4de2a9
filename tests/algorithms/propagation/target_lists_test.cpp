// tests/algorithms/propagation/target_lists_test.cpp - the lists of few targets, kept apart,
// against the graph that they come from.
#include "storage/formats/target_lists.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "algorithms/live/store_writer.h"
#include "algorithms/updates/level_work.h"
#include "algorithms/updates/planner.h"
#include "algorithms/updates/receivers.h"
#include "algorithms/verification/verify.h"
#include "engine/resources/parallel.h"
#include "engine/state/cone.h"
#include "engine/state/target_graph.h"
#include "engine/state/target_list_writer.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/open_spools.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::Sample;
using testing::TempDir;

constexpr double kDensity = 0.02;

Sample few_targets(NodeId nodes, double labelled, std::uint64_t seed) {
  Sample sample = testing::random_sample(nodes, kDensity, 3, seed);
  testing::add_features(sample, 3, seed + 1, labelled);
  return sample;
}

/// A store over the sample, propagated for its labelled rows, after the requests.
std::unique_ptr<StoreWriter> streamed(const std::filesystem::path& path, const Sample& sample,
                                      const std::vector<Request>& requests) {
  testing::build_store(path, sample);
  testing::propagate_store(path, testing::tiny_spec(2, false));
  auto store = std::make_unique<StoreWriter>(path, testing::ample_budget());
  store->apply(requests, store->resolve(requests), {});
  return store;
}

/// Rows and, for each, its sources in ascending order.
std::vector<std::pair<NodeId, std::vector<std::uint32_t>>> normalised(const TouchedRows& touched) {
  std::vector<std::pair<NodeId, std::vector<std::uint32_t>>> rows;
  for (std::size_t i = 0; i < touched.rows.size(); ++i) {
    const auto at = [&](std::size_t k) { return touched.sources.begin() + static_cast<std::ptrdiff_t>(k); };
    rows.push_back({touched.rows[i], {at(touched.first[i]), at(touched.first[i + 1])}});
    std::sort(rows.back().second.begin(), rows.back().second.end());
  }
  return rows;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the lists of the targets are those of the shards, over several files and whatever has changed since") {
    // More targets than one file takes, and hardly any arcs for them against those of a few nodes
    // without a label.
    constexpr NodeId kNodes = kMinSpanNodes + 700;
    Sample sample;
    sample.nodes = kNodes + 400;
    for (NodeId u = kNodes; u < sample.nodes; ++u)
      for (NodeId v = u + 1; v < sample.nodes; ++v) sample.edges.insert({u, v});
    for (NodeId u = 0; u + 16 < kNodes; u += 16) sample.edges.insert({u, u + 16});
    testing::add_features(sample, 1, 5, 1);
    for (NodeId u = kNodes; u < sample.nodes; ++u) sample.labels[u] = kNoLabel;
    const TempDir folder;
    const auto store =
        streamed(folder / "s", sample, {{RequestKind::remove_edge, 16, 32}, {RequestKind::remove_node, 48, 0}});
    const TargetLists* targets = store->embedding().indexes().target_lists();
    REQUIRE(targets != nullptr);
    CHECK(store->manifest().levels[2].lists.size() == 2);
    CHECK(targets->nodes().size() == kNodes);
    const Graph& graph = store->contents().graph();
    NeighbourList expected, changed;
    std::mt19937 random(3);
    for (int round = 0; round < 40; ++round) {
      const auto first = static_cast<NodeId>(random() % sample.nodes);
      const auto last = static_cast<NodeId>(
          std::min<std::uint64_t>(sample.nodes, first + random() % (round < 2 ? sample.nodes : 200)));
      NodeId next = first;
      targets->for_each({first, last}, [&](NodeId node, const ListView& list) {
        REQUIRE(node == next++);
        graph.base_neighbours(node, expected);
        REQUIRE(std::ranges::equal(list.ids, expected.ids));
        const ListView now = graph.with_changes(node, list, changed);
        graph.neighbours(node, expected);
        REQUIRE(std::ranges::equal(now.ids, expected.ids));
      });
      CHECK(next == std::max(first, std::min(last, kNodes)));
    }
  }

  TEST_CASE("the targets' lists give the receivers that the sources' lists give") {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      CAPTURE(seed);
      const Sample sample = few_targets(400, 0.05, seed);
      const TempDir folder;
      const auto store = streamed(folder / "s", sample, random_requests(sample, 60, seed));
      const TargetLists* targets = store->embedding().indexes().target_lists();
      REQUIRE(targets != nullptr);
      const Graph& graph = store->contents().graph();
      std::vector<NodeId> sources;
      for (NodeId node = 0; node < sample.nodes; ++node)
        if (node % (seed + 1) == 0) sources.push_back(node);
      std::mt19937_64 random(seed);
      if (seed % 2 == 0) std::shuffle(sources.begin(), sources.end(), random);
      std::vector<NodeId> repaired;
      for (NodeId node = 0; node < sample.nodes; node += 7) repaired.push_back(node);
      const auto stays = [&](NodeId node) { return store->embedding().is_target(node); };
      const SourceIndex index(sources);
      for (const NodeRange slice : {NodeRange{0, sample.nodes}, NodeRange{64, 300}}) {
        const NodeId part_nodes = slice.first == 0 ? sample.nodes : 64;
        const auto sent = receivers_of(graph, sources, slice, part_nodes);
        std::size_t part = 0;
        for (NodeId first = slice.first; first < slice.last; first += part_nodes, ++part) {
          const NodeRange nodes{first, std::min(slice.last, first + part_nodes)};
          const auto by_sources = normalised(touched_rows(graph, sources, sent, part, nodes, repaired, stays));
          CHECK(normalised(touched_targets(*targets, graph, index, repaired, nodes, stays)) == by_sources);
          if (nodes.size() == sample.nodes) CHECK_FALSE(by_sources.empty());
        }
      }
    }
  }

  TEST_CASE("a bit that flips in a file of receivers is noticed, wherever it is") {
    const Sample sample = few_targets(400, 0.05, 3);
    const TempDir folder;
    const auto store = streamed(folder / "s", sample, random_requests(sample, 60, 3));
    const Graph& graph = store->contents().graph();
    std::vector<NodeId> sources(sample.nodes);
    for (NodeId node = 0; node < sample.nodes; ++node) sources[node] = node;
    const std::vector<NodeId> bounds{0, 128, sample.nodes};
    const std::uint64_t arcs = arcs_of(store->contents(), sources);
    for (const std::streamoff place : {0, 9, 17, 40}) {  // the checksum, what comes next, how much of it, and a key
      CAPTURE(place);
      const ThreadLimit one(1);
      const SpooledReceivers spooled(graph, sources, arcs, bounds, folder.path(), 4000);
      int flipped = 0;
      for (const std::filesystem::path& spool : testing::open_spools(folder.path())) {
        std::fstream file(spool, std::ios::in | std::ios::out | std::ios::binary);
        char byte = 0;
        REQUIRE(file.seekg(place).get(byte));
        file.seekp(place).put(static_cast<char>(byte ^ 4));
        ++flipped;
      }
      REQUIRE(flipped == 1);
      const auto read_all = [&] {
        for (std::size_t slice = 0; slice + 1 < bounds.size(); ++slice) static_cast<void>(spooled.of(slice, 64));
      };
      CHECK_THROWS_WITH_AS(read_all(), doctest::Contains("receivers of a push, which lay in a temporary file"),
                           DataError);
    }
  }

  TEST_CASE("receivers that went through a file are those that the lists give, slice by slice") {
    for (const std::uint64_t seed : {1U, 2U}) {
      CAPTURE(seed);
      const Sample sample = few_targets(400, 0.05, seed);
      const TempDir folder;
      const auto store = streamed(folder / "s", sample, random_requests(sample, 60, seed));
      const Graph& graph = store->contents().graph();
      std::vector<NodeId> sources;
      for (NodeId node = 0; node < sample.nodes; node += static_cast<NodeId>(seed)) sources.push_back(node);
      const auto keys = [](const std::vector<SentKeys>& sent) {
        std::vector<std::vector<std::uint64_t>> parts(sent.front().size());
        for (const SentKeys& one : sent)
          for (std::size_t part = 0; part < parts.size(); ++part)
            parts[part].insert(parts[part].end(), one[part].begin(), one[part].end());
        for (auto& part : parts) std::sort(part.begin(), part.end());
        return parts;
      };
      for (const std::vector<NodeId>& bounds :
           {std::vector<NodeId>{0, 64, 128, 320, sample.nodes}, std::vector<NodeId>{0, 128, sample.nodes}}) {
        for (const std::uint64_t room : {0U, 4000U, 1U << 20}) {  // pieces of a few keys, and all in one piece
          CAPTURE(room);
          const SpooledReceivers spooled(graph, sources, arcs_of(store->contents(), sources), bounds, folder.path(),
                                         room);
          for (std::size_t s = 0; s + 1 < bounds.size(); ++s) {
            const auto wanted = keys(receivers_of(graph, sources, {bounds[s], bounds[s + 1]}, 64));
            CHECK(keys(spooled.of(s, 64)) == wanted);
            CHECK_FALSE(wanted.front().empty());
          }
        }
      }
    }
  }

  TEST_CASE("blocks of the targets alone have their present lists, and count the readers that the graph counts") {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      CAPTURE(seed);
      const Sample sample = few_targets(400, 0.05, seed);
      const TempDir folder;
      const auto store =
          streamed(folder / "s", sample, seed == 0 ? std::vector<Request>() : random_requests(sample, 60, seed));
      const TargetLists* lists = store->embedding().indexes().target_lists();
      REQUIRE(lists != nullptr);
      const Graph& graph = store->contents().graph();
      const TargetGraph targets(graph, *lists);
      std::vector<bool> readers(sample.nodes);
      for (const NodeId node : lists->nodes()) readers[node] = true;
      CHECK(count_readers(targets) == count_readers(store->contents(), readers));

      TargetGraph::BlockBuffer buffer;
      DecodedBlock block;
      std::vector<NodeId> expected;
      // Backward too: what a cursor has decoded need not be what comes next.
      for (std::size_t turn = 0; turn < 2 * targets.num_blocks(); ++turn) {
        const std::size_t b = turn < targets.num_blocks() ? turn : 2 * targets.num_blocks() - 1 - turn;
        targets.decode(b, buffer, block);
        CHECK(block.first == b * kBlockNodes);
        const NodeId* list = block.targets;
        for (std::uint32_t i = 0; i < block.nodes; ++i) {
          expected.clear();
          if (readers[block.first + i]) graph.neighbours(block.first + i, expected);
          REQUIRE(std::equal(list, list + block.counts[i], expected.begin(), expected.end()));
          list += block.counts[i];
        }
      }
    }
  }

  TEST_CASE("an index of sources finds them all and no others") {
    for (const std::size_t count : {0U, 1U, 5U, 3000U}) {
      std::vector<NodeId> sources;
      for (std::size_t i = 0; i < count; ++i) sources.push_back(static_cast<NodeId>(i * 2654435761U | 1U));
      const SourceIndex index(sources);
      for (std::size_t i = 0; i < count; ++i) {
        CHECK(index.find(sources[i]) == i);
        CHECK(index.find(sources[i] - 1) == SourceIndex::kNone);
      }
      CHECK(index.find(0) == SourceIndex::kNone);
    }
  }

  TEST_CASE("a stream over few targets gives the integers of a fresh run") {
    for (std::uint64_t seed = 10; seed < 14; ++seed) {
      CAPTURE(seed);
      const Sample original = few_targets(300, 0.06, seed);
      const std::vector<Request> requests = random_requests(original, 90, seed);
      Sample after = original;
      for (const Request& request : requests) testing::apply_naively(after, request);
      for (const std::uint32_t levels : {1U, 2U, 3U}) {
        const TempDir folder;
        testing::build_store(folder / "s", original);
        testing::propagate_store(folder / "s", testing::tiny_spec(levels, false));
        StoreWriter store(folder / "s", testing::ample_budget());
        REQUIRE(store.embedding().indexes().target_lists() != nullptr);
        for (std::size_t at = 0; at < requests.size(); at += 30) {
          const auto part = std::span(requests).subspan(at, std::min<std::size_t>(30, requests.size() - at));
          store.apply(part, store.resolve(part), {}, at == 30 ? LastLevel::at_once : LastLevel::deferred);
        }
        store.checkpoint();
        CHECK(testing::sums_of(store.embedding(), original.nodes) == testing::naive_sums(after, levels, false));
        CHECK(verify_store(folder / "s", {std::nullopt, true}, testing::ample_budget()).ok());
      }
    }
  }

  TEST_CASE("many targets are not kept apart, and a new propagation forgets the old ones") {
    const TempDir folder;
    testing::build_store(folder / "many", few_targets(200, 0.5, 1));
    testing::propagate_store(folder / "many", testing::tiny_spec(2, false));
    CHECK_FALSE(read_manifest(folder / "many").levels[2].targets);
    testing::build_store(folder / "few", few_targets(400, 0.04, 1));
    testing::propagate_store(folder / "few", testing::tiny_spec(2, false));
    const Manifest before = read_manifest(folder / "few");
    REQUIRE(before.levels[2].targets);
    testing::propagate_store(folder / "few", testing::tiny_spec(2, true));
    CHECK_FALSE(read_manifest(folder / "few").levels[2].targets);
    CHECK_FALSE(std::filesystem::exists(folder / "few" / before.levels[2].targets->path));
    CHECK_FALSE(std::filesystem::exists(folder / "few" / before.levels[2].lists[0].path));
  }

  TEST_CASE("lists that lack a target or differ from the shards are false; damaged ones are named") {
    const TempDir folder;
    const Sample sample = few_targets(400, 0.05, 3);
    testing::build_store(folder / "s", sample);
    testing::propagate_store(folder / "s", testing::tiny_spec(2, false));
    const Manifest sound = read_manifest(folder / "s");
    const auto text = [&] {
      std::string all;
      for (const auto& finding : verify_store(folder / "s", {}, testing::ample_budget()).findings)
        all += finding.text + "\n";
      return all;
    };
    CHECK(text().empty());
    const Contents contents(folder / "s", sound);
    const TargetLists whole(folder / "s", sound.levels[2], sample.nodes, 1);
    Manifest changed = sound;
    write_target_lists(folder / "s", contents.graph(), whole.nodes().subspan(1), changed.levels[2]);
    write_manifest(folder / "s", changed);
    CHECK(text().find("has a label and no list") != std::string::npos);

    std::vector<NodeId> shifted(whole.nodes().begin(), whole.nodes().end());
    for (NodeId& node : shifted) node = node == 0 ? 0 : node - 1;
    LevelFiles others;
    write_target_lists(folder / "s", contents.graph(), shifted, others);
    changed = sound;
    changed.levels[2].lists = others.lists;
    write_manifest(folder / "s", changed);
    CHECK(text().find("its list is not that of the shards") != std::string::npos);

    write_manifest(folder / "s", sound);
    const std::filesystem::path file = folder / "s" / sound.levels[2].lists[0].path;
    const std::string good = testing::read_all(file);
    for (std::size_t at = 0; at < good.size(); at += 41) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      testing::write_file(file, bad);
      CHECK(text().find(file.filename().string()) != std::string::npos);
    }
  }

  TEST_CASE("many sources are found in the targets' lists, few by their own") {
    CHECK(list_scan_pays(58'000'000, 430'000, 40'000'000));
    CHECK_FALSE(list_scan_pays(58'000'000, 2'000, 200'000));
    CHECK_FALSE(list_scan_pays(58'000'000, 0, 0));
  }
}

}  // namespace unweave
