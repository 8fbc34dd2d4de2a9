// algorithms/solvers/rewind/rewind_account.cpp - constants, distances and the epochs that they ask
// for.
#include "algorithms/solvers/rewind/rewind_account.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/numerics/matrix.h"
#include "algorithms/privacy/accounting/descend.h"
#include "algorithms/privacy/accounting/require.h"
#include "algorithms/privacy/accounting/search.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/unlearning/parameters.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kRewindStartForgotten = 1e-3;
constexpr double kLeastSigma = 0.01;
constexpr double kAccountSlack = 1 + 1e-9;                           // float64 in the account itself
constexpr double kEpsilonSlack = 1 - 1e-12, kDeltaSlack = 1 - 1e-9;  // for a discrete release, as in output_noise.cpp
constexpr std::uint64_t kMostRewindEpochs = std::uint64_t{1} << 30;

/// r of THEOREMS.md, Lemma R3: by how much a step of the program leaves the exact one at most.
double step_rounding(const NoisySgdConstants& run, Head head, double features, double classes) {
  const double slopes = (16 + classes) * kUnitRoundoff * run.gradient_bound +
                        smoothness(head).curvature *
                            (rounding_gamma(features + 1) + rounding_gamma(std::sqrt(classes))) * run.row_norm *
                            run.row_norm * run.radius;
  const double sum = rounding_gamma(static_cast<double>(run.batch_rows) + 128) * run.gradient_bound;
  const double update =
      (rounding_gamma(5) + rounding_gamma(features * classes + 4)) * (run.radius + run.step_size * run.gradient_bound);
  return 2 * (run.step_size * (slopes + sum) + update);
}

GradientStep step_of(const NoisySgdConstants& run, BoundRule rule) {
  return rule == BoundRule::kPaper
             ? GradientStep::strongly_convex_lemma15(run.step_size, run.smoothness, run.strong_convexity)
             : GradientStep::strongly_convex(run.step_size, run.smoothness, run.strong_convexity);
}

double rounding_of(const NoisySgd& sgd, std::size_t features, std::size_t classes, const SolverOptions& options) {
  const double step =
      step_rounding(sgd.constants(), options.head, static_cast<double>(features), static_cast<double>(classes));
  return 2 * step / (sgd.constants().step_size * options.lambda);
}

/// Noise that no user has chosen: it covers twice what rounding takes of it.
double default_sigma(const RewindConstants& constants, std::size_t features, std::size_t classes,
                     const SolverOptions& options) {
  const NoisySgd sgd = noisy_sgd_of(constants, options, classes);
  const double rounding = rounding_of(sgd, features, classes, options);
  const double sigma = 2 * rounding * sigma_of(1, options.epsilon, options.delta);
  if (!std::isfinite(sigma))
    throw UsageError("no noise covers float64's rounding at so weak a lambda; raise " + option("lambda"));
  return std::max(kLeastSigma, sigma);
}

}  // namespace

const ParametersOf<RewindParameters>& rewind_parameters() {
  using P = RewindParameters;
  static const auto kTable =
      ParametersOf<P>()
          .add<&P::epochs>("epochs", Values::whole(1, static_cast<double>(kMostRewindEpochs)), "epochs of learning")
          .add<&P::batch_rows>("batch-rows", Values::whole(1), "rows of a batch; all of them: full gradients")
          .add<&P::sampling>(
              "sampling", Values::one_of({0, 1, 2}),
              "0: public batches in turn; rows drawn at random: 1 with a tail bound, 2 with the mean distance")
          .add<&P::sigma>("sigma", Values::positive(),
                          "noise on every published weight: 0.01, or more where float64 at a weak lambda asks for it")
          .add<&P::step_size>("step-size", Values::positive(), "at most 1 / smoothness")
          .add<&P::radius>("radius", Values::positive(), "of the ball that weights are projected onto")
          .add<&P::order_key>("order-key", Values::whole(1, 0x1p53), "draws the batches")
          .add<&P::capacity>(
              "capacity", Values::within(0, 1),
              "share of the rows whose removal shall need at most half the epochs of learning; requests beyond it need more")
          .add<&P::retention>("retention", Values::at_least(1),
                              "rewind keeps an iterate 1, then each time so many times as many epochs before the end");
  return kTable;
}

