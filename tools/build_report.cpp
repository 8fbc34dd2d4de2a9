// tools/build_report.cpp - the figures of a new store as JSON and as a table.
#include "tools/build_report.h"

#include <ostream>

#include "tools/output.h"

namespace unweave {

void print_build_report(const CommandLine& line, const BuildReport& report, Measure& measure) {
  if (line.common().json) {
    nlohmann::ordered_json object;
    object["nodes"] = report.nodes;
    object["edges"] = report.edges;
    object["arcs"] = 2 * report.edges;
    object["features"] = report.features;
    object["classes"] = report.classes;
    object["edges_read"] = report.edges_read;
    object["duplicates"] = report.duplicates;
    object["self_loops"] = report.self_loops;
    object["spooled_bytes"] = report.spooled_bytes;
    object["unlabelled_split_ids"] = report.unlabelled_split_ids;
    object["bits_per_arc"] = report.edges > 0 ? nlohmann::ordered_json(report.bits_per_arc) : nullptr;
    object["order"] = report.order;
    object["seconds_order"] = report.seconds_order;
    measure.report(object);
    write_json_line(line.out(), object);
    return;
  }
  Table table;
  table.add_row({"nodes", count_text(report.nodes)});
  table.add_row({"edges", count_text(report.edges)});
  table.add_row({"self loops dropped", count_text(report.self_loops)});
  table.add_row({"duplicates dropped", count_text(report.duplicates)});
  table.add_row({"features", count_text(report.features)});
  table.add_row({"classes", count_text(report.classes)});
  if (report.unlabelled_split_ids > 0)
    table.add_row({"unlabelled split ids ignored", count_text(report.unlabelled_split_ids)});
  if (report.edges > 0) table.add_row({"bits per arc", number_text(report.bits_per_arc)});
  if (report.order != "none") table.add_row({"order", report.order + ", " + seconds_text(report.seconds_order)});
  table.add_row({"time", seconds_text(measure.seconds())});
  table.add_row({"peak memory", bytes_text(measure.process().peak_anonymous_bytes())});
  table.print(line.out());
}

}  // namespace unweave
