// tools/commands/stream_output.cpp - writes the fields and the words of a batch.
#include "tools/commands/stream_output.h"

#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/commands/batch_output.h"
#include "tools/commands/model_output.h"

namespace unweave {

nlohmann::ordered_json fields_of(std::uint64_t batch, const BatchOutcome& outcome, std::optional<double> lazy_error,
                                 bool is_public) {
  const BatchReport& report = outcome.batch;
  const BatchChanges& changes = report.changes;
  nlohmann::ordered_json json = {
      {"batch", batch}, {"requests", changes.requests}, {"last_request", report.last_request}};
  if (is_public) return json;  // whether a request changed anything, and how much, tells of removed data
  json["time"] = time_text(report.time);
  json["applied"] = changes.applied;
  json["rejected"] = changes.rejected;
  add_changes(json, changes);
  json["seconds_journal"] = report.seconds_journal;
  json["seconds_propagate"] = report.seconds_propagate;
  json["rows_touched"] = report.update.rows_touched;
  json["arcs_visited"] = report.update.arcs_visited;
  json["pushes"] = report.update.pushes;
  json["plan"] = report.update.plan;
  json["seconds"] = outcome.seconds;
  json["seconds_predicted"] = outcome.seconds_predicted;
  json["lazy_error_bound"] = value_of(lazy_error);
  if (outcome.talk.ranks == 1) return json;
  const RankTraffic& traffic = outcome.talk.traffic;
  json["ranks"] = outcome.talk.ranks;
  json["ranks_received_bytes"] = traffic.received_bytes;
  json["ranks_sent_bytes"] = traffic.sent_bytes;
  json["ranks_verbs"] = traffic.verbs;
  json["ranks_wait_seconds"] = traffic.seconds;
  return json;
}

void add_models(nlohmann::ordered_json& json, const BatchOutcome& outcome, const std::vector<Accuracies>& accuracies,
                bool is_public) {
  const auto add = [&](nlohmann::ordered_json& to, std::size_t i) {
    const ModelStep& step = outcome.steps[i];
    if (!is_public) {
      to["seconds_unlearn"] = step.seconds_unlearn;
      if (step.seconds_catch_up) to["seconds_catch_up"] = *step.seconds_catch_up;
      add_missed(to, step);
    }
    add_step(to, step.report, is_public);
    add_accuracies(to, i < accuracies.size() ? accuracies[i] : Accuracies());
  };
  if (!outcome.steps.empty()) add(json, 0);
  if (outcome.steps.size() < 2) return;
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
    nlohmann::ordered_json one = {{"name", outcome.steps[i].name}, {"solver", outcome.steps[i].solver}};
    add(one, i);
    models.push_back(std::move(one));
  }
  json["models"] = std::move(models);
}

void print_models(std::ostream& out, const BatchOutcome& outcome, const std::vector<Accuracies>& accuracies,
                  bool is_public) {
  for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
    const StepReport& step = outcome.steps[i].report;
    const bool bounded = step.budget > 0;  // solvers without noise, and those that claim nothing, have no bound
    if (outcome.steps.size() > 1) out << "; " << model_text(outcome.steps[i].name, outcome.steps[i].solver);
    if (!is_public)
      out << ", unlearning " << seconds_text(outcome.steps[i].seconds_unlearn) << (step.retrained ? " (retrained)" : "")
          << missed_text(outcome.steps[i]);
    if (!is_public && bounded) out << ", residual bound " << number_text(step.residual_bound);
    if (bounded) out << ", budget " << number_text(step.budget);
    if (!is_public || !step.private_claim) out << ", certified " << certified_text(step);
    if (i < accuracies.size() && accuracies[i].test) out << ", test accuracy " << accuracy_text(accuracies[i].test);
  }
}

}  // namespace unweave
