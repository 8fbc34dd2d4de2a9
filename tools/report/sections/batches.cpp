// tools/report/sections/batches.cpp - what was asked of a stream, how right its models were, and
// what it took, batch by batch.
#include <algorithm>
#include <functional>
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

/// What all batches together removed, inserted or set; nothing where no line tells of it, as those
/// of older programs.
std::optional<std::uint64_t> sum_of(const std::vector<RunLine>& batches, std::string_view name) {
  std::optional<std::uint64_t> sum;
  for (const RunLine& batch : batches)
    if (const auto count = batch.count(name)) sum = sum.value_or(0) + *count;
  return sum;
}

/// A table of what several models say of each batch; "" where there is one model, of which the
/// table of batches tells. `cells`: of a step.
std::string model_table(const std::string& caption, const std::vector<RunLine>& batches,
                        const std::vector<ModelSteps>& models, const Columns& more,
                        const std::function<std::vector<std::string>(const RunLine&)>& cells) {
  if (models.size() < 2) return "";
  Columns columns = batch_columns({{"model", kText}});
  columns.insert(columns.end(), more.begin(), more.end());
  HtmlTable table(caption, columns);
  const bool several = has_several_streams(batches);
  for (std::size_t i = 0; i < batches.size(); ++i)
    for (const ModelSteps& model : models) {
      if (i >= model.steps.size() || !model.steps[i]) continue;
      std::vector<std::string> row = batch_cells(batches[i], i, several);
      row.push_back(escaped(name_among(model)));
      for (std::string& cell : cells(*model.steps[i])) row.push_back(std::move(cell));
      table.add_row(std::move(row));
    }
  return table.html();
}

/// What a claim of one batch says, cell by cell, and the columns of it.
const Columns& claim_columns() {
  static const Columns kColumns{{"certified", kText}, {"claim", kText}, {"retrained", kText},
                                {"residual bound"},   {"budget"},       {"for tests", kText}};
  return kColumns;
}

std::vector<std::string> claim_cells(const RunLine& step) {
  return {flag_cell(step.flag("certified")), text_cell(step.text("claim")),
          flag_cell(step.flag("retrained")), real_cell(step.real("residual_bound")),
          real_cell(step.real("budget")),    step.flag("for_tests").value_or(false) ? "yes" : ""};
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
                                    {"edges_held", "Of edges held out of the graph"},
                                    {"features_set", "Rows of features set"},
                                    {"labels_set", "Labels set"},
                                    {"splits_moved", "Nodes moved between splits"},
                                    {"nodes_inserted", "Nodes inserted"},
                                    {"weights_set", "Weights of edges set"},
                                    {"expiries_set", "Expiries set"}})
    if (const auto sum = sum_of(lines.batches, name); totals.applied && sum) list.add(label, count_cell(*sum));

  for (const auto& [name, label] : {std::pair("graphs_removed", "Graphs removed"),
                                    {"graph_labels_set", "Labels of graphs set"},
                                    {"graph_splits_moved", "Graphs moved between splits"}})
    if (const auto sum = sum_of(lines.batches, name); totals.applied && sum && *sum > 0)
      list.add(label, count_cell(*sum));

  std::string html = paragraph(
      "A request asks that an edge, a node or its features be removed, that an edge or a node be inserted, or that features, "
      "a label, a split, a weight or the time when something is to go be set. It is rejected where it would change "
      "nothing. Edges that left with their node are counted nowhere: their number is the degree that it had.");
  html += list.html();
  const std::vector<ModelSteps> models = model_steps(lines.batches);
  Columns columns = batch_columns({{"time", kText}, {"requests"}, {"last request"}, {"applied"}, {"rejected"}});
  if (models.size() < 2) columns.insert(columns.end(), claim_columns().begin(), claim_columns().end());
  HtmlTable table("Every batch, in the order of the lines", columns);
  const bool several = has_several_streams(lines.batches);
  for (std::size_t i = 0; i < lines.batches.size(); ++i) {
    const RunLine& batch = lines.batches[i];
    std::vector<std::string> cells = batch_cells(batch, i, several);
    for (std::string& cell : std::vector{text_cell(batch.text("time")), count_cell(batch.count("requests")),
                                         count_cell(batch.count("last_request")), count_cell(batch.count("applied")),
                                         count_cell(batch.count("rejected"))})
      cells.push_back(std::move(cell));
    if (models.size() == 1 && models[0].steps[i])
      for (std::string& cell : claim_cells(*models[0].steps[i])) cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
  }
  html += table.html();
  html += model_table("Releases of every batch, model by model", lines.batches, models, claim_columns(), claim_cells);
  return html +
         paragraph(
             "<em>Last request</em> is the number of the batch\xE2\x80\x99s last request in the store: it says when the "
             "batch was applied, among all requests. A release is certified only where its <em>residual "
             "bound</em> is at most the <em>budget</em>.");
}

