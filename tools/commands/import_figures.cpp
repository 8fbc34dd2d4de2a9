// tools/commands/import_figures.cpp - what people read of an import and of the plan of one.
#include "tools/commands/import_figures.h"

#include <string>

#include "storage/io/error.h"
#include "storage/io/shell_word.h"
#include "tools/cli/build_report.h"
#include "tools/cli/report_json.h"
#include "tools/commands/propagation_options.h"
#include "unweave/classes.h"
#include "unweave/fields/ingest.h"

namespace unweave {
namespace {

void add_edges(const ImportReport& report, Table& table) {
  if (report.one_way_edges > 0)
    table.add_row({"edges in one direction, made undirected",
                   (report.one_way_exact ? "" : "at least ") + count_text(report.one_way_edges)});
  if (report.left_out.ignored > 0) table.add_row({"weights ignored", count_text(report.left_out.ignored)});
  if (report.left_out.zeros > 0) table.add_row({"edges of weight 0 dropped", count_text(report.left_out.zeros)});
}

void add_norms(const ImportReport& report, Table& table) {
  if (!report.rows_scaled) return;
  if (report.scale != FeatureScale())
    table.add_row({"scale", report.scale.as_given ? "none" : "divided by " + scale_text(report.scale)});
  table.add_row({"rows scaled to norm 1", count_text(*report.rows_scaled) + " of " + count_text(report.nodes)});
  table.add_row({"largest norm of a row", number_text(report.largest_norm)});
}

void add_classes(const ImportReport& report, Table& table) {
  if (report.empty_classes.value_or(0) == 0) return;
  std::string names;
  for (const std::uint32_t one : report.first_empty_classes)
    names += (names.empty() ? "" : ", ") + class_text(report.class_names, one);
  if (*report.empty_classes > report.first_empty_classes.size()) names += ", ...";
  table.add_row({report.labels_are_of_graphs ? "classes without a graph" : "classes without a node",
                 count_text(*report.empty_classes) + ": " + names});
}

void add_splits(const ImportReport& report, Table& table) {
  constexpr const char* kNames[] = {"train", "valid", "test"};
  const std::string things = report.labels_are_of_graphs ? "graphs" : "nodes";
  for (std::size_t i = 0; i < report.splits.size(); ++i)
    if (const auto& size = report.splits[i])
      table.add_row({things + " of the split " + kNames[i],
                     count_text(*size) + (*size == 0 && i == 0 ? ", nothing to train on" : "")});
}

}  // namespace

std::string remark_on_sums(const ImportReport& report) {
  if (default_sum_bytes(report) <= kLargeSums * report.feature_bytes) return {};
  return "sums of propagated features are dense: the " + bytes_text(report.feature_bytes) +
         " of features become up to " + bytes_text(default_sum_bytes(report)) + " by `propagate` of " +
         std::to_string(kDefaultHops) + " hops; `plan` says how much";
}

void print_import_plan(const CommandLine& line, const ImportForecast& plan) {
  if (line.common().json) {
    write_json_line(line.out(), json_fields(plan));
  } else {
    const auto about = [](std::uint64_t count, bool exact) { return (exact ? "" : "about ") + count_text(count); };
    Table table({"to import", "needed", "there is"});
    table.add_row({"nodes", about(plan.nodes, plan.nodes_exact), ""});
    table.add_row({"edges to read", about(plan.edges, plan.edges_exact), ""});
    if (plan.columns > 0) table.add_row({"features", count_text(plan.columns) + (plan.sparse ? ", sparse" : ""), ""});
    table.add_row({"files to read", bytes_text(plan.input_bytes), ""});
    if (plan.edges > 0)
      table.add_row({"graph, about", bytes_text(plan.graph_bytes),
                     "from " + bytes_text(plan.least_graph_bytes) + " to " + bytes_text(plan.most_graph_bytes)});
    if (plan.columns > 0) table.add_row({"features on disk", bytes_text(plan.feature_bytes), ""});
    table.add_row({"memory, at least", bytes_text(plan.memory_bytes), bytes_text(plan.memory_available_bytes)});
    table.add_row({"temporary files", bytes_text(plan.temporary_bytes), ""});
    table.add_row({"disk at a time, at most", bytes_text(plan.disk_bytes), bytes_text(plan.disk_free_bytes)});
    table.add_row({"passes over the edges", count_text(plan.passes), ""});
    if (plan.seconds) {
      table.add_row({"time, about", seconds_text(plan.seconds->total()), ""});
      table.add_row({"  edges", seconds_text(plan.seconds->edges), ""});
      table.add_row({"  graph", seconds_text(plan.seconds->graph), ""});
      if (plan.columns > 0) table.add_row({"  features", seconds_text(plan.seconds->features), ""});
      table.add_row({"  last writes", seconds_text(plan.seconds->write), ""});
    }
    table.print(line.out());
    for (const std::string& sentence : plan.assumed) line.out() << "assumed: " << sentence << '\n';
  }
  if (plan.fits()) return;
  const bool is_disk = plan.disk_bytes > plan.disk_free_bytes;
  throw ResourceError(line.positional(0) + ": an import needs up to " +
                      bytes_text(is_disk ? plan.disk_bytes : plan.memory_bytes) +
                      (is_disk ? " of disk, " : " of memory, ") +
                      bytes_text(is_disk ? plan.disk_free_bytes : plan.memory_available_bytes) +
                      (is_disk ? " are free; free some, or import to another disk" : " are there; raise --memory"));
}

Table import_table(const ImportReport& report) {
  Table table = build_table(report);
  if (report.named) table.add_row({"nodes with a name", count_text(*report.named)});
  add_edges(report, table);
  add_norms(report, table);
  add_classes(report, table);
  if (report.graphs) table.add_row({"graphs", count_text(*report.graphs)});
  add_splits(report, table);
  return table;
}

}  // namespace unweave
