// algorithms/solvers/hessian_free/hessian_free_state.cpp - constants from options, the state as
// numbers and arrays, and its account.
#include "algorithms/solvers/hessian_free/hessian_free_state.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "algorithms/learning/no_model_error.h"
#include "algorithms/privacy/accounting/mechanisms.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/unlearning/slot_constants.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kMostNumber = 0x1p53;  // numbers of a state are below it

template <class T>
std::vector<double> as_numbers(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

const ParametersOf<HessianFreeParameters>& hessian_free_parameters() {
  using P = HessianFreeParameters;
  static const auto kTable =
      ParametersOf<P>()
          .add<&P::epochs>("epochs", Values::whole(1), "times that SGD takes all rows")
          .add<&P::batch_rows>("batch-rows", Values::whole(1), "rows of a step")
          .add<&P::step_size>("step-size", Values::positive(), "of the first step of SGD")
          .add<&P::decay>("decay", Values::fraction(), "factor of the step size from step to step")
          .add<&P::group_rows>("group-rows", Values::whole(1),
                               "declared groups: so many training rows that follow each other are removed together")
          .add<&P::own_hessian>("own-hessian", Values::flag(),
                                "1: vectors without the curvature of their own rows; 0: as published")
          .add<&P::backward>("backward", Values::flag(),
                             "1: statistics by backward propagators, 0: by forward accumulation")
          .add<&P::statistics>(
              "statistics", Values::flag(),
              "0: none, train again at every removal; else 1 where making them takes minutes, not days")
          .add<&P::bits>("bits", Values::one_of({8, 16, 32}), "of a number of the statistics: 8, 16 or 32")
          .add<&P::largest_shift>("s-max", Values::positive(),
                                  "largest distance from the retrained weights that the noise covers")
          .add<&P::retrain>("retrain", Values::flag(), "1: train again rather than publish what is not certified");
  return kTable;
}

HessianFreeConstants choose_constants(const NetworkShape& shape, std::uint64_t slots, const SolverOptions& options) {
  const HessianFreeParameters given = hessian_free_parameters().read(options.parameters);
  HessianFreeConstants constants;
  constants.sgd = choose_run(shape, slots, given, options);
  constants.group_rows = given.group_rows;
  constants.curvature = given.own_hessian ? RemovedCurvature::kKept : RemovedCurvature::kAll;
  constants.retrain = given.retrain;
  constants.bits = given.bits;
  constants.largest_shift = given.largest_shift.value_or(kMarginNoise / sigma_of(1, options.epsilon, options.delta));
  if (!(constants.largest_shift < kMostNumber))
    throw NoModelError("the margin s-max of this release is beyond 2^53; use a smaller " + option("epsilon") + " or " +
                       option("set", "s-max"));
  return constants;
}

SolverState to_solver_state(const HessianFreeState& state) {
  const HessianFreeConstants& constants = state.constants;
  const SgdConstants& sgd = constants.sgd;
  SolverState out;
  out.numbers = {{"slots", static_cast<double>(sgd.slots)},
                 {"partition_rows", static_cast<double>(sgd.partition_rows)},
                 {"batch_rows", static_cast<double>(sgd.batch_rows)},
                 {"epochs", static_cast<double>(sgd.epochs)},
                 {"step_size", sgd.step_size},
                 {"decay", sgd.decay},
                 {"order_key", static_cast<double>(sgd.order_key)},
                 {"s_max", constants.largest_shift},
                 {"group_rows", static_cast<double>(constants.group_rows)},
                 {"bits", constants.bits},
                 {"own_hessian", constants.curvature == RemovedCurvature::kKept ? 1.0 : 0.0},
                 {"retrain", constants.retrain ? 1.0 : 0.0},
                 {"statistics", state.statistics ? 1.0 : 0.0},
                 {"backward", state.backward ? 1.0 : 0.0},
                 {"run", static_cast<double>(state.run)},
                 {"largest_norm", state.largest_norm},
                 {"erase_from", static_cast<double>(state.erase_from)},
                 {"error", state.error}};
  if (std::isfinite(state.single_bound)) out.numbers["single_bound"] = state.single_bound;
  out.arrays = {{"nodes", as_numbers(state.slots)},
                {"clean", {state.clean.data(), state.clean.data() + state.clean.size()}},
                {"filled", state.filled},
                {"removed", as_numbers(state.removed)},
                {"visits", state.visits}};
  return out;
}

HessianFreeState hessian_free_state(const Model& model) {
  const SolverState& from = model.state;
  const auto fail = [] { throw UsageError("the model holds no run of hessian-free; train it again"); };
  const auto number = [&](const char* name) {
    const auto at = from.numbers.find(name);
    if (at == from.numbers.end() || !(at->second >= 0 && at->second < kMostNumber)) fail();
    return at->second;
  };
  const auto count = [&](const char* name) {
    const double value = number(name);
    if (value != std::floor(value)) fail();
    return static_cast<std::uint64_t>(value);
  };
  const auto array = [&](const char* name) -> const std::vector<double>& {
    const auto at = from.arrays.find(name);
    if (at == from.arrays.end()) fail();
    return at->second;
  };
  HessianFreeState state;
  HessianFreeConstants& constants = state.constants;
  constants.sgd = {count("slots"),      count("partition_rows"), count("batch_rows"), count("epochs"),
                   number("step_size"), number("decay"),         count("order_key")};
  constants.largest_shift = number("s_max");
  constants.group_rows = count("group_rows");
  constants.bits = static_cast<std::uint32_t>(count("bits"));
  constants.curvature = count("own_hessian") == 1 ? RemovedCurvature::kKept : RemovedCurvature::kAll;
  constants.retrain = count("retrain") == 1;
  state.statistics = count("statistics") == 1;
  state.backward = count("backward") == 1;
  state.run = count("run");
  state.largest_norm = number("largest_norm");
  state.erase_from = count("erase_from");
  state.error = number("error");
  state.single_bound =
      from.numbers.contains("single_bound") ? number("single_bound") : std::numeric_limits<double>::infinity();
  state.slots = from.slots("nodes");
  const std::vector<double>& clean = array("clean");
  state.clean = Eigen::Map<const Vector>(clean.data(), index_of(clean.size()));
  state.filled = array("filled");
  state.visits = array("visits");
  for (const double record : array("removed")) state.removed.push_back(static_cast<std::uint64_t>(record));
  const std::uint64_t of_record = constants.group_rows * constants.sgd.epochs;
  if (state.slots.size() != constants.sgd.slots || constants.group_rows == 0 || constants.sgd.partition_rows == 0 ||
      size_of(state.clean.size()) != size_of(model.published.size()) ||
      state.visits.size() != state.removed.size() * of_record || state.erase_from > state.removed.size())
    fail();
  return state;
}

RecordLayout layout_of(const HessianFreeConstants& constants) noexcept {
  return {constants.sgd.slots, constants.group_rows};
}

StatisticsShape statistics_shape(const HessianFreeConstants& constants, std::uint64_t run, std::uint64_t parameters,
                                 std::uint64_t partition) {
  const std::uint64_t first = partition * constants.sgd.partition_rows;
  return {constants.bits, run,
          partition,      std::min(constants.sgd.partition_rows, layout_of(constants).records() - first),
          parameters,     constants.group_rows * constants.sgd.epochs};
}

std::filesystem::path statistics_path(const std::filesystem::path& folder, std::uint64_t run, std::uint64_t partition) {
  char name[64];
  std::snprintf(name, sizeof name, "%013llx-%010llu.statistics", static_cast<unsigned long long>(run),
                static_cast<unsigned long long>(partition));
  return folder / name;
}

double distance_of(const HessianFreeState& state, const NetworkShape& shape, double lambda, double row_norm) {
  if (state.removed.empty()) return 0;
  if (!shape.hidden.empty()) return std::numeric_limits<double>::infinity();
  const SgdSchedule schedule(state.constants.sgd);
  const RecordLayout layout = layout_of(state.constants);
  const std::uint64_t epochs = state.constants.sgd.epochs, of_record = layout.rows * epochs;
  std::vector<double> injected(schedule.steps(), 0.0);
  std::vector<std::uint64_t> removed(schedule.steps(), 0);
  for (std::size_t i = 0; i < state.removed.size(); ++i)
    for (std::uint64_t at = 0; at < of_record; ++at) {
      const double norm = state.visits[i * of_record + at];
      if (norm < 0) continue;  // a slot that was empty already
      const std::uint64_t place =
          layout.rows == 1 ? state.removed[i] : schedule.place_of(state.removed[i] * layout.rows + at / epochs);
      const std::uint64_t step = schedule.visit(place, at % epochs);
      injected[step] += norm;
      ++removed[step];
    }
  RunConstants constants =
      run_constants(shape.head, lambda, row_norm, shape.features, shape.classes, state.constants.sgd.batch_rows);
  constants.weights = state.largest_norm;
  RemovalAccount account(constants);
  double eta = 0;
  for (std::uint64_t step = 0; step < schedule.steps(); ++step) {
    eta = step % schedule.steps_of_epoch() == 0 ? schedule.step_size(step) : eta * state.constants.sgd.decay;
    const std::uint64_t batch = schedule.batch_size(step);
    const auto filled = state.filled.empty() ? batch : static_cast<std::uint64_t>(state.filled[step]);
    account.advance(eta / static_cast<double>(batch), filled, removed[step], injected[step]);
  }
  const double own = state.removed.size() == 1 ? state.single_bound : std::numeric_limits<double>::infinity();
  // Both ends are rounded to the grid.
  const double rounded = kStatisticsGrid * std::sqrt(static_cast<double>(state.clean.size()));
  return (std::min(own, account.distance()) + state.error + rounded) * (1 + 1e-12);
}

OutputNoise release_noise(const HessianFreeState& state, const NetworkShape& shape, const SolverOptions& options) {
  const HessianFreeConstants& constants = state.constants;
  if (options.bound == BoundRule::kCorrected)
    return plan_output_noise(constants.largest_shift, Network(shape).size(), options.epsilon, options.delta);
  const SgdSchedule schedule(constants.sgd);
  const RunConstants run = run_constants(shape.head, options.lambda, row_norm_bound(options), shape.features,
                                         shape.classes, constants.sgd.batch_rows);
  PrintedRun printed;
  printed.step_size = constants.sgd.step_size;
  printed.decay = std::min(constants.sgd.decay, 1 - 1e-12);
  printed.gradient = run.row_norm * run.slope + options.lambda * state.largest_norm;
  const double last = schedule.steps() == 0 ? 0 : schedule.step_size(schedule.steps() - 1);
  printed.rho = std::max(1 - last * options.lambda,
                         printed.step_size * (options.lambda + run.curvature * run.row_norm * run.row_norm) - 1);
  printed.steps = schedule.steps();
  printed.epoch_steps = std::max<std::uint64_t>(1, schedule.steps_of_epoch());
  printed.batch = constants.sgd.batch_rows;
  const double distance =
      printed_distance(printed, std::max<std::uint64_t>(1, state.removed.size() * constants.group_rows));
  OutputNoise noise;
  noise.distance = distance;
  noise.sigma = classic_sigma(distance, {options.epsilon, options.delta}, BoundRule::kPaper);
  noise.grid = std::exp2(std::floor(std::log2(noise.sigma)) - 23);
  noise.sensitivity = distance;
  noise.variance = static_cast<std::uint64_t>(std::ceil(noise.sigma / noise.grid * (noise.sigma / noise.grid)));
  noise.sigma = noise.grid * std::sqrt(static_cast<double>(noise.variance));
  return noise;
}

}  // namespace unweave
