// algorithms/api/unweave/evaluate.h - how good models are, how far they are from retrained ones,
// and what they still show of forgotten rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "storage/io/types.h"
#include "unweave/models.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// Classes up to which confusion matrices are made unasked.
inline constexpr std::size_t kFewClasses = 20;

struct EvaluateOptions {
  bool retrain = false;   ///< compare with a model that has never seen anything but the present data
  bool by_class = false;  ///< confusion matrices of models of more than kFewClasses classes, too
  std::optional<std::vector<NodeId>>
      nodes{};  ///< accuracy on these, too: of the store, or of the copy where there is one
  /// Other pairs, by users' ids, for models of links in the place of those that the store draws.
  std::optional<std::vector<Edge>> negatives{};
  std::size_t attack_rows =
      /// most training and most test rows that an attack learns from, and most removed edges that
      /// one looks for; 0: no attack
      10000;
  std::uint64_t seed = 1;  ///< by which they are drawn
};

/// How good one model is on the labelled nodes of each split.
struct SplitMetrics {
  Metrics train, valid, test;
  bool by_class = false;  ///< with confusion matrices
  [[nodiscard]] Accuracies accuracies() const { return {train.accuracy(), valid.accuracy(), test.accuracy()}; }
};

/// How well a model of links tells edges from other pairs of each split.
struct SplitLinks {
  LinkFigures train, valid, test;
};

/// What a model shows of training rows that a copy of the store has and the store has not.
struct Forgetting {
  std::size_t forgotten_rows = 0, vanished_classes = 0;
  std::size_t attack_rows = 0;  ///< rows of either kind that an attack learnt from
  std::uint64_t seed = 1;
  Efficacy figures;
  EdgeRecovery edges;  ///< removed edges, from what the model says of their ends
  std::optional<EdgeRecovery>
      edges_retrained;  ///< by that attack on the retrained model, given with EvaluateOptions::retrain
};

/// How far published weights have come from those of the model from before the removals.
struct WayFromBefore {
  double distance = 0;
  std::optional<double> distance_ratio;  ///< what is left to the retrained model, over how far that one has come
  std::optional<double> step_cosine;     ///< between both ways
};

/// Whether the losses of the forgotten rows moved as retraining moves them: correlations over these
/// rows.
struct LossChanges {
  std::optional<double> pearson, spearman;
};

/// A model beside the retrained one, and the one from before the removals. What cannot be compared
/// is absent.
struct Comparison {
  std::optional<double> retrained_distance, retrained_cosine;  ///< between published weights
  std::optional<Likeness> train, test, forgotten;              ///< how alike predictions of it and of that one are
  // These two are there only with a model from before the removals.
  std::optional<WayFromBefore> from_before;
  std::optional<LossChanges> loss_changes;
};

struct ModelEvaluation {
  std::string name, solver;    ///< behind a comma, what weights beside the model's own are
  std::uint64_t sequence = 0;  ///< the last request that it has absorbed
  bool outdated = false;       ///< the store has acknowledged later ones
  bool present = true;         ///< else it is the copy's, from before the removals
  std::size_t classes = 0;
  std::optional<double> seconds;  ///< how long it took to make, where its weights were made for the comparison
  SplitMetrics metrics;
  std::optional<SplitLinks> links;       ///< given for a model whose rows are of pairs
  std::optional<double> accuracy_nodes;  ///< accuracy on EvaluateOptions::nodes; absent where they have no labels
  std::optional<Forgetting> forgetting;  ///< given with a copy
  std::optional<Comparison> comparison;  ///< given with EvaluateOptions::retrain
};

/// Evaluates models of one store, with or without a copy from before the removals, which both
/// outlive it.
class Evaluator {
 public:
  /// `before`: null without a copy. Throws UsageError for ids outside the store, DataError where
  /// the copy cannot be one.
  Evaluator(const Reader& store, const Reader* before, EvaluateOptions options);
  Evaluator(Evaluator&&) noexcept;
  ~Evaluator();

  /// The copy's model of this name, where there is one, the model itself, and weights that its
  /// solver wants to be seen beside it. Throws DataError for a model of another propagation,
  /// ResourceError.
  [[nodiscard]] std::vector<ModelEvaluation> evaluate(const StoredModel& model);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace unweave
