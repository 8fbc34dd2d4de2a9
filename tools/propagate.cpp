// tools/propagate.cpp - `unweave propagate`: the initial embedding of a store.
#include "algorithms/propagate.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "algorithms/schemes.h"
#include "storage/error.h"
#include "tools/bench_gather.h"
#include "tools/commands.h"
#include "tools/measure.h"
#include "tools/output.h"
#include "tools/progress.h"

namespace unweave {
namespace {

PropagationSpec read_spec(const CommandLine& line, const Contents& contents) {
  PropagationSpec spec;
  const std::uint64_t hops = line.get<Count>("hops").value;
  if (hops > 1000) throw UsageError("--hops: at most 1000");
  spec.levels = static_cast<std::uint32_t>(hops);
  const std::vector<double> weights =
      line.has("weights") ? line.get<RealList>("weights").values : std::vector<double>();
  const std::string scheme = line.has("scheme") ? line.get<std::string>("scheme") : std::string();
  spec.weights = scheme_weights(scheme, spec.levels, weights);
  spec.scheme = !weights.empty() ? "gpr" : scheme.empty() ? "sgc" : scheme;
  spec.rho = line.get<Real>("rho").value;
  const std::uint64_t bits = line.get<Count>("scale-bits").value;
  if (bits > 29) throw UsageError("--scale-bits must lie between 8 and 29");
  spec.scale_bits = static_cast<std::uint32_t>(bits);
  spec.all_rows = !contents.has_labels();
  if (line.has("rows")) {
    const auto& rows = line.get<std::string>("rows");
    if (rows != "all" && rows != "labelled") throw UsageError("--rows must be all or labelled");
    spec.all_rows = rows == "all";
  }
  return spec;
}

constexpr int kLeastScale = 16, kMostScale = 22;  // of the graph on which the limit is measured

/// The gather limit on an R-MAT graph of about this size, or of the largest that fits, measured here and now; none where
/// not even the smallest fits: the embedding is there by then, and its figures must not be lost.
std::optional<GatherBench> measure_limit(const CommandLine& line, NodeId nodes, std::uint32_t features,
                                         MemoryBudget& budget) {
  GatherBenchOptions options;
  const int wanted = std::clamp(static_cast<int>(std::bit_width(nodes)) - 1, kLeastScale, kMostScale);
  options.scale = wanted;
  options.features = features;
  options.repeats = 2;
  options.limit_only = true;
  while (options.scale > kLeastScale && gather_limit_bytes(options) > budget.available()) --options.scale;
  const bool fits = gather_limit_bytes(options) <= budget.available();
  if (!line.common().quiet && (!fits || options.scale < wanted))
    line.error() << "note: the gather limit is " << (fits ? "measured on a smaller graph" : "not measured") << ", 2^"
                 << wanted << " nodes do not fit --memory\n";
  if (!fits) return std::nullopt;
  return run_bench_gather(options, budget);
}

}  // namespace

void run_propagate(CommandLine& line) {
  line.describe("Computes the embedding of every level anew from the store's present contents.", {"STORE"},
                "unweave propagate demo/debian.store --hops 2 --weights 0,0,1");
  auto add = line.options().add_options();
  add("hops", po::value<Count>()->value_name("L")->default_value({2}), "levels, 0 to 1000");
  add("weights", po::value<RealList>()->value_name("W"), "L + 1 numbers, such as 0,0,1; readers may use others");
  add("scheme", po::value<std::string>()->value_name("S"), "sgc (default), ppr:A, heat:T, or gpr with --weights");
  add("rho", po::value<Real>()->value_name("R")->default_value({0.5}), "exponent of the normalisation, 0 to 1");
  add("scale-bits", po::value<Count>()->value_name("B")->default_value({24}),
      "fixed point: integers over 2^B, 8 to 29; up to 14, levels pass on 16-bit numbers");
  add("rows", po::value<std::string>()->value_name("WHICH"), "all or labelled (default when there are labels)");
  add("measure-limit", po::bool_switch(),
      "also measure the machine's gather limit on an R-MAT graph of this size (2^16 to 2^22 nodes, or fewer where "
      "these "
      "do not fit the memory)");
  if (!line.parse()) return;

  Measure measure;
  MemoryBudget budget(line.budget_bytes());
  LiveStore store(line.positional(0), Access::write, budget);
  const PropagationSpec spec = read_spec(line, store.contents());
  PropagateReport report;
  {
    std::optional<Progress> meter;
    std::uint64_t shown = 0;
    report = propagate(store, spec, budget, [&](std::uint64_t done, std::uint64_t total) {
      if (!meter) meter.emplace(line.error(), line.shows_progress(), "propagate", total, "rows");
      meter->advance(done - shown);
      shown = done;
    });
  }
  nlohmann::ordered_json json;
  measure.report(json);
  json["rows"] = report.rows;
  json["tiles"] = report.tiles;
  json["sweep_seconds"] = report.sweep_seconds;
  json["sync_seconds"] = report.sync_seconds;
  json["arc_features_per_second"] = report.arc_features_per_second;
  json["limit_ratio"] = nullptr;
  json["limit_nodes"] = nullptr;
  if (line.get<bool>("measure-limit"))
    if (const auto limit = measure_limit(line, store.manifest().nodes, store.manifest().features, budget)) {
      json["limit_ratio"] = report.arc_features_per_second / limit->limit_per_second;
      json["limit_nodes"] = limit->nodes;
    }
  if (line.common().json) return write_json_line(line.out(), json);

  Table table({"propagated", ""});
  table.add_row({"hops", count_text(spec.levels)});
  table.add_row({"rows", spec.all_rows ? "all" : "labelled, and what they read"});
  table.add_row({"rows kept", count_text(report.rows)});
  table.add_row({"column tiles", count_text(report.tiles)});
  table.add_row({"sweep", seconds_text(report.sweep_seconds)});
  table.add_row({"last sync", seconds_text(report.sync_seconds)});
  table.add_row({"arc features a second", number_text(report.arc_features_per_second)});
  if (!json["limit_ratio"].is_null())
    table.add_row({"share of the gather limit", number_text(json["limit_ratio"].get<double>())});
  table.add_row({"whole command", seconds_text(measure.seconds())});
  table.add_row({"peak memory", bytes_text(json["peak_anonymous_bytes"].get<std::uint64_t>())});
  table.print(line.out());
}

}  // namespace unweave
