// algorithms/evaluation.h - how often the published weights of a model are right on the present data.
#pragma once

#include <optional>

#include "algorithms/live_store.h"
#include "algorithms/model_record.h"
#include "algorithms/training_set.h"

namespace unweave {

/// Fractions of right predictions; none for a split without labelled nodes.
struct Accuracies {
  std::optional<double> train, valid, test;
};

/// The class with the largest margin (margins_of(), ties to the lowest class) is the prediction; rows are clipped as those
/// that the model was trained on, and read in blocks of 128 a thread. `held` may give the training rows, which are then
/// not read again. Throws UsageError.
[[nodiscard]] Accuracies evaluate_model(const LiveStore& store, const ModelRecord& record,
                                        const TrainingSet* held = nullptr);

}  // namespace unweave
