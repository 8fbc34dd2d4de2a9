// algorithms/solvers/rewind/rewind_solver.cpp - learning that keeps iterates, the account of a request, and the epochs it costs.
#include "algorithms/solvers/rewind/rewind_solver.h"

#include <algorithm>

#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/solvers/rewind/rewind_state.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// Without noise: batches in turn, or drawn ones from `random`.
class Epochs {
 public:
  Epochs(const RewindAccount& account, const RewindState& state, const TrainingSet& rows, Head head)
      : sgd_(account.sgd()), rows_(rows), head_(head) {
    if (state.constants.sampling == Sampling::kInTurn)
      batches_.emplace(state.constants, state.slots, rows);
    else
      row_of_slot_ = rows_of_slots(state.constants, state.slots, rows);
  }
  void run(std::uint64_t epochs, RandomSource& random, Matrix& weights) const {
    if (batches_)
      run_epochs({sgd_, rows_, *batches_, head_, 0}, epochs, random, weights);
    else
      run_drawn_epochs({sgd_, rows_, row_of_slot_, head_}, epochs, random, weights);
  }

 private:
  const NoisySgd& sgd_;
  const TrainingSet& rows_;
  Head head_;
  std::optional<Batches> batches_;
  std::vector<std::uint32_t> row_of_slot_;
};

class RewindSolver final : public Solver {
 public:
  RewindSolver(std::string_view name, bool descend, const SolverOptions& options)
      : name_(name), descend_(descend), options_(options) {}