RewindAccount::RewindAccount(bool descend, const RewindConstants& constants, std::size_t features, std::size_t classes,
                             const SolverOptions& options)
    : descend_(descend),
      constants_(constants),
      sgd_(noisy_sgd_of(constants, options, classes)),
      loss_(loss_constants(options, constants.radius, classes)),
      total_{options.epsilon, options.delta},
      rule_(options.bound),
      rounding_(rounding_of(sgd_, features, classes, options)),
      noise_(noise_of_sigma(constants.sigma, features * classes, options.epsilon, options.delta)) {
  if (!(rounding_ < noise_.distance))
    throw UsageError("float64 could round two equal runs " + shown(rounding_) +
                     " apart, more than the noise covers; raise sigma (" + option("set", "sigma=...") + ") or " +
                     option("lambda"));
  static_cast<void>(step_of(sgd_.constants(), rule_));
}

RunChange RewindAccount::change_of(std::span<const SlotWeight> changes) const {
  RunChange change;
  change.shift = shift_of(sgd_, constants_, changes);
  for (const SlotWeight& row : changes) {
    change.total += row.weight;
    change.removed += row.removed ? 1 : 0;
  }
  return change;
}

RunChange RewindAccount::worst_change(std::uint64_t rows) const {
  const double weight = sgd_.zeroed_row_weight();
  return {packed_shift(sgd_, rows, weight), static_cast<double>(rows) * weight, rows};
}

double RewindAccount::start_left() const {
  if (!descend_) return 0;
  const NoisySgdConstants& run = sgd_.constants();
  const double travel =
      largest_regularised_travel(run.gradient_bound, run.strong_convexity, run.step_size, steps(constants_.epochs));
  return sgd_.power(sgd_.iterations(constants_.epochs)) * std::min(run.radius, travel);
}

double RewindAccount::distance(const RunChange& change, std::uint64_t epochs) const {
  if (epochs == 0 || epochs > constants_.epochs) throw UsageError("a request runs from 1 to T epochs");
  if (epochs == constants_.epochs && !descend_) return 0;
  double apart = 0;
  if (epochs < constants_.epochs && change.total > 0) {
    if (constants_.sampling == Sampling::kInTurn) {
      apart = sgd_.power(sgd_.iterations(epochs)) * burn_in_distance(sgd_, change.shift, constants_.epochs - epochs);
    } else {
      const NoisySgdConstants& run = sgd_.constants();
      const double steps_apart = sgd_.iterations(constants_.epochs - epochs);
      const double sum = sgd_.power(sgd_.iterations(epochs)) * sgd_.power_sum(steps_apart);
      apart = std::min(2 * run.radius, run.step_size * change.total / static_cast<double>(run.rows) * sum);
    }
  }
  return kAccountSlack * (apart + start_left()) + rounding_;
}

double RewindAccount::drawn_sigma(const RunChange& change, std::uint64_t epochs, DistanceRule rule) const {
  const NoisySgdConstants& run = sgd_.constants();
  const double most = 2 * run.gradient_bound * static_cast<double>(run.rows);
  const DescentPlan plan{step_of(run, BoundRule::kCorrected), steps(constants_.epochs), run.batch_rows,
                         DataChange::weighted(run.rows, run.gradient_bound, std::min(change.total, most))};
  const double shift = rounding_ + start_left() + (noise_.sensitivity - noise_.distance);
  const PrivacyTarget slackened{total_.epsilon * kEpsilonSlack, total_.delta * kDeltaSlack};
  return kAccountSlack * shifted_sigma(plan, steps(epochs), shift, slackened, rule);
}

double RewindAccount::printed_sigma(const RunChange& change, std::uint64_t epochs) const {
  const NoisySgdConstants& run = sgd_.constants();
  const std::uint64_t removed = std::min(change.removed, run.rows - 1);
  try {
    const GradientStep step = step_of(run, BoundRule::kPaper);
    if (!descend_) {
      const DescentPlan plan{step, steps(constants_.epochs), run.batch_rows,
                             DataChange::removal(run.rows, removed, loss_.gradient)};
      return first_moment_sigma(rewind_distance(plan, steps(epochs), BoundRule::kPaper), total_, BoundRule::kPaper);
    }
    const SecondMoment moment = strongly_convex_second_moment(run.smoothness, run.strong_convexity, loss_.loss_at_zero);
    const UnprojectedPlan plan{
        step, steps(constants_.epochs), run.rows, removed, moment.relative, moment.constant, loss_.loss_at_zero};
    const double square = descend_second_moment(plan, steps(epochs));
    return second_moment_sigma(std::sqrt(square), total_, BoundRule::kPaper);
  } catch (const UsageError&) {  // a condition of the theorem does not hold
    return std::numeric_limits<double>::infinity();
  }
}

