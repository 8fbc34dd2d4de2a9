// tools/commands/propagate.cpp - `unweave propagate`: the initial embedding of a store.
#include <optional>

#include "tools/bench/measure.h"
#include "tools/bench/measure_limit.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_notes.h"
#include "tools/commands/propagation_options.h"
#include "unweave/store.h"

namespace unweave {

void run_propagate(CommandLine& line) {
  line.describe(
      "Computes the embedding anew from the store's present contents: Z = sum of w_l P^l X, l = 0 .. L, with\n"
      "P = D^-R A D^(R-1), R of --rho, A with a self loop at every node, which D counts, and X the features as\n"
      "import scaled them (algorithms/propagation/PROPAGATION.md). --keep state keeps the sums of all levels, which\n"
      "streams need; embedding and hops keep rows in their place.",
      {"STORE"}, "unweave propagate demo/debian.store --hops 2 --weights 0,0,1");
  add_propagation_options(line);
  line.options().add_options()("measure-limit", po::bool_switch(),
                               "first measure the machine's gather limit on an R-MAT graph of this size "
                               "(2^16 to 2^22 nodes, or fewer if these do not fit the memory)");
  if (!line.parse()) return;
  line.on_interrupt("the store is whole, with its embedding of before or the new one; run the command again");

  Resources resources({line.common().memory_bytes});
  std::optional<GatherBench> limit;
  if (line.get<bool>("measure-limit")) {
    const Manifest manifest = [&] {
      const Reader reader(line.positional(0), resources);
      static_cast<void>(read_propagation_spec(line, reader.has_labels()));  // what is wrong is told first
      return reader.manifest();
    }();
    limit = propagation_limit(line, manifest, resources.memory());
  }
  Measure measure;  // measures the propagation alone
  Writer writer(line.positional(0), resources);
  const PropagationSpec spec = read_propagation_spec(line, writer.has_labels());
  note_replaced_propagation(line, writer, spec);
  PropagateReport report;
  {
    std::optional<Progress> meter;
    std::uint64_t shown = 0;
    report = writer.propagate(spec, [&](const PropagateProgress& progress) {
      if (!meter) {
        const double work_of_row = progress.total_arc_features / static_cast<double>(progress.total);
        meter.emplace(line.error(), line.shows_progress(), "propagate", progress.total, "rows",
                      limit ? limit->limit_per_second / work_of_row : 0);
      }
      meter->advance(progress.done - shown);
      shown = progress.done;
    });
  }
  const std::uint64_t without_row = writer.nodes() - report.targets;
  if (without_row > 0 && !line.has("rows"))
    line.note(counted(without_row, "node") + " without a label " + (without_row == 1 ? "gets" : "get") +
              " no row of the embedding, and so no prediction; --rows all gives every node one");
  Figures figures{.table = Table({"propagated", ""})};
  figures.table.add_row({"hops", count_text(spec.levels)});
  figures.table.add_row({"rows", spec.all_rows          ? "all"
                                 : spec.kept.has_sums() ? "labelled, and what they read"
                                                        : "labelled"});
  figures.table.add_row({"keeps", std::string(keep_name(spec.kept.keep))});
  figures.count("nodes_without_row", "nodes without a row", without_row);
  figures.count("rows", "rows kept", report.rows);
  figures.count("tiles", "column tiles", report.tiles);
  figures.seconds("sweep_seconds", "sweep", report.sweep_seconds);
  figures.seconds("sync_seconds", "last sync", report.sync_seconds);
  figures.json["cone_seconds"] = report.cone_seconds;
  figures.json["fill_seconds"] = report.fill_seconds;
  figures.json["seconds_predicted"] = figures.json["predicted"] = nullptr;
  if (report.predicted) {
    figures.json["seconds_predicted"] = report.predicted->total();
    figures.json["predicted"] = parts_of(*report.predicted);
  }
  figures.number("arc_features_per_second", "arc features a second", report.arc_features_per_second);
  figures.json["limit_ratio"] = nullptr;
  figures.json["limit_arc_features_per_second"] = nullptr;
  figures.json["limit_nodes"] = nullptr;
  measure.report(figures.json);
  if (limit) {
    figures.number("limit_ratio", "share of the gather limit",
                   report.arc_features_per_second / limit->limit_per_second);
    figures.number("limit_arc_features_per_second", "limit: uncompressed gather", limit->limit_per_second);
    figures.json["limit_nodes"] = limit->nodes;
  }
  figures.table.add_row({"whole command", seconds_text(figures.json["seconds"].get<double>())});
  figures.table.add_row({"peak memory", bytes_text(figures.json["peak_anonymous_bytes"].get<std::uint64_t>())});
  figures.print(line.out(), line.common().json);
}

}  // namespace unweave