  std::string_view name() const noexcept override { return name_; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.model.solver = name_;
    fit.model.head = options_.head;
    RewindState state;
    state.constants = choose_rewind_constants(descend_, rows.size(), rows.features(), rows.classes(), options_);
    state.slots.assign(rows.nodes().begin(), rows.nodes().end());
    fit.report = learn(fit.model, state, rows, lazy);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name_, after, change);
    RewindState state = state_of(model);
    const RewindAccount account = account_of(state, after);
    StepReport report;
    double moved = 0, removed = 0;
    for (const SlotWeight& row : weights_of(state.slots, account.sgd(), options_.head, change)) {
      double& weight = state.weights[row.slot];
      // An empty slot differs from any row by at most one gradient, two rows by at most two.
      weight = row.removed ? row.weight : std::min(weight + row.weight, account.sgd().replaced_row_weight());
      (row.removed ? removed : moved) += row.weight;
    }
    empty_departed(state.slots, after.nodes());
    const RunChange all = account.change_of(state.changes());
    if (const std::optional<std::uint64_t> epochs = epochs_for(state, account, all)) {
      state.last_epochs = *epochs;
      state.adaptive_requests |= change.adaptive;
      state.lazy_rows |= lazy.may_be_lazy();
      Matrix weights = read_iterate(folder(), state, descend_ ? 0 : *epochs, model.published);
      RandomSource random = noise_source(options_, model.releases);
      const WatchedStep watched("training", *epochs * account.sgd().batches(), "steps");
      Epochs(account, state, after, options_.head).run(*epochs, random, weights);
      report = release(model, state, account, weights, account.residual(all, *epochs), random, after);
      report.terms["distance_bound"] = account.distance(all, *epochs);
    } else {
      report = learn(model, state, after, lazy);
    }
    report.terms["removed_weight"] = removed;
    report.terms["moved_weight"] = moved;
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name_, rows);
    RewindState state = state_of(model);
    return learn(model, state, rows, lazy);
  }

  bool reads_moved_rows() const noexcept override { return true; }

  Reservation reserve(const Model& model, const TrainingSet& rows, MemoryBudget& budget) const override {
    const auto slots = model.state.arrays.find("slots");
    const std::size_t most = std::max(rows.size(), slots == model.state.arrays.end() ? 0 : slots->second.size());
    return budget.reserve(slot_bytes(most) + most * 4 * sizeof(double), "slots, weights and batches of a model");
  }

  void tidy(const Model& model) const override {
    std::error_code error;
    if (!std::filesystem::is_directory(folder(), error)) return;
    const RewindState state = state_of(model);
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      const std::string name = entry.path().filename();
      if (std::none_of(state.kept.begin(), state.kept.end(),
                       [&](std::uint64_t epochs) { return name == iterate_name(state.run, epochs); }))
        std::filesystem::remove(entry.path(), error);
      if (error) throw_system_error("remove", entry.path(), error.value());
    }
  }

 private:
  [[nodiscard]] RewindAccount account_of(const RewindState& state, const TrainingSet& rows) const {
    if (rows.form().clip > 1) throw UsageError(name_ + " needs rows clipped to norm 1");
    return {descend_, state.constants, rows.features(), rows.classes(), options_};
  }

  /// Those that suffice and have an iterate to start from; none: train again. A function of data and constants alone.
  [[nodiscard]] std::optional<std::uint64_t> epochs_for(const RewindState& state, const RewindAccount& account,
                                                        const RunChange& change) const {
    const std::optional<std::uint64_t> fewest = account.fewest_epochs(change);
    if (!fewest || state.kept.empty()) return std::nullopt;
    if (descend_) return fewest;
    const auto kept = std::lower_bound(state.kept.begin(), state.kept.end(), *fewest);
    return kept == state.kept.end() ? std::nullopt : std::optional(*kept);
  }

  StepReport learn(Model& model, RewindState& state, const TrainingSet& rows, const ApproximationError& lazy) const {
    const RewindAccount account = account_of(state, rows);
    empty_departed(state.slots, rows.nodes());
    state.weights.assign(state.slots.size(), 0.0);
    state.last_epochs = 0;
    state.adaptive_requests = false;
    state.lazy_rows = lazy.may_be_lazy();
    state.run = RandomSource::from_system().bits() >> 12;
    state.kept.clear();
    if (!folder().empty()) state.kept = descend_ ? std::vector<std::uint64_t>{0} : account.kept_epochs();

    RandomSource random = noise_source(options_, model.releases);
    const Epochs epochs(account, state, rows, options_.head);
    Matrix weights = Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
    std::uint64_t left = state.constants.epochs;
    const WatchedStep watched("training", left * account.sgd().batches(), "steps");
    for (auto kept = state.kept.rbegin(); kept != state.kept.rend(); left = *kept++) {
      epochs.run(left - *kept, random, weights);
      write_iterate(folder(), state, *kept, weights);
    }
    epochs.run(left, random, weights);
    StepReport report = release(model, state, account, weights, 0, random, rows);
    report.retrained = true;
    return report;
  }

  /// Publishes `weights`, at most `residual` from those trained again, and says what is so of every release.
  StepReport release(Model& model, const RewindState& state, const RewindAccount& account, Matrix& weights,
                     double residual, RandomSource& random, const TrainingSet& rows) const {
    const OutputNoise& noise = account.noise();
    model.published = publish(weights, noise, random);
    model.trained_rows = rows.size();
    ++model.releases;
    keep_state(state, model);

    const RewindConstants& constants = state.constants;
    const NoisySgdConstants& run = account.sgd().constants();
    const bool learnt = state.last_epochs == 0;
    const auto real = [](std::uint64_t count) { return static_cast<double>(count); };
    StepReport report;
    report.epsilon = options_.epsilon;
    report.delta = options_.delta;
    report.budget = noise.distance;
    report.residual_bound = residual;
    report.for_tests = options_.seed.has_value();
    report.passes = static_cast<int>(learnt ? constants.epochs : state.last_epochs);
    report.terms = {{"epochs", real(learnt ? constants.epochs : state.last_epochs)},
                    {"learning_epochs", real(constants.epochs)},
                    {"distance", noise.distance},
                    {"sensitivity", noise.sensitivity},
                    {"sigma", noise.sigma},
                    {"grid", noise.grid},
                    {"rounding", account.rounding()},
                    {"step_size", run.step_size},
                    {"radius", run.radius},
                    {"gradient_bound", run.gradient_bound},
                    {"smoothness", run.smoothness},
                    {"strong_convexity", run.strong_convexity},
                    {"slots", real(constants.slots)},
                    {"batch_rows", real(run.batch_rows)},
                    {"batches", real(account.sgd().batches())},
                    {"order_key", real(constants.order_key)},
                    {"sampling", static_cast<double>(constants.sampling)},
                    {"capacity", constants.capacity},
                    {"retention", constants.retention},
                    {"iterates", real(state.kept.size())}};
    if (options_.bound == BoundRule::kPaper) {
      report.claim = descend_ ? "as published: Mu and Klabjan, Theorem 4; rows that moved are not in its bound"
                              : "as published: Mu and Klabjan, Theorem 2; rows that moved are not in its bound";
      return report;
    }
    // Drawn batches are secret noise that an adaptive request may depend on; batches in turn are public.
    const bool independent = constants.sampling == Sampling::kInTurn || !state.adaptive_requests;
    report.certified =
        !options_.standardized && !options_.data_order && !state.lazy_rows && independent && residual <= noise.distance;
    if (report.certified) report.claim = "T4";
    return report;
  }

  std::string name_;
  bool descend_;
  SolverOptions options_;
};

}  // namespace

std::unique_ptr<Solver> make_rewind_solver(const SolverOptions& options) {
  return std::make_unique<RewindSolver>("rewind", false, options);
}

std::unique_ptr<Solver> make_descend_solver(const SolverOptions& options) {
  return std::make_unique<RewindSolver>("descend", true, options);
}

}  // namespace unweave
