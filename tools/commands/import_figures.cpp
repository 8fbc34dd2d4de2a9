// tools/commands/import_figures.cpp - adds what was found in the files to the figures of `import`.
#include "tools/commands/import_figures.h"

#include <string>

#include "tools/cli/option_values.h"
#include "tools/commands/propagation_options.h"

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
  figures.json["ignored_weights"] = report.ignored_weights;
  if (report.ignored_weights > 0) figures.table.add_row({"weights ignored", count_text(report.ignored_weights)});
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
  if (!report.empty_classes) return;
  figures.json["empty_classes"] = *report.empty_classes;
  if (*report.empty_classes == 0) return;
  std::string names;
  for (const std::uint32_t one : report.first_empty_classes) names += (names.empty() ? "" : ", ") + std::to_string(one);
  if (*report.empty_classes > report.first_empty_classes.size()) names += ", ...";
  figures.table.add_row({"classes without a node", count_text(*report.empty_classes) + ": " + names});
}

void add_splits(const ImportReport& report, Figures& figures) {
  constexpr const char* kNames[] = {"train", "valid", "test"};
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

void add_import_figures(const ImportReport& report, Figures& figures) {
  figures.json["named"] = nullptr;
  if (report.named) figures.count("named", "nodes with a name", *report.named);
  add_one_way_edges(report, figures);
  add_weights(report, figures);
  add_norms(report, figures);
  add_classes(report, figures);
  add_splits(report, figures);
  add_sums(report, figures);
}

}  // namespace unweave
