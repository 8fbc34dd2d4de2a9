// algorithms/solvers/streaming/streaming_solver.cpp - directions, steps and when to learn again.
#include "algorithms/solvers/streaming/streaming_solver.h"

#include <algorithm>
#include <cmath>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/learning/damped_step.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/solvers/streaming/streaming_state.h"
#include "engine/resources/clock.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::string_view kName = "streaming";

enum class Forgotten { all, batch, sum };
enum class Retention { none, whole, without_start };

/// (n_0 G_0 - S_t) / n_t + lambda w_0. n_t > 0.
Vector retention_gradient(const StreamingState& state, double lambda) {
  return (state.gradient - state.left) / state.rows + lambda * state.start;
}

class Streaming final : public Solver {
 public:
  explicit Streaming(const SolverOptions& options)
      : options_(options),
        rounds_(static_cast<double>(count_of(options, kRounds))),
        step_constant_(positive_of(options, kStepConstant)),
        kappa_(parameter(options, kKappa).value_or(1)),
        mode_(static_cast<Forgotten>(choice_of(kMode, 2))),
        retention_(static_cast<Retention>(choice_of(kRetention, 2))),
        noise_(choice_of(kNoise, 1) == 1) {
    if (!(kappa_ >= 0)) throw UsageError("--set kappa must be at least 0");
    if (const auto fixed = parameter(options, kAmplification); fixed && !(*fixed >= 0))
      throw UsageError("--set amplification must be at least 0");
    if (parameter(options, kProjection) && count_of(options, kProjection) > kMostProjected)
      throw UsageError("--set projection must be at most " + std::to_string(kMostProjected));
    static_cast<void>(sgd_plan(options));
  }

  std::string_view name() const noexcept override { return kName; }

  Fit fit(const TrainingSet& rows, const ApproximationError&) const override {
    Fit fit;
    fit.model = blank_model(kName, options_, rows);
    fit.report = learn(fit.model, rows);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError&) const override {
    check_model(model, kName, after, change);
    const NetworkShape shape = shape_of(options_, after);
    const Network network(shape);
    StreamingState state(network, model.state);
    if (state.round >= rounds_ || after.size() == 0) return learn(model, after);
    if (change.removed.size() + change.moved_from.size() == 0) return release(model, state, {});

    const Vector fresh = state.follow(network, change, mode_ == Forgotten::all);
    const Direction direction = direction_of(state, forgetting_of(network, state, change, fresh));
    Vector weights = state.start;
    const double length = direction.sum.norm();
    if (length > 0) weights -= step_of(state) / length * direction.sum;
    if (noise_) add_noise(state, model.releases, weights);
    model.published = as_published(shape, weights);
    model.trained_rows = after.size();
    StepReport report = release(model, state, direction);
    report.terms["moved_rows"] = static_cast<double>(change.moved_from.size());
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError&) const override {
    check_shape(model, kName, rows);
    return learn(model, rows);
  }

  bool reads_moved_rows() const noexcept override { return true; }

 private:
  struct Direction {
    Vector sum;
    double retention = 0;  // norms; forgetting before its factor
    double forgetting = 0;
    double amplification = 0;
  };

  [[nodiscard]] int choice_of(const Parameter& of, int most) const {
    const double value = parameter(options_, of).value_or(0);
    if (!(value >= 0 && value <= most) || value != std::floor(value))
      throw UsageError("--set " + std::string(of.name) + " must be a whole number from 0 to " + std::to_string(most));
    return static_cast<int>(value);
  }

  [[nodiscard]] double step_of(const StreamingState& state) const {
    return std::sqrt(state.start.norm()) / (step_constant_ * std::sqrt(rounds_));
  }

  [[nodiscard]] std::size_t dimensions_for(const TrainingSet& rows) const {
    if (parameter(options_, kProjection)) return count_of(options_, kProjection);
    std::vector<std::size_t> counts(rows.classes());
    for (const ClassId label : rows.labels()) ++counts[label];
    return *std::min_element(counts.begin(), counts.end()) >= 2000 ? 16 : 8;
  }

  /// The mean over the rows that the mode takes; `fresh` is the sum over those of this batch.
  [[nodiscard]] Vector forgetting_of(const Network& network, const StreamingState& state, const BatchChange& change,
                                     const Vector& fresh) const {
    const auto mean = [](const Vector& sum, double rows) -> Vector { return sum / std::max(1.0, rows); };
    if (mode_ == Forgotten::sum) return mean(state.shift, state.removed_rows);
    if (mode_ == Forgotten::batch) return mean(fresh, static_cast<double>(change.removed.size()));
    const TrainingSet kept = state.kept_rows(change.removed.features(), change.removed.form());
    return mean(state.shift_gradient(network, kept), state.removed_rows);
  }

  [[nodiscard]] Direction direction_of(const StreamingState& state, const Vector& forgetting) const {
    Direction direction;
    const Vector whole = retention_gradient(state, options_.lambda);
    direction.retention = whole.norm();
    direction.forgetting = forgetting.norm();
    if (const auto fixed = parameter(options_, kAmplification))
      direction.amplification = *fixed;
    else if (direction.forgetting > 0)
      direction.amplification = kappa_ * direction.retention / direction.forgetting;
    direction.sum = direction.amplification * forgetting;
    if (retention_ == Retention::whole) direction.sum += whole;
    if (retention_ == Retention::without_start) direction.sum += whole - state.gradient / state.rows;
    return direction;
  }

