// algorithms/solvers/langevin/langevin_constants.cpp - constants of a run from parameters, or from
// public numbers.
#include "algorithms/solvers/langevin/langevin_constants.h"

#include <algorithm>
#include <cmath>

#include "algorithms/privacy/accounting/require.h"
#include "algorithms/unlearning/parameters.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kStartForgotten = 1e-3;
constexpr std::uint64_t kMostEpochs = std::uint64_t{1} << 30;

std::uint64_t learning_epochs(const NoisySgd& sgd, double sigma, const SolverOptions& options) {
  const std::uint64_t enough =
      accountant_from_anywhere(sgd, options).fewest_epochs(sgd.diameter(), sigma, options.epsilon);
  const double an_epoch =
      static_cast<double>(sgd.iterations(1)) * std::log1p(-sgd.constants().step_size * options.lambda);
  const double forgotten = std::ceil(std::log(kStartForgotten) / an_epoch);
  const std::uint64_t start =
      forgotten < static_cast<double>(kMostEpochs) ? static_cast<std::uint64_t>(forgotten) : kMostEpochs;
  const std::uint64_t epochs = std::max<std::uint64_t>({2 * enough, start, 1});
  require_patience(epochs, "epochs of learning",
                   "raise " + option("lambda") + ", or choose " + option("set", "epochs=..."));
  return epochs;
}

}  // namespace

const ParametersOf<LangevinParameters>& langevin_parameters(bool full_batches) {
  using P = LangevinParameters;
  static const auto kFull =
      ParametersOf<P>()
          .add<&P::epochs>("epochs", Values::whole(1, static_cast<double>(kMostEpochs)), "epochs of learning")
          .add<&P::sigma>("sigma", Values::positive(), "noise of a step: sqrt(2 step-size) sigma on every weight")
          .add<&P::step_size>("step-size", Values::positive(), "at most 1 / smoothness")
          .add<&P::radius>("radius", Values::positive(), "of the ball that weights are projected onto")
          .add<&P::order_key>("order-key", Values::whole(1, 0x1p53), "draws the batches");
  static const auto kSmall =
      ParametersOf<P>(kFull).add<&P::batch_rows>("batch-rows", Values::whole(1), "rows of a batch");
  return full_batches ? kFull : kSmall;
}

LangevinConstants choose_constants(bool full_batches, std::size_t rows, std::size_t classes,
                                   const SolverOptions& options) {
  const LangevinParameters given = langevin_parameters(full_batches).read(options.parameters);
  const LossConstants loss = loss_constants(options, 0, classes);
  const std::uint64_t all = std::max<std::size_t>(1, rows);
  require_at_most("batch-rows", given.batch_rows, all);
  LangevinConstants constants;
  constants.slots = rows;
  constants.batch_rows = given.batch_rows.value_or(full_batches ? all : default_batch_rows(rows));
  constants.step_size = given.step_size.value_or(1 / loss.smoothness);
  constants.radius = given.radius.value_or(minimiser_radius(options, classes));
  constants.sigma = given.sigma.value_or(kMarginNoise * std::sqrt(options.lambda));
  constants.order_key = given.order_key;
  if (constants.sigma < resolvable_sigma(constants.step_size, constants.radius))
    throw UsageError("the noise of langevin is so small that float64 could not tell it from rounding: raise " +
                     option("lambda") + ", or sigma where it was set");
  const NoisySgd sgd = noisy_sgd_of(constants, options, classes);
  constants.epochs = given.epochs ? *given.epochs : learning_epochs(sgd, constants.sigma, options);
  return constants;
}

std::optional<std::uint64_t> request_epochs(const LangevinConstants& constants, const LangevinAccountant& accountant,
                                            double distance, double epsilon) {
  if (accountant.epsilon(distance, constants.epochs, constants.sigma) > epsilon) return std::nullopt;
  const std::uint64_t epochs = accountant.fewest_epochs(distance, constants.sigma, epsilon);
  return epochs < constants.epochs ? std::optional(epochs) : std::nullopt;
}

std::optional<std::uint64_t> epochs_from_anywhere(const LangevinConstants& constants, const NoisySgd& sgd,
                                                  const SolverOptions& options) {
  const LangevinAccountant accountant = accountant_from_anywhere(sgd, options);
  if (accountant.epsilon(sgd.diameter(), constants.epochs, constants.sigma) > options.epsilon) return std::nullopt;
  const std::uint64_t epochs = accountant.fewest_epochs(sgd.diameter(), constants.sigma, options.epsilon);
  return epochs < constants.epochs ? std::optional(epochs) : std::nullopt;
}

LangevinAccountant accountant_from_anywhere(const NoisySgd& sgd, const SolverOptions& options) {
  const bool paper = options.bound == BoundRule::kPaper;
  return {sgd,
          {BurnIn::kNone, 0, paper ? Decay::kLoose : Decay::kSharp,
           paper ? NoiseVariance::kPrinted : NoiseVariance::kActual, paper ? Conversion::kRenyi : Conversion::kExact},
          options.delta};
}

LangevinAccountant accountant_of(const LangevinConstants& constants, const NoisySgd& sgd,
                                 const SolverOptions& options) {
  if (options.bound == BoundRule::kPaper)
    return {sgd, {BurnIn::kWeakTriangle, constants.epochs, Decay::kLoose, NoiseVariance::kPrinted}, options.delta};
  return {sgd,
          {BurnIn::kAligned, constants.epochs, Decay::kSharp, NoiseVariance::kActual, Conversion::kExact},
          options.delta};
}

void require_tails(const LangevinConstants& constants, const NoisySgd& sgd, std::size_t weights,
                   const SolverOptions& options) {
  constexpr double kMissing = 1.4e-20, kShare = 0.01;
  const double draws = sgd.iterations(constants.epochs) * static_cast<double>(weights);
  const double least = draws * kMissing * (1 + std::exp(options.epsilon)) / kShare;
  if (!(options.delta >= least))
    throw UsageError("the normal numbers of so many steps end too early for this " + option("delta") +
                     "; raise it to " + shown(least) + ", or lower " + option("epsilon") + " or the epochs");
}

double removed_row_weight(const NoisySgd& sgd, const SolverOptions& options) {
  return options.bound == BoundRule::kPaper ? sgd.replaced_row_weight() : sgd.zeroed_row_weight();
}

}  // namespace unweave
