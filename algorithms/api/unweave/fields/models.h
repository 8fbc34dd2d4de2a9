// algorithms/api/unweave/fields/models.h - the fields of models: how they were trained, what a
// release of one is.
#pragma once

#include "unweave/certify.h"
#include "unweave/fields/field.h"
#include "unweave/solvers.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

template <class Visit>
void describe(const Accuracies& accuracies, Visit&& field) {
  field("train", accuracies.train);
  field("valid", accuracies.valid);
  field("test", accuracies.test);
}

/// Accuracies as fields of a model's report.
template <class Visit>
void describe_accuracies(const Accuracies& accuracies, Visit&& field) {
  field("accuracy_train", accuracies.train);
  field("accuracy_valid", accuracies.valid);
  field("accuracy_test", accuracies.test);
}

/// What a release of a model is. Solvers that claim nothing have no bound. `is_public`: without
/// what depends on removed data, retrained, residual_bound, passes and terms, and certified and
/// claim of a report with a private_claim.
template <class Visit>
void describe(const StepReport& report, bool is_public, Visit&& field) {
  const bool is_bounded = report.budget > 0;
  if (!is_public) {
    field("retrained", report.retrained);
    field("residual_bound", only_if(is_bounded, report.residual_bound));
  }
  field("budget", only_if(is_bounded, report.budget));
  if (!is_public || !report.private_claim) {
    field("certified", report.certified);
    field("claim", report.claim);
  }
  field("for_tests", report.for_tests);
  if (is_public) return;
  field("passes", report.passes);
  field("terms", report.terms.values());
}

template <class Visit>
void describe(const LambdaTrial& trial, Visit&& field) {
  field("lambda", trial.lambda);
  field("accuracy_valid", trial.accuracy);
}
template <class Visit>
void describe(const WeightsTrial& trial, Visit&& field) {
  field("weights", trial.weights);
  field("accuracy_valid", trial.accuracy);
}

template <class Visit>
void describe(const RowsTrial& trial, Visit&& field) {
  field("rows", text_of(trial.rows));
  field("weights", trial.rows.weights);
  field("lambda", trial.lambda);
  field("accuracy_valid", trial.accuracy);
}

template <class Visit>
void describe(const TrainedModel& model, Visit&& field) {
  const SolverOptions& options = model.facts.options;
  field("solver", model.facts.solver);
  field("name", model.facts.name);
  field("head", head_name(options));
  field("lambda", options.lambda);
  field("lambda_chosen", options.lambda_chosen);
  if (!model.lambda_trials.empty()) field("lambda_trials", model.lambda_trials);
  field("rows", text_of(model.facts.rows));
  field("level_weights", model.facts.rows.weights);
  field("level_weights_chosen", options.weights_chosen);
  if (!model.weights_trials.empty()) field("level_weights_trials", model.weights_trials);
  if (!model.rows_trials.empty()) field("rows_trials", model.rows_trials);
  field("intercept", options.intercept);
  field("epsilon", model.report.epsilon);
  field("delta", model.report.delta);
  describe(model.report, false, field);
  describe_accuracies(model.accuracies, field);
  field("majority_train", model.majority.train);
  field("majority_valid", model.majority.valid);
  field("majority_test", model.majority.test);
  field("training_rows", model.rows);
  field("steps", model.report.steps);
  field("public_key", model.public_key);
}

/// `files`: of the weights that were given.
template <class Visit>
void describe(const CertifiedModel& model, const ForeignModel& files, Visit&& field) {
  describe(model.trained, field);
  field("given", Nested{[&](auto&& given) {
          given("file", files.weights.string());
          given("form", model.given.form);
          given("missing_classes", model.given.missing);
          given("gradient_bound", model.given.gradient_bound);
          given("distance_bound", model.given.distance_bound);
          given("certified", false);
          if (solver_info(model.trained.facts.solver).noisy) given("releasing_tau", model.given.releasing_tau());
          describe_accuracies(model.given.accuracies, given);
        }});
  field("as_given", model.as_given);
  field("weights", model.weights);
  field("weights_changed", model.changed);
  field("largest_change", model.largest_change);
  field("distance", model.distance);
}

}  // namespace v0
}  // namespace unweave
