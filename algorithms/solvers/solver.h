// algorithms/solvers/solver.h - the interface of every learner that can unlearn, and the registry of their names.
//
// A caller fits once, then hands over each batch in order. A report with flush_needed means: nothing was done to the
// model, because the lazy embedding is too far from the exact one; flush the store, build rows and change anew against
// the rows the model absorbed last, and call again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/learning/head.h"
#include "algorithms/learning/network.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/privacy/bound_rule.h"
#include "algorithms/privacy/residual_bounds.h"
#include "algorithms/random/random_source.h"
#include "algorithms/solvers/langevin/langevin_state.h"

namespace unweave {

/// "corrected" or "paper". Throws UsageError for other names.
[[nodiscard]] BoundRule parse_bound(std::string_view name);

/// A parameter that one solver has beside the options that all share: `train --set NAME=VALUE`.
struct Parameter {
  std::string_view name;           ///< words joined by hyphens
  std::optional<double> standard;  ///< none: the solver chooses it from public constants, and prints it
  std::string_view text;           ///< one line for the help
};

/// Every solver runs with the defaults alone.
struct SolverOptions {
  Head head = Head::kLogistic;
  std::vector<std::size_t> hidden;  ///< widths of hidden layers below the head (network.h); empty: a linear model
  Activation activation = Activation::kTanh;
  double epsilon = 1;
  double delta = 1e-4;
  double lambda = 1e-3;                  ///< per training row: the objective holds (lambda n / 2) |W|^2
  std::string lambda_chosen = "public";  ///< or "validation at version K", the request until which data chose it
  double tau = 1e-6;                     ///< gradient norm to which a minimisation is finished
  double alpha = 0.1;                    ///< noise level in the objective, for the solvers that have one
  BoundRule bound = BoundRule::kCorrected;
  std::map<std::string, double, std::less<>> parameters;  ///< those given of the solver's own
  std::size_t blocks = 1;                                 ///< parts of a row, which the embedding's weights decide
  bool intercept = false;             ///< rows end in a value 1 (RowForm); false with hidden layers, which have biases
  bool standardized = false;          ///< features were scaled by statistics of the data: nothing is certified
  bool data_order = false;            ///< positions of nodes follow a graph that held what was removed since
  std::optional<std::uint64_t> seed;  ///< reproducible noise; marks every report for_tests
};

/// What a solver keeps beside the weights for its next request. Private: it may depend on removed data.
struct SolverState {
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, std::vector<double>, std::less<>> arrays;
};

/// A learnt model: plain fields, so that a store can write them. `published` is what users may see; the rest is private.
struct Model {
  std::string solver;
  Head head = Head::kLogistic;
  std::size_t trained_rows = 0;         ///< n_t that the model stands on
  std::uint64_t releases = 0;           ///< models published so far: no noise is ever drawn twice
  std::uint64_t sequence = 0;           ///< request that the model has absorbed; kept by the caller
  Matrix published;                     ///< F x C; of a network its parameters, size() x 1
  std::optional<NetworkShape> network;  ///< of a model with hidden layers

  // Objective perturbation alone.
  Matrix objective_noise;      ///< B, F x C
  Vector accumulated;          ///< per class, corrected residual bound since the last training
  Vector accumulated_printed;  ///< the same by the printed terms
  double spectral_bound = 0;   ///< >= |Z|_2 of the rows absorbed last
  double spectral_fresh = 0;   ///< its value when it was computed from the rows

  std::optional<LangevinState> langevin;  ///< noisy SGD alone

  SolverState state;  ///< of the other solvers that keep something
};

/// What one fit or one batch did, and what may be said about it.
struct StepReport {
  bool certified = false;
  std::optional<std::string> claim;  ///< the theorem it rests on, or the paper's own claim; none: nothing is claimed
  bool private_claim = false;        ///< certified and claim depend on removed data without noise
  bool for_tests = false;            ///< noise came from a seed; see withdraw_claims_of_seed()
  double epsilon = 0;
  double delta = 0;
  double budget = 0;          ///< largest residual bound that the claim allows; langevin: epsilon, and the one reached
  double residual_bound = 0;  ///< reached
  bool retrained = false;
  bool flush_needed = false;
  std::map<std::string, double> terms;  ///< every part of the bound and every constant of the noise, by name
  int passes = 0;                       ///< readings of all training rows
  int steps = 0;                        ///< Newton steps
};

struct Fit {
  Model model;
  StepReport report;
};

class Solver {
 public:
  virtual ~Solver() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Trains from nothing. When the report says flush_needed the model is empty.
  [[nodiscard]] virtual Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const = 0;
  /// Brings a model of this solver from the rows before a batch to `after`. Throws UsageError when model, rows and
  /// change do not belong together.
  [[nodiscard]] virtual StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                                          const ApproximationError& lazy) const = 0;
  /// Brings a model of this solver to `rows` when the rows that it absorbed last are not known any more: `newton` and
  /// `retrain` as in absorb(), the others by training again.
  [[nodiscard]] virtual StepReport catch_up(Model& model, const TrainingSet& rows,
                                            const ApproximationError& lazy) const = 0;
  /// Whether absorb() reads moved_from and moved_to of a change; else a caller may leave them empty.
  [[nodiscard]] virtual bool reads_moved_rows() const noexcept = 0;

