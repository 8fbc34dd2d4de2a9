// tests/bench/limits/bench_propagate.cpp - times a propagation, and bare sums over its graph.
#include "bench/limits/bench_propagate.h"

#include <algorithm>
#include <limits>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/propagation/plan.h"
#include "algorithms/propagation/schemes.h"
#include "bench/limits/bench_gather.h"
#include "engine/graph/contents.h"
#include "engine/graph/store.h"
#include "engine/resources/clock.h"
#include "engine/resources/parallel.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "support/csr_graph.h"

namespace unweave {

double store_gather_limit(const std::filesystem::path& store, std::size_t columns, MemoryBudget& budget) {
  const Manifest manifest = read_manifest(store);
  const Reservation opened = reserve_contents(store, manifest, budget);
  const Reservation lists = budget.reserve(testing::CsrGraph::bytes(manifest.nodes, 2 * manifest.edges),
                                           "uncompressed lists of the benchmark");
  const Contents contents(store, manifest);
  return gather_limit(testing::CsrGraph(contents.graph()), columns, budget);
}

void link_store(const std::filesystem::path& named, const std::filesystem::path& store, MemoryBudget& budget) {
  const std::filesystem::path from = resolved(named);
  Manifest manifest = read_manifest(from);
  if (manifest.nodes == 0 || manifest.features == 0)
    throw DataError(from.string() + ": has no nodes or no features to propagate; name another store");
  {
    const Reservation opened = reserve_contents(from, manifest, budget);
    const Contents whole(from, manifest);  // what is damaged is named where it lies, not in the copy
  }
  manifest.forget_history();
  create_store_folder(store);
  for (const FileEntry& file : manifest.files()) {
    make_folders((store / file.path).parent_path());
    if (!try_link_entry(from / file.path, store / file.path)) copy_stored(from / file.path, store / file.path);
  }
  write_manifest(store, manifest);
}

PropagationSpec bench_spec(std::uint32_t hops) {
  PropagationSpec spec;
  spec.levels = hops;
  spec.scheme = "sgc";
  spec.weights = scheme_weights(spec.scheme, hops, {});
  return spec;
}

PropagateBench run_bench_propagate(const std::filesystem::path& store, std::uint32_t hops, int repeats,
                                   MemoryBudget& budget) {
  PropagateBench result;
  result.hops = hops;
  result.threads = active_threads();
  result.seconds = result.sweep_seconds = std::numeric_limits<double>::max();
  const PropagationSpec spec = bench_spec(hops);
  {
    const StoreReader live(store, budget);
    result.nodes = live.manifest().nodes;
    result.arcs = live.contents().graph().num_arcs();
    result.features = live.manifest().features;
    result.tile_width = plan_propagation(live.contents(), spec, budget).state.tiles.width;
  }
  for (int run = 0; run < repeats; ++run) {
    result.limit_per_second = std::max(result.limit_per_second, store_gather_limit(store, result.tile_width, budget));
    StoreWriter live(store, budget);
    const Clock::time_point start = Clock::now();
    const PropagateReport report = propagate(live, spec, budget, {});
    result.seconds = std::min(result.seconds, seconds_since(start));
    result.sweep_seconds = std::min(result.sweep_seconds, report.sweep_seconds);
    result.tiles = report.tiles;
  }
  return result;
}

Figures figures_of(const PropagateBench& result) {
  Figures figures{{{"bench", "propagate"}}, Table({"propagate", ""})};
  figures.count("nodes", "nodes", result.nodes);
  figures.count("arcs", "arcs", result.arcs);
  figures.count("features", "features", result.features);
  figures.count("hops", "hops", result.hops);
  figures.count("threads", "threads", result.threads);
  figures.count("tiles", "column tiles", result.tiles);
  figures.count("tile_width", "columns of a tile", result.tile_width);
  figures.seconds("seconds", "whole propagation", result.seconds);
  figures.seconds("sweep_seconds", "its sweep", result.sweep_seconds);
  figures.number("arc_features_per_second", "arc features a second", result.per_second());
  figures.number("sweep_arc_features_per_second", "the same of the sweep alone", result.sweep_per_second());
  figures.number("limit_arc_features_per_second", "limit: uncompressed gather on this graph, tiles as wide",
                 result.limit_per_second);
  figures.number("ratio", "ratio", result.ratio());
  figures.number("sweep_ratio", "ratio of the sweep alone", result.sweep_ratio());
  return figures;
}

}  // namespace unweave
