// algorithms/solvers/objective_noise/network_scalegun.cpp - a Newton step of every tensor of a
// network.
#include "algorithms/solvers/objective_noise/network_scalegun.h"

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/learning/damped_step.h"
#include "algorithms/unlearning/noiseless_solver.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

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

struct TensorNewtonParameters : SgdPlan {
  double damping = 1e-4;
};

const ParametersOf<TensorNewtonParameters>& tensor_newton_parameters() {
  static const auto kTable = [] {
    ParametersOf<TensorNewtonParameters> table;
    table.for_networks();
    return add_sgd(table).add<&TensorNewtonParameters::damping>(
        "damping", Values::positive(), "added to the blocks of the Hessian (" + option("head", "mlp") + ")");
  }();
  return kTable;
}

class TensorNewton final : public NoiselessSolver {
 public:
  TensorNewton(std::string_view name, const SolverOptions& options, const TensorNewtonParameters& parameters,
               const SolverResources& resources)
      : NoiselessSolver(name, options, parameters, resources), damping_(parameters.damping) {}

  bool reads_moved_rows() const noexcept override { return true; }

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
    StepReport report = publish(model, weights, after);
    report.passes = progress.products + 1;
    report.steps = 1;
    report.terms.add({{"step_norm", step.norm()},
                      {"gradient_change", right.norm()},
                      {"unfinished_tensors", progress.unfinished},
                      {"removed_rows", static_cast<double>(change.removed.size())},
                      {"moved_rows", static_cast<double>(change.moved_from.size())}});
    return report;
  }

  void add_settings(StepReport& report) const override { report.terms.add("damping", damping_); }

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

  /// Solves the block of one tensor, into its place of `step`. Where it does not curve upward at
  /// once, the step is the change of the gradient itself.
  void solve(const Network& network, const Vector& weights, const TrainingSet& rows, const Tensor& tensor,
             const Vector& right, Vector& step, Progress& progress) const {
    constexpr double kTolerance = 1e-4;
    constexpr int kMostProducts = 200;
    const Vector own = right.segment(tensor.first, tensor.size);
    Vector whole = Vector::Zero(right.size());
    const auto block = [&](const Vector& direction) -> Vector {
      whole.segment(tensor.first, tensor.size) = direction;
      const Vector image = network.hessian_product({weights.data(), size_of(weights.size())}, ChosenRows(rows),
                                                   {whole.data(), size_of(whole.size())});
      return image.segment(tensor.first, tensor.size) / static_cast<double>(rows.size()) + damping_ * direction;
    };
    const CgResult cg = conjugate_gradient(block, own, kTolerance * own.norm(), kMostProducts);
    progress.products += cg.passes;
    progress.unfinished += cg.stuck || cg.passes == kMostProducts ? 1 : 0;
    step.segment(tensor.first, tensor.size) = cg.stuck && cg.passes == 1 ? own : cg.solution.col(0);
  }

  double damping_;
};

}  // namespace

const ParameterTable& network_scalegun_parameters() {
  return tensor_newton_parameters();
}

std::unique_ptr<Solver> make_network_scalegun(std::string_view name, const SolverOptions& options,
                                              const SolverResources& resources) {
  return std::make_unique<TensorNewton>(name, options, tensor_newton_parameters().read(options.parameters), resources);
}

Reservation reserve_network_scalegun(const SolverOptions& options, const TrainingSet& rows, MemoryBudget& budget) {
  return reserve_products(Network(shape_of(options, rows)).size(), rows.size(), budget);
}

}  // namespace unweave
