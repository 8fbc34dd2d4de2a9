// algorithms/solvers/references/reference_solvers.cpp - a batch under each of the two habits.
#include "algorithms/solvers/references/reference_solvers.h"

#include <algorithm>

#include "algorithms/random/permutation.h"
#include "algorithms/unlearning/noiseless_solver.h"

namespace unweave {
namespace {

constexpr std::uint64_t kTuneKey = 3, kAscentKey = 4;  // public

struct FinetuneParameters : SgdPlan {
  std::uint64_t tune_epochs = 5;
  double tune_step_size = 0.05;
};

const ParametersOf<FinetuneParameters>& finetune_parameters() {
  using P = FinetuneParameters;
  static const auto kTable = [] {
    ParametersOf<P> table;
    return add_sgd(table)
        .add<&P::tune_epochs>("tune-epochs", Values::whole(1), "epochs over the present rows for a batch of requests")
        .add<&P::tune_step_size>("tune-step-size", Values::positive(), "step of these");
  }();
  return kTable;
}

class Finetune final : public NoiselessSolver {
 public:
  Finetune(const SolverOptions& options, const FinetuneParameters& parameters, const SolverResources& resources)
      : NoiselessSolver(kFinetune.name, options, parameters, resources),
        tuning_{parameters.tune_epochs, parameters.batch_rows, parameters.tune_step_size, 1} {}

 protected:
  StepReport unlearn(Model& model, const TrainingSet& after, const BatchChange&) const override {
    Vector weights = as_vector(model.published);
    // Another order for every release.
    run_sgd(Network(shape_of(options_, after)), after, tuning_, options_.lambda, random_key(kTuneKey, model.releases),
            weights);
    StepReport report = publish(model, weights, after);
    report.passes = static_cast<int>(std::min<std::uint64_t>(tuning_.epochs, 1 << 30));
    return report;
  }

  void add_settings(StepReport& report) const override {
    report.terms.add("tune_epochs", static_cast<double>(tuning_.epochs));
    report.terms.add("tune_step_size", tuning_.step_size);
  }

 private:
  SgdPlan tuning_;
};

struct NeggradParameters : SgdPlan {
  std::uint64_t ascent_epochs = 1;
  double ascent_step_size = 0.01;
};

const ParametersOf<NeggradParameters>& neggrad_parameters() {
  using P = NeggradParameters;
  static const auto kTable = [] {
    ParametersOf<P> table;
    return add_sgd(table)
        .add<&P::ascent_epochs>("ascent-epochs", Values::whole(1), "epochs over the rows of a batch of requests")
        .add<&P::ascent_step_size>("ascent-step-size", Values::positive(), "step of these");
  }();
  return kTable;
}

class Neggrad final : public NoiselessSolver {
 public:
  Neggrad(const SolverOptions& options, const NeggradParameters& parameters, const SolverResources& resources)
      : NoiselessSolver(kNeggrad.name, options, parameters, resources),
        epochs_(parameters.ascent_epochs),
        step_size_(parameters.ascent_step_size) {}

  bool reads_moved_rows() const noexcept override { return true; }

 protected:
  StepReport unlearn(Model& model, const TrainingSet& after, const BatchChange& change) const override {
    Vector weights = as_vector(model.published);
    for (std::uint64_t epoch = 0; epoch < epochs_; ++epoch)
      ascend(change, random_key(random_key(kAscentKey, model.releases), epoch), weights);
    StepReport report = publish(model, weights, after);
    report.terms.add("removed_rows", static_cast<double>(change.removed.size()));
    report.terms.add("moved_rows", static_cast<double>(change.moved_from.size()));
    return report;
  }

  void add_settings(StepReport& report) const override {
    report.terms.add("ascent_epochs", static_cast<double>(epochs_));
    report.terms.add("ascent_step_size", step_size_);
  }

 private:
  void ascend(const BatchChange& change, std::uint64_t key, Vector& weights) const {
    const Network network(shape_of(options_, change.removed));
    const std::size_t removed = change.removed.size(), items = removed + change.moved_from.size();
    if (items == 0) return;
    const Permutation order(items, key);
    for (std::size_t first = 0; first < items; first += plan_.batch_rows) {
      std::vector<std::uint32_t> gone, moved;
      for (std::size_t i = first; i < std::min<std::size_t>(items, first + plan_.batch_rows); ++i) {
        const std::uint64_t item = order.at(i);
        if (item < removed)
          gone.push_back(static_cast<std::uint32_t>(item));
        else
          moved.push_back(static_cast<std::uint32_t>(item - removed));
      }
      const std::span<const double> at(weights.data(), size_of(weights.size()));
      const Vector rise = network.gradient(at, ChosenRows(change.removed, gone)) +
                          network.gradient(at, ChosenRows(change.moved_from, moved)) -
                          network.gradient(at, ChosenRows(change.moved_to, moved));
      weights += step_size_ / static_cast<double>(plan_.batch_rows) * rise;
    }
    require_finite(weights);
  }

  std::uint64_t epochs_;
  double step_size_;
};

std::unique_ptr<Solver> make_finetune(const SolverOptions& options, const SolverResources& resources) {
  return std::make_unique<Finetune>(options, finetune_parameters().read(options.parameters), resources);
}

std::unique_ptr<Solver> make_neggrad(const SolverOptions& options, const SolverResources& resources) {
  return std::make_unique<Neggrad>(options, neggrad_parameters().read(options.parameters), resources);
}

}  // namespace

constinit const SolverEntry kFinetune{
    .name = "finetune",
    .meaning =
        [] {
          return std::string(
              "A few epochs over the rows that are left. Nothing is claimed: it is there to be compared with.");
        },
    .linear = {.trained = true, .over_ranks = true},
    .networks = {.trained = true},
    .parameters = []() -> const ParameterTable& { return finetune_parameters(); },
    .make = make_finetune,
    .reserve = reserve_minimisation,
};

constinit const SolverEntry kNeggrad{
    .name = "neggrad",
    .meaning =
        [] {
          return std::string(
              "Gradient ascent on the rows that were removed. Nothing is claimed: it is there to be compared with.");
        },
    .linear = {.trained = true, .over_ranks = true},
    .networks = {.trained = true},
    .parameters = []() -> const ParameterTable& { return neggrad_parameters(); },
    .make = make_neggrad,
    .reserve = reserve_minimisation,
};

}  // namespace unweave
