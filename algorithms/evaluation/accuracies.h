// algorithms/evaluation/accuracies.h - how often a model is right on each split.
#pragma once

#include <optional>

namespace unweave {

/// Fractions of right predictions; none for a split without labelled nodes.
struct Accuracies {
  std::optional<double> train, valid, test;
};

}  // namespace unweave
