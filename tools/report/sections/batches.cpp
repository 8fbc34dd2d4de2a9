// tools/report/sections/batches.cpp - what was asked of a stream, how right its models were, and what it took, batch by batch.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/output.h"
#include "tools/report/chart.h"
#include "tools/report/html.h"
#include "tools/report/sections/sections.h"
#include "tools/report/sections/shared.h"

namespace unweave {
namespace {

std::string range_text(const std::optional<double>& first, const std::optional<double>& last) {
  if (!first || !last) return "";
  return number_text(*first) + " to " + number_text(*last);
}

/// Whether batches of several streams follow one another, whose numbers begin anew.
bool has_several_streams(const std::vector<RunLine>& batches) {
  for (std::size_t i = 0; i < batches.size(); ++i)
    if (batches[i].count("batch") != i + 1) return true;
  return false;
}

/// A place in the order of all lines, and where it differs, the number within its stream.
std::vector<std::string> batch_cells(const RunLine& batch, std::size_t place, bool several) {
  return {std::to_string(place + 1), several ? count_cell(batch.count("batch")) : ""};
}

Columns batch_columns(const Columns& more) {
  Columns columns{{"batch"}, {"of its stream"}};
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

/// What all batches together removed, inserted or set; nothing where no line tells of it, as those of older programs.
std::optional<std::uint64_t> sum_of(const std::vector<RunLine>& batches, std::string_view name) {
  std::optional<std::uint64_t> sum;
  for (const RunLine& batch : batches)
    if (const auto count = batch.count(name)) sum = sum.value_or(0) + *count;
  return sum;
}

/// "training from 0.7839 to 0.7655": the first and the last value of every series.
std::string described(const std::vector<Series>& series) {
  std::string text;
  for (const Series& one : series) {
    std::optional<double> first, last;
    for (const std::optional<double>& value : one.values) {
      if (!value) continue;
      if (!first) first = value;
      last = value;
    }
    text += (text.empty() ? "" : "; ") + one.label + " from " + range_text(first, last);
  }
  return text + ". The table below has every number.";
}

/// Values in milliseconds where all are below a second.
std::pair<std::string, double> unit_of(const std::vector<Series>& series) {
  double largest = 0;
  for (const Series& one : series)
    for (const std::optional<double>& value : one.values) largest = std::max(largest, value.value_or(0));
  return largest < 1 ? std::pair<std::string, double>{"milliseconds", 1e3}
                     : std::pair<std::string, double>{"seconds", 1};
}

std::string cost_chart(const std::string& id, const std::string& title, std::vector<Series> series) {
  const auto [unit, factor] = unit_of(series);
  for (Series& one : series)
    for (std::optional<double>& value : one.values)
      if (value) value = *value * factor;
  return line_chart({id, title, described(series), "batch, in the order of the lines", unit + " a batch"}, series,
                    true);
}

}  // namespace

std::string asked_section(const RunLines& lines) {
  const BatchTotals totals = totals_of(lines);
  HtmlList list;
  list.add("Requests", count_cell(totals.requests));
  list.add("Batches", count_cell(lines.batches.size()));
  list.add("Applied", count_cell(totals.applied));
  list.add("Rejected", count_cell(totals.rejected));
  for (const auto& [reason, count] : lines.rejections) list.add("Rejected: " + reason, count_cell(count));
  for (const auto& [name, label] : {std::pair("nodes_removed", "Nodes removed"),
                                    {"edges_removed", "Edges removed"},
                                    {"features_removed", "Rows of features removed"},
                                    {"edges_inserted", "Edges inserted"},
                                    {"features_set", "Rows of features set"},
                                    {"labels_set", "Labels set"},
                                    {"splits_moved", "Nodes moved between splits"},
                                    {"nodes_inserted", "Nodes inserted"},
                                    {"weights_set", "Weights of edges set"},
                                    {"expiries_set", "Expiries of edges set"}})
    if (const auto sum = sum_of(lines.batches, name); totals.applied && sum) list.add(label, count_cell(*sum));

  std::string html = paragraph(
      "A request asks that an edge, a node or its features be removed, that an edge or a node be inserted, or that "
      "features, "
      "a label, a split, a weight or the time when an edge is to go be set. It is rejected where it would change "
      "nothing. Edges that left with their node are counted among the edges.");
  html += list.html();
  HtmlTable table("Every batch, in the order of the lines", batch_columns({{"time", kText},
                                                                           {"requests"},
                                                                           {"last request"},
                                                                           {"applied"},
                                                                           {"rejected"},
                                                                           {"certified", kText},
                                                                           {"claim", kText},
                                                                           {"retrained", kText},
                                                                           {"residual bound"},
                                                                           {"budget"},
                                                                           {"for tests", kText}}));
  const bool several = has_several_streams(lines.batches);
  for (std::size_t i = 0; i < lines.batches.size(); ++i) {
    const RunLine& batch = lines.batches[i];
    std::vector<std::string> cells = batch_cells(batch, i, several);
    for (std::string& cell : std::vector{text_cell(batch.text("time")), count_cell(batch.count("requests")),
                                         count_cell(batch.count("last_request")), count_cell(batch.count("applied")),
                                         count_cell(batch.count("rejected")), flag_cell(batch.flag("certified")),
                                         text_cell(batch.text("claim")), flag_cell(batch.flag("retrained")),
                                         real_cell(batch.real("residual_bound")), real_cell(batch.real("budget")),
                                         batch.flag("for_tests").value_or(false) ? std::string("yes") : std::string()})
      cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
  }
  html += table.html();
  return html + paragraph(
                    "<em>Last request</em> is the number of the batch\xE2\x80\x99s last request in the store: it says "
                    "when the "
                    "batch was applied, among all requests. A release is certified only where its <em>residual "
                    "bound</em> is at most the <em>budget</em>.");
}

std::string accuracy_section(const RunLines& lines) {
  std::vector<Series> series;
  add_series(series, lines.batches, "accuracy_train", "training");
  add_series(series, lines.batches, "accuracy_valid", "validation");
  add_series(series, lines.batches, "accuracy_test", "test");
  if (series.empty()) return "";
  std::string html = paragraph(
      "Share of right predictions of the published weights after every batch, on the rows that are present then. The "
      "axis does "
      "not begin at 0.");
  html += line_chart({"accuracy", "Accuracy by batch", described(series), "batch, in the order of the lines",
                      "share of right predictions"},
                     series, false);
  HtmlTable table("Accuracy by batch", batch_columns({{"training"}, {"validation"}, {"test"}}));
  const bool several = has_several_streams(lines.batches);
  for (std::size_t i = 0; i < lines.batches.size(); ++i) {
    const RunLine& batch = lines.batches[i];
    std::vector<std::string> cells = batch_cells(batch, i, several);
    for (const char* name : {"accuracy_train", "accuracy_valid", "accuracy_test"})
      cells.push_back(real_cell(batch.real(name)));
    table.add_row(std::move(cells));
  }
  return html + table.html();
}

std::string cost_section(const RunLines& lines) {
  std::vector<Series> propagation, unlearning;
  add_series(propagation, lines.batches, "seconds_propagate", "actual");
  add_series(propagation, lines.batches, "seconds_predicted", "predicted");
  add_series(unlearning, lines.batches, "seconds_unlearn", "unlearning");
  if (propagation.empty() && unlearning.empty()) return "";
  std::string html = paragraph(
      "Time of every batch: graph and sums, as it was and as the plan had predicted it before, and the model. Times "
      "are "
      "wall-clock times of the machine that ran the stream.");
  if (!propagation.empty())
    html += cost_chart("propagation", "Propagation: actual and predicted time", std::move(propagation));
  if (!unlearning.empty()) html += cost_chart("unlearning", "Unlearning of the model", std::move(unlearning));
  HtmlTable table("Cost by batch", batch_columns({{"journal"},
                                                  {"propagation"},
                                                  {"predicted"},
                                                  {"actual over predicted"},
                                                  {"unlearning"},
                                                  {"catching up"},
                                                  {"rows touched"},
                                                  {"arcs visited"},
                                                  {"plan", kText}}));
  const bool several = has_several_streams(lines.batches);
  for (std::size_t i = 0; i < lines.batches.size(); ++i) {
    const RunLine& batch = lines.batches[i];
    const auto actual = batch.real("seconds_propagate"), predicted = batch.real("seconds_predicted");
    const auto ratio = actual && predicted && *predicted > 0 ? std::optional(*actual / *predicted) : std::nullopt;
    std::vector<std::string> cells = batch_cells(batch, i, several);
    for (std::string& cell :
         std::vector{seconds_cell(batch.real("seconds_journal")), seconds_cell(actual), seconds_cell(predicted),
                     ratio ? number_text(*ratio, 2) : std::string(), seconds_cell(batch.real("seconds_unlearn")),
                     seconds_cell(batch.real("seconds_catch_up")), count_cell(batch.count("rows_touched")),
                     count_cell(batch.count("arcs_visited")), text_cell(joined_texts(batch.texts("plan")))})
      cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
  }
  return html + table.html();
}

}  // namespace unweave
