// tools/report/page.cpp - a page for the files of whoever answers for the data: what was asked, what was done, and what holds.
#include "tools/report/page.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "storage/io/error.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/report/chart.h"
#include "tools/report/html.h"
#include "tools/report/style.h"
#include "unweave/version.h"

namespace unweave {
namespace {

using Columns = std::vector<HtmlTable::Column>;
constexpr auto kText = HtmlTable::Align::text;

const std::string kEpsilon = "\xCE\xB5", kDelta = "\xCE\xB4";

struct TheoremText {
  std::string_view claim, text;
};

constexpr TheoremText kTheorems[] = {
    {"T0", "The published weights are those of training on the present data from nothing, bit for bit."},
    {"T1", "The optimisation on the present data is finished up to a proved remainder, which noise covers."},
    {"T2", "Noisy steps go on from the weights of before, on the present data, until what was removed is covered."},
    {"T3", "Vectors that were made while learning take the removed records out, and noise covers the remainder."},
    {"T4",
     "Learning goes on from an iterate of before, on the present data, and noise on the last weights covers what "
     "remains."},
};

/// A part of the page with a heading of its own.
struct Section {
  std::string id, title, html;
};

std::optional<std::string> joined_texts(const std::vector<std::string>& texts) {
  if (texts.empty()) return std::nullopt;
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

/// "newton", or "name (newton)".
std::string model_of(const RunLine& line) {
  const std::string solver = line.text("solver").value_or("a model without a name");
  const std::string name = line.text("name").value_or(solver);
  return name == solver ? name : name + " (" + solver + ")";
}

std::string paragraph(const std::string& html) {
  return "<p>" + html + "</p>\n";
}

std::string yes_or_no(bool holds, const std::string& yes, const std::string& no) {
  return holds ? "<span class=\"good\">" + yes + "</span>" : "<span class=\"bad\">" + no + "</span>";
}

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

/// What all batches together removed and inserted.
std::uint64_t sum_of(const std::vector<RunLine>& batches, std::string_view name) {
  std::uint64_t sum = 0;
  for (const RunLine& batch : batches) sum += batch.count(name).value_or(0);
  return sum;
}

/// A series of a member over all batches, which is left out where no batch has it.
void add_series(std::vector<Series>& all, const std::vector<RunLine>& batches, const char* name, const char* label) {
  Series series{label, {}};
  for (const RunLine& batch : batches) series.values.push_back(batch.real(name));
  if (std::any_of(series.values.begin(), series.values.end(), [](const auto& value) { return value.has_value(); }))
    all.push_back(std::move(series));
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

// What was asked and done.

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
                                    {"edges_inserted", "Edges inserted"}})
    if (totals.applied) list.add(label, count_cell(sum_of(lines.batches, name)));

