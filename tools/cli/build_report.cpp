// tools/cli/build_report.cpp - the figures of a new store as JSON and as a table.
#include "tools/cli/build_report.h"

#include "storage/io/shell_word.h"

namespace unweave {

Figures figures_of(const BuildReport& report) {
  Figures figures;
  figures.count("nodes", "nodes", report.nodes);
  figures.count("edges", "edges", report.edges);
  figures.json["arcs"] = 2 * (report.max_weight > 1 ? report.weight_sum : report.edges);
  figures.json["max_weight"] = figures.json["weight_sum"] = nullptr;
  if (report.max_weight > 1) {
    figures.count("max_weight", "largest weight, as declared", report.max_weight);
    figures.count("weight_sum", "sum of the weights", report.weight_sum);
  }
  figures.json["edges_read"] = report.edges_read;
  figures.count("self_loops", "self loops dropped", report.self_loops);
  figures.count("duplicates", "duplicates dropped", report.duplicates);
  figures.count("features", "features", report.features);
  figures.count("classes", "classes", report.classes);
  figures.json["spooled_bytes"] = report.spooled_bytes;
  figures.json["unlabelled_split_ids"] = report.unlabelled_split_ids;
  if (report.unlabelled_split_ids > 0)
    figures.table.add_row({"unlabelled split ids ignored", count_text(report.unlabelled_split_ids)});
  figures.json["bits_per_arc"] = nullptr;
  if (report.edges > 0) figures.number("bits_per_arc", "bits per arc", report.bits_per_arc);
  figures.json["order"] = report.order;
  figures.json["seconds_order"] = report.seconds_order;
  if (report.order != "none")
    figures.table.add_row({"order", report.order + ", " + seconds_text(report.seconds_order)});
  return figures;
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
