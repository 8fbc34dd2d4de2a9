// algorithms/solvers/rewind/rewind_solver.cpp - learning that keeps iterates, the account of a
// request, and the epochs it costs.
#include "algorithms/solvers/rewind/rewind_solver.h"

#include <algorithm>

#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/solvers/rewind/rewind_state.h"
#include "algorithms/unlearning/planned_task.h"
#include "algorithms/unlearning/release.h"
#include "engine/resources/watcher.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr Mechanism kRunNoise{"discrete Gaussian noise on the last iterate of projected SGD over slots",
                              Adjacency::empty_slots,
                              "iterates of the original run: they show removed rows without noise, and stay private"};

/// Epochs without noise: batches in turn, or drawn ones from `random`.
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
  RewindSolver(std::string_view name, bool descend, const SolverOptions& options, const SolverResources& resources)
      : name_(name), descend_(descend), options_(options), folder_(resources.folder) {}

  std::string_view name() const noexcept override { return name_; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.model = blank_model(name_, options_, rows);
    RewindState state;
    state.constants = choose_rewind_constants(descend_, rows.size(), rows.features(), rows.classes(), options_);
    state.slots.assign(rows.nodes().begin(), rows.nodes().end());
    fit.report = learn(fit.model, state, rows, lazy);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name_, after, change);
    RewindState state = rewind_state(model);
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
      Matrix weights = read_iterate(folder_, state, descend_ ? 0 : *epochs, model.published);
      RandomSource random = noise_source(options_, model.releases);
      const WatchedStep watched("training", *epochs * account.sgd().batches(), "steps");
      Epochs(account, state, after, options_.head).run(*epochs, random, weights);
      report = publish(model, state, account, weights, account.residual(all, *epochs), random, after);
      report.terms.add("distance_bound", account.distance(all, *epochs));
    } else {
      report = learn(model, state, after, lazy);
    }
    report.terms.add({{"removed_weight", removed}, {"moved_weight", moved}});
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name_, rows);
    RewindState state = rewind_state(model);
    return learn(model, state, rows, lazy);
  }

  bool has_place_for(const Model& model, const TrainingSet& rows) const override {
    return have_slots(rewind_state(model).slots, rows.nodes());
  }

  bool reads_moved_rows() const noexcept override { return true; }

  void require_state(const Model& model) const override { static_cast<void>(rewind_state(model)); }

  void tidy(const Model& model) const override {
    const RewindState state = rewind_state(model);
    for (const Entry& entry : list_folder(folder_)) {
      const std::string name = entry.name();
      if (std::none_of(state.kept.begin(), state.kept.end(),
                       [&](std::uint64_t epochs) { return name == iterate_name(state.run, epochs); }))
        remove_entry(entry.path);
    }
  }

 private:
  [[nodiscard]] RewindAccount account_of(const RewindState& state, const TrainingSet& rows) const {
    if (rows.form().clip > 1) throw UsageError(name_ + " needs rows clipped to norm 1");
    return {descend_, state.constants, rows.features(), rows.classes(), options_};
  }

  /// Those that suffice and have an iterate to start from; none: train again. A function of data
  /// and constants alone.
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
    if (!folder_.empty()) state.kept = descend_ ? std::vector<std::uint64_t>{0} : account.kept_epochs();

    RandomSource random = noise_source(options_, model.releases);
    const Epochs epochs(account, state, rows, options_.head);
    Matrix weights = Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
    std::uint64_t left = state.constants.epochs;
    const WatchedStep watched("training", left * account.sgd().batches(), "steps");
    for (auto kept = state.kept.rbegin(); kept != state.kept.rend(); left = *kept++) {
      epochs.run(left - *kept, random, weights);
      write_iterate(folder_, state, *kept, weights);
    }
    epochs.run(left, random, weights);
    StepReport report = publish(model, state, account, weights, 0, random, rows);
    report.retrained = true;
    return report;
  }

  /// Publishes `weights`, at most `residual` from those trained again, and says what is so of every
  /// release.
  StepReport publish(Model& model, const RewindState& state, const RewindAccount& account, Matrix& weights,
                     double residual, RandomSource& random, const TrainingSet& rows) const {
    const OutputNoise& noise = account.noise();
    release_with_noise(model, weights, noise, random, rows);
    keep_state(state, model);

    const RewindConstants& constants = state.constants;
    const NoisySgdConstants& run = account.sgd().constants();
    const bool learnt = state.last_epochs == 0, in_turn = constants.sampling == Sampling::kInTurn;
    const auto real = [](std::uint64_t count) { return static_cast<double>(count); };
    StepReport report = begin_report(options_, kRunNoise, noise.distance);
    report.reference =
        present_rows(options_) +
        " in their slots, none in the others; from W = 0, learning_epochs times so many steps as there are batches: "
        "W <- P_R(W - step_size (G / batch_rows + strong_convexity W)), G the sum of gradients of the rows' losses over a "
        "batch: sampling 0, the public batches in their order; else batch_rows slots drawn uniformly; published: the last "
        "W rounded to the grid, plus fresh discrete Gaussian noise of variance sigma^2 on every coordinate";
    // Drawn batches are secret noise that an adaptive request may depend on; batches in turn are
    // public.
    report.requests = in_turn ? Requests::any : Requests::independent;
    report.residual_bound = residual;
    report.passes = static_cast<int>(learnt ? constants.epochs : state.last_epochs);
    report.terms.add(
        {{"epochs", real(learnt ? constants.epochs : state.last_epochs)}, {"iterates", real(state.kept.size())}});
    report.terms.publish({{"learning_epochs", real(constants.epochs)},
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
                          {"retention", constants.retention}});
    if (options_.bound == BoundRule::kPaper) {
      report.claim = descend_ ? "as published: Mu and Klabjan, Theorem 4; rows that moved are not in its bound"
                              : "as published: Mu and Klabjan, Theorem 2; rows that moved are not in its bound";
      return report;
    }
    const bool independent = in_turn || !state.adaptive_requests;
    if (!options_.standardized && !options_.data_order && !state.lazy_rows && independent &&
        residual <= noise.distance) {
      certify(report, "T4", in_turn ? least_delta(noise, options_.epsilon) : options_.delta,
              in_turn ? Curve::gaussian : Curve::point);
      if (in_turn) compose(report, noise);
    }
    return report;
  }

  std::string name_;
  bool descend_;
  SolverOptions options_;
  std::filesystem::path folder_;
};

