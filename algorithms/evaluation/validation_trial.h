// algorithms/evaluation/validation_trial.h - what a model with some public constants would reach on
// the validation split.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/models/model_record.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/unlearning/options.h"
#include "engine/resources/memory.h"
#include "storage/io/types.h"

namespace unweave {

class LiveStore;
class Ranks;
struct SolverEntry;

/// Keys of the labelled units of the validation split that rows of this program are of. Throws
/// DataError where there are none; `asked` is the option that needs them.
[[nodiscard]] std::vector<NodeId> validation_keys(const LiveStore& store, const RowProgram& program,
                                                  const std::string& asked);

/// Trials on the present training rows, of one program. With `ranks` all make them, and
/// share the rows.
class ValidationTrial {
 public:
  /// Throws DataError where there is no training row, UsageError for weights that the rows do not
  /// keep, ResourceError.
  ValidationTrial(const LiveStore& store, MemoryBudget& budget, SolverOptions options, const RowProgram& rows,
                  Ranks* ranks);

  /// The accuracy on `keys` of what `retrain` learns with this lambda, to a gradient of 1e-4 at
  /// least and without noise, or of what the only solver of such networks learns; none where
  /// float64 does not reach the minimiser of so weak a ridge, or the solver takes no such lambda.
  [[nodiscard]] std::optional<double> accuracy_at(double lambda, const std::vector<NodeId>& keys);

 private:
  const LiveStore& store_;
  SolverOptions options_;
  const SolverEntry* only_;  // null: `retrain` is tried
  Ranks* ranks_;
  ModelRecord record_;
  std::optional<TrainingRows> rows_;
  Reservation layers_, working_;
};

}  // namespace unweave
