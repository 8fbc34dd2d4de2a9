// algorithms/solvers/newton_step/newton_step_network.cpp - a damped step of a network from the end
// of a run of SGD over slots.
#include <cmath>

#include "algorithms/learning/damped_step.h"
#include "algorithms/sgd/sgd_run.h"
#include "algorithms/solvers/newton_step/newton_step_solver.h"
#include "algorithms/unlearning/release.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

class NetworkStep final : public Solver {
 public:
  NetworkStep(std::string_view name, bool hessian_before, const SolverOptions& options,
              const NewtonStepParameters& parameters)
      : name_(name),
        hessian_before_(hessian_before),
        options_(options),
        own_(parameters),
        damping_(parameters.damping.value_or(kNetworkDamping)) {
    if (!(damping_ > 0)) throw UsageError(option("set", "damping") + " must be above 0 with " + option("head", "mlp"));
    static_cast<void>(choose_run({options.head, 1, 1, options.hidden, options.activation}, 1, own_, options));
  }

  std::string_view name() const noexcept override { return name_; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    if (!lazy.exact()) {
      fit.report = refuse();
      return fit;
    }
    fit.model = blank_model(name_, options_, rows);
    fit.report = learn(fit.model, {rows.nodes().begin(), rows.nodes().end()}, rows);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name_, after, change);
    if (!lazy.exact()) return refuse();
    std::vector<NodeId> slots = slots_left(model, after);
    if (after.size() == 0) return learn(model, std::move(slots), after);  // no mean over no rows

    const Network network(shape_of(options_, after));
    const Vector weights = as_vector(model.published);
    const double lambda = options_.lambda;
    const auto count = static_cast<double>(hessian_before_ ? model.trained_rows : after.size());
    const auto gradient = [&](const TrainingSet& rows) {
      return network.gradient({weights.data(), size_of(weights.size())}, ChosenRows(rows));
    };
    Vector right = gradient(change.removed) + gradient(change.moved_from) - gradient(change.moved_to);
    right = (right + lambda * static_cast<double>(change.removed.size()) * weights) / count;
    const auto hessian = [&](const Vector& direction) -> Vector {
      const auto product = [&](const TrainingSet& rows) {
        return network.hessian_product({weights.data(), size_of(weights.size())}, ChosenRows(rows),
                                       {direction.data(), size_of(direction.size())});
      };
      Vector sum = product(after);
      if (hessian_before_) sum += product(change.removed) + product(change.moved_from) - product(change.moved_to);
      return sum / count + lambda * direction;
    };
    const DampedStep step = solve_damped(hessian, right, damping_);
    const Vector moved = weights + step.step;
    if (!moved.allFinite()) throw UsageError("the step has left the finite numbers; raise " + option("set", "damping"));
    StepReport report = publish(model, moved, std::move(slots), after);
    report.passes = step.products + 1;
    report.steps = 1;
    report.terms.add({{"damping", step.damping},
                      {"step_norm", step.step.norm()},
                      {"gradient_change", right.norm()},
                      {"solver_error", step.missing},
                      {"removed_rows", static_cast<double>(change.removed.size())},
                      {"moved_rows", static_cast<double>(change.moved_from.size())}});
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name_, rows);
    if (!lazy.exact()) return refuse();
    return learn(model, slots_left(model, rows), rows);
  }

  bool has_place_for(const Model& model, const TrainingSet& rows) const override {
    return have_slots(model.state.slots("nodes"), rows.nodes());
  }

  bool reads_moved_rows() const noexcept override { return true; }

  void require_state(const Model& model) const override { static_cast<void>(model.state.slots("nodes")); }

 private:
  [[nodiscard]] StepReport refuse() const {
    StepReport report = uncertified(options_);
    report.flush_needed = true;
    return report;
  }

  /// Throws UsageError for a row without slot.
  static std::vector<NodeId> slots_left(const Model& model, const TrainingSet& rows) {
    std::vector<NodeId> slots = model.state.slots("nodes");
    empty_departed(slots, rows.nodes());
    static_cast<void>(slots_of(slots, rows.nodes()));
    return slots;
  }

  StepReport learn(Model& model, std::vector<NodeId> slots, const TrainingSet& rows) const {
    const Network network(shape_of(options_, rows));
    const SgdSchedule schedule(choose_run(network.shape(), slots.size(), own_, options_));
    const Vector weights = end_of_run(SgdRun(network, rows, schedule, slots, options_.lambda)).weights;
    StepReport report = publish(model, weights, std::move(slots), rows);
    report.retrained = true;
    report.passes = static_cast<int>(schedule.constants().epochs);
    return report;
  }

  StepReport publish(Model& model, const Vector& weights, std::vector<NodeId> slots, const TrainingSet& rows) const {
    const NetworkShape shape = shape_of(options_, rows);
    const SgdConstants run = choose_run(shape, slots.size(), own_, options_);
    release(model, as_published(shape, weights), rows);
    model.state.arrays["nodes"].assign(slots.begin(), slots.end());
    StepReport report = uncertified(options_);
    report.terms.add({{"damping", damping_},
                      {"epochs", static_cast<double>(run.epochs)},
                      {"batch_rows", static_cast<double>(run.batch_rows)},
                      {"step_size", run.step_size},
                      {"decay", run.decay}});
    return report;
  }

  std::string name_;
  bool hessian_before_;
  SolverOptions options_;
  NewtonStepParameters own_;
  double damping_;
};

}  // namespace

std::unique_ptr<Solver> make_network_step(std::string_view name, bool hessian_before, const SolverOptions& options,
                                          const NewtonStepParameters& parameters) {
  return std::make_unique<NetworkStep>(name, hessian_before, options, parameters);
}

Reservation reserve_network_step(const SolverOptions& options, const TrainingSet& rows, MemoryBudget& budget) {
  return reserve_products(Network(shape_of(options, rows)).size(), rows.size(), budget);
}

}  // namespace unweave
