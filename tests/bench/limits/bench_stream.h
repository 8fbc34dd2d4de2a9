// tests/bench/limits/bench_stream.h - how fast do batches of removals go through a propagated store
// here, and how fast could the same sums be made and the same rows be moved?
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/graph/contents.h"
#include "engine/resources/memory.h"
#include "storage/io/types.h"
#include "storage/types/request.h"
#include "tools/cli/output.h"

namespace unweave {

struct StreamBenchOptions {
  std::uint64_t seed = 1;  ///< seed of the draw
  std::uint32_t hops = 2;
  std::uint64_t batch = 1000;  ///< edges of a batch
  std::uint64_t batches = 3;
  int repeats = 3;  ///< runs of the stream and of its limit; the best run of each counts
};

/// What bounds an exact stream: its sums made from uncompressed lists, its rows only moved.
struct StreamLimit {
  std::uint32_t columns = 0;
  double gather_per_second = 0;  ///< arc features, store_gather_limit() for tiles of all columns
  double copies_per_second = 0;  ///< rows of as many 32-bit sums, from random places to random places of memory

  /// The arcs that were summed at gather_per_second, then the rows that were touched at
  /// copies_per_second.
  [[nodiscard]] double seconds(std::uint64_t arcs, std::uint64_t rows) const {
    return static_cast<double>(arcs) * columns / gather_per_second + static_cast<double>(rows) / copies_per_second;
  }
};

/// Measures both on the last generation of the store, which has nodes and features; each the best
/// of `repeats`. Throws ResourceError where uncompressed lists and a tile, or rows to copy, do not
/// fit `budget`.
[[nodiscard]] StreamLimit measure_stream_limit(const std::filesystem::path& store, int repeats, MemoryBudget& budget);

struct StreamBench {
  NodeId nodes = 0;
  ArcIndex arcs = 0;  ///< before the first removal
  std::uint32_t features = 0;
  std::uint32_t hops = 0;
  std::size_t threads = 0;
  std::uint64_t batch = 0;
  std::vector<double> batch_seconds;  ///< from requests to durable, the last level put off
  std::vector<std::string> plans;     ///< how each batch was made, "push defer"
  double deliver_seconds = 0;         ///< the last level of all batches
  double checkpoint_seconds = 0;      ///< counted nowhere else
  std::uint64_t rows_touched = 0;     ///< by all batches and the delivery
  std::uint64_t arcs_visited = 0;
  std::uint64_t arcs_summed = 0;
  StreamLimit limit;

  [[nodiscard]] double seconds() const;
  [[nodiscard]] double seconds_per_batch() const { return seconds() / static_cast<double>(batch_seconds.size()); }
  [[nodiscard]] double arcs_per_second() const { return static_cast<double>(arcs_visited) / seconds(); }
  [[nodiscard]] double limit_seconds() const { return limit.seconds(arcs_summed, rows_touched); }
  [[nodiscard]] double limit_per_second() const { return static_cast<double>(arcs_visited) / limit_seconds(); }
  [[nodiscard]] double ratio() const { return limit_seconds() / seconds(); }
};

/// `count` requests, each of which removes another edge: a set drawn uniformly from all sets of so
/// many edges, in random order. The graph has at least as many.
[[nodiscard]] std::vector<Request> draw_edges(const Contents& contents, std::uint64_t count, std::uint64_t seed);

/// Links the store `from` to `store`, propagates it there and removes batch after batch of
/// draw_edges() from it, exactly; all that `repeats` times, each after a run of the limit. `store`,
/// a folder that is replaced, keeps the last run. Throws UsageError where there are not so many
/// edges, ResourceError, DataError.
[[nodiscard]] StreamBench run_bench_stream(const std::filesystem::path& from, const std::filesystem::path& store,
                                           const StreamBenchOptions& options, MemoryBudget& budget);

[[nodiscard]] Figures figures_of(const StreamBench& result);

}  // namespace unweave
