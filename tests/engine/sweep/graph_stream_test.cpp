// tests/engine/sweep/graph_stream_test.cpp - lists from the ring are those of the mapping, in any
// order, on any threads.
#include "engine/sweep/graph_stream.h"

#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <limits>
#include <random>
#include <vector>

#include "engine/ingest/arc_sort.h"
#include "engine/ingest/shard_builder.h"
#include "engine/resources/parallel.h"
#include "storage/formats/manifest.h"
#include "support/special_values.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

constexpr NodeId kStreamedNodes = 700'001;  // more pieces than the ring holds, the last one short

class GraphOnDisk {
 public:
  GraphOnDisk() {
    std::mt19937 random(5);
    std::vector<Edge> edges(400'000);
    for (Edge& edge : edges)
      edge = {static_cast<NodeId>(random() % kStreamedNodes), static_cast<NodeId>(random() % kStreamedNodes)};
    for (NodeId v = 1; v < 100'000; ++v) edges.push_back({90'000, v});  // a hub
    ArcSorter sorter(dir_.path(), std::size_t{64} << 20, kStreamedNodes);
    sorter.add(edges);
    WorkMeter meter;
    MemoryBudget budget(std::uint64_t{1} << 30);
    const BuiltShards built = build_shards(dir_.path(), kStreamedNodes, 1, *sorter.finish(), budget, meter);
    manifest_.nodes = kStreamedNodes;
    manifest_.shards = built.files;
    manifest_.edges = built.unique / 2;
  }
  [[nodiscard]] Graph open() const { return {dir_.path(), manifest_, Changes()}; }
  /// Fills the encoded lists of some blocks with ones.
  void damage(const Graph& graph, std::size_t first, std::size_t last) const {
    const Shard::Place place = graph.place(first, last);
    std::fstream file(place.file, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(place.offset));
    const std::vector<char> ones(place.bytes, '\xff');
    file.write(ones.data(), static_cast<std::streamsize>(ones.size()));
  }

 private:
  TempDir dir_;
  Manifest manifest_;
};

std::vector<NodeId> lists_of(const DecodedBlock& block) {
  std::size_t arcs = 0;
  std::vector<NodeId> lists;
  for (std::uint32_t i = 0; i < block.nodes; ++i) {
    lists.push_back(block.counts[i]);
    arcs += block.counts[i];
  }
  lists.insert(lists.end(), block.targets, block.targets + arcs);
  return lists;
}

std::vector<std::vector<NodeId>> all_lists(const Graph& graph) {
  std::vector<std::vector<NodeId>> lists;
  Graph::BlockBuffer buffer;
  DecodedBlock block;
  for (std::size_t b = 0; b < graph.num_blocks(); ++b) {
    graph.decode(b, buffer, block);
    lists.push_back(lists_of(block));
  }
  return lists;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE(
      "passes in order on several threads: unchecked blocks by the mapping, later ones by the ring, the same lists") {
    const GraphOnDisk disk;
    const Graph graph = disk.open(), plain = disk.open();
    const auto expected = all_lists(plain);
    for (const std::size_t threads : {std::size_t{1}, std::size_t{5}}) {
      const ThreadLimit limit(threads);
      MemoryBudget budget(std::uint64_t{1} << 30);
      const BlockSource source = streamed_source(graph, budget);
      CHECK(budget.available() == (std::uint64_t{1} << 30) - GraphStream::bytes(graph));
      source.make_slots(threads);
      for (int pass = 0; pass < 4; ++pass) {
        std::atomic<std::size_t> wrong = 0;
        run_items(graph.num_blocks() / kSweepRangeBlocks + 1, threads, [&](std::size_t item, std::size_t worker) {
          const std::size_t first = item * kSweepRangeBlocks;
          if (first % kReadBlocks == 0) scan_ahead(source, first, nullptr);
          DecodedBlock block;
          for (std::size_t b = first; b < std::min(graph.num_blocks(), first + kSweepRangeBlocks); ++b) {
            source.decode(b, worker, block);
            if (lists_of(block) != expected[b]) ++wrong;
          }
        });
        CHECK(wrong == 0);
      }
    }
  }

  TEST_CASE("pieces that are asked for in any order, by many threads, while others are given away") {
    const GraphOnDisk disk;
    const Graph graph = disk.open();
    const auto expected = all_lists(graph);  // all is checked from here on
    MemoryBudget budget(std::uint64_t{1} << 30);
    GraphStream stream(graph, budget);
    const ThreadLimit limit(6);
    std::atomic<std::size_t> wrong = 0;
    run_items(6, 6, [&](std::size_t item, std::size_t) {
      std::mt19937 random(static_cast<unsigned>(item));
      Graph::BlockBuffer buffer;
      DecodedBlock block;
      for (int i = 0; i < 3000; ++i) {
        const std::size_t b = random() % graph.num_blocks();
        if (random() % 2 == 0) stream.read_ahead(b, std::min(graph.num_blocks(), b + random() % (2 * kReadBlocks)));
        if (random() % 8 == 0) stream.forget(b, std::min(graph.num_blocks(), b + kReadBlocks));
        stream.decode(b, buffer, block);
        if (lists_of(block) != expected[b]) ++wrong;
      }
    });
    CHECK(wrong == 0);
  }

  TEST_CASE("what was asked for comes from the ring, all else from the mapping") {
    const GraphOnDisk disk;
    const Graph graph = disk.open();
    const auto expected = all_lists(graph);
    MemoryBudget budget(std::uint64_t{1} << 30);
    GraphStream stream(graph, budget);
    Graph::BlockBuffer buffer;
    DecodedBlock block;
    stream.read_ahead(kReadBlocks, 2 * kReadBlocks);
    stream.decode(kReadBlocks, buffer, block);  // waits for the piece
    const std::size_t read = kReadBlocks + 7, left = 5;
    disk.damage(graph, read, read + 1);
    disk.damage(graph, left, left + 1);
    const auto gives = [&](const auto& decode, std::size_t b) {
      try {
        decode(b, buffer, block);
        return lists_of(block) == expected[b];
      } catch (const FormatError&) {
        return false;
      }
    };
    const auto by_mapping = [&](auto&&... arguments) { graph.decode(arguments...); };
    const auto by_stream = [&](auto&&... arguments) { stream.decode(arguments...); };
    CHECK(gives(by_stream, read));
    CHECK_FALSE(gives(by_mapping, read));
    CHECK_FALSE(gives(by_stream, left));
  }

  TEST_CASE("a budget without room for the ring is refused") {
    const GraphOnDisk disk;
    const Graph graph = disk.open();
    MemoryBudget budget(GraphStream::bytes(graph) - 1);
    CHECK_THROWS_AS(GraphStream(graph, budget), ResourceError);
  }
}

}  // namespace unweave