  /// Called when the model's file is durable, and when a model is opened: removes from folder() what the model does not
  /// need any more. Throws ResourceError.
  virtual void tidy(const Model&) const {}

  /// Sets aside what the next steps of a model (one without weights before the first fit) need beside these rows, and what
  /// else is worth having. Throws ResourceError. By default working_memory.h.
  [[nodiscard]] virtual Reservation reserve(const Model& model, const TrainingSet& rows, MemoryBudget& budget) const;

  /// Where a solver may keep files of its own beside the model, models/<solver>/; it need not exist, and is empty before
  /// the first call. A file is durable before a model that needs it is returned, and its name is never used twice.
  void set_folder(std::filesystem::path folder) { folder_ = std::move(folder); }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  /// Bytes that reserve() has set aside, none before the first call.
  void set_working_memory(std::size_t bytes) noexcept { working_memory_ = bytes; }
  [[nodiscard]] std::size_t working_memory() const noexcept { return working_memory_; }

 private:
  std::size_t working_memory_ = 0;
  std::filesystem::path folder_;
};

/// Whether its solver publishes weights of which nothing is claimed: finetune, neggrad, streaming, and `retrain`,
/// `scalegun`, `newton-step` and `jackknife` of networks.
[[nodiscard]] bool claims_nothing(const Model& model);

/// "mlp" where there are hidden layers, else the name of the head.
[[nodiscard]] std::string_view head_name(const SolverOptions& options) noexcept;
/// What these options train on such rows.
[[nodiscard]] NetworkShape shape_of(const SolverOptions& options, const TrainingSet& rows);
/// Of a trained model.
[[nodiscard]] NetworkShape shape_of(const Model& model);
/// Margins of `count` clipped rows under the published weights, count x classes into `out`. Who predicts does so by these.
void margins_of(const Model& model, const float* rows, std::size_t count, double* out);

/// The solver of this name (solver_names()). Throws UsageError for other names, for
/// options out of range and for parameters that the solver does not have.
[[nodiscard]] std::unique_ptr<Solver> make_solver(std::string_view name, const SolverOptions& options);
[[nodiscard]] std::vector<std::string_view> solver_names();

/// Below this a default lambda does not go: 1e-3 for the solvers whose steps, or whose bounds, grow with 1 / lambda, else 0.
[[nodiscard]] double weakest_default_lambda(std::string_view solver);

/// Whether its linear models have an intercept unless the options say otherwise: published methods that know none do not.
[[nodiscard]] bool takes_intercept(std::string_view solver);

/// The parameters of a solver's own. Throws UsageError for other names.
[[nodiscard]] std::span<const Parameter> solver_parameters(std::string_view solver);
/// The given value of a parameter, else its standard; none when the solver is to choose.
[[nodiscard]] std::optional<double> parameter(const SolverOptions& options, const Parameter& of) noexcept;

/// A given parameter that is a whole number from 1 to `most`, or one above 0; none when it was not given. Throws UsageError
/// for other values.
[[nodiscard]] std::optional<std::uint64_t> count_setting(const SolverOptions& options, std::string_view name,
                                                         std::uint64_t most = std::uint64_t{1} << 53);
[[nodiscard]] std::optional<double> positive_setting(const SolverOptions& options, std::string_view name);

/// Noise that was drawn from a seed is known to whoever knows the seed: such a release claims nothing and is certified by
/// no theorem, whatever its solver has found.
void withdraw_claims_of_seed(StepReport& report);

/// Noise for release number `release` of a model: from the system, or from the options' seed and this number.
[[nodiscard]] RandomSource noise_source(const SolverOptions& options, std::uint64_t release);

/// Throws UsageError unless `model` was trained by `name` on rows of this shape.
void check_shape(const Model& model, std::string_view name, const TrainingSet& rows);
/// The same, and unless the change leads from as many rows as the model stands on to `after`.
void check_model(const Model& model, std::string_view name, const TrainingSet& after, const BatchChange& change);

}  // namespace unweave