  std::string html = paragraph(
      "A request asks that an edge, a node or its features be removed, or that an edge be inserted. It is rejected "
      "where it "
      "would change nothing. Edges that left with their node are counted among the edges.");
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

// Under which theorem.

/// One row of the table of claims: where it is made, and how often.
struct ClaimRow {
  std::string of, claim, epsilon, delta;
  std::uint64_t releases = 0, certified = 0;
};

std::string theorem_section(const ReportInput& input) {
  HtmlTable table("Claims of the releases",
                  {{"releases of", kText}, {"claim", kText}, {kEpsilon}, {kDelta}, {"releases"}, {"certified"}});
  std::vector<ClaimRow> rows;
  std::set<std::string> claims;
  const auto add = [&](std::string of, const RunLine& line, std::optional<double> delta) {
    const std::string claim = line.text("claim").value_or("none");
    claims.insert(claim);
    ClaimRow row{std::move(of), claim, real_cell(line.real("epsilon")), real_cell(delta)};
    auto at = std::find_if(rows.begin(), rows.end(), [&](const ClaimRow& other) {
      return std::tie(other.of, other.claim, other.epsilon, other.delta) ==
             std::tie(row.of, row.claim, row.epsilon, row.delta);
    });
    if (at == rows.end()) at = rows.insert(rows.end(), row);
    ++at->releases;
    if (line.flag("certified").value_or(false)) ++at->certified;
  };
  for (const RunLine& line : input.lines.trainings) add("training of " + model_of(line), line, line.real("delta"));
  for (const RunLine& line : input.lines.batches)
    if (line.has("certified")) add("batches of the streams", line, std::nullopt);
  if (input.store)
    for (const CertificateLog& log : input.store->logs)
      for (const RunLine& line : log.certificates)
        add("certificates of " + log.model, line, line.part("delta").real("target"));
  if (rows.empty()) return "";
  for (const ClaimRow& row : rows)
    table.add_row({escaped(row.of), escaped(row.claim), row.epsilon, row.delta, count_cell(row.releases),
                   count_cell(row.certified)});

  std::string html = paragraph(
      "A release is one publication of a model\xE2\x80\x99s weights: a training, or one batch. It is certified with (" +
      kEpsilon + ", " + kDelta +
      ") where a theorem proves that nobody can tell its weights from those learnt on the present data alone, but for "
      "these two numbers: 0 and 0 mean that they are the same.");
  html += table.html();
  HtmlList meanings;
  for (const TheoremText& theorem : kTheorems)
    if (claims.contains(std::string(theorem.claim))) meanings.add(theorem.claim, escaped(theorem.text));
  if (claims.contains("none")) meanings.add("none", "Nothing is claimed of these releases.");
  for (const std::string& claim : claims)
    if (claim.starts_with("as published"))
      meanings.add("as published", "What a paper claims; Unweave does not prove it, and certifies nothing by it.");
  return html + meanings.html();
}

// Accuracy and cost by batch.

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

// Models: trainings, unlearning against retraining, what is left of removed rows.

std::string training_section(const RunLines& lines) {
  HtmlTable table("Trainings", {{"model", kText},
                                {"training rows"},
                                {"time"},
                                {"claim", kText},
                                {"certified", kText},
                                {kEpsilon},
                                {kDelta},
                                {"\xCE\xBB"},
                                {"accuracy, training"},
                                {"accuracy, validation"},
                                {"accuracy, test"},
                                {"public key", kText}});
  for (const RunLine& line : lines.trainings)
    table.add_row({escaped(model_of(line)), count_cell(line.count("training_rows")), seconds_cell(line.real("seconds")),
                   text_cell(line.text("claim")), flag_cell(line.flag("certified")), real_cell(line.real("epsilon")),
                   real_cell(line.real("delta")), real_cell(line.real("lambda")),
                   real_cell(line.real("accuracy_train")), real_cell(line.real("accuracy_valid")),
                   real_cell(line.real("accuracy_test")), code_cell(line.text("public_key"))});
  return table.empty() ? "" : table.html();
}

std::string evaluated_model(const RunLine& line) {
  const std::string of = line.text("model").value_or("present");
  return model_of(line) + (of == "present" ? "" : ", " + of + " the removals");
}

/// Time of unlearning beside that of training.
std::string cost_of_both(const RunLines& lines) {
  double seconds = 0;
  std::uint64_t batches = 0, retrained = 0;
  for (const RunLine& batch : lines.batches) {
    const auto one = batch.real("seconds_unlearn");
    if (!one) continue;
    seconds += *one;
    ++batches;
    if (batch.flag("retrained").value_or(false)) ++retrained;
  }
  if (batches == 0) return "";
  HtmlList list;
  list.add("Unlearning a batch, mean", seconds_cell(seconds / static_cast<double>(batches)));
  for (const RunLine& line : lines.trainings)
    list.add("Training " + model_of(line) + ", the whole command", seconds_cell(line.real("seconds")));
  list.add("Batches that trained from nothing", count_cell(retrained) + " of " + count_text(batches));
  return list.html();
}

std::string retraining_section(const RunLines& lines) {
  HtmlTable table("Models beside retrained ones", {{"model", kText},
                                                   {"requests absorbed"},
                                                   {"outdated", kText},
                                                   {"accuracy, training"},
                                                   {"accuracy, validation"},
                                                   {"accuracy, test"},
                                                   {"distance from retrained"},
                                                   {"cosine"},
                                                   {"agreement, training"},
                                                   {"agreement, test"},
                                                   {"agreement, forgotten"},
                                                   {"divergence, training (nats)"},
                                                   {"divergence, test (nats)"},
                                                   {"divergence, forgotten (nats)"}});
  std::vector<Series> series{{"training rows", {}}, {"test rows", {}}, {"forgotten rows", {}}};
  const char* const agreements[] = {"agreement_train", "agreement_test", "agreement_forgotten"};
  std::vector<std::string> names;
  for (const RunLine& line : lines.evaluations) {
    table.add_row({escaped(evaluated_model(line)), count_cell(line.count("sequence")), flag_cell(line.flag("outdated")),
                   real_cell(line.real("accuracy_train")), real_cell(line.real("accuracy_valid")),
                   real_cell(line.real("accuracy_test")), real_cell(line.real("retrained_distance")),
                   real_cell(line.real("retrained_cosine")), real_cell(line.real(agreements[0])),
                   real_cell(line.real(agreements[1])), real_cell(line.real(agreements[2])),
                   real_cell(line.real("kl_train")), real_cell(line.real("kl_test")),
                   real_cell(line.real("kl_forgotten"))});
    if (!line.has(agreements[0])) continue;
    names.push_back(evaluated_model(line));
    for (std::size_t i = 0; i < series.size(); ++i) series[i].values.push_back(line.real(agreements[i]));
  }
  std::string html = cost_of_both(lines);
  if (!names.empty()) {
    html += paragraph(
        "Beside each model a second one was trained from nothing on the present data. <em>Agreement</em> is the share "
        "of rows "
        "of which both say the same class, <em>distance</em> and <em>cosine</em> compare their weights, and "
        "<em>divergence</em> is the mean Kullback\xE2\x80\x93Leibler divergence of their predictions.");
    html += point_chart({"agreement", "Agreement with a model that was trained anew",
                         "One row for each model, from 0, no agreement, to 1. The table below has every number.",
                         "share of rows with the same prediction", ""},
                        names, series, 1.0);
  }
  return table.empty() ? html : html + table.html();
}

std::string forgetting_section(const RunLines& lines) {
  HtmlTable table("What models show of forgotten rows", {{"model", kText},
                                                         {"forgotten rows"},
                                                         {"accuracy on them"},
                                                         {"taken for members"},
                                                         {"by one threshold"},
                                                         {"attack AUC"},
                                                         {"presence ratio"},
                                                         {"removed edges looked for"},
                                                         {"edge AUC"},
                                                         {"edge AUC, retrained"}});
  for (const RunLine& line : lines.evaluations)
    if (line.has("forgotten_rows"))
      table.add_row({escaped(evaluated_model(line)), count_cell(line.count("forgotten_rows")),
                     real_cell(line.real("accuracy_forgotten")), real_cell(line.real("mia_member_rate")),
                     real_cell(line.real("mia_threshold_member_rate")), real_cell(line.real("mia_auc")),
                     real_cell(line.real("presence_ratio")), count_cell(line.count("removed_edges")),
                     real_cell(line.real("trend_auc")), real_cell(line.real("trend_auc_retrained"))});
  if (table.empty()) return "";
  return paragraph(
             "Attacks on the models, with a copy of the store from before the removals. <em>Taken for members</em> is "
             "the "
             "share of forgotten training rows that an attack takes for training rows. An AUC of 0.5 means that "
             "forgotten rows "
             "and rows that were never learnt, or removed edges and pairs that were never connected, are not told "
             "apart.") +
         table.html();
}

// Audit.

std::string audit_name(const RunLine& line) {
  return model_of(line) + ", " + line.text("canary").value_or("a canary");
}

std::string verdict_html(const RunLine& line) {
  if (line.flag("refuted").value_or(false)) return yes_or_no(false, "", "refuted");
  return line.flag("certified").value_or(false) ? yes_or_no(true, "not refuted", "") : "nothing is certified";
}

/// A point for each audit that counted hits; audits with the same shares share one.
TradeOff trade_off_of(const std::vector<RunLine>& audits) {
  TradeOff trade_off;
  for (std::size_t i = 0; i < audits.size(); ++i) {
    const RunLine& line = audits[i];
    const auto tests = line.count("tests"), unlearned = line.count("hits_unlearned"),
               retrained = line.count("hits_retrained");
    if (line.has("guesses") || !tests || *tests == 0 || !unlearned || !retrained) continue;
    const auto share = [&](std::uint64_t hits) {
      return std::min(1.0, static_cast<double>(hits) / static_cast<double>(*tests));
    };
    const TradeOff::Point point{std::to_string(i + 1), share(*retrained), share(*unlearned)};
    const auto same = std::find_if(trade_off.points.begin(), trade_off.points.end(),
                                   [&](const auto& other) { return other.x == point.x && other.y == point.y; });
    if (same == trade_off.points.end())
      trade_off.points.push_back(point);
    else
      same->label += ", " + point.label;
    const auto epsilon = line.real("epsilon"), delta = line.real("delta");
    const bool is_known = std::any_of(trade_off.claims.begin(), trade_off.claims.end(), [&](const auto& claim) {
      return claim.epsilon == epsilon && claim.delta == delta;
    });
    if (line.flag("certified").value_or(false) && epsilon && delta && !is_known &&
        trade_off.claims.size() + 1 < kMostSeries)
      trade_off.claims.push_back({*epsilon, *delta});
  }
  return trade_off;
}

std::string audit_section(const RunLines& lines) {
  const std::vector<RunLine>& audits = lines.audits;
  if (audits.empty()) return "";
  HtmlTable table("Audits", {{"audit"},
                             {"model and canary", kText},
                             {"attack", kText},
                             {"trials"},
                             {"tests"},
                             {"hits, unlearned"},
                             {"hits, retrained"},
                             {"guesses"},
                             {"right"},
                             {"confidence"},
                             {kEpsilon + " claimed"},
                             {kDelta},
                             {kEpsilon + " at least"},
                             {"most provable"},
                             {"certified", kText},
                             {"verdict", kText}});
  std::vector<Series> bounds{{kEpsilon + " shown, at least", {}},
                             {kEpsilon + " claimed", {}},
                             {"the most that so many trials could show", {}}};
  std::vector<std::string> names;
  std::uint64_t refuted = 0;
  for (std::size_t i = 0; i < audits.size(); ++i) {
    const RunLine& line = audits[i];
    if (line.flag("refuted").value_or(false)) ++refuted;
    const bool guessed = line.has("guesses");
    const auto hits = [&](const char* name) { return guessed ? std::string() : count_cell(line.count(name)); };
    table.add_row({std::to_string(i + 1), escaped(audit_name(line)), text_cell(line.text("attack")),
                   count_cell(line.count("trials")), count_cell(line.count("tests")), hits("hits_unlearned"),
                   hits("hits_retrained"), count_cell(line.count("guesses")), count_cell(line.count("guesses_right")),
                   real_cell(line.real("confidence")), real_cell(line.real("epsilon")), real_cell(line.real("delta")),
                   real_cell(line.real("epsilon_lower_bound")), real_cell(line.real("epsilon_provable")),
                   flag_cell(line.flag("certified")), verdict_html(line)});
    names.push_back(std::to_string(i + 1) + ". " + audit_name(line));
    bounds[0].values.push_back(line.real("epsilon_lower_bound"));
    bounds[1].values.push_back(line.real("epsilon"));
    bounds[2].values.push_back(line.real("epsilon_provable"));
  }
  std::string html = paragraph(
      "An audit tries to tell models that unlearned a canary from models that never saw it, by many releases of both. "
      "What it "
      "finds is a lower bound of " +
      kEpsilon + ". A bound below the claim does not prove the claim; one above it refutes it. " +
      yes_or_no(refuted == 0, "No claim was refuted.",
                "Claims were refuted: " + count_text(refuted) + " of " + count_text(audits.size()) + "."));
  html += point_chart(
      {"bounds", "What attacks have shown, and what is claimed",
       "One row for each audit. The bound that was shown stands beside the claim and beside the most that so "
       "many trials could have shown. The table below has every number.",
       kEpsilon + ", without a unit", ""},
      names, bounds, std::nullopt);
  const TradeOff trade_off = trade_off_of(audits);
  if (!trade_off.points.empty())
    html +=
        paragraph(
            "In the next chart every point is an attack, with the number of its audit: how often it takes an unlearned "
            "model for unlearned, over how often it takes a retrained one for unlearned. On the diagonal it does not "
            "tell "
            "them apart. A claim of (" +
            kEpsilon + ", " + kDelta + ") leaves it the ground between its two borders, but for chance.") +
        trade_off_chart(
            {"trade-off", "Trade-off of the attacks, and what the claim leaves to them",
             "A square from 0 to 1 on both sides, with the borders of each claim around the diagonal, and a "
             "point for each attack. The table below has the counts.",
             "share of retrained models taken for unlearned", "share of unlearned models taken for unlearned"},
            trade_off);
  return html + table.html();
}

// Checks of the store, and its purge.

std::string items_html(const std::vector<std::string>& texts) {
  std::string html = "<ul>\n";
  for (const std::string& text : texts) html += "<li>" + escaped(text) + "</li>\n";
  return texts.empty() ? std::string() : html + "</ul>\n";
}

std::string verification_section(const RunLines& lines) {
  std::string html;
  HtmlTable table("Checks by verify", {{"check"},
                                       {"outcome", kText},
                                       {"statements checked"},
                                       {"errors"},
                                       {"files"},
                                       {"bytes"},
                                       {"arcs"},
                                       {"rows computed again"},
                                       {"rows proved"},
                                       {"rows of a fresh propagation"},
                                       {"models"},
                                       {"models outdated"},
                                       {"certificates"},
                                       {"receipts"}});
  for (std::size_t i = 0; i < lines.verifications.size(); ++i) {
    const RunLine& line = lines.verifications[i];
    const std::vector<std::string> errors = line.texts("errors");
    table.add_row({std::to_string(i + 1),
                   yes_or_no(line.flag("ok").value_or(false), "all checks hold", "some do not hold"),
                   count_cell(line.count("checked")), count_cell(errors.size()), count_cell(line.count("files")),
                   bytes_cell(line.count("bytes")), count_cell(line.count("arcs")), count_cell(line.count("rows")),
                   count_cell(line.count("proved_rows")), count_cell(line.count("rebuilt_rows")),
                   count_cell(line.count("models")), count_cell(line.count("models_outdated")),
                   count_cell(line.count("certificates")), count_cell(line.count("receipts"))});
    if (!errors.empty())
      html += paragraph("Check " + std::to_string(i + 1) + " found what is damaged or false:") + items_html(errors);
    const std::vector<std::string> remarks = line.texts("remarks");
    if (!remarks.empty()) html += paragraph("Remarks of check " + std::to_string(i + 1) + ":") + items_html(remarks);
  }
  return table.empty() ? "" : table.html() + html;
}

std::string purge_section(const RunLines& lines) {
  HtmlTable table("Purges", {{"purge"},
                             {"outcome", kText},
                             {"requests forgotten"},
                             {"bytes rewritten"},
                             {"bytes kept"},
                             {"bytes removed"},
                             {"models kept", kText},
                             {"proof", kText},
                             {"time"},
                             {"digest of the new contents", kText}});
  for (std::size_t i = 0; i < lines.purges.size(); ++i) {
    const RunLine& line = lines.purges[i];
    table.add_row({std::to_string(i + 1),
                   line.flag("purged").value_or(false) ? "erased" : "nothing was to be forgotten",
                   count_cell(line.count("requests")), bytes_cell(line.count("bytes_rewritten")),
                   bytes_cell(line.count("bytes_kept")), bytes_cell(line.count("bytes_removed")),
                   text_cell(joined_texts(line.texts("models_kept"))), text_cell(line.text("proof")),
                   seconds_cell(line.real("seconds")), code_cell(line.text("digest"))});
  }
  if (table.empty()) return "";
  return paragraph(
             "A purge erases what was removed from the files of the store. Its <em>proof</em> says what is then equal "
             "to a "
             "fresh import of the remaining data: all <em>bytes</em>, or the <em>digest</em> of the contents. It does "
             "not "
             "reach copies, backups, and what was exported or printed.") +
         table.html();
}

// The store.

std::string propagation_text(const PropagationSpec& spec) {
  std::string weights;
  for (const double weight : spec.weights) weights += (weights.empty() ? "" : ", ") + number_text(weight);
  return count_text(spec.levels) + " hops, " + escaped(spec.scheme) + ", weights " + weights;
}

std::string model_state(const ModelInfo& model) {
  if (!model.damage.empty()) return "<span class=\"bad\">damaged:</span> " + escaped(command_text(model.damage));
  if (model.other_propagation) return "stands on another propagation";
  return model.outdated ? "outdated: has not absorbed every request" : "up to date";
}

std::string store_section(const StoreFacts& store) {
  const StoreInfo& info = store.info;
  HtmlList list;
  list.add("Store", escaped(store.name));
  list.add("Nodes", count_cell(info.nodes));
  list.add("Edges", count_cell(info.edges));
  list.add("Features", count_cell(info.features));
  list.add("Classes", count_cell(info.classes));
  list.add("Labelled nodes", count_cell(info.labelled));
  list.add("Training, validation, test",
           count_cell(info.train) + ", " + count_cell(info.valid) + ", " + count_cell(info.test));
  list.add("Propagation", info.propagation ? propagation_text(*info.propagation) : "none");
  list.add("Rows not yet brought up to date", count_cell(info.stale_rows));
  list.add("Requests since the import or the last purge", count_cell(info.acknowledged));
  list.add("State", info.pending_purge      ? yes_or_no(false, "", "a purge was begun and is not finished")
                    : info.acknowledged > 0 ? "traces of removed data are in its files until a purge"
                                            : "no request since the import or the last purge");
  if (info.digest) list.add("Content digest", code_cell(digest_text(*info.digest)));
  HtmlTable models("Models of the store", {{"model", kText},
                                           {"solver", kText},
                                           {"state", kText},
                                           {"requests absorbed"},
                                           {"newest release", kText},
                                           {"digest of its weights", kText}});
  for (const ModelInfo& model : info.models) {
    const bool is_read = model.damage.empty();
    models.add_row({escaped(model.name), escaped(model.solver), model_state(model),
                    is_read ? count_cell(model.sequence) : "",
                    !is_read           ? ""
                    : model.id.empty() ? "not certified yet"
                                       : code_cell(model.id),
                    code_cell(model.digest)});
  }
  return paragraph("The store at the moment when this page was made. Equal contents have equal content digests.") +
         list.html() + (models.empty() ? "" : models.html());
}

std::string log_html(const CertificateLog& log) {
  const RunLine& newest = log.certificates.back();
  HtmlList facts;
  facts.add("Solver", text_cell(newest.text("solver")));
  facts.add("Public key", code_cell(newest.text("public_key")));
  facts.add("Log", code_cell(newest.text("log")));
  facts.add("How the newest release was made", text_cell(newest.text("mechanism")));
  facts.add("What it is compared with", text_cell(newest.text("reference")));
  facts.add("Changes that it covers", text_cell(newest.text("adjacency")));
  facts.add("Requests", text_cell(newest.text("requests")));
  facts.add("Releases covered", text_cell(newest.text("releases")));
  const std::vector<std::string> withdraw = newest.texts("withdraw");
  std::string releases;
  for (const std::string& release : withdraw) releases += (releases.empty() ? "" : ", ") + code_cell(release);
  facts.add("Releases to withdraw", releases);
  facts.add("Not covered", items_html(newest.texts("not_covered")));
  HtmlTable table("Certificates of " + log.model, {{"number"},
                                                   {"release", kText},
                                                   {"time", kText},
                                                   {"requests", kText},
                                                   {"theorem", kText},
                                                   {"claim", kText},
                                                   {"certified", kText},
                                                   {kEpsilon},
                                                   {kDelta},
                                                   {"for tests", kText},
                                                   {"digest", kText}});
  for (const RunLine& line : log.certificates) {
    const RunLine batch = line.part("batch");
    const auto first = batch.count("first"), last = batch.count("last");
    const std::string requests = first && last ? count_cell(first) + " to " + count_cell(last) : "training";
    table.add_row({count_cell(line.count("number")), code_cell(line.text("id")), text_cell(line.text("time")), requests,
                   text_cell(line.text("theorem")), text_cell(line.text("claim")), flag_cell(line.flag("certified")),
                   real_cell(line.real("epsilon")), real_cell(line.part("delta").real("target")),
                   line.flag("for_tests").value_or(false) ? "yes" : "", code_cell(line.text("digest"))});
  }
  return "<h3>" + escaped(log.model) + "</h3>\n" + facts.html() + table.html();
}

std::string certificate_section(const StoreFacts& store) {
  std::string html;
  for (const CertificateLog& log : store.logs) html += log_html(log);
  return html.empty()
             ? html
             : paragraph(
                   "The public lines of the certificates, oldest first. Each is signed, and names the digest of the "
                   "one before it; <code>unweave verify</code> checks that, and this page does not.") +
                   html;
}

// What is not here.

/// Whether all that the page shows may be published: lines of `stream --public` alone.
bool is_public(const ReportInput& input) {
  const RunLines& lines = input.lines;
  return !input.store && !lines.batches.empty() && lines.trainings.empty() && lines.evaluations.empty() &&
         lines.audits.empty() && lines.verifications.empty() && lines.purges.empty() &&
         std::none_of(lines.batches.begin(), lines.batches.end(),
                      [](const RunLine& line) { return line.has("applied"); });
}

std::string limits_section(const ReportInput& input) {
  const RunLines& lines = input.lines;
  const bool has_times =
      std::any_of(lines.batches.begin(), lines.batches.end(), [](const RunLine& line) { return line.has("time"); });
  std::string html = "<ul>\n";
  const auto item = [&](const std::string& text) { html += "<li>" + text + "</li>\n"; };
  item(
      "The requests in clear, also where they were rejected: which edges, nodes and features somebody wanted removed. "
      "Counts and reasons are here.");
  item(
      "Weights of models, files below <code>models/</code>, private parts of certificates, signing keys and receipts.");
  item("Metrics by class, and the terms of bounds and of noise.");
  if (!has_times)
    item(
        "Days and hours. The lines have none, so that equal inputs give an equal page: write the day beside it where "
        "it is "
        "filed.");
  if (lines.others > 0)
    item(count_text(lines.others) + (lines.others == 1 ? " line" : " lines") +
         " of other commands than <code>stream</code>, "
         "<code>train</code>, <code>certify</code>, <code>evaluate</code>, <code>audit</code>, <code>verify</code> and "
         "<code>purge</code>.");
  html += "</ul>\n";
  html +=
      is_public(input)
          ? paragraph("Everything here comes from lines that <code>stream --public</code> printed for publication.")
          : paragraph(
                "Counts of applied and rejected requests, times, residual bounds, digests of weights and figures of "
                "attacks depend on removed data. Keep this page where such records are kept; what may be published is "
                "a "
                "page made from lines of <code>stream --json --public</code> alone.");
  return html;
}

// The whole.

void add_tile(std::string& html, std::string_view name, const std::string& value, const std::string& beside = "") {
  if (value.empty()) return;
  html += "<div><dt>" + escaped(name) + "</dt><dd>" + value + (beside.empty() ? "" : "<small>" + beside + "</small>") +
          "</dd></div>\n";
}

std::string tiles_html(const ReportInput& input) {
  const RunLines& lines = input.lines;
  std::string html = "<dl class=\"tiles\">\n";
  if (!lines.batches.empty()) {
    const BatchTotals totals = totals_of(lines);
    add_tile(html, "Requests", count_cell(totals.requests),
             totals.applied && totals.rejected
                 ? count_text(*totals.applied) + " applied, " + count_text(*totals.rejected) + " rejected"
                 : std::string());
    const bool has_claims = std::any_of(lines.batches.begin(), lines.batches.end(),
                                        [](const RunLine& line) { return line.has("certified"); });
    add_tile(html, "Batches", count_cell(lines.batches.size()),
             has_claims ? count_text(totals.certified) + " certified" : std::string());
    std::vector<Series> accuracy;
    add_series(accuracy, lines.batches, "accuracy_test", "test");
    if (!accuracy.empty()) {
      const auto is_there = [](const auto& value) { return value.has_value(); };
      const auto& values = accuracy.front().values;
      add_tile(html, "Test accuracy, last", real_cell(*std::find_if(values.rbegin(), values.rend(), is_there)),
               "after the first batch " + number_text(**std::find_if(values.begin(), values.end(), is_there)));
    }
  }
  if (!lines.audits.empty()) {
    const auto refuted = std::count_if(lines.audits.begin(), lines.audits.end(),
                                       [](const RunLine& line) { return line.flag("refuted").value_or(false); });
    add_tile(html, "Audits", count_cell(lines.audits.size()),
             yes_or_no(refuted == 0, "no claim refuted", "a claim was refuted"));
  }
  if (!lines.verifications.empty())
    add_tile(html, "Last check",
             yes_or_no(lines.verifications.back().flag("ok").value_or(false), "holds", "does not hold"),
             count_text(lines.verifications.back().count("checked").value_or(0)) + " statements");
  if (!lines.purges.empty())
    add_tile(html, "Last purge", lines.purges.back().flag("purged").value_or(false) ? "erased" : "nothing to erase",
             count_text(lines.purges.back().count("requests").value_or(0)) + " requests forgotten");
  if (input.store) {
    add_tile(html, "Store", count_cell(input.store->info.nodes) + " nodes",
             count_text(input.store->info.edges) + " edges");
    std::size_t certificates = 0;
    for (const CertificateLog& log : input.store->logs) certificates += log.certificates.size();
    add_tile(html, "Certificates", count_cell(certificates));
  }
  return html + "</dl>\n";
}

std::vector<Section> sections_of(const ReportInput& input) {
  const RunLines& lines = input.lines;
  std::vector<Section> sections;
  const auto add = [&](std::string id, std::string title, std::string html) {
    if (!html.empty()) sections.push_back({std::move(id), std::move(title), std::move(html)});
  };
  if (!lines.batches.empty()) add("asked", "What was asked and done", asked_section(lines));
  add("theorems", "Under which theorem", theorem_section(input));
  add("accuracy-by-batch", "Accuracy by batch", accuracy_section(lines));
  add("cost", "Cost by batch", cost_section(lines));
  add("trainings", "Trainings", training_section(lines));
  add("retraining", "Unlearning against retraining", retraining_section(lines));
  add("forgetting", "What models show of forgotten rows", forgetting_section(lines));
  add("audits", "Audits", audit_section(lines));
  add("checks", "Checks", verification_section(lines));
  add("purges", "Purges", purge_section(lines));
  if (input.store) {
    add("store", "The store", store_section(*input.store));
    add("certificates", "Certificates", certificate_section(*input.store));
  }
  add("limits", "What this page does not show", limits_section(input));
  return sections;
}

std::string sources_text(const ReportInput& input) {
  std::vector<std::string> names;
  if (input.store) names.push_back("the store " + input.store->name);
  for (const std::filesystem::path& file : input.lines.files) names.push_back(file.filename().string());
  return escaped(joined_texts(names).value_or(""));
}

}  // namespace

BatchTotals totals_of(const RunLines& lines) {
  BatchTotals totals{0, 0, 0, 0};
  const auto add = [](std::optional<std::uint64_t>& sum, std::optional<std::uint64_t> part) {
    sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
  };
  for (const RunLine& batch : lines.batches) {
    totals.requests += batch.count("requests").value_or(0);
    add(totals.applied, batch.count("applied"));
    add(totals.rejected, batch.count("rejected"));
    if (batch.flag("certified").value_or(false)) ++totals.certified;
  }
  return totals;
}

std::string report_page(const ReportInput& input) {
  const std::vector<Section> sections = sections_of(input);
  const std::string title = "Unlearning report" + (input.store ? ": " + escaped(input.store->name) : std::string());
  // The policy forbids whatever an error of this program, or a text from outside, could make a browser fetch or run.
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
      title + "</title>\n<style>" + std::string(kPageStyle) + "</style>\n</head>\n<body>\n<header>\n<h1>" + title +
      "</h1>\n<p class=\"lead\">Made from " + sources_text(input) +
      ".</p>\n</header>\n<nav aria-label=\"Contents\">\n<ul>\n";
  for (const Section& section : sections)
    page += "<li><a href=\"#" + section.id + "\">" + section.title + "</a></li>\n";
  page += "</ul>\n</nav>\n<main>\n" + tiles_html(input);
  for (const Section& section : sections)
    page += "<section aria-labelledby=\"" + section.id + "\">\n<h2 id=\"" + section.id + "\">" + section.title +
            "</h2>\n" + section.html + "</section>\n";
  return page + "</main>\n<footer>\n<p>Made by <code>unweave report</code>, version " + std::string(version()) +
         ".</p>\n</footer>\n</body>\n</html>\n";
}

}  // namespace unweave
