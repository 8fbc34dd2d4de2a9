// algorithms/unlearning/solver.h - the interface of every learner that can unlearn.
//
// A caller fits once, then hands over each batch in order. A report with flush_needed means:
// nothing was done to the model, because the lazy embedding is too far from the exact one; flush
// the store, build rows and change anew against the rows the model absorbed last, and call again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "algorithms/learning/training_set.h"
#include "algorithms/privacy/residual_bounds.h"
#include "algorithms/unlearning/model.h"
#include "algorithms/unlearning/options.h"
#include "algorithms/unlearning/report.h"
#include "storage/io/error.h"

namespace unweave {

/// What a solver is given to work with, beside its options.
struct SolverResources {
  std::size_t memory = 0;  ///< bytes that the caller has set aside (SolverEntry::reserve)
  /// Where the solver may keep files beside the model, models/<name>/; empty: nowhere. The folder
  /// need not exist, and is empty before the first training. A file is durable before a model that
  /// needs it is returned, and its name is never used twice.
  std::filesystem::path folder{};
};

struct Fit {
  Model model;
  StepReport report;
};

/// Weights that came from anywhere, of rows of the same form.
struct GivenWeights {
  Matrix weights;  ///< F x C, finite
  double gradient_bound =
      0;  ///< proved: at least the norm of the objective's gradient there, on the rows that go with it
};

/// All that a solver knows of a model lies in the model. What it keeps beside that spares work from
/// batch to batch; one thread at a time.
class Solver {
 public:
  virtual ~Solver() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Trains from nothing. When the report says flush_needed the model is empty.
  [[nodiscard]] virtual Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const = 0;
  /// Trains from given weights; the rows are exact. For the solvers whose theorem does not ask
  /// where weights come from (SolverEntry::any_start); others throw UsageError.
  [[nodiscard]] virtual Fit fit_from(const GivenWeights&, const TrainingSet&) const {
    throw UsageError(std::string(name()) + " does not go on from given weights");
  }
  /// Brings a model of this solver from the rows before a batch to `after`. Throws UsageError when
  /// model, rows and change do not belong together.
  [[nodiscard]] virtual StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                                          const ApproximationError& lazy) const = 0;
  /// Brings a model of this solver to `rows` when the rows that it absorbed last are not known any
  /// more: a solver that needs them trains again.
  [[nodiscard]] virtual StepReport catch_up(Model& model, const TrainingSet& rows,
                                            const ApproximationError& lazy) const = 0;
  /// Whether catch_up() can bring the model to these rows. A solver whose slots were fixed at
  /// training has none for nodes that came later, and fit() then begins anew.
  [[nodiscard]] virtual bool has_place_for(const Model&, const TrainingSet&) const { return true; }
  /// Whether absorb() reads moved_from and moved_to of a change; else a caller may leave them
  /// empty.
  [[nodiscard]] virtual bool reads_moved_rows() const noexcept = 0;

  /// Whether a release depends on which nodes the rows are of, and not on the rows alone.
  [[nodiscard]] virtual bool reads_nodes() const noexcept { return false; }

  /// Called when a model is opened. Throws UsageError where it holds no state from which absorb()
  /// could go on.
  virtual void require_state(const Model&) const {}

  /// Called when the model's file is durable, and when a model is opened: removes from the folder
  /// what the model does not need any more. Throws ResourceError.
  virtual void tidy(const Model&) const {}
};

}  // namespace unweave
