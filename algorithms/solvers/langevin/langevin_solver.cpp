// algorithms/solvers/langevin/langevin_solver.cpp - the weights of what changed, the epochs that
// they ask for, and those epochs.
#include "algorithms/solvers/langevin/langevin_solver.h"

#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/sgd/slot_weights.h"
#include "algorithms/sgd/slots.h"
#include "algorithms/solvers/langevin/langevin_constants.h"
#include "algorithms/unlearning/planned_task.h"
#include "algorithms/unlearning/release.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr Mechanism kStepNoise{"projected noisy SGD over fixed batches, Gaussian noise at every step",
                               Adjacency::empty_slots, "that the noise of a step is a floating-point number"};

/// What one batch of requests does to the distance of two runs.
struct Weight {
  double removed = 0;  ///< sums of the gradient changes of rows
  double moved = 0;
  double distance = 0;  ///< distance of the stationary laws
};

Weight weigh(const LangevinState& state, const NoisySgd& sgd, const SolverOptions& options, const BatchChange& change) {
  std::vector<SlotWeight> rows = weights_of(state.slots, sgd, options.head, change);
  Weight weight;
  for (SlotWeight& row : rows) {
    if (row.removed) row.weight = removed_row_weight(sgd, options);
    (row.removed ? weight.removed : weight.moved) += row.weight;
  }
  weight.distance = stationary_distance(sgd, shift_of(sgd, state.constants, rows));
  return weight;
}

class LangevinSolver final : public Solver {
 public:
  LangevinSolver(std::string_view name, bool full_batches, const SolverOptions& options)
      : name_(name), full_batches_(full_batches), options_(options) {}

  std::string_view name() const noexcept override { return name_; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.model = blank_model(name_, options_, rows);
    LangevinState state;
    state.constants = choose_constants(full_batches_, rows.size(), rows.classes(), options_);
    state.slots.assign(rows.nodes().begin(), rows.nodes().end());
    fit.report = learn(fit.model, std::move(state), rows, lazy);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name_, after, change);
    LangevinState state = langevin_state(model);
    state.adaptive_requests |= change.adaptive;
    state.lazy_rows |= lazy.may_be_lazy();
    if (options_.bound == BoundRule::kCorrected && state.from_anywhere()) return go_on(model, state, after, lazy);
    const NoisySgd sgd = sgd_of(state, after);
    const LangevinAccountant accountant = accountant_of(state.constants, sgd, options_);
    const Weight own = weigh(state, sgd, options_, change);
    const double distance = state.last_epochs == 0
                                ? own.distance
                                : following_distance(sgd, state.distance, state.last_epochs, own.distance);
    StepReport report;
    // The epochs depend on data and constants alone, never on weights.
    if (const auto epochs = request_epochs(state.constants, accountant, distance, options_.epsilon)) {
      empty_departed(state.slots, after.nodes());
      state.distance = distance;
      state.last_epochs = *epochs;
      report = run(model, state, model.published, *epochs, after, lazy);
      report.residual_bound = accountant.epsilon(distance, *epochs, state.constants.sigma);
    } else {
      report = learn(model, std::move(state), after, lazy);
    }
    // Whether it trained again is private, so that both say what is true of the epochs.
    report.requests = Requests::independent;
    report.scope = Scope::this_release;
    report.terms.add({{"removed_weight", own.removed}, {"moved_weight", own.moved}, {"own_distance", own.distance}});
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name_, rows);
    return learn(model, langevin_state(model), rows, lazy);
  }

  bool has_place_for(const Model& model, const TrainingSet& rows) const override {
    return have_slots(langevin_state(model).slots, rows.nodes());
  }

  bool reads_moved_rows() const noexcept override { return true; }

  void require_state(const Model& model) const override { static_cast<void>(langevin_state(model)); }

 private:
  [[nodiscard]] NoisySgd sgd_of(const LangevinState& state, const TrainingSet& rows) const {
    if (rows.form().clip > 1) throw UsageError(name_ + " needs rows clipped to norm 1");
    return noisy_sgd_of(state.constants, options_, rows.classes());
  }

  StepReport learn(Model& model, LangevinState state, const TrainingSet& rows, const ApproximationError& lazy) const {
    empty_departed(state.slots, rows.nodes());
    state.distance = 0;
    state.last_epochs = 0;
    state.adaptive_requests = false;
    state.lazy_rows = lazy.may_be_lazy();
    StepReport report = run(model, state, Matrix::Zero(index_of(rows.features()), index_of(rows.classes())),
                            state.constants.epochs, rows, lazy);
    report.retrained = true;
    return report;
  }

  /// A release whatever came before: as many epochs as any start needs.
  StepReport go_on(Model& model, LangevinState state, const TrainingSet& rows, const ApproximationError& lazy) const {
    const NoisySgd sgd = sgd_of(state, rows);
    const auto epochs = epochs_from_anywhere(state.constants, sgd, options_);
    if (!epochs) return learn(model, std::move(state), rows, lazy);
    empty_departed(state.slots, rows.nodes());
    state.distance = sgd.diameter();
    state.last_epochs = *epochs;
    StepReport report = run(model, state, model.published, *epochs, rows, lazy);
    report.residual_bound =
        accountant_from_anywhere(sgd, options_).epsilon(state.distance, *epochs, state.constants.sigma);
    return report;
  }

  /// Runs the epochs and says what is so of a release from any start; the state holds the distance
  /// from which they start.
  StepReport run(Model& model, const LangevinState& state, Matrix weights, std::uint64_t epochs,
                 const TrainingSet& rows, const ApproximationError& lazy) const {
    const NoisySgd sgd = sgd_of(state, rows);
    require_resolvable(state.constants.sigma, state.constants.step_size, state.constants.radius);
    require_tails(state.constants, sgd, size_of(weights.size()), options_);
    RandomSource random = noise_source(options_, model.releases);
    const WatchedStep watched("training", epochs * sgd.batches(), "steps");
    run_epochs({sgd, rows, Batches(state.constants, state.slots, rows), options_.head, state.constants.sigma}, epochs,
               random, weights);
    release(model, std::move(weights), rows);
    keep_state(state, model);

    StepReport report = begin_report(options_, kStepNoise, options_.epsilon);
    report.reference =
        present_rows(options_) +
        " in their slots, none in the others; from W = 0, learning_epochs times over the batches in their "
        "order: W <- P_R(W - step_size (G / batch_rows + strong_convexity W) + sqrt(2 step_size) sigma xi), "
        "G the batch's sum of gradients of sum_c l(z_i.w_c, y_ic), xi fresh standard normal; published: the last W";
    if (options_.bound == BoundRule::kPaper) {
      report.requests = Requests::independent;
      report.claim = "as published: Chien et al., Theorem 3.2, and 3.11 for requests in sequence";
    } else {
      report.scope = Scope::all_later;
      if (!options_.standardized && !options_.data_order && !lazy.may_be_lazy()) certify(report, "T2", options_.delta);
    }
    report.passes = static_cast<int>(epochs);
    const NoisySgdConstants& constants = sgd.constants();
    report.terms.add({{"distance", state.distance}, {"epochs", static_cast<double>(epochs)}});
    report.terms.publish({{"learning_epochs", static_cast<double>(state.constants.epochs)},
                          {"sigma", state.constants.sigma},
                          {"step_size", constants.step_size},
                          {"radius", constants.radius},
                          {"gradient_bound", constants.gradient_bound},
                          {"smoothness", constants.smoothness},
                          {"strong_convexity", constants.strong_convexity},
                          {"slots", static_cast<double>(state.constants.slots)},
                          {"batch_rows", static_cast<double>(constants.batch_rows)},
                          {"batches", static_cast<double>(sgd.batches())},
                          {"order_key", static_cast<double>(state.constants.order_key)}});
    return report;
  }

  std::string name_;
  bool full_batches_;
  SolverOptions options_;
};

