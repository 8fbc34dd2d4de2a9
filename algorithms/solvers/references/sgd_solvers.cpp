// algorithms/solvers/references/sgd_solvers.cpp - the references behind the interface of a solver.
#include "algorithms/solvers/references/sgd_solvers.h"

#include <algorithm>

#include "algorithms/learning/damped_step.h"
#include "algorithms/random/permutation.h"

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

  /// What learning a release adds to the objective, `linear` of sgd.h; empty: nothing.
  virtual Vector linear_term(std::uint64_t, const TrainingSet&) const { return {}; }

  /// What governs a batch is told when the model is learnt, too.
  virtual void add_settings(StepReport&) const {}

  StepReport release(Model& model, const Vector& weights, const TrainingSet& rows) const {
    model.published = as_published(shape_of(options_, rows), weights);
    model.trained_rows = rows.size();
    ++model.releases;
    StepReport report = uncertified(options_);
    report.terms["batch_rows"] = static_cast<double>(plan_.batch_rows);
    add_settings(report);
    if (options_.hidden.empty()) return report;
    report.terms["epochs"] = static_cast<double>(plan_.epochs);
    report.terms["step_size"] = plan_.step_size;
    report.terms["decay"] = plan_.decay;
    return report;
  }

  StepReport learn(Model& model, const TrainingSet& rows) const {
    const Vector linear = linear_term(model.releases, rows);
    const Learnt learnt = learn_weights(options_, rows, working_memory(), linear.size() > 0 ? &linear : nullptr);
    StepReport report = release(model, learnt.weights, rows);
    report.retrained = true;
    report.passes = learnt.passes;
    report.steps = learnt.steps;
    return report;
  }

  SolverOptions options_;
  SgdPlan plan_;

 private:
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
    return report;
  }

  void add_settings(StepReport& report) const override {
    report.terms["tune_epochs"] = static_cast<double>(tuning_.epochs);
    report.terms["tune_step_size"] = tuning_.step_size;
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
    report.terms["removed_rows"] = static_cast<double>(change.removed.size());
    report.terms["moved_rows"] = static_cast<double>(change.moved_from.size());
    return report;
  }

  void add_settings(StepReport& report) const override {
    report.terms["ascent_epochs"] = static_cast<double>(epochs_);
    report.terms["ascent_step_size"] = step_size_;
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

struct Tensor {
  Eigen::Index first = 0, size = 0;
};

/// The arrays that a learning library would keep apart.
std::vector<Tensor> tensors_of(const Network& network) {
  std::vector<Tensor> tensors;
  for (const Layer& layer : network.layers()) {
    const Eigen::Index first = index_of(layer.first), weights = index_of(layer.inputs * layer.outputs);
    tensors.push_back({first, weights});
    tensors.push_back({first + weights, index_of(layer.outputs)});
  }
  if (network.filtered()) tensors.push_back({index_of(network.filter()), index_of(network.shape().blocks)});
  return tensors;
}

class TensorNewton final : public Reference {
 public:
  explicit TensorNewton(const SolverOptions& options)
      : Reference("scalegun", options), damping_(positive_of(options, kDamping)) {}

  bool reads_moved_rows() const noexcept override { return true; }

  Reservation reserve(const Model&, const TrainingSet& rows, MemoryBudget& budget) const override {
    return reserve_products(Network(shape_of(options_, rows)).size(), rows.size(), budget);
  }

 protected:
  Vector linear_term(std::uint64_t release, const TrainingSet& rows) const override {
    RandomSource random = noise_source(options_, release);
    Vector noise(index_of(Network(shape_of(options_, rows)).size()));
    for (double& number : noise) number = options_.alpha * random.gaussian();
    return noise;
  }

  StepReport unlearn(Model& model, const TrainingSet& after, const BatchChange& change) const override {
    if (model.trained_rows == 0 || after.size() == 0) return learn(model, after);  // no mean over no rows
    const Network network(shape_of(options_, after));
    Vector weights = as_vector(model.published);
    const Vector right = gradient_change(network, weights, after, change);
    Vector step = Vector::Zero(weights.size());
    Progress progress;
    for (const Tensor& tensor : tensors_of(network)) solve(network, weights, after, tensor, right, step, progress);
    weights += step;
    require_finite(weights);
    StepReport report = release(model, weights, after);
    report.passes = progress.products + 1;
    report.steps = 1;
    report.terms["step_norm"] = step.norm();
    report.terms["gradient_change"] = right.norm();
    report.terms["unfinished_tensors"] = progress.unfinished;
    report.terms["removed_rows"] = static_cast<double>(change.removed.size());
    report.terms["moved_rows"] = static_cast<double>(change.moved_from.size());
    return report;
  }

  void add_settings(StepReport& report) const override { report.terms["damping"] = damping_; }

 private:
  struct Progress {
    int products = 0;
    int unfinished = 0;  // tensors
  };

  /// Mean gradient of the rows before the batch less that of the rows after it.
  static Vector gradient_change(const Network& network, const Vector& weights, const TrainingSet& after,
                                const BatchChange& change) {
    const auto sum = [&](const TrainingSet& rows) {
      return network.gradient({weights.data(), size_of(weights.size())}, ChosenRows(rows));
    };
    const Vector now = sum(after);
    const Vector before = now + sum(change.removed) + sum(change.moved_from) - sum(change.moved_to);
    return before / static_cast<double>(after.size() + change.removed.size()) - now / static_cast<double>(after.size());
  }

  /// Conjugate gradients on one tensor, into its place of `step`.
  void solve(const Network& network, const Vector& weights, const TrainingSet& rows, const Tensor& tensor,
             const Vector& right, Vector& step, Progress& progress) const {
    constexpr double kTolerance = 1e-4;
    constexpr int kMostProducts = 200;
    const auto own = [&](Vector& of) { return of.segment(tensor.first, tensor.size); };
    Vector residual = right.segment(tensor.first, tensor.size), direction = Vector::Zero(right.size());
    own(direction) = residual;
    double squares = residual.squaredNorm();
    const double enough = kTolerance * kTolerance * squares;
    for (int products = 0; squares > enough; ++products) {
      if (products == kMostProducts) {
        ++progress.unfinished;
        return;
      }
      Vector image = network.hessian_product({weights.data(), size_of(weights.size())}, ChosenRows(rows),
                                             {direction.data(), size_of(direction.size())});
      image = image / static_cast<double>(rows.size()) + damping_ * direction;
      ++progress.products;
      const double curvature = own(direction).dot(own(image));
      if (!(curvature > 0)) {
        if (products == 0) own(step) = residual;
        ++progress.unfinished;
        return;
      }
      own(step) += squares / curvature * own(direction);
      residual -= squares / curvature * own(image);
      const double next = residual.squaredNorm();
      own(direction) = residual + next / squares * own(direction);
      squares = next;
    }
  }

  double damping_;
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

std::unique_ptr<Solver> make_network_scalegun_solver(const SolverOptions& options) {
  return std::make_unique<TensorNewton>(options);
}

}  // namespace unweave
