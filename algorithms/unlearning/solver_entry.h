// algorithms/unlearning/solver_entry.h - everything that the program knows of one solver: its entry
// in the registry.
//
// A solver is a folder of algorithms/solvers/ that defines one such constant. Whatever lies above
// asks the entry; no other place knows the solver's name (algorithms/solvers/README.md says how one
// is added).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/unlearning/parameters.h"
#include "algorithms/unlearning/solver.h"
#include "engine/resources/memory.h"

namespace unweave {

class PublicLine;
class Statements;
struct CheckedModel;
struct PlannedTask;
struct TrainingNeeds;
struct UnlearningPlan;

/// What a solver makes of linear models, or of networks.
struct SolverKind {
  bool trained = false;  ///< it takes such models at all
  bool claims = false;   ///< a theorem, or what its paper claims; otherwise releases claim nothing
  /// Its training rows hold slots in the order of their nodes' positions, so that a claim needs
  /// positions that do not follow removed data.
  bool over_slots = false;
  /// It trains on rows that ranks share (training_set.h): it reads them in sweeps alone, and
  /// nothing that decides differs from rank to rank.
  bool over_ranks = false;
  /// Its models stand where a run of SGD over slots ended, or a step from there, which need not be
  /// near a minimiser: what they are compared with is that run again, over the slots that are left.
  bool follows_run = false;
  /// Checks the last release against its certificate, from numbers alone; null: there is nothing to
  /// check but that nothing is claimed. Throws UsageError for a state that cannot be.
  void (*check_certificate)(const CheckedModel& model, Statements& say) = nullptr;
  /// Checks the published weights against the present rows; false where the certificate bounds
  /// nothing that could be compared. Called after check_certificate() found nothing wrong.
  bool (*check_release)(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget,
                        Statements& say) = nullptr;
};

/// Weights to compare a model with.
struct NamedWeights {
  std::string name;
  Matrix weights;
  double seconds = 0;  ///< that making them took
};

struct SolverEntry {
  std::string_view name;
  std::string (*meaning)();       ///< how it learns and unlearns and what it claims, for its help: a message with marks
  std::string_view theorem = {};  ///< that certifies its releases in their public lines; empty: none does in public
  SolverKind linear{};
  SolverKind networks{};
  bool coupled_heads = true;  ///< takes heads whose classes share a loss, too
  bool printed = false;       ///< has a bound in print, other than the one that certifies
  bool noisy = true;          ///< it draws noise, of which epsilon and delta are asked; else both are 0
  bool intercept = true;      ///< its linear models have one unless the options say otherwise
  bool tau = false;           ///< it trains until its gradient has a norm of tau
  bool alpha = false;         ///< it adds noise of alpha to the objective
  bool first_order = false;   ///< its steps, or its bounds, grow with 1 / lambda
  /// A model is a function of the present rows and the options alone, to the bit: its file holds
  /// nothing of its history (model_record.h), and a purge keeps it.
  bool canonical = false;
  /// Its theorem holds from any weights: it trains on from those of a model that was made elsewhere
  /// (Solver::fit_from).
  bool any_start = false;
  /// Learns on rows of pairs and of whole graphs, too: any batch may change all of them, so that
  /// its models are brought up by training on what there is.
  bool any_unit = false;
  /// What the hidden layers of its networks apply, where it takes nothing else; no other solver
  /// takes ReLU.
  std::optional<Activation> activation{};
  bool filters = true;    ///< its networks weigh the blocks of a row (network.h); else these stand side by side
  bool retrains = false;  ///< every batch trains again from nothing: what all others are compared with

  const ParameterTable& (*parameters)() = no_parameters;
  /// Constructs the solver whole. Throws UsageError for parameters out of range.
  std::unique_ptr<Solver> (*make)(const SolverOptions& options, const SolverResources& resources) = nullptr;
  /// Sets aside what the next steps of a model (one without weights before the first fit) need
  /// beside these rows, and what else is worth having. Throws ResourceError.
  Reservation (*reserve)(const SolverOptions& options, const Model& model, const TrainingSet& rows,
                         MemoryBudget& budget) = nullptr;

  /// Computes the public numbers of a certified line again. Throws CheckError for one that does not
  /// follow.
  void (*check_line)(const PublicLine& line) = nullptr;

  /// At most one of these; neither: what requests cost depends on the data.
  UnlearningPlan (*plan)(const PlannedTask& task) = nullptr;
  TrainingNeeds (*needs)(const PlannedTask& task) = nullptr;

  /// Weights that `evaluate` shows beside a model of this solver; null: none. `rows`: the present
  /// ones. `memory`: bytes.
  std::vector<NamedWeights> (*references)(const Model& model, const SolverOptions& options, const TrainingSet& rows,
                                          std::size_t memory) = nullptr;

  [[nodiscard]] constexpr const SolverKind& kind(bool network) const noexcept { return network ? networks : linear; }
};

/// What minimisations take (working_memory.h).
[[nodiscard]] Reservation reserve_minimisation(const SolverOptions& options, const Model& model,
                                               const TrainingSet& rows, MemoryBudget& budget);

}  // namespace unweave
