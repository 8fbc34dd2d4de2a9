// algorithms/solvers/replay/replay_solver.cpp - one release whatever came before: train from the
// public start, publish.
#include "algorithms/solvers/replay/replay_solver.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/solvers/replay/replay_training.h"
#include "algorithms/solvers/replay/whole_network.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "algorithms/unlearning/checks/public_line.h"
#include "algorithms/unlearning/release.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

constexpr Mechanism kExactTraining{
    "a network trained from a public start, every product of matrices exact", Adjacency::any_change, {}};
constexpr double kMostSteps = 0x1p24, kMostBatches = 0x1p16, kMostKey = 0x1p53;
/// Outside, moments could leave the numbers that float64 holds with all their bits.
constexpr double kLeastLambda = 1e-30, kMostLambda = 1;

const ParametersOf<ReplayPlan>& replay_parameters() {
  static const auto kTable =
      ParametersOf<ReplayPlan>()
          .add<&ReplayPlan::steps>("steps", Values::whole(1, kMostSteps), "steps of the training")
          .add<&ReplayPlan::batches>("batches", Values::whole(1, kMostBatches),
                                     "parts of the rows, by the ids of their nodes, of which a step takes one")
          .add<&ReplayPlan::rate>("rate", Values::fraction(), "length of a step of Adam")
          .add<&ReplayPlan::key>("key", Values::whole(0, kMostKey),
                                 "public number that the start and the parts follow from");
  return kTable;
}

Network network_of(const SolverOptions& options, const TrainingSet& rows) {
  const NetworkShape shape = shape_of(options, rows);
  require_exact_shape(shape, rows.size());
  return Network(shape);
}

Reservation reserve_replay(const SolverOptions& options, const Model&, const TrainingSet& rows, MemoryBudget& budget) {
  const Network network = network_of(options, rows);
  std::size_t workers = active_threads();
  while (workers > 1 && replay_bytes(network, rows, workers) > budget.available()) --workers;
  return budget.reserve(replay_bytes(network, rows, workers),
                        "the training of " + std::to_string(network.size()) + " weights");
}

class Replay final : public Solver {
 public:
  Replay(const SolverOptions& options, const ReplayPlan& plan, const SolverResources& resources)
      : options_(options), plan_(plan), memory_(resources.memory) {}

  std::string_view name() const noexcept override { return kReplay.name; }
  bool reads_moved_rows() const noexcept override { return false; }
  bool reads_nodes() const noexcept override { return plan_.batches > 1; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.model = blank_model(name(), options_, rows);
    fit.report = publish(fit.model, rows, lazy);
    if (fit.report.flush_needed) fit.model = Model{};
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name(), after, change);
    return publish(model, after, lazy);
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name(), rows);
    return publish(model, rows, lazy);
  }

 private:
  StepReport publish(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const {
    StepReport report = begin_report(options_, kExactTraining);
    report.epsilon = report.delta = 0;
    report.for_tests = false;  // nothing is drawn
    report.scope = Scope::every_release;
    report.reference = present_rows(options_) +
                       "; published: the weights that the program of T0' makes of them from its public start, bit for "
                       "bit";
    if (!lazy.exact()) {  // stale rows are a function of what was removed
      report.flush_needed = true;
      return report;
    }
    const Network network = network_of(options_, rows);
    const Vector weights = train_exactly(network, rows, plan_, options_.lambda, choose_cut(network, rows, memory_));
    report.retrained = true;
    report.passes = static_cast<int>((plan_.steps + plan_.batches - 1) / plan_.batches);
    report.terms.publish({{"steps", static_cast<double>(plan_.steps)},
                          {"batches", static_cast<double>(plan_.batches)},
                          {"rate", plan_.rate},
                          {"key", static_cast<double>(plan_.key)}});
    release(model, as_published(network.shape(), weights), rows);
    if (!options_.standardized) certify(report, kReplay.theorem, 0, Curve::point);
    return report;
  }

  SolverOptions options_;
  ReplayPlan plan_;
  std::size_t memory_;
};

std::unique_ptr<Solver> make_replay(const SolverOptions& options, const SolverResources& resources) {
  const ReplayPlan plan = replay_parameters().read(options.parameters);
  if (!(options.lambda >= kLeastLambda && options.lambda <= kMostLambda))
    throw UsageError(option("lambda") + " of " + std::string(kReplay.name) + " must lie from 1e-30 to 1");
  if (plan.batches > 1 && options.data_order)
    throw UsageError(
        "batches go by the ids of nodes, and this store holds the nodes in an order that was computed from its graph; "
        "leave batches away, or import with " +
        option("order", "none"));
  require_exact_shape({options.head, 1, 1, options.hidden, options.activation, options.blocks}, 0);
  return std::make_unique<Replay>(options, plan, resources);
}