template <bool kFull>
std::unique_ptr<Solver> make(const SolverOptions& options, const SolverResources&) {
  return std::make_unique<LangevinSolver>(kFull ? kLangevinFull.name : kLangevin.name, kFull, options);
}

template <bool kFull>
const ParameterTable& parameters() {
  return langevin_parameters(kFull);
}

template <bool kFull>
UnlearningPlan plan(const PlannedTask& task) {
  return plan_langevin(kFull, task);
}

Reservation reserve_slots(const SolverOptions&, const Model& model, const TrainingSet& rows, MemoryBudget& budget) {
  const auto kept = model.state.arrays.find("slots");
  const std::size_t slots = std::max(rows.size(), kept == model.state.arrays.end() ? 0 : kept->second.size());
  return budget.reserve(slot_bytes(slots), "slots and batches of a model");
}

constexpr SolverKind kLinear{.trained = true,
                             .claims = true,
                             .over_slots = true,
                             .check_certificate = check_noisy_steps,
                             .check_release = check_noise_of_steps};

}  // namespace

constinit const SolverEntry kLangevin{
    .name = "langevin",
    .meaning =
        [] {
          return std::string(
              "Stochastic gradient descent with noise in every step; after a removal as many epochs more as its "
              "account asks for. Certified (T2), also for requests that depend on earlier models: each then runs the epochs "
              "that any start needs; fewer with " +
              option("non-adaptive") + ". For few features.");
        },
    .theorem = "T2",
    .linear = kLinear,
    .printed = true,
    .first_order = true,
    .parameters = parameters<false>,
    .make = make<false>,
    .reserve = reserve_slots,
    .check_line = check_noisy_line,
    .plan = plan<false>,
};

constinit const SolverEntry kLangevinFull{
    .name = "langevin-full",
    .meaning = [] { return std::string("As langevin, with the gradient of all rows in every step."); },
    .theorem = "T2",
    .linear = kLinear,
    .printed = true,
    .first_order = true,
    .parameters = parameters<true>,
    .make = make<true>,
    .reserve = reserve_slots,
    .check_line = check_noisy_line,
    .plan = plan<true>,
};

}  // namespace unweave
