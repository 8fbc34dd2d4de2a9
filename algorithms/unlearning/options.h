// algorithms/unlearning/options.h - what a user may choose of a solver, and what all solvers derive
// from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/learning/activation.h"
#include "algorithms/learning/head_name.h"
#include "algorithms/learning/row_unit.h"
#include "algorithms/privacy/bound_rule.h"

namespace unweave {

class RandomSource;
class TrainingSet;
struct NetworkShape;

/// What `train --set NAME=VALUE` gave, by name.
using GivenParameters = std::map<std::string, double, std::less<>>;

/// A parameter as its help lists it.
struct Parameter {
  std::string_view name;           ///< words joined by hyphens
  std::optional<double> standard;  ///< the default; absent: the solver chooses the value
  std::string text;                ///< one line for the help, a message with marks (storage/io/message.h)
  bool networks_only = false;      ///< a linear model has no use for it
};

/// "corrected" or "paper". Throws UsageError for other names.
[[nodiscard]] BoundRule parse_bound(std::string_view name);

/// SolverOptions::weights_chosen of a model on rows as they were propagated.
inline constexpr const char* kPropagatedWeights = "propagation";

/// And of one on rows that have every level side by side.
inline constexpr const char* kStackedWeights = "stack";
inline constexpr const char* kRowsByValidation = "validation of rows at version ";

/// Width of the one hidden layer of a network of which nothing else is said.
inline constexpr std::size_t kHiddenUnits = 64;

/// Every solver runs with the defaults alone.
struct SolverOptions {
  Head head = Head::kLogistic;
  std::vector<std::size_t> hidden;  ///< widths of hidden layers below the head (network.h); empty: a linear model
  Activation activation = Activation::kTanh;
  double epsilon = 1;
  double delta = 1e-4;
  double lambda = 1e-3;  ///< per training row: the objective holds (lambda n / 2) |W|^2
  /// "given", "default" (of declared sizes), or "validation at version K", the request until which
  /// data chose it.
  std::string lambda_chosen = "given";
  /// Where the weights of the levels come from: "propagation", "given", "stack", "validation at
  /// version K" likewise, or kRowsByValidation and the version where all that rows are made of was
  /// chosen.
  std::string weights_chosen = kPropagatedWeights;
  double tau = 1e-6;   ///< gradient norm to which a minimisation is finished
  double alpha = 0.1;  ///< noise level in the objective, for the solvers that have one
  BoundRule bound = BoundRule::kCorrected;
  GivenParameters parameters;         ///< those given of the solver's own
  std::size_t blocks = 1;             ///< parts of a row, which the embedding's weights decide
  bool has_program = false;           ///< rows are more than weighted sums of levels (RowProgram)
  RowUnit unit = RowUnit::node;       ///< what a row is of
  bool intercept = false;             ///< rows end in a value 1 (RowForm); false with hidden layers, which have biases
  bool standardized = false;          ///< features were scaled by statistics of the data: nothing is certified
  bool data_order = false;            ///< positions of nodes follow a graph that held what was removed since
  std::optional<std::uint64_t> seed;  ///< reproducible noise; marks every report for_tests
};

/// "mlp" where there are hidden layers, else the name of the head.
[[nodiscard]] std::string_view head_name(const SolverOptions& options) noexcept;
/// What these options train on such rows.
[[nodiscard]] NetworkShape shape_of(const SolverOptions& options, const TrainingSet& rows);

/// Noise for release number `release` of a model: from the system, or from the options' seed and
/// this number.
[[nodiscard]] RandomSource noise_source(const SolverOptions& options, std::uint64_t release);

}  // namespace unweave