double RewindAccount::residual(const RunChange& change, std::uint64_t epochs) const {
  if (epochs == constants_.epochs && !descend_) return 0;
  if (rule_ == BoundRule::kPaper) return noise_.distance * (printed_sigma(change, epochs) / noise_.sigma);
  if (constants_.sampling == Sampling::kInTurn) return distance(change, epochs);
  const DistanceRule rule = constants_.sampling == Sampling::kDrawnTail ? DistanceRule::kTail : DistanceRule::kMean;
  return noise_.distance * (drawn_sigma(change, epochs, rule) / smoothed_sigma(noise_.sigma, noise_.grid));
}

std::optional<std::uint64_t> RewindAccount::fewest_epochs(const RunChange& change) const {
  if (constants_.epochs < 2) return std::nullopt;
  return fewest(constants_.epochs - 1,
                [&](std::uint64_t epochs) { return residual(change, epochs) <= noise_.distance; });
}

std::vector<std::uint64_t> RewindAccount::kept_epochs() const {
  const auto rows = static_cast<std::uint64_t>(std::ceil(constants_.capacity * static_cast<double>(constants_.slots)));
  const std::uint64_t most = fewest_epochs(worst_change(rows)).value_or(constants_.epochs - 1);
  std::vector<std::uint64_t> kept;
  for (double epochs = 1; epochs < static_cast<double>(most);
       epochs = std::max(epochs + 1, std::ceil(constants_.retention * epochs)))
    kept.push_back(static_cast<std::uint64_t>(epochs));
  if (most > 0) kept.push_back(most);
  return kept;
}

RewindConstants choose_rewind_constants(bool descend, std::size_t rows, std::size_t features, std::size_t classes,
                                        const SolverOptions& options) {
  const LossConstants loss = loss_constants(options, 0, classes);
  const RewindParameters given = rewind_parameters().read(options.parameters);
  require_at_most("batch-rows", given.batch_rows, std::max<std::size_t>(1, rows));
  const bool paper = options.bound == BoundRule::kPaper;
  RewindConstants constants;
  constants.slots = rows;
  constants.batch_rows = given.batch_rows.value_or(default_batch_rows(rows));
  const double step = paper ? options.lambda / (loss.smoothness * loss.smoothness) : 1 / loss.smoothness;
  constants.step_size = given.step_size.value_or(step);
  constants.radius = given.radius.value_or(minimiser_radius(options, classes));
  constants.order_key = given.order_key;
  constants.sampling = paper ? Sampling::kDrawnMean : given.sampling;
  constants.capacity = given.capacity;
  constants.retention = given.retention;
  constants.epochs = given.epochs.value_or(1);
  constants.sigma = given.sigma ? *given.sigma : default_sigma(constants, features, classes, options);
  if (given.epochs) {
    static_cast<void>(RewindAccount(descend, constants, features, classes, options));
    return constants;
  }
  const RewindAccount shortest(descend, constants, features, classes, options);
  const double kept = shortest.sgd().power(shortest.sgd().iterations(1));
  const double forgotten = std::ceil(std::log(kRewindStartForgotten) / std::log(kept));
  const auto least = static_cast<std::uint64_t>(std::clamp(forgotten, 2.0, static_cast<double>(kMostRewindEpochs)));
  const RunChange allowed =
      shortest.worst_change(static_cast<std::uint64_t>(std::ceil(constants.capacity * static_cast<double>(rows))));
  const auto suffices = [&](std::uint64_t epochs) {
    RewindConstants trial = constants;
    trial.epochs = epochs;
    const auto found = RewindAccount(descend, trial, features, classes, options).fewest_epochs(allowed);
    return found && *found <= epochs / 2;
  };
  std::uint64_t most = least;
  while (most < kMostRewindEpochs && !suffices(most)) most *= 2;
  constants.epochs = most < kMostRewindEpochs ? least_count(std::max(least, most / 2), most, suffices) : least;
  require_patience(constants.epochs, "epochs of learning",
                   "raise " + option("lambda") + ", or choose " + option("set", "epochs=..."));
  return constants;
}

}  // namespace unweave
