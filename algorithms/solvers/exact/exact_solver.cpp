// algorithms/solvers/exact/exact_solver.cpp - one release whatever came before: minimise, prove
// every rounding, publish.
#include "algorithms/solvers/exact/exact_solver.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/learning/dual_preconditioner.h"
#include "algorithms/learning/no_model_error.h"
#include "algorithms/learning/whole_preconditioner.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/solvers/exact/careful_descent.h"
#include "algorithms/solvers/exact/exact_gradient.h"
#include "algorithms/solvers/exact/exact_minimiser.h"
#include "algorithms/solvers/exact/exact_slopes.h"
#include "algorithms/solvers/exact/least_squares_sums.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "algorithms/unlearning/checks/public_line.h"
#include "algorithms/unlearning/release.h"
#include "engine/resources/memory_shares.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

constexpr Mechanism kCorrectRounding{
    "the minimiser rounded to the grid, every rounding proved", Adjacency::any_change, {}};
constexpr double kAnyWorth =
    std::numeric_limits<double>::infinity();  // the strongest preconditioner that a session may make
constexpr int kLeastGrid = 8, kMostGrid = 40;

struct ExactParameters {
  int grid = 24;
};

const ParametersOf<ExactParameters>& exact_parameters() {
  static const auto kTable = ParametersOf<ExactParameters>().add<&ExactParameters::grid>(
      "grid", Values::whole(kLeastGrid, kMostGrid), "weights are multiples of 2 to the power of minus this");
  return kTable;
}

double grid_of(const ExactParameters& parameters) {
  return std::ldexp(1.0, -parameters.grid);
}

Objective objective_of(const SolverOptions& options, const TrainingSet& rows) {
  return {rows.rows(), rows.classes(), options.head, strong_convexity(options.lambda, rows.size()), nullptr};
}

Matrix zero_weights(const TrainingSet& rows) {
  return Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
}

/// What exact gradients take must be there; what spares readings of the rows, and whole factors for
/// a small lambda, may be.
Reservation reserve_exact(const SolverOptions& options, const Model&, const TrainingSet& rows, MemoryBudget& budget) {
  const std::size_t needed = exact_gradient_bytes(rows.rows(), rows.classes());
  const std::size_t left = budget.available() > needed ? static_cast<std::size_t>(budget.available()) - needed : 0;
  const auto share = static_cast<std::size_t>(memory_shares::kSolver.of(left));
  const Objective objective = objective_of(options, rows);
  std::size_t whole = careful_bytes(objective);
  for (const std::size_t factors : {whole_preconditioner_bytes(objective), dual_preconditioner_bytes(objective)})
    if (factors > 0)
      whole = std::max(whole, factors + rows.size() * rows.classes() * sizeof(float));  // beside curvatures
  const std::size_t closed =
      LeastSquaresSums::serve(objective) ? LeastSquaresSums::bytes(rows.rows(), rows.classes()) : 0;
  const std::size_t quick = working_memory_within(rows.rows(), rows.classes(), share, kAnyWorth).total();
  return budget.reserve(needed + std::max({quick, whole <= share ? whole : 0, closed <= share ? closed : 0}),
                        "the exact gradients of " + std::to_string(rows.features() * rows.classes()) + " weights");
}

ExactOptions exact_options(const ExactParameters& parameters, std::size_t memory, const TrainingSet& rows) {
  const std::size_t needed = exact_gradient_bytes(rows.rows(), rows.classes());
  return {parameters.grid, memory > needed ? memory - needed : 0};
}

class Exact final : public Solver {
 public:
  Exact(const SolverOptions& options, const ExactParameters& parameters, const SolverResources& resources)
      : options_(options), parameters_(parameters), memory_(resources.memory) {}

  std::string_view name() const noexcept override { return kExactSolver.name; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.model = blank_model(name(), options_, rows);
    session_ = {};  // from nothing
    fit.report = publish(fit.model, zero_weights(rows), rows, lazy, nullptr, nullptr);
    fit.report.retrained = !fit.report.flush_needed;
    if (fit.report.flush_needed) fit.model = Model{};
    return fit;
  }

