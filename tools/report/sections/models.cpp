// tools/report/sections/models.cpp - trainings, unlearning beside retraining, and what models show
// of rows that they forgot.
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

std::string evaluated_model(const RunLine& line) {
  const std::string of = line.text("model").value_or("present");
  return model_of(line) + (of == "present" ? "" : ", " + of + " the removals");
}

/// Time of unlearning beside that of training.
std::string cost_of_both(const RunLines& lines) {
  HtmlList list;
  bool any = false;
  const std::vector<ModelSteps> models = model_steps(lines.batches);
  std::vector<std::pair<std::string, std::string>> retrainings;
  for (const ModelSteps& model : models) {
    double seconds = 0;
    std::uint64_t batches = 0, retrained = 0;
    for (const auto& step : model.steps) {
      const auto one = step ? step->real("seconds_unlearn") : std::nullopt;
      if (!one) continue;
      seconds += *one;
      ++batches;
      if (step->flag("retrained").value_or(false)) ++retrained;
    }
    if (batches == 0) continue;
    any = true;
    const std::string which = of_model(models, model);
    list.add("Unlearning a batch, mean" + which, seconds_cell(seconds / static_cast<double>(batches)));
    retrainings.emplace_back("Batches that trained from nothing" + which,
                             count_cell(retrained) + " of " + count_text(batches));
  }
  if (!any) return "";
  for (const RunLine& line : lines.trainings)
    list.add("Training " + model_of(line) + ", the whole command", seconds_cell(line.real("seconds")));
  for (const auto& [name, value] : retrainings) list.add(name, value);
  return list.html();
}

/// How well models of links tell edges from pairs of none, a row a model and split.
std::string link_table(const RunLines& lines) {
  HtmlTable table("Links", {{"model", kText},
                            {"split", kText},
                            {"edges"},
                            {"pairs of none"},
                            {"AUC"},
                            {"Hits@10"},
                            {"Hits@100"},
                            {"MRR"},
                            {"F1"}});
  for (const RunLine& line : lines.evaluations) {
    const RunLine links = line.part("links");
    for (const char* const split : {"train", "valid", "test"}) {
      const RunLine of = links.part(split);
      if (!of.has("edges")) continue;
      table.add_row({escaped(evaluated_model(line)), split, count_cell(of.count("edges")),
                     count_cell(of.count("others")), real_cell(of.real("auc")), real_cell(of.real("hits_10")),
                     real_cell(of.real("hits_100")), real_cell(of.real("mrr")), real_cell(of.real("f1"))});
    }
  }
  return table.empty() ? "" : table.html();
}

}  // namespace

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
        "Beside each model a second one was trained from nothing on the present data. <em>Agreement</em> is the share of rows "
        "of which both say the same class, <em>distance</em> and <em>cosine</em> compare their weights, and "
        "<em>divergence</em> is the mean Kullback\xE2\x80\x93Leibler divergence of their predictions.");
    html += point_chart({"agreement", "Agreement with a model that was trained anew",
                         "One row for each model, from 0, no agreement, to 1. The table below has every number.",
                         "share of rows with the same prediction", ""},
                        names, series, 1.0);
  }
  if (!table.empty()) html += table.html();
  return html + link_table(lines);
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
             "Attacks on the models, with a copy of the store from before the removals. <em>Taken for members</em> is the "
             "share of forgotten training rows that an attack takes for training rows. An AUC of 0.5 means that forgotten rows "
             "and rows that were never learnt, or removed edges and pairs that were never connected, are not told apart.") +
         table.html();
}

}  // namespace unweave
