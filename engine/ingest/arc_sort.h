// engine/ingest/arc_sort.h - from edges in any order to unique arcs in (u, v) order, within a
// budget of bytes.
//
// Arcs are not sorted as they come but distributed to buckets of consecutive sources
// (arc_chunks.h), in memory as far as it goes and then in a temporary file; afterwards bucket after
// bucket is sorted alone, on all threads, into adjacency lists (arc_lists.h). So each arc is
// written at most once, and read once unless its bucket holds more arcs than fit in memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/graph/arc_chunks.h"
#include "engine/graph/arc_lists.h"
#include "storage/io/types.h"

namespace unweave {

class ArcSorter {
 public:
  static constexpr std::size_t kMinBudget = std::size_t{1} << 20;

  /// `budget_bytes` (at least kMinBudget, else raised to it) bounds own buffers, here and in what
  /// finish() returns, but for an index of 32 bytes a chunk of up to 64 KiB, and 4 bytes an arc of
  /// a block of nodes that exceeds its share. What does not fit goes to the folder `temp_dir`: at
  /// most 16 bytes an edge, 12 on graphs of 10^8 nodes. `nodes`: ids stay below it, if known.
  /// `max_weight`: edges come with weights up to it, if above 1. `sources`: arcs of others are left
  /// out, but their edges are counted.
  ArcSorter(std::filesystem::path temp_dir, std::size_t budget_bytes, std::optional<std::uint64_t> nodes,
            std::uint32_t max_weight = 1, std::optional<NodeRange> sources = std::nullopt);
  ~ArcSorter();
  ArcSorter(const ArcSorter&) = delete;
  ArcSorter& operator=(const ArcSorter&) = delete;

  /// What `arcs` arcs between `nodes` nodes will wait in.
  struct Room {
    double memory_bytes = 0, file_bytes = 0;
  };
  [[nodiscard]] static Room expected_room(std::size_t budget_bytes, std::uint64_t nodes, double arcs,
                                          std::uint32_t max_weight = 1);

  /// Takes each edge u-v as the arcs u -> v and v -> u; counts and drops self loops. Any number of
  /// threads, of which active_threads() work at a time; best on some 10,000 edges at once.
  /// `weights`: as ArcDistributor::add(). Throws ResourceError, DataError when arcs cannot be
  /// written; the sorter is then lost.
  void add(std::span<const Edge> edges, std::span<const std::uint32_t> weights = {});

  /// What was added so far. While nobody adds.
  [[nodiscard]] ArcCounts counts() const;

  /// Ends the input. What is returned owns all memory and files from here on. Call once, after all
  /// add().
  [[nodiscard]] std::unique_ptr<SortedArcs> finish();

 private:
  std::size_t sort_bytes_;
  ArcKeys keys_;
  std::unique_ptr<ChunkStore> store_;
  std::vector<std::unique_ptr<ArcDistributor>> distributors_;
  std::mutex mutex_;  // guards idle_
  std::condition_variable returned_;
  std::vector<ArcDistributor*> idle_;
};

}  // namespace unweave