  Fit fit_from(const GivenWeights& start, const TrainingSet& rows) const override {
    Fit fit;
    fit.model = blank_model(name(), options_, rows);
    session_ = {};  // from nothing
    fit.report = publish(fit.model, start.weights, rows, {}, nullptr, nullptr);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name(), after, change);
    return go_on(model, after, lazy, &change);
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name(), rows);
    return go_on(model, rows, lazy, nullptr);
  }

  bool reads_moved_rows() const noexcept override { return session_.sums.has_value(); }

 private:
  /// What the batches of a session have in common. The bits that are published do not depend on it.
  struct Session {
    KeptPreconditioner preconditioner;
    std::optional<LeastSquaresSums> sums;  // over the rows that the model absorbed last
  };

  /// `change`: what parts the rows from those that the model absorbed last; null: nobody knows.
  StepReport go_on(Model& model, const TrainingSet& rows, const ApproximationError& lazy,
                   const BatchChange* change) const {
    try {
      return publish(model, model.published, rows, lazy, change, &session_.preconditioner);
    } catch (const NoModelError& error) {
      throw NoModelError(error.message() +
                         "; requests that were acknowledged stay so, and the model of before, which has not absorbed "
                         "them, is to be withdrawn");
    }
  }

  /// Whether the memory that was set aside holds sums over the rows; where ranks share these, on
  /// all of them.
  [[nodiscard]] bool fits_sums(const Objective& objective) const {
    const Rows& rows = objective.rows;
    const bool fits =
        memory_ >= exact_gradient_bytes(rows, objective.classes) + LeastSquaresSums::bytes(rows, objective.classes);
    return rows.ranks == nullptr ? fits : rows.ranks->greatest(fits ? 0 : 1) == 0;
  }

  /// The minimiser by sums over all rows, which those of the session become by the rows that a
  /// batch has changed; nothing where there are no such sums, or where they do not prove all.
  /// `sums`: takes them, to be kept once the model is published.
  std::optional<ExactMinimiser> in_closed_form(const Objective& objective, const BatchChange* change,
                                               std::optional<LeastSquaresSums>& sums) const {
    sums = std::exchange(session_.sums, std::nullopt);
    if (!LeastSquaresSums::serve(objective) || !fits_sums(objective)) {
      sums.reset();
      return std::nullopt;
    }
    if (sums && change != nullptr) sums->follow(*change);
    bool are_new = !sums || !sums->are_of(objective.rows);
    if (are_new) sums.emplace(objective);
    std::optional<ExactMinimiser> found = sums->minimise(objective.mu, parameters_.grid);
    if (!found && !std::exchange(are_new, true)) {
      sums.emplace(objective);
      found = sums->minimise(objective.mu, parameters_.grid);
    }
    if (found)
      found->passes = are_new ? 1 : 0;
    else
      sums.reset();  // their memory, which the other way takes
    return found;
  }

  StepReport publish(Model& model, Matrix start, const TrainingSet& rows, const ApproximationError& lazy,
                     const BatchChange* change, KeptPreconditioner* kept) const {
    StepReport report = begin_report(options_, kCorrectRounding);
    report.epsilon = report.delta = 0;
    report.for_tests = false;  // nothing is drawn
    report.scope = Scope::every_release;
    report.reference = present_objective(options_) +
                       "W* its minimiser; published: the multiple of the grid nearest to every coordinate of W*";
    if (!lazy.exact()) {  // stale rows are a function of what was removed
      report.flush_needed = true;
      return report;
    }
    const Objective objective = objective_of(options_, rows);
    std::optional<LeastSquaresSums> sums;
    std::optional<ExactMinimiser> closed = in_closed_form(objective, change, sums);
    ExactOptions how = exact_options(parameters_, memory_, rows);
    how.kept = kept;
    ExactMinimiser done = closed ? *std::move(closed) : minimise_exactly(objective, std::move(start), how);
    report.passes = done.passes;
    report.steps = done.newton_steps;
    report.terms.publish({{"mu", objective.mu}, {"grid", grid_of(parameters_)}});
    report.terms.add({{"radius", done.radius},
                      {"residual", done.start_norm},
                      {"exact_gradients", done.exact_gradients},
                      {"gradients", done.gradients},
                      {"rough_gradients", done.rough_gradients},
                      {"products", done.products},
                      {"corrections", done.corrections},
                      {"doubts", static_cast<double>(done.doubts)}});
    release(model, std::move(done.weights), rows);
    if (!options_.standardized) certify(report, kExactSolver.theorem, 0, Curve::point);
    if (rows.ranks() == nullptr) session_.sums = std::move(sums);
    return report;
  }

  SolverOptions options_;
  ExactParameters parameters_;
  std::size_t memory_;
  mutable Session session_;
};

std::unique_ptr<Solver> make_exact(const SolverOptions& options, const SolverResources& resources) {
  if (!has_exact_slopes(options.head))
    throw UsageError(std::string(kExactSolver.name) + " does not know the slopes of " +
                     std::string(name_of(options.head)) + " to more than float64; choose another " + option("head"));
  return std::make_unique<Exact>(options, exact_parameters().read(options.parameters), resources);
}

