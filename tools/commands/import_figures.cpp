// tools/commands/import_figures.cpp - adds what was found in the files to the figures of `import`.
#include "tools/commands/import_figures.h"

#include <string>

#include "storage/io/error.h"
#include "storage/io/shell_word.h"
#include "tools/cli/message_style.h"
#include "tools/cli/option_values.h"
#include "tools/commands/propagation_options.h"
#include "unweave/classes.h"

namespace unweave {
namespace {

/// Bytes of the sums of all rows, at the hops that `propagate` takes by default.
std::uint64_t sum_bytes(const ImportReport& report) {
  return kDefaultHops * report.nodes * std::uint64_t{report.features} * sizeof(std::int32_t);
}

void add_one_way_edges(const ImportReport& report, Figures& figures) {
  figures.json["one_way_edges"] = report.one_way_edges;
  figures.json["one_way_edges_exact"] = report.one_way_exact;
  if (report.one_way_edges > 0)
    figures.table.add_row({"edges in one direction, made undirected",
                           (report.one_way_exact ? "" : "at least ") + count_text(report.one_way_edges)});
}

void add_weights(const ImportReport& report, Figures& figures) {
  figures.json["ignored_weights"] = report.left_out.ignored;
  figures.json["zero_weights"] = report.left_out.zeros;
  if (report.left_out.ignored > 0) figures.table.add_row({"weights ignored", count_text(report.left_out.ignored)});
  if (report.left_out.zeros > 0)
    figures.table.add_row({"edges of weight 0 dropped", count_text(report.left_out.zeros)});
}

void add_norms(const ImportReport& report, Figures& figures) {
  figures.json["scale"] = figures.json["rows_scaled"] = figures.json["largest_norm"] = nullptr;
  if (!report.rows_scaled) return;
  figures.json["scale"] = scale_text(report.scale);
  if (report.scale != FeatureScale())
    figures.table.add_row({"scale", report.scale.as_given ? "none" : "divided by " + scale_text(report.scale)});
  figures.add("rows_scaled", "rows scaled to norm 1", *report.rows_scaled,
              count_text(*report.rows_scaled) + " of " + count_text(report.nodes));
  figures.number("largest_norm", "largest norm of a row", report.largest_norm);
}

void add_classes(const ImportReport& report, Figures& figures) {
  figures.json["empty_classes"] = nullptr;
  figures.json["first_empty_classes"] = report.first_empty_classes;
  figures.json["class_names"] = names_json(report.class_names);
  if (!report.empty_classes) return;
  figures.json["empty_classes"] = *report.empty_classes;
  if (*report.empty_classes == 0) return;
  std::string names;
  for (const std::uint32_t one : report.first_empty_classes)
    names += (names.empty() ? "" : ", ") + class_text(report.class_names, one);
  if (*report.empty_classes > report.first_empty_classes.size()) names += ", ...";
  figures.table.add_row({"classes without a node", count_text(*report.empty_classes) + ": " + names});
}

void add_splits(const ImportReport& report, Figures& figures) {
  constexpr const char* kNames[] = {"train", "valid", "test"};
  figures.json["order_reason"] = nullptr;
  if (!report.order_reason.empty()) figures.json["order_reason"] = report.order_reason;
  figures.json["splits"] = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < report.splits.size(); ++i) {
    const auto& size = report.splits[i];
    figures.json["splits"][kNames[i]] = size ? nlohmann::ordered_json(*size) : nlohmann::ordered_json(nullptr);
    if (size)
      figures.table.add_row({std::string("nodes of the split ") + kNames[i],
                             count_text(*size) + (*size == 0 && i == 0 ? ", nothing to train on" : "")});
  }
}

void add_sums(const ImportReport& report, Figures& figures) {
  figures.json["feature_bytes"] = report.feature_bytes;
  figures.json["default_sum_bytes"] = sum_bytes(report);
}

}  // namespace

std::string remark_on_sums(const ImportReport& report) {
  if (sum_bytes(report) <= kLargeSums * report.feature_bytes) return {};
  return "sums of propagated features are dense: the " + bytes_text(report.feature_bytes) +
         " of features become up to " + bytes_text(sum_bytes(report)) + " by `propagate` of " +
         std::to_string(kDefaultHops) + " hops; `plan` says how much";
}

nlohmann::ordered_json parts_of(const ImportSeconds& seconds) {
  return {{"edges", seconds.edges}, {"graph", seconds.graph}, {"features", seconds.features}, {"write", seconds.write}};
}

void print_import_plan(const CommandLine& line, const ImportForecast& plan) {
  if (line.common().json) {
    nlohmann::ordered_json json = {{"nodes", plan.nodes},
                                   {"nodes_exact", plan.nodes_exact},
                                   {"edges_read", plan.edges},
                                   {"edges_exact", plan.edges_exact},
                                   {"features", plan.columns},
                                   {"sparse", plan.sparse},
                                   {"bits_per_arc", plan.bits_per_arc},
                                   {"input_bytes", plan.input_bytes},
                                   {"graph_bytes", plan.graph_bytes},
                                   {"least_graph_bytes", plan.least_graph_bytes},
                                   {"most_graph_bytes", plan.most_graph_bytes},
                                   {"feature_bytes", plan.feature_bytes},
                                   {"store_bytes", plan.store_bytes()},
                                   {"memory_bytes", plan.memory_bytes},
                                   {"memory_available_bytes", plan.memory_available_bytes},
                                   {"temporary_bytes", plan.temporary_bytes},
                                   {"disk_bytes", plan.disk_bytes},
                                   {"disk_free_bytes", plan.disk_free_bytes},
                                   {"passes", plan.passes},
                                   {"input_resident", plan.input_resident},
                                   {"seconds_predicted", nullptr},
                                   {"predicted", nullptr},
                                   {"assumed", plan.assumed},
                                   {"fits", plan.fits()}};
    if (plan.seconds) {
      json["seconds_predicted"] = plan.seconds->total();
      json["predicted"] = parts_of(*plan.seconds);
    }
    write_json_line(line.out(), json);
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

void add_import_figures(const ImportReport& report, Figures& figures) {
  figures.json["named"] = nullptr;
  if (report.named) figures.count("named", "nodes with a name", *report.named);
  add_one_way_edges(report, figures);
  add_weights(report, figures);
  add_norms(report, figures);
  add_classes(report, figures);
  add_splits(report, figures);
  add_sums(report, figures);
  figures.json["remarks"] = nlohmann::ordered_json::array();
  for (const std::string& remark : report.remarks) figures.json["remarks"].push_back(command_text(remark));
}

}  // namespace unweave
