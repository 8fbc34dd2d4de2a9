// algorithms/solvers/langevin/langevin_solver.cpp - the weights of what changed, the epochs that they ask for, and those epochs.
#include "algorithms/solvers/langevin/langevin_solver.h"

#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/sgd/slot_weights.h"
#include "algorithms/sgd/slots.h"
#include "algorithms/solvers/langevin/langevin_constants.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// What one batch of requests does to the distance of two runs.
struct Weight {
  double removed = 0;  ///< sums of the gradient changes of rows
  double moved = 0;
  double distance = 0;  ///< of the stationary laws
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
    fit.model.solver = name_;
    fit.model.head = options_.head;
    LangevinState& state = fit.model.langevin.emplace();
    state.constants = choose_constants(full_batches_, rows.size(), rows.classes(), options_);
    state.slots.assign(rows.nodes().begin(), rows.nodes().end());
    fit.report = learn(fit.model, rows, lazy);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name_, after, change);
    LangevinState& state = state_of(model);
    const NoisySgd sgd = sgd_of(state, after);
    const LangevinAccountant accountant = accountant_of(state.constants, sgd, options_);
    const Weight own = weigh(state, sgd, options_, change);
    const double distance = state.last_epochs == 0
                                ? own.distance
                                : following_distance(sgd, state.distance, state.last_epochs, own.distance);
    StepReport report;
    // Of data and constants alone, never of weights.
    if (const auto epochs = request_epochs(state.constants, accountant, distance, options_.epsilon)) {
      empty_departed(state.slots, after.nodes());
      state.distance = distance;
      state.last_epochs = *epochs;
      state.adaptive_requests |= change.adaptive;
      state.lazy_rows |= lazy.may_be_lazy();
      report = release(model, model.published, *epochs, after);
      report.residual_bound = accountant.epsilon(distance, *epochs, state.constants.sigma);
    } else {
      report = learn(model, after, lazy);
    }
    report.terms["removed_weight"] = own.removed;
    report.terms["moved_weight"] = own.moved;
    report.terms["own_distance"] = own.distance;
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name_, rows);
    return learn(model, rows, lazy);
  }

  bool reads_moved_rows() const noexcept override { return true; }

  Reservation reserve(const Model& model, const TrainingSet& rows, MemoryBudget& budget) const override {
    const std::size_t slots = std::max(rows.size(), model.langevin ? model.langevin->slots.size() : 0);
    return budget.reserve(slot_bytes(slots), "slots and batches of a model");
  }

 private:
  static LangevinState& state_of(Model& model) {
    if (!model.langevin) throw UsageError("the model holds no slots; train it again");
    return *model.langevin;
  }

  [[nodiscard]] NoisySgd sgd_of(const LangevinState& state, const TrainingSet& rows) const {
    if (rows.form().clip > 1) throw UsageError(name_ + " needs rows clipped to norm 1");
    return noisy_sgd_of(state.constants, options_, rows.classes());
  }

  StepReport learn(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const {
    LangevinState& state = state_of(model);
    empty_departed(state.slots, rows.nodes());
    state.distance = 0;
    state.last_epochs = 0;
    state.adaptive_requests = false;
    state.lazy_rows = lazy.may_be_lazy();
    StepReport report =
        release(model, Matrix::Zero(index_of(rows.features()), index_of(rows.classes())), state.constants.epochs, rows);
    report.retrained = true;
    return report;
  }

  /// Runs the epochs and says what is so of every release; the state holds the distance from which they start.
  StepReport release(Model& model, Matrix weights, std::uint64_t epochs, const TrainingSet& rows) const {
    const LangevinState& state = state_of(model);
    const NoisySgd sgd = sgd_of(state, rows);
    require_resolvable(state.constants.sigma, state.constants.step_size, state.constants.radius);
    RandomSource random = noise_source(options_, model.releases);
    const WatchedStep watched("training", epochs * sgd.batches(), "steps");
    run_epochs({sgd, rows, Batches(state.constants, state.slots, rows), options_.head, state.constants.sigma}, epochs,
               random, weights);
    model.published = std::move(weights);
    model.trained_rows = rows.size();
    ++model.releases;

    StepReport report;
    report.epsilon = options_.epsilon;
    report.delta = options_.delta;
    report.budget = options_.epsilon;
    report.for_tests = options_.seed.has_value();
    report.certified = !options_.standardized && !options_.data_order && !state.lazy_rows && !state.adaptive_requests;
    if (report.certified) report.claim = "T2";
    if (options_.bound == BoundRule::kPaper) {
      report.certified = false;
      report.claim = "as published: Chien et al., Theorem 3.2, and 3.11 for requests in sequence";
    }
    report.passes = static_cast<int>(epochs);
    const NoisySgdConstants& constants = sgd.constants();
    report.terms = {{"distance", state.distance},
                    {"epochs", static_cast<double>(epochs)},
                    {"learning_epochs", static_cast<double>(state.constants.epochs)},
                    {"sigma", state.constants.sigma},
                    {"step_size", constants.step_size},
                    {"radius", constants.radius},
                    {"gradient_bound", constants.gradient_bound},
                    {"smoothness", constants.smoothness},
                    {"strong_convexity", constants.strong_convexity},
                    {"slots", static_cast<double>(state.constants.slots)},
                    {"batch_rows", static_cast<double>(constants.batch_rows)},
                    {"batches", static_cast<double>(sgd.batches())},
                    {"order_key", static_cast<double>(state.constants.order_key)}};
    return report;
  }

  std::string name_;
  bool full_batches_;
  SolverOptions options_;
};

}  // namespace

std::unique_ptr<Solver> make_langevin_solver(const SolverOptions& options) {
  return std::make_unique<LangevinSolver>("langevin", false, options);
}

std::unique_ptr<Solver> make_langevin_full_solver(const SolverOptions& options) {
  return std::make_unique<LangevinSolver>("langevin-full", true, options);
}

}  // namespace unweave
