// algorithms/evaluation.h - how often the published weights of a model are right on the present data.
#pragma once

#include <optional>
#include <span>

#include "algorithms/live_store.h"
#include "algorithms/matrix.h"
#include "algorithms/training_set.h"

namespace unweave {

/// Fractions of right predictions; none for a split without labelled nodes.
struct Accuracies {
  std::optional<double> train, valid, test;
};

/// The class with the largest score z . w_c (float64, ties to the lowest class) is the prediction. Rows are read in
/// blocks of 128 a thread. `held` may give the training rows, which are then not read again. Throws UsageError.
[[nodiscard]] Accuracies evaluate_model(const LiveStore& store, std::span<const double> weights,
                                        const Matrix& published, const TrainingSet* held = nullptr);

}  // namespace unweave
