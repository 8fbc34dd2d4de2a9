// algorithms/evaluation/evaluation.h - what the published weights of a model say of rows, and how
// often they are right.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/row_units.h"

namespace unweave {

// `units` are those of the program of the model's rows, as the store has them now (row_units.h).

/// Rows of `keys` in the form that the model asks for: count x features.
void read_rows(const RowUnits& units, const ModelRecord& record, std::span<const NodeId> keys, float* out);

/// Rows that each thread takes at once: at most 128, and no more than fit into half of what is left
/// of the budget, but one.
struct EvaluationBlocks {
  std::size_t rows;
  Reservation memory;

  EvaluationBlocks(const Model& model, MemoryBudget& budget);
};

/// Rows whose margins are held at once, charged to the budget while it lives: at most 8,192, in 64
/// MiB or a quarter of what is left, but one.
struct ScoredChunk {
  std::size_t rows;
  Reservation memory;

  ScoredChunk(const Model& model, MemoryBudget& budget);
};

/// Numbers in a row of Z that a model is made for, an intercept not counted.
[[nodiscard]] std::size_t row_width(const ModelRecord& record);

/// The class that margins speak for.
[[nodiscard]] std::size_t largest_of(std::span<const double> margins) noexcept;

/// Margins of units that have rows in the store, count x classes into `margins`, on all threads.
/// Rows are in the form of those that the model was trained on, and read in EvaluationBlocks.
/// Throws UsageError.
void score_keys(const RowUnits& units, const ModelRecord& record, std::span<const NodeId> keys, double* margins);

/// Margins of `count` rows, which `read(first, count, out)` writes before they get the form of
/// those that the model was trained on, on any thread.
void score_by(const ModelRecord& record, std::size_t count, MemoryBudget& budget,
              const std::function<void(std::size_t, std::size_t, float*)>& read, double* margins);

/// Margins of rows of Z that the caller gives, count x row_width().
void score_rows(const ModelRecord& record, std::span<const float> rows, MemoryBudget& budget, double* margins);

/// The class with the largest margin (margins_of(), ties to the lowest class) is the prediction;
/// rows are in the form of those that the model was trained on, and read in EvaluationBlocks.
/// `held` may give the training rows, which are then not read again; where ranks share these all
/// call it, and each looks at its part of every split. Throws UsageError.
[[nodiscard]] Accuracies evaluate_model(const LiveStore& store, const ModelRecord& record,
                                        const TrainingSet* held = nullptr);

/// Share of right predictions over units with labels and rows; none where there are no units. With
/// `ranks` all call it.
[[nodiscard]] std::optional<double> accuracy_on(const RowUnits& units, const ModelRecord& record,
                                                std::span<const NodeId> keys, Ranks* ranks);

/// What always naming the most frequent class of a split would reach on it.
[[nodiscard]] Accuracies majority_accuracies(const RowUnits& units);

/// What a model says of one row.
struct Prediction {
  ClassId predicted = 0;  ///< class with the largest margin
  double confidence = 0;  ///< in [0, 1]: probability (head.h) of the unit's own class; 0 for one without a label
};

/// One prediction for each of `keys`, which have rows; their store may be another one than the
/// model's. Rows are in the form of those that the model was trained on. Memory: 16 bytes a key,
/// and EvaluationBlocks. Throws UsageError.
[[nodiscard]] std::vector<Prediction> predict(const RowUnits& units, const ModelRecord& record,
                                              std::span<const NodeId> keys);

/// Share of `keys` of which the prediction is the label; none where there are no keys.
[[nodiscard]] std::optional<double> accuracy_of(const RowUnits& units, std::span<const NodeId> keys,
                                                std::span<const Prediction> predictions);

}  // namespace unweave
