// tests/bench/limits/bench_import.h - how fast do edges become a store here, and how fast could
// their bytes move?
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/io/types.h"
#include "tools/cli/output.h"

namespace unweave {

struct ImportBenchOptions {
  int scale = 20;  ///< 2^scale nodes of an R-MAT graph, at most 31
  std::uint64_t edge_factor = 16;
  int repeats = 3;  ///< the best of so many runs counts, of the import and of the limit
  std::uint64_t seed = 1;
};

struct ImportBench {
  NodeId nodes = 0;
  std::uint64_t edges_read = 0;
  ArcIndex arcs = 0;  ///< arcs of the store
  std::size_t threads = 0;
  std::uint64_t input_bytes = 0;    ///< a .npy file of two 32-bit ids an edge
  std::uint64_t spooled_bytes = 0;  ///< bytes of arcs that did not fit the budget
  std::uint64_t shard_bytes = 0;
  double seconds = 0;
  double limit_seconds = 0;       ///< time for these bytes when they are only moved
  double limit_read_seconds = 0;  ///< part of it until the edges are read and spooled; the rest is for the shards
  std::uint64_t moved_bytes = 0;  ///< bytes that the limit has read and written, those of the spool twice

  [[nodiscard]] double arcs_per_second() const { return static_cast<double>(arcs) / seconds; }
  [[nodiscard]] double limit_per_second() const { return static_cast<double>(arcs) / limit_seconds; }
  [[nodiscard]] double ratio() const { return limit_seconds / seconds; }
};

/// Imports in the folder `folder`, into a store that is removed again. The limit reads the input,
/// appends the spool's bytes, reads them back, asked for as far ahead, and writes and syncs files
/// as long as the shards: through the calls that `import` uses, in its two pipelines, on its
/// threads. What the system's cache holds it holds for both. Throws ResourceError.
[[nodiscard]] ImportBench run_bench_import(const std::filesystem::path& folder, const ImportBenchOptions& options,
                                           MemoryBudget& budget, WorkMeter& meter);

[[nodiscard]] Figures figures_of(const ImportBench& result);

}  // namespace unweave
