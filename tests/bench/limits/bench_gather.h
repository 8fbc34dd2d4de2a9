// tests/bench/limits/bench_gather.h - how fast can rows be gathered here, and how close does a
// sweep come?
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/resources/memory.h"
#include "storage/io/types.h"
#include "support/csr_graph.h"

namespace unweave {

struct GatherBenchOptions {
  int scale = 20;  ///< 2^scale nodes of an R-MAT graph
  std::uint64_t edge_factor = 16;
  std::size_t features = 128;
  int hops = 2;
  int repeats = 3;  ///< the best of so many runs counts
  std::uint64_t seed = 1;
};

/// Rates count (arcs + nodes) x features x levels a second.
struct GatherBench {
  NodeId nodes = 0;
  ArcIndex arcs = 0;
  std::size_t threads = 0;
  std::string vector_target;          ///< vector extension that the kernels use
  double triad_bytes_per_second = 0;  ///< a[i] = b[i] + s c[i], three streams counted
  double limit_per_second = 0;        ///< the limit: uncompressed lists, exact sums, results dropped
  double sweep_per_second = 0;        ///< propagation_sweep on the same lists, every level's sums kept in memory
  double sweep_seconds = 0;           ///< without the filling of the first tile
  double short_sweep_per_second = 0;  ///< that sweep with 16 bits a value between the levels
  double check_ratio = 0;             ///< time of a propagation that proves its sums over that of one that does not
  std::size_t tile_width = 0;
  [[nodiscard]] double ratio() const { return sweep_per_second / limit_per_second; }
};

/// The limit of sweeps over a graph: (arcs + nodes) x columns a second of sums over its lists, in a
/// tile of `columns` in memory, results dropped; one run. Throws ResourceError where `budget` does
/// not hold the tile.
[[nodiscard]] double gather_limit(const testing::CsrGraph& graph, std::size_t columns, MemoryBudget& budget);

/// Runs on the threads that the process has now. Throws ResourceError where the graph (16 bytes an
/// edge while it is made), two tiles and the sums do not fit `budget`.
[[nodiscard]] GatherBench run_bench_gather(const GatherBenchOptions& options, MemoryBudget& budget);

}  // namespace unweave