std::string accuracy_section(const RunLines& lines) {
  const std::vector<ModelSteps> models = model_steps(lines.batches);
  const auto cells_of = [](const RunLine& step) {
    std::vector<std::string> cells;
    for (const char* name : {"accuracy_train", "accuracy_valid", "accuracy_test"})
      cells.push_back(real_cell(step.real(name)));
    return cells;
  };
  std::string charts;
  for (std::size_t i = 0; i < models.size(); ++i) {
    std::vector<Series> series;
    add_series(series, models[i], "accuracy_train", "training");
    add_series(series, models[i], "accuracy_valid", "validation");
    add_series(series, models[i], "accuracy_test", "test");
    if (series.empty()) continue;
    charts += line_chart(
        {i == 0 ? "accuracy" : "accuracy-" + std::to_string(i + 1), "Accuracy by batch" + of_model(models, models[i]),
         described(series), "batch, in the order of the lines", "share of right predictions"},
        series, false);
  }
  if (charts.empty()) return "";
  const std::string html =
      paragraph(
          "Share of right predictions of the published weights after every batch, on the rows that are present then. "
          "The axis does not begin at 0.") +
      charts;
  const Columns columns{{"training"}, {"validation"}, {"test"}};
  if (models.size() > 1) return html + model_table("Accuracy by batch", lines.batches, models, columns, cells_of);
  HtmlTable table("Accuracy by batch", batch_columns(columns));
  const bool several = has_several_streams(lines.batches);
  for (std::size_t i = 0; i < lines.batches.size(); ++i) {
    std::vector<std::string> cells = batch_cells(lines.batches[i], i, several);
    for (std::string& cell : cells_of(lines.batches[i])) cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
  }
  return html + table.html();
}

std::string cost_section(const RunLines& lines) {
  std::vector<Series> propagation, unlearning;
  add_series(propagation, lines.batches, "seconds_propagate", "actual");
  add_series(propagation, lines.batches, "seconds_predicted", "predicted");
  const std::vector<ModelSteps> models = model_steps(lines.batches);
  for (const ModelSteps& model : models)
    add_series(unlearning, model, "seconds_unlearn", models.size() > 1 ? name_among(model) : "unlearning");
  if (propagation.empty() && unlearning.empty()) return "";
  std::string html = paragraph(
      "Time of every batch: graph and sums, as it was and as the plan had predicted it before, and the model. Times are "
      "wall-clock times of the machine that ran the stream.");
  if (!propagation.empty())
    html += cost_chart("propagation", "Propagation: actual and predicted time", std::move(propagation));
  for (std::size_t first = 0; first < unlearning.size(); first += kMostSeries) {
    const auto begin = unlearning.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kMostSeries, unlearning.size() - first));
    html += cost_chart(first == 0 ? "unlearning" : "unlearning-" + std::to_string(first / kMostSeries + 1),
                       models.size() < 2 ? "Unlearning of the model"
                       : first == 0      ? "Unlearning of the models"
                                         : "Unlearning of further models",
                       std::vector<Series>(begin, end));
  }
  const Columns model_columns{{"unlearning"}, {"catching up"}};
  const auto model_cells = [](const RunLine& step) {
    return std::vector{seconds_cell(step.real("seconds_unlearn")), seconds_cell(step.real("seconds_catch_up"))};
  };
  Columns columns = batch_columns({{"journal"}, {"propagation"}, {"predicted"}, {"actual over predicted"}});
  if (models.size() < 2) columns.insert(columns.end(), model_columns.begin(), model_columns.end());
  for (const HtmlTable::Column& column : Columns{{"rows touched"}, {"arcs visited"}, {"plan", kText}})
    columns.push_back(column);
  HtmlTable table("Cost by batch", columns);
  const bool several = has_several_streams(lines.batches);
  for (std::size_t i = 0; i < lines.batches.size(); ++i) {
    const RunLine& batch = lines.batches[i];
    const auto actual = batch.real("seconds_propagate"), predicted = batch.real("seconds_predicted");
    const auto ratio = actual && predicted && *predicted > 0 ? std::optional(*actual / *predicted) : std::nullopt;
    std::vector<std::string> cells = batch_cells(batch, i, several);
    for (std::string& cell : std::vector{seconds_cell(batch.real("seconds_journal")), seconds_cell(actual),
                                         seconds_cell(predicted), ratio ? number_text(*ratio, 2) : std::string()})
      cells.push_back(std::move(cell));
    if (models.size() < 2)
      for (std::string& cell : model_cells(batch)) cells.push_back(std::move(cell));
    for (std::string& cell :
         std::vector{count_cell(batch.count("rows_touched")), count_cell(batch.count("arcs_visited")),
                     text_cell(joined_texts(batch.texts("plan")))})
      cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
  }
  return html + table.html() +
         model_table("Unlearning by batch and model", lines.batches, models, model_columns, model_cells);
}

}  // namespace unweave