  /// Its scale is printed as a variance; in the mechanism that it is taken from it is the standard deviation.
  void add_noise(const StreamingState& state, std::uint64_t release, Vector& weights) const {
    const double scale = state.start.norm() * std::sqrt(2 * std::log(1.25 / options_.delta)) / options_.epsilon;
    RandomSource random = noise_source(options_, release);
    for (Eigen::Index i = 0; i < weights.size(); ++i) weights[i] += scale * random.gaussian();
  }

  StepReport learn(Model& model, const TrainingSet& rows) const {
    const Learnt learnt = learn_weights(options_, rows, working_memory());
    const NetworkShape shape = shape_of(options_, rows);
    const StreamingState state(Network(shape), rows, learnt.weights, dimensions_for(rows));
    model.published = as_published(shape, learnt.weights);
    model.trained_rows = rows.size();
    StepReport report = release(model, state, {});
    report.retrained = true;
    report.passes = learnt.passes + 2;
    report.steps = learnt.steps;
    return report;
  }

  StepReport release(Model& model, const StreamingState& state, const Direction& direction) const {
    model.state = state.stored();
    ++model.releases;
    StepReport report = uncertified(options_);
    report.for_tests = options_.seed.has_value();
    report.terms = {{"rounds", rounds_},
                    {"round", state.round},
                    {"step_constant", step_constant_},
                    {"step", step_of(state)},
                    {"projection", static_cast<double>(state.projection.dimensions())},
                    {"kappa", kappa_},
                    {"amplification", direction.amplification},
                    {"mode", static_cast<double>(mode_)},
                    {"retention", static_cast<double>(retention_)},
                    {"noise", noise_ ? 1 : 0},
                    {"retention_norm", direction.retention},
                    {"forgetting_norm", direction.forgetting},
                    {"distance_to_start", (as_vector(model.published) - state.start).norm()},
                    {"start_norm", state.start.norm()},
                    {"removed_rows", state.removed_rows}};
    if (!options_.hidden.empty()) {
      const SgdPlan plan = sgd_plan(options_);
      report.terms.insert({{"epochs", static_cast<double>(plan.epochs)},
                           {"batch_rows", static_cast<double>(plan.batch_rows)},
                           {"step_size", plan.step_size},
                           {"decay", plan.decay}});
    }
    // The objective is lambda-strongly convex: |w_0 - w*| <= |its gradient at w_0| / lambda.
    if (options_.hidden.empty() && state.rows > 0)
      report.terms["start_distance_bound"] = retention_gradient(state, options_.lambda).norm() / options_.lambda;
    return report;
  }

  SolverOptions options_;
  double rounds_;
  double step_constant_;
  double kappa_;
  Forgotten mode_;
  Retention retention_;
  bool noise_;
};

}  // namespace

std::unique_ptr<Solver> make_streaming_solver(const SolverOptions& options) {
  return std::make_unique<Streaming>(options);
}

namespace {

/// H^-1 of the gradient of the objective, both at `start`; conjugate gradients to 1e-4.
Matrix newton_step(const Objective& objective, const Matrix& start, std::size_t memory) {
  const HessianOperator hessian(objective, start);
  const auto apply = [&](const Matrix& direction, std::span<const std::size_t> classes) {
    return hessian.apply(direction, classes);
  };
  const Matrix right = gradient_with_error(objective, start).value;
  Vector tolerance = 1e-4 * right.colwise().norm().transpose();
  if (couples_classes(objective.head)) tolerance = Vector::Constant(1, tolerance.norm());
  constexpr int kMostPasses = 500;
  const std::size_t bytes = working_memory_within(objective.rows, objective.classes, memory).preconditioner;
  return conjugate_gradient(apply, *make_preconditioner(hessian, bytes), right, tolerance, kMostPasses).solution;
}

/// The same of a network, with the mean of the losses in place of their sum.
Matrix newton_step(const Network& network, const TrainingSet& rows, double lambda, const Matrix& start) {
  const std::span<const double> at(start.data(), size_of(start.size()));
  const auto count = static_cast<double>(rows.size());
  const auto hessian = [&](const Vector& v) -> Vector {
    return network.hessian_product(at, ChosenRows(rows), {v.data(), size_of(v.size())}) / count + lambda * v;
  };
  const Vector right = network.gradient(at, ChosenRows(rows)) / count + lambda * as_vector(start);
  return as_published(network.shape(), solve_damped(hessian, right, kNetworkDamping).step);
}

}  // namespace

std::vector<NamedWeights> streaming_references(const Model& model, const SolverOptions& options,
                                               const TrainingSet& rows, std::size_t memory) {
  check_shape(model, kName, rows);
  const NetworkShape shape = shape_of(model);
  const Network network(shape);
  const Matrix start = as_published(shape, StreamingState(network, model.state).start);
  std::vector<NamedWeights> references{{"no-op", start}};
  const auto add = [&](const char* name, const auto& make) {
    const Clock::time_point before = Clock::now();
    Matrix weights = make();
    references.push_back({name, std::move(weights), seconds_since(before)});
  };
  if (rows.size() > 0) {
    const double mu = strong_convexity(options.lambda, rows.size());
    add("newton-step", [&]() -> Matrix {
      if (!shape.hidden.empty()) return start - newton_step(network, rows, options.lambda, start);
      return start - newton_step({rows.rows(), rows.classes(), shape.head, mu, nullptr}, start, memory);
    });
  }
  add("retrained", [&] { return as_published(shape, learn_weights(options, rows, memory).weights); });
  return references;
}

}  // namespace unweave
