// tools/cli/build_report.cpp - what people read of a new store.
#include "tools/cli/build_report.h"

#include "storage/io/shell_word.h"

namespace unweave {

Table build_table(const BuildReport& report) {
  Table table;
  table.add_row({"nodes", count_text(report.nodes)});
  const bool directed = report.layers.directed;
  table.add_row({directed ? "arcs" : "edges", count_text(report.edges)});
  if (report.pairs) table.add_row({"edges held out of the graph", count_text(report.held_edges)});
  if (report.weight_unit) {
    table.add_row({"unit of the weights", unit_text(report.weight_unit->exponent)});
    table.add_row({"a self loop weighs", count_text(report.weight_unit->self) + " units"});
    table.add_row({"sum of the weights", number_text(report.weight_unit->weight(report.weight_sum))});
  } else if (report.max_weight > 1) {
    table.add_row({"largest weight, as declared", count_text(report.max_weight)});
    table.add_row({"sum of the weights", count_text(report.weight_sum)});
  }
  if (!directed) table.add_row({"self loops dropped", count_text(report.self_loops)});
  table.add_row({"duplicates dropped", count_text(report.duplicates)});
  table.add_row({"features", count_text(report.features)});
  table.add_row({"classes", count_text(report.classes)});
  if (report.unlabelled_split_ids > 0)
    table.add_row({"unlabelled split ids ignored", count_text(report.unlabelled_split_ids)});
  if (report.edges > 0) table.add_row({"bits per arc", number_text(report.bits_per_arc)});
  if (report.order != "none") table.add_row({"order", report.order + ", " + seconds_text(report.seconds_order)});
  return table;
}

void add_measure(Figures& figures, Measure& measure) {
  figures.table.add_row({"time", seconds_text(measure.seconds())});
  figures.table.add_row({"peak memory", bytes_text(measure.process().peak_anonymous_bytes())});
  measure.report(figures.json);
}

std::string interrupted_build(const std::string& store) {
  return store + " is a store if `unweave info " + shell_word(store) +
         "` can read it; else run the command again, which begins anew";
}

}  // namespace unweave
