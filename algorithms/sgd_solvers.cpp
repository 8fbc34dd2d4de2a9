// algorithms/sgd_solvers.cpp - the references behind the interface of a solver.
#include "algorithms/sgd_solvers.h"

#include <algorithm>

#include "algorithms/permutation.h"

namespace unweave {
namespace {

constexpr std::uint64_t kTuneKey = 3, kAscentKey = 4;  // public

/// Learns, and says so of every release; what a batch does is left to those below.
class Reference : public Solver {
 public:
  Reference(std::string_view name, const SolverOptions& options)
      : options_(options), plan_(sgd_plan(options)), name_(name) {}

  std::string_view name() const noexcept override { return name_; }

  Fit fit(const TrainingSet& rows, const ApproximationError&) const override {
    Fit fit;
    fit.model = blank_model(name_, options_, rows);
    fit.report = learn(fit.model, rows);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError&) const override {
    check_model(model, name_, after, change);
    return unlearn(model, after, change);
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError&) const override {
    check_shape(model, name_, rows);
    return learn(model, rows);
  }

  bool reads_moved_rows() const noexcept override { return false; }

 protected:
  virtual StepReport unlearn(Model& model, const TrainingSet& after, const BatchChange&) const {
    return learn(model, after);
  }

  StepReport release(Model& model, const Vector& weights, const TrainingSet& rows) const {
    model.published = as_published(shape_of(options_, rows), weights);
    model.trained_rows = rows.size();
    ++model.releases;
    StepReport report = uncertified(options_);
    report.terms["batch_rows"] = static_cast<double>(plan_.batch_rows);
    if (options_.hidden.empty()) return report;
    report.terms["epochs"] = static_cast<double>(plan_.epochs);
    report.terms["step_size"] = plan_.step_size;
    report.terms["decay"] = plan_.decay;
    return report;
  }

  SolverOptions options_;
  SgdPlan plan_;

 private:
  StepReport learn(Model& model, const TrainingSet& rows) const {
    const Learnt learnt = learn_weights(options_, rows, working_memory());
    StepReport report = release(model, learnt.weights, rows);
    report.retrained = true;
    report.passes = learnt.passes;
    report.steps = learnt.steps;
    return report;
  }

  std::string name_;
};

class Finetune final : public Reference {
 public:
  explicit Finetune(const SolverOptions& options)
      : Reference("finetune", options),
        tuning_{count_of(options, kTuneEpochs), plan_.batch_rows, positive_of(options, kTuneStepSize), 1} {}

 protected:
  StepReport unlearn(Model& model, const TrainingSet& after, const BatchChange&) const override {
    Vector weights = as_vector(model.published);
    // Another order for every release.
    run_sgd(Network(shape_of(options_, after)), after, tuning_, options_.lambda, random_key(kTuneKey, model.releases),
            weights);
    StepReport report = release(model, weights, after);
    report.passes = static_cast<int>(std::min<std::uint64_t>(tuning_.epochs, 1 << 30));
    report.terms["tune_epochs"] = static_cast<double>(tuning_.epochs);
    report.terms["tune_step_size"] = tuning_.step_size;
    return report;
  }

 private:
  SgdPlan tuning_;
};

class Neggrad final : public Reference {
 public:
  explicit Neggrad(const SolverOptions& options)
      : Reference("neggrad", options),
        epochs_(count_of(options, kAscentEpochs)),
        step_size_(positive_of(options, kAscentStepSize)) {}

  bool reads_moved_rows() const noexcept override { return true; }

 protected:
  StepReport unlearn(Model& model, const TrainingSet& after, const BatchChange& change) const override {
    Vector weights = as_vector(model.published);
    for (std::uint64_t epoch = 0; epoch < epochs_; ++epoch)
      ascend(change, random_key(random_key(kAscentKey, model.releases), epoch), weights);
    StepReport report = release(model, weights, after);
    report.terms["ascent_epochs"] = static_cast<double>(epochs_);
    report.terms["ascent_step_size"] = step_size_;
    report.terms["removed_rows"] = static_cast<double>(change.removed.size());
    report.terms["moved_rows"] = static_cast<double>(change.moved_from.size());
    return report;
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

}  // namespace

std::unique_ptr<Solver> make_network_retrain_solver(const SolverOptions& options) {
  return std::make_unique<Reference>("retrain", options);
}

std::unique_ptr<Solver> make_finetune_solver(const SolverOptions& options) {
  return std::make_unique<Finetune>(options);
}

std::unique_ptr<Solver> make_neggrad_solver(const SolverOptions& options) {
  return std::make_unique<Neggrad>(options);
}

}  // namespace unweave
