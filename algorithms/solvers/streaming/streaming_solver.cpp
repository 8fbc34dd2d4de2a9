// algorithms/solvers/streaming/streaming_solver.cpp - directions, steps and when to learn again.
#include "algorithms/solvers/streaming/streaming_solver.h"

#include <algorithm>
#include <cmath>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/learning/damped_step.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/solvers/streaming/streaming_state.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "algorithms/unlearning/noiseless_learning.h"
#include "algorithms/unlearning/release.h"
#include "engine/resources/clock.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

enum class Forgotten { all, batch, sum };
enum class Retention { none, whole, without_start };

struct StreamingParameters : SgdPlan {
  std::uint64_t rounds = 20;
  double step_constant = 2.5;
  std::optional<std::uint64_t> projection;
  double kappa = 1;
  std::optional<double> amplification;
  Forgotten mode = Forgotten::sum;
  Retention retention = Retention::whole;
  bool noise = false;
};

const ParametersOf<StreamingParameters>& streaming_parameters() {
  using P = StreamingParameters;
  static const auto kTable = [] {
    ParametersOf<P> table;
    table.add<&P::rounds>("rounds", Values::whole(1), "T: batches until it learns again")
        .add<&P::step_constant>("step-constant", Values::positive(), "K: the step is sqrt(|w_0|) / (K sqrt T)")
        .add<&P::projection>("projection", Values::whole(1, kMostProjected),
                             "k: dimensions of the normal densities; 8, or 16 from 2000 rows a class on")
        .add<&P::kappa>("kappa", Values::at_least(0), "weight of forgetting over retention; 0: retention alone")
        .add<&P::amplification>("amplification", Values::at_least(0), "a fixed factor of forgetting instead of kappa")
        .add<&P::mode>("mode", Values::one_of({0, 1, 2}),
                       "forgotten rows: 0 all, kept as they were; 1 the batch's; 2 a running sum")
        .add<&P::retention>("retention", Values::one_of({0, 1, 2}),
                            "0: none; 1: the gradient of the rows kept; 2: without G_0")
        .add<&P::noise>("noise", Values::flag(), "1: the noise that the paper's Theorem 2 asks for");
    return add_sgd(table);
  }();
  return kTable;
}

/// (n_0 G_0 - S_t) / n_t + lambda w_0. n_t > 0.
Vector retention_gradient(const StreamingState& state, double lambda) {
  return (state.gradient - state.left) / state.rows + lambda * state.start;
}

class Streaming final : public Solver {
 public:
  Streaming(const SolverOptions& options, const SolverResources& resources)
      : options_(options), own_(streaming_parameters().read(options.parameters)), memory_(resources.memory) {}

  std::string_view name() const noexcept override { return kStreaming.name; }

  Fit fit(const TrainingSet& rows, const ApproximationError&) const override {
    Fit fit;
    fit.model = blank_model(kStreaming.name, options_, rows);
    fit.report = learn(fit.model, rows);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError&) const override {
    check_model(model, kStreaming.name, after, change);
    const NetworkShape shape = shape_of(options_, after);
    const Network network(shape);
    StreamingState state(network, model.state);
    if (state.round >= rounds() || after.size() == 0) return learn(model, after);
    if (change.removed.size() + change.moved_from.size() == 0) return publish(model, state, {}, after);

    const Vector fresh = state.follow(network, change, own_.mode == Forgotten::all);
    const Direction direction = direction_of(state, forgetting_of(network, state, change, fresh));
    Vector weights = state.start;
    const double length = direction.sum.norm();
    if (length > 0) weights -= step_of(state) / length * direction.sum;
    if (own_.noise) add_noise(state, model.releases, weights);
    model.published = as_published(shape, weights);
    StepReport report = publish(model, state, direction, after);
    report.terms.add("moved_rows", static_cast<double>(change.moved_from.size()));
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError&) const override {
    check_shape(model, kStreaming.name, rows);
    return learn(model, rows);
  }

  bool reads_moved_rows() const noexcept override { return true; }

  void require_state(const Model& model) const override {
    static_cast<void>(StreamingState(Network(shape_of(model)), model.state));
  }

 private:
  struct Direction {
    Vector sum;
    double retention = 0;  // norms; forgetting before its factor
    double forgetting = 0;
    double amplification = 0;
  };

  [[nodiscard]] double rounds() const noexcept { return static_cast<double>(own_.rounds); }

  [[nodiscard]] double step_of(const StreamingState& state) const {
    return std::sqrt(state.start.norm()) / (own_.step_constant * std::sqrt(rounds()));
  }

  [[nodiscard]] std::size_t dimensions_for(const TrainingSet& rows) const {
    if (own_.projection) return *own_.projection;
    std::vector<std::size_t> counts(rows.classes());
    for (const ClassId label : rows.labels()) ++counts[label];
    return *std::min_element(counts.begin(), counts.end()) >= 2000 ? 16 : 8;
  }