/// Every number follows from lambda, n and the grid, and every weight is a multiple of the grid.
void check_exact_certificate(const CheckedModel& model, Statements& say) {
  const double mu = strong_convexity(model.options.lambda, model.model.trained_rows);
  const double grid = grid_of(exact_parameters().read(model.options.parameters));
  say.near("mu", model.term("mu"), mu, 0);
  say.near("grid", model.term("grid"), grid, 0);
  say.same("budget", model.certificate.at("budget"), 0.0);
  if (model.certified()) say.same("the delta reached", model.certificate.at("delta").at("reached"), 0.0);
  const Matrix steps = model.model.published / grid;
  for (Eigen::Index k = 0; k < steps.size(); ++k)
    if (!(std::abs(steps.data()[k]) < 0x1p52) || steps.data()[k] != std::rint(steps.data()[k]))
      return say.wrong("weight " + std::to_string(k) + " is not a multiple of the grid");
}

/// Where no training gives bits to compare with: weights within half a step of the grid of the
/// minimiser, coordinate by coordinate, have a gradient no longer than the Hessian's largest
/// eigenvalue allows.
void check_near_minimiser(const Objective& objective, const Matrix& published, double grid, Statements& say) {
  double squares = 0;
  for (std::size_t i = 0; i < objective.rows.count; ++i) squares += objective.rows.norms[i] * objective.rows.norms[i];
  const double largest = smoothness(objective.head).curvature * squares + objective.mu;
  const double most = 1.0001 * largest * grid / 2 * std::sqrt(static_cast<double>(published.size()));
  const Gradient gradient = gradient_with_error(objective, published);
  const auto text_of = [](double number) { return text_of_json(nlohmann::ordered_json(number)); };
  if (gradient.norm - gradient.error > most)
    say.wrong("the gradient at the published weights has a norm of " + text_of(gradient.norm) + ", and of " +
              text_of(most) + " at most where every one is the nearest on the grid to the minimiser's");
}

/// Training from nothing must give the same bits. Where it ends without a model there is nothing to
/// compare with.
bool check_exact_release(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget, Statements& say) {
  const Reservation memory = reserve_exact(model.options, model.model, rows, budget);
  const Objective objective = objective_of(model.options, rows);
  const ExactParameters parameters = exact_parameters().read(model.options.parameters);
  ExactMinimiser again;
  try {
    again = minimise_exactly(objective, zero_weights(rows),
                             exact_options(parameters, static_cast<std::size_t>(memory.bytes()), rows));
  } catch (const UsageError& error) {
    say.remark("not compared with training from nothing, which ends without a model: " + error.message());
    check_near_minimiser(objective, model.model.published, grid_of(parameters), say);
    return false;
  }
  const Matrix& published = model.model.published;
  Eigen::Index differ = 0;
  for (Eigen::Index k = 0; k < published.size(); ++k) {
    const auto bits = [&](const Matrix& of) { return std::bit_cast<std::uint64_t>(of.data()[k]); };
    if (bits(again.weights) != bits(published)) ++differ;
  }
  if (differ > 0)
    say.wrong(std::to_string(differ) + " of " + std::to_string(published.size()) +
              " weights differ from those that training from nothing gives");
  return true;
}

void check_exact_line(const PublicLine& line) {
  PublicLine::require_near("mu", line.term("mu"), line.options().lambda * std::max(1.0, line.constant("training_rows")),
                           0);
  const double bits = -std::log2(line.term("grid"));
  if (!(bits >= kLeastGrid && bits <= kMostGrid && bits == std::rint(bits)))
    throw CheckError("the grid is no power of two from 2^-" + std::to_string(kMostGrid) + " to 2^-" +
                     std::to_string(kLeastGrid));
  if (line.json().at("budget") != 0.0) throw CheckError("the budget is not 0");
  if (line.options().delta != 0 || line.reached() != 0) throw CheckError("delta is not 0");
}

}  // namespace

constinit const SolverEntry kExactSolver{
    .name = "exact",
    .meaning =
        [] {
          return std::string(
              "Publishes the minimiser itself, every weight rounded to a public grid and every rounding proved. After a "
              "removal the model is, bit for bit, that of training from nothing on what is left. Certified (theorem T0) "
              "with epsilon and delta 0 for every kind of request, without noise.");
        },
    .theorem = "T0",
    .linear = {.trained = true,
               .claims = true,
               .over_ranks = true,
               .check_certificate = check_exact_certificate,
               .check_release = check_exact_release},
    .noisy = false,
    .canonical = true,
    .any_start = true,
    .any_unit = true,
    .parameters = []() -> const ParameterTable& { return exact_parameters(); },
    .make = make_exact,
    .reserve = reserve_exact,
    .check_line = check_exact_line,
};

}  // namespace unweave
