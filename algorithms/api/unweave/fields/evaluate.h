// algorithms/api/unweave/fields/evaluate.h - the fields of how good models are and of what they
// still show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unweave/classes.h"
#include "unweave/evaluate.h"
#include "unweave/fields/field.h"
#include "unweave/fields/models.h"

namespace unweave {
inline namespace v0 {

/// What was asked of an evaluation, and what users call the classes.
struct EvaluationScope {
  std::vector<std::string> class_names{};  ///< empty where classes have numbers alone
  bool with_copy = false;                  ///< a copy from before the removals
  bool with_nodes = false;                 ///< EvaluateOptions::nodes
};

/// A class in a list of all.
struct NumberedClass {
  std::size_t number = 0;
  const ClassMetrics& metrics;
  const std::vector<std::string>& names;
};
template <class Visit>
void describe(const NumberedClass& one, Visit&& field) {
  if (one.names.empty())
    field("class", one.number);
  else
    field("class", class_text(one.names, one.number));
  field("rows", one.metrics.support);
  field("predicted", one.metrics.predicted);
  field("right", one.metrics.right);
  field("precision", one.metrics.precision());
  field("recall", one.metrics.recall());
  field("f1", one.metrics.f1());
  field("auc", one.metrics.auc);
}

template <class Visit>
void describe(const Metrics& metrics, bool by_class, const std::vector<std::string>& class_names, Visit&& field) {
  field("rows", metrics.rows);
  field("majority", metrics.majority());
  field("micro_f1", metrics.micro_f1());
  field("macro_f1", metrics.macro_f1());
  field("macro_auc", metrics.macro_auc());
  field("classes_without_auc", metrics.classes_without_auc());
  if (!by_class) return;
  const std::size_t count = metrics.classes.size();
  std::vector<NumberedClass> classes;
  std::vector<std::vector<std::uint64_t>> confusion;
  classes.reserve(count);
  confusion.reserve(count);
  for (std::size_t c = 0; c < count; ++c) {
    classes.push_back({c, metrics.classes[c], class_names});
    const auto row = metrics.confusion.begin() + static_cast<std::ptrdiff_t>(c * count);
    confusion.emplace_back(row, row + static_cast<std::ptrdiff_t>(count));
  }
  field("classes", classes);
  field("confusion", confusion);
}

template <class Visit>
void describe(const SplitMetrics& metrics, const std::vector<std::string>& class_names, Visit&& field) {
  const auto of = [&](const Metrics& split) {
    return Nested{[&](auto&& inner) { describe(split, metrics.by_class, class_names, inner); }};
  };
  field("train", of(metrics.train));
  field("valid", of(metrics.valid));
  field("test", of(metrics.test));
}

template <class Visit>
void describe(const LinkFigures& links, Visit&& field) {
  field("edges", links.edges);
  field("others", links.others);
  field("auc", links.auc);
  for (std::size_t i = 0; i < links.hits.size(); ++i)
    field(("hits_" + std::to_string(LinkFigures::kHits[i])).c_str(), links.hits[i]);
  field("mrr", links.reciprocal_rank);
  field("accuracy", links.accuracy);
  field("precision", links.precision);
  field("recall", links.recall);
  field("f1", links.f1);
}

template <class Visit>
void describe(const SplitLinks& links, Visit&& field) {
  field("train", links.train);
  field("valid", links.valid);
  field("test", links.test);
}

template <class Visit>
void describe(const Forgetting& forgetting, Visit&& field) {
  const Efficacy& of = forgetting.figures;
  field("forgotten_rows", forgetting.forgotten_rows);
  field("accuracy_forgotten", of.accuracy_forgotten);
  field("vanished_classes", forgetting.vanished_classes);
  field("replay_forgotten", of.replay_forgotten);
  field("replay_all", of.replay_all);
  field("replay_present", of.replay_present);
  field("attack_rows", forgetting.attack_rows);
  field("attack_seed", forgetting.seed);
  field("mia_member_rate", of.svm_member_rate);
  field("mia_nonmember_rate", of.svm_member_rate ? std::optional(1 - *of.svm_member_rate) : std::nullopt);
  field("mia_threshold_member_rate", of.threshold_member_rate);
  field("mia_auc", of.attack_auc);
  field("presence", of.presence);
  field("presence_ratio", of.presence_ratio);
  field("removed_edges", forgetting.edges.edges);
  field("trend_auc", forgetting.edges.auc);
  field("trend_likeness_auc", forgetting.edges.likeness_auc);
  field("trend_dip_auc", forgetting.edges.dip_auc);
  if (forgetting.edges_retrained) field("trend_auc_retrained", forgetting.edges_retrained->auc);
}

/// How near weights and predictions are to the retrained model's, and to the original's where there
/// is one.
template <class Visit>
void describe(const Comparison& of, bool with_copy, Visit&& field) {
  const auto divergence = [](const std::optional<Likeness>& found) {
    return found ? std::optional(found->divergence) : std::nullopt;
  };
  const auto agreement = [](const std::optional<Likeness>& found) {
    return found ? std::optional(found->agreement) : std::nullopt;
  };
  field("retrained_distance", of.retrained_distance);
  field("retrained_cosine", of.retrained_cosine);
  if (of.from_before) {
    field("original_distance", of.from_before->distance);
    field("distance_ratio", of.from_before->distance_ratio);
    field("step_cosine", of.from_before->step_cosine);
  }
  field("kl_train", divergence(of.train));
  field("agreement_train", agreement(of.train));
  field("kl_test", divergence(of.test));
  field("agreement_test", agreement(of.test));
  if (with_copy) {
    field("kl_forgotten", divergence(of.forgotten));
    field("agreement_forgotten", agreement(of.forgotten));
  }
  if (!of.loss_changes) return;
  field("loss_change_pearson", of.loss_changes->pearson);
  field("loss_change_spearman", of.loss_changes->spearman);
}

template <class Visit>
void describe(const ModelEvaluation& of, const EvaluationScope& scope, Visit&& field) {
  field("solver", of.solver);
  field("name", of.name);
  field("sequence", of.sequence);
  field("outdated", of.outdated);
  if (scope.with_copy) field("model", of.present ? "present" : "before");
  if (of.seconds) field("seconds", *of.seconds);
  describe_accuracies(of.metrics.accuracies(), field);
  field("metrics", Nested{[&](auto&& splits) { describe(of.metrics, scope.class_names, splits); }});
  if (of.links) field("links", *of.links);
  if (scope.with_nodes) field("accuracy_nodes", of.accuracy_nodes);
  if (of.forgetting) describe(*of.forgetting, field);
  if (of.comparison) describe(*of.comparison, scope.with_copy, field);
}

}  // namespace v0
}  // namespace unweave
