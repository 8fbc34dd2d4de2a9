// tools/propagate.cpp - `unweave propagate`: the initial embedding of a store.
#include "algorithms/propagate.h"

#include <optional>

#include "tools/commands.h"
#include "tools/measure.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/propagation_options.h"

namespace unweave {
void run_propagate(CommandLine& line) {
  line.describe("Computes the embedding of every level anew from the store's present contents.", {"STORE"},
                "unweave propagate demo/debian.store --hops 2 --weights 0,0,1");
  add_propagation_options(line);
  line.options().add_options()(
      "measure-limit", po::bool_switch(),
      "also measure the machine's gather limit on an R-MAT graph of this size (2^16 to 2^22 nodes, or fewer if these "
      "do "
      "not fit the memory)");
  if (!line.parse()) return;

  Measure measure;
  MemoryBudget budget(line.budget_bytes());
  LiveStore store(line.positional(0), Access::write, budget);
  const PropagationSpec spec = read_propagation_spec(line, store.contents());
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
    if (const auto limit = measure_gather_limit(line, store.manifest().nodes, store.manifest().features, budget)) {
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