  /// The mean over the rows that the mode takes; `fresh` is the sum over those of this batch.
  [[nodiscard]] Vector forgetting_of(const Network& network, const StreamingState& state, const BatchChange& change,
                                     const Vector& fresh) const {
    const auto mean = [](const Vector& sum, double rows) -> Vector { return sum / std::max(1.0, rows); };
    if (own_.mode == Forgotten::sum) return mean(state.shift, state.removed_rows);
    if (own_.mode == Forgotten::batch) return mean(fresh, static_cast<double>(change.removed.size()));
    const TrainingSet kept = state.kept_rows(change.removed.features(), change.removed.form());
    return mean(state.shift_gradient(network, kept), state.removed_rows);
  }

  [[nodiscard]] Direction direction_of(const StreamingState& state, const Vector& forgetting) const {
    Direction direction;
    const Vector whole = retention_gradient(state, options_.lambda);
    direction.retention = whole.norm();
    direction.forgetting = forgetting.norm();
    if (own_.amplification)
      direction.amplification = *own_.amplification;
    else if (direction.forgetting > 0)
      direction.amplification = own_.kappa * direction.retention / direction.forgetting;
    direction.sum = direction.amplification * forgetting;
    if (own_.retention == Retention::whole) direction.sum += whole;
    if (own_.retention == Retention::without_start) direction.sum += whole - state.gradient / state.rows;
    return direction;
  }

  /// Its scale is printed as a variance; in the mechanism that it is taken from it is the standard
  /// deviation.
  void add_noise(const StreamingState& state, std::uint64_t release, Vector& weights) const {
    const double scale = state.start.norm() * std::sqrt(2 * std::log(1.25 / options_.delta)) / options_.epsilon;
    RandomSource random = noise_source(options_, release);
    for (Eigen::Index i = 0; i < weights.size(); ++i) weights[i] += scale * random.gaussian();
  }

  StepReport learn(Model& model, const TrainingSet& rows) const {
    const Learnt learnt = learn_weights(options_, own_, rows, memory_);
    const NetworkShape shape = shape_of(options_, rows);
    const StreamingState state(Network(shape), rows, learnt.weights, dimensions_for(rows));
    model.published = as_published(shape, learnt.weights);
    StepReport report = publish(model, state, {}, rows);
    report.retrained = true;
    report.passes = learnt.passes + 2;
    report.steps = learnt.steps;
    return report;
  }

  StepReport publish(Model& model, const StreamingState& state, const Direction& direction,
                     const TrainingSet& rows) const {
    model.state = state.stored();
    release(model, std::move(model.published), rows);
    StepReport report = uncertified(options_);
    report.terms.add({{"rounds", rounds()},
                      {"round", state.round},
                      {"step_constant", own_.step_constant},
                      {"step", step_of(state)},
                      {"projection", static_cast<double>(state.projection.dimensions())},
                      {"kappa", own_.kappa},
                      {"amplification", direction.amplification},
                      {"mode", static_cast<double>(own_.mode)},
                      {"retention", static_cast<double>(own_.retention)},
                      {"noise", own_.noise ? 1 : 0},
                      {"retention_norm", direction.retention},
                      {"forgetting_norm", direction.forgetting},
                      {"distance_to_start", (as_vector(model.published) - state.start).norm()},
                      {"start_norm", state.start.norm()},
                      {"removed_rows", state.removed_rows}});
    if (!options_.hidden.empty())
      report.terms.add({{"epochs", static_cast<double>(own_.epochs)},
                        {"batch_rows", static_cast<double>(own_.batch_rows)},
                        {"step_size", own_.step_size},
                        {"decay", own_.decay}});
    // The objective is lambda-strongly convex: |w_0 - w*| <= |its gradient at w_0| / lambda.
    if (options_.hidden.empty() && state.rows > 0)
      report.terms.add("start_distance_bound", retention_gradient(state, options_.lambda).norm() / options_.lambda);
    return report;
  }

  SolverOptions options_;
  StreamingParameters own_;
  std::size_t memory_;
};

std::unique_ptr<Solver> make(const SolverOptions& options, const SolverResources& resources) {
  return std::make_unique<Streaming>(options, resources);
}

/// Nothing is claimed; what can be wrong is the length of the step.
void check_step(const CheckedModel& model, Statements& say) {
  const Vector published = as_vector(model.model.published);
  const auto start = model.model.state.arrays.find("start");
  if (start == model.model.state.arrays.end() || start->second.size() != size_of(published.size()))
    return say.wrong("the model file holds no starting weights in the shape of the published ones");
  const double distance = (Eigen::Map<const Vector>(start->second.data(), published.size()) - published).norm();
  say.near("the distance to the starting weights", model.term("distance_to_start"), distance, 1e-9);
}

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

/// The Newton step of a network, with the mean of the losses in place of their sum.
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
  check_shape(model, kStreaming.name, rows);
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
  add("retrained", [&] {
    return as_published(shape,
                        learn_weights(options, streaming_parameters().read(options.parameters), rows, memory).weights);
  });
  return references;
}

constinit const SolverEntry kStreaming{
    .name = "streaming",
    .meaning =
        [] {
          return std::string(
              "Forgets from statistics of the classes, without the removed rows. Nothing is claimed: it is there to be compared with.");
        },
    .linear = {.trained = true, .check_certificate = check_step},
    .networks = {.trained = true, .check_certificate = check_step},
    .parameters = []() -> const ParameterTable& { return streaming_parameters(); },
    .make = make,
    .reserve = reserve_minimisation,
    .references = streaming_references,
};

}  // namespace unweave