/// Every number is a public constant, and every weight a multiple of the grid.
void check_replay_certificate(const CheckedModel& model, Statements& say) {
  const ReplayPlan plan = replay_parameters().read(model.options.parameters);
  say.near("steps", model.term("steps"), static_cast<double>(plan.steps), 0);
  say.near("batches", model.term("batches"), static_cast<double>(plan.batches), 0);
  say.near("rate", model.term("rate"), plan.rate, 0);
  say.near("key", model.term("key"), static_cast<double>(plan.key), 0);
  say.same("budget", model.certificate.at("budget"), 0.0);
  if (model.certified()) say.same("the delta reached", model.certificate.at("delta").at("reached"), 0.0);
  const Matrix steps = model.model.published * kWeightUnit;
  for (Eigen::Index k = 0; k < steps.size(); ++k)
    if (!(std::abs(steps.data()[k]) <= kLargestWeight) || steps.data()[k] != std::rint(steps.data()[k]))
      return say.wrong("weight " + std::to_string(k) + " is not a multiple of 2^-18 up to 16");
}

/// Training again must give the same bits.
bool check_replay_release(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget, Statements& say) {
  const Reservation memory = reserve_replay(model.options, model.model, rows, budget);
  const Network network = network_of(model.options, rows);
  const ReplayCut cut = choose_cut(network, rows, static_cast<std::size_t>(memory.bytes()));
  const Vector again =
      train_exactly(network, rows, replay_parameters().read(model.options.parameters), model.options.lambda, cut);
  const Matrix& published = model.model.published;
  Eigen::Index differ = published.size() == again.size() ? 0 : published.size();
  for (Eigen::Index k = 0; differ == 0 ? k < again.size() : false; ++k)
    if (std::bit_cast<std::uint64_t>(again[k]) != std::bit_cast<std::uint64_t>(published.data()[k])) ++differ;
  if (differ > 0)
    say.wrong(std::to_string(differ) + " of " + std::to_string(published.size()) +
              " weights differ from those that training again gives");
  return true;
}

void check_replay_line(const PublicLine& line) {
  GivenParameters given;
  if (const auto at = line.json().find("parameters"); at != line.json().end()) given = at->get<GivenParameters>();
  ReplayPlan plan;
  try {
    require_parameters(kReplay.name, replay_parameters(), given, true);
    plan = replay_parameters().read(given);
  } catch (const UsageError& error) {
    throw CheckError(error.message());
  }
  PublicLine::require_near("steps", line.term("steps"), static_cast<double>(plan.steps), 0);
  PublicLine::require_near("batches", line.term("batches"), static_cast<double>(plan.batches), 0);
  PublicLine::require_near("rate", line.term("rate"), plan.rate, 0);
  PublicLine::require_near("key", line.term("key"), static_cast<double>(plan.key), 0);
  const auto& constants = line.json().at("constants");
  if (constants.at("activation").at("value") != "relu" || constants.at("hidden").at("value").empty())
    throw CheckError("it is no network of relu");
  if (line.json().at("budget") != 0.0) throw CheckError("the budget is not 0");
  if (line.options().delta != 0 || line.reached() != 0) throw CheckError("delta is not 0");
}

}  // namespace

constinit const SolverEntry kReplay{
    .name = "replay",
    .meaning =
        [] {
          return std::string(
              "Trains a network of ReLU again for every release, from a public start, by matrix products that are "
              "exact: the weights are a function of the rows that are there, to the bit, whatever was before. "
              "Certified (theorem T0') with epsilon and delta 0 for every kind of request, without noise. A release "
              "takes a training.");
        },
    .theorem = "T0'",
    .networks = {.trained = true,
                 .claims = true,
                 .over_ranks = true,
                 .check_certificate = check_replay_certificate,
                 .check_release = check_replay_release},
    .coupled_heads = false,
    .noisy = false,
    .intercept = false,
    .canonical = true,
    .any_unit = true,
    .activation = Activation::kRelu,
    .filters = false,
    .parameters = []() -> const ParameterTable& { return replay_parameters(); },
    .make = make_replay,
    .reserve = reserve_replay,
    .check_line = check_replay_line,
};

}  // namespace unweave
