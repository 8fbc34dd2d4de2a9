// algorithms/api/unweave/fields/stream.h - the fields of a batch of requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "unweave/fields/field.h"
#include "unweave/fields/models.h"
#include "unweave/stream.h"

namespace unweave {
inline namespace v0 {

/// Counts by applied requests.
template <class Visit>
void describe(const BatchChanges& changes, Visit&& field) {
  field("edges_removed", changes.edges_removed);
  field("nodes_removed", changes.nodes_removed);
  field("features_removed", changes.features_removed);
  field("edges_inserted", changes.edges_inserted);
  field("edges_held", changes.edges_held);
  field("features_set", changes.features_set);
  field("labels_set", changes.labels_set);
  field("splits_moved", changes.splits_moved);
  field("nodes_inserted", changes.nodes_inserted);
  field("weights_set", changes.weights_set);
  field("expiries_set", changes.expiries_set);
  field("graphs_removed", changes.graphs_removed);
  field("graph_labels_set", changes.graph_labels_set);
  field("graph_splits_moved", changes.graph_splits_moved);
}

template <class Visit>
void describe(const UpdateReport& update, Visit&& field) {
  field("rows_touched", update.rows_touched);
  field("arcs_visited", update.arcs_visited);
  field("pushes", update.pushes);
  field("plan", update.plan);
}

/// Why a model could not follow, and how many requests it has absorbed late and without receipts.
template <class Visit>
void describe_missed(const ModelStep& step, Visit&& field) {
  if (!step.stuck.empty()) field("stuck", MessageText{step.stuck});
  if (step.without_receipts > 0) field("without_receipts", step.without_receipts);
}

/// What a front end knows of a batch beside its outcome.
struct BatchScope {
  std::uint64_t number = 0;                             ///< among the batches of the session, from 1
  std::optional<double> lazy_error{};                   ///< StreamSession::lazy_error_bound()
  bool is_public = false;                               ///< without what tells of removed data
  std::optional<std::vector<Accuracies>> accuracies{};  ///< one a model; empty: not computed; absent: left out
};

/// What a batch has done to a model, the one of this place.
template <class Visit>
void describe(const ModelStep& step, std::size_t place, const BatchScope& scope, Visit&& field) {
  if (!scope.is_public) {
    field("seconds_unlearn", step.seconds_unlearn);
    if (step.seconds_catch_up) field("seconds_catch_up", *step.seconds_catch_up);
    describe_missed(step, field);
  }
  describe(step.report, scope.is_public, field);
  if (!scope.accuracies) return;
  describe_accuracies(place < scope.accuracies->size() ? (*scope.accuracies)[place] : Accuracies(), field);
}

/// The requests of a batch, the `number`th one, and what they have changed.
template <class Visit>
void describe(const BatchReport& report, std::uint64_t number, bool is_public, Visit&& field) {
  field("batch", number);
  field("requests", report.changes.requests);
  field("last_request", report.last_request);
  if (is_public) return;  // whether a request changed anything, and how much, tells of removed data
  field("time", time_text(report.time));
  field("applied", report.changes.applied);
  field("rejected", report.changes.rejected);
  describe(report.changes, field);
}

/// What a batch has done to models: to the first one, and where there are more, to each behind its
/// name. `of(place, field)` describes the step of one.
template <class Of, class Visit>
void describe_models(const std::vector<ModelStep>& steps, const Of& of, Visit&& field) {
  if (steps.empty()) return;
  of(0, field);
  if (steps.size() == 1) return;
  const auto behind_name = [&](std::size_t place) {
    return Nested{[&steps, &of, place](auto&& model) {
      model("name", steps[place].name);
      model("solver", steps[place].solver);
      of(place, model);
    }};
  };
  std::vector<decltype(behind_name(0))> models;
  models.reserve(steps.size());
  for (std::size_t place = 0; place < steps.size(); ++place) models.push_back(behind_name(place));
  field("models", models);
}

template <class Visit>
void describe(const RankTalk& talk, Visit&& field) {
  field("ranks", talk.ranks);
  field("ranks_received_bytes", talk.traffic.received_bytes);
  field("ranks_sent_bytes", talk.traffic.sent_bytes);
  field("ranks_verbs", talk.traffic.verbs);
  field("ranks_wait_seconds", talk.traffic.seconds);
}

template <class Visit>
void describe(const BatchOutcome& outcome, const BatchScope& scope, Visit&& field) {
  const BatchReport& report = outcome.batch;
  describe(report, scope.number, scope.is_public, field);
  if (!scope.is_public) {
    field("seconds_journal", report.seconds_journal);
    field("seconds_propagate", report.seconds_propagate);
    describe(report.update, field);
    field("seconds", outcome.seconds);
    field("seconds_predicted", outcome.seconds_predicted);
    field("lazy_error_bound", scope.lazy_error);
    if (outcome.talk.ranks > 1) describe(outcome.talk, field);
  }
  const auto of_model = [&](std::size_t place, auto&& model) { describe(outcome.steps[place], place, scope, model); };
  describe_models(outcome.steps, of_model, field);
  if (outcome.changes_entry) field("changes_entry", *outcome.changes_entry);
}

/// A batch of a service, the `number`th one.
template <class Visit>
void describe(const AppliedBatch& applied, std::uint64_t number, Visit&& field) {
  const BatchOutcome& outcome = applied.outcome;
  describe(outcome.batch, number, false, field);
  field("seconds_propagate", outcome.batch.seconds_propagate);
  describe(outcome.batch.update, field);
  field("seconds_predicted", outcome.batch.update.seconds_predicted);
  const auto of_model = [&](std::size_t place, auto&& model) {
    const ModelStep& step = outcome.steps[place];
    model("seconds_unlearn", step.seconds_unlearn);
    describe(step.report, false, model);
    describe_missed(step, model);
  };
  describe_models(outcome.steps, of_model, field);
  if (outcome.changes_entry) field("changes_entry", *outcome.changes_entry);
}

}  // namespace v0
}  // namespace unweave
