// tests/bench/limits/bench_propagate.h - how fast is a whole propagation here, and how close does
// it come to bare sums?
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "algorithms/live/propagate.h"
#include "engine/resources/memory.h"
#include "storage/io/types.h"
#include "tools/cli/output.h"

namespace unweave {

/// Rates count (arcs + nodes) x features x hops a second; times and the limit are those of their
/// best run.
struct PropagateBench {
  NodeId nodes = 0;
  ArcIndex arcs = 0;
  std::uint32_t features = 0;
  std::uint32_t hops = 0;
  std::size_t threads = 0;
  std::uint64_t tiles = 0;
  std::size_t tile_width = 0;
  double seconds = 0;        ///< from the first look at the features to the durable store
  double sweep_seconds = 0;  ///< without the first reading of the features and the last sync
  double limit_per_second = 0;

  [[nodiscard]] double work() const {
    return static_cast<double>(arcs + nodes) * static_cast<double>(features) * static_cast<double>(hops);
  }
  [[nodiscard]] double per_second() const { return work() / seconds; }
  [[nodiscard]] double sweep_per_second() const { return work() / sweep_seconds; }
  [[nodiscard]] double ratio() const { return per_second() / limit_per_second; }
  [[nodiscard]] double sweep_ratio() const { return sweep_per_second() / limit_per_second; }
};

/// gather_limit() on the graph of a store's last generation, for tiles of `columns`. Throws
/// ResourceError where its uncompressed lists and a tile do not fit `budget`.
[[nodiscard]] double store_gather_limit(const std::filesystem::path& store, std::size_t columns, MemoryBudget& budget);

/// Makes in the folder `store`, missing or empty, a store with the graph, features, labels and
/// splits of the last generation of `from`, without its embedding: its files are links. `from` is
/// never changed through it. Throws DataError (also where there is nothing to propagate),
/// FormatError.
void link_store(const std::filesystem::path& from, const std::filesystem::path& store, MemoryBudget& budget);

/// Propagates all rows of the store, which has nodes and features, `repeats` times, each into a new
/// generation, and before each time measures the limit, store_gather_limit() for tiles as wide. The
/// best of each counts. Throws what propagate() throws; where the limit does not fit `budget`
/// nothing has been propagated.
[[nodiscard]] PropagateBench run_bench_propagate(const std::filesystem::path& store, std::uint32_t hops, int repeats,
                                                 MemoryBudget& budget);

/// What benchmarks propagate: all rows, the last level counts.
[[nodiscard]] PropagationSpec bench_spec(std::uint32_t hops);

[[nodiscard]] Figures figures_of(const PropagateBench& result);

}  // namespace unweave
