// tools/commands/metrics_output.h - metrics of a model on every split: compact tables for people.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "unweave/evaluate.h"

namespace unweave {

/// What print_metrics() and print_by_class() show of the model of this name.
struct NamedMetrics {
  std::string model;
  SplitMetrics splits;
};

/// One line a model and split, and what the columns are.
void print_metrics(std::ostream& out, const std::vector<NamedMetrics>& models);

/// How well a model of this name tells edges from other pairs.
struct NamedLinks {
  std::string model;
  SplitLinks splits;
};
/// One line a model and split, and what the columns are; nothing without models.
void print_links(std::ostream& out, const std::vector<NamedLinks>& models);

/// A line for each class and the confusion matrix: of the test split, or of the first of validation
/// and training with rows.
void print_by_class(std::ostream& out, const NamedMetrics& metrics, const std::vector<std::string>& class_names);

}  // namespace unweave
