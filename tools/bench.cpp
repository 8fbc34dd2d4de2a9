// tools/bench.cpp - `unweave bench NAME`: figures beside the machine's limit, measured in the same run.
#include "storage/error.h"
#include "tools/bench_gather.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace unweave {

void run_bench(CommandLine& line) {
  line.describe("Measures one part of the engine beside the machine's limit in the same run. NAME is gather.", {"NAME"},
                "unweave bench gather --scale 18");
  auto add = line.options().add_options();
  add("scale", po::value<Count>()->value_name("S")->default_value({20}), "R-MAT graph of 2^S nodes, 1 to 31");
  add("edge-factor", po::value<Count>()->value_name("E")->default_value({16}), "edges a node, before duplicates drop");
  add("features", po::value<Count>()->value_name("F")->default_value({128}), "columns");
  add("hops", po::value<Count>()->value_name("L")->default_value({2}), "levels");
  add("repeats", po::value<Count>()->value_name("R")->default_value({3}), "runs; the best one counts");
  if (!line.parse()) return;
  if (line.positional(0) != "gather")
    throw UsageError("bench: no benchmark named '" + line.positional(0) + "'; known: gather");
  GatherBenchOptions options;
  const std::uint64_t scale = line.get<Count>("scale").value;
  const std::uint64_t hops = line.get<Count>("hops").value;
  const std::uint64_t repeats = line.get<Count>("repeats").value;
  options.edge_factor = line.get<Count>("edge-factor").value;
  options.features = line.get<Count>("features").value;
  if (scale < 1 || scale > 31 || hops < 1 || hops > 16 || repeats < 1 || repeats > 1000 || options.edge_factor < 1 ||
      options.features < 1)
    throw UsageError("bench gather: an option is out of range; see --help");
  options.scale = static_cast<int>(scale);
  options.hops = static_cast<int>(hops);
  options.repeats = static_cast<int>(repeats);
  options.seed = line.common().seed.value_or(1);
  MemoryBudget budget(line.common().memory_bytes);
  const GatherBench result = run_bench_gather(options, budget);
  if (line.common().json)
    return write_json_line(line.out(), {{"bench", "gather"},
                                        {"nodes", result.nodes},
                                        {"arcs", result.arcs},
                                        {"features", options.features},
                                        {"threads", result.threads},
                                        {"vector_target", result.vector_target},
                                        {"triad_bytes_per_second", result.triad_bytes_per_second},
                                        {"limit_arc_features_per_second", result.limit_per_second},
                                        {"sweep_arc_features_per_second", result.sweep_per_second},
                                        {"ratio", result.ratio()}});
  Table table({"gather", ""});
  table.add_row({"nodes", count_text(result.nodes)});
  table.add_row({"arcs", count_text(result.arcs)});
  table.add_row({"threads", count_text(result.threads)});
  table.add_row({"vector extension", result.vector_target});
  table.add_row({"triad, bytes a second", number_text(result.triad_bytes_per_second)});
  table.add_row({"limit: uncompressed gather, arc features a second", number_text(result.limit_per_second)});
  table.add_row({"sweep in memory, arc features a second", number_text(result.sweep_per_second)});
  table.add_row({"ratio", number_text(result.ratio())});
  table.print(line.out());
}

}  // namespace unweave
