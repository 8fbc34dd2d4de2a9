// tools/commands/stream_output.cpp - writes the fields and the words of a batch.
#include "tools/commands/stream_output.h"

#include <cmath>

#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/commands/batch_output.h"
#include "tools/commands/model_output.h"

namespace unweave {

nlohmann::ordered_json fields_of(std::uint64_t batch, const BatchOutcome& outcome, const StreamMeter::Batch& work,
                                 std::optional<double> lazy_error, bool is_public) {
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
  json["limit_seconds"] = value_of(work.limit_seconds);
  json["limit_ratio"] = value_of(work.ratio());
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

void add_model(nlohmann::ordered_json& json, const BatchOutcome& outcome, const Accuracies& accuracies,
               bool is_public) {
  if (!is_public) {
    json["seconds_unlearn"] = outcome.seconds_unlearn;
    if (outcome.seconds_catch_up) json["seconds_catch_up"] = *outcome.seconds_catch_up;
  }
  add_step(json, *outcome.step, is_public);
  add_accuracies(json, accuracies);
}

void print_model(std::ostream& out, const BatchOutcome& outcome, const Accuracies& accuracies, bool is_public) {
  const StepReport& step = *outcome.step;
  const bool bounded = step.budget > 0;  // solvers without noise, and those that claim nothing, have no bound
  if (!is_public)
    out << ", unlearning " << seconds_text(outcome.seconds_unlearn) << (step.retrained ? " (retrained)" : "");
  if (!is_public && bounded) out << ", residual bound " << number_text(step.residual_bound);
  if (bounded) out << ", budget " << number_text(step.budget);
  if (!is_public || !step.private_claim) out << ", certified " << certified_text(step);
  if (accuracies.test) out << ", test accuracy " << accuracy_text(accuracies.test);
}

std::string share_text(double ratio) {
  return number_text(std::round(100 * ratio)) + " %";
}

}  // namespace unweave
