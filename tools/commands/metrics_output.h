// tools/commands/metrics_output.h - metrics of a model on every split: fields for programs, compact tables for people.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/metrics.h"

namespace unweave {

/// Classes up to which tables by class are printed unasked.
inline constexpr std::size_t kFewClasses = 20;

/// Of one model on the labelled nodes of the splits.
struct SplitMetrics {
  std::string model;  ///< its name
  Metrics train, valid, test;

  [[nodiscard]] Accuracies accuracies() const { return {train.accuracy(), valid.accuracy(), test.accuracy()}; }
};

/// With confusion matrices where `by_class`. Throws UsageError, ResourceError.
[[nodiscard]] SplitMetrics split_metrics(const LiveStore& store, const ModelRecord& record, bool by_class);

/// {"train": {rows, majority, micro_f1, macro_f1, macro_auc, classes_without_auc}, "valid": .., "test": ..}; with `by_class`
/// also classes: [{class, rows, predicted, right, precision, recall, f1, auc}] and confusion, rows of labels.
[[nodiscard]] nlohmann::ordered_json to_json(const SplitMetrics& metrics, bool by_class);

/// One line a model and split, and what the columns are.
void print_metrics(std::ostream& out, const std::vector<SplitMetrics>& models);

/// Of the test split, or the first that has rows of validation and training: a line a class, and the confusion matrix.
void print_by_class(std::ostream& out, const SplitMetrics& metrics);

}  // namespace unweave