template <bool kDescending>
std::unique_ptr<Solver> make(const SolverOptions& options, const SolverResources& resources) {
  return std::make_unique<RewindSolver>(kDescending ? kDescend.name : kRewind.name, kDescending, options, resources);
}

template <bool kDescending>
void check_line(const PublicLine& line) {
  check_run_line(kDescending, line);
}

template <bool kDescending>
UnlearningPlan plan(const PlannedTask& task) {
  return plan_rewind(kDescending, task);
}

const ParameterTable& parameters() {
  return rewind_parameters();
}

Reservation reserve_slots(const SolverOptions&, const Model& model, const TrainingSet& rows, MemoryBudget& budget) {
  const auto kept = model.state.arrays.find("slots");
  const std::size_t slots = std::max(rows.size(), kept == model.state.arrays.end() ? 0 : kept->second.size());
  return budget.reserve(slot_bytes(slots) + slots * 4 * sizeof(double), "slots, weights and batches of a model");
}

constexpr SolverKind kLinear{.trained = true,
                             .claims = true,
                             .over_slots = true,
                             .check_certificate = check_run_noise,
                             .check_release = check_run};

}  // namespace

constinit const SolverEntry kRewind{
    .name = "rewind",
    .meaning =
        [] {
          return std::string(
              "Stochastic gradient descent that keeps iterates on the disk; a removal goes back to one of them and "
              "descends again. Certified (T4), also for requests chosen after looking at earlier models.");
        },
    .theorem = "T4",
    .linear = kLinear,
    .printed = true,
    .first_order = true,
    .parameters = parameters,
    .make = make<false>,
    .reserve = reserve_slots,
    .check_line = check_line<false>,
    .plan = plan<false>,
};

constinit const SolverEntry kDescend{
    .name = "descend",
    .meaning =
        [] { return std::string("As rewind, but a removal goes on from the last iterate instead of going back."); },
    .theorem = "T4",
    .linear = kLinear,
    .printed = true,
    .first_order = true,
    .parameters = parameters,
    .make = make<true>,
    .reserve = reserve_slots,
    .check_line = check_line<true>,
    .plan = plan<true>,
};

}  // namespace unweave
