// algorithms/api/certify.cpp - from a file of weights to a start, from its gradient to a proved
// bound, from there to a release.
#include "unweave/certify.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/registry/registry.h"
#include "algorithms/solvers/exact/exact_gradient.h"
#include "algorithms/solvers/exact/exact_slopes.h"
#include "engine/resources/watcher.h"
#include "storage/input/linear_model.h"
#include "storage/io/error.h"
#include "storage/io/message.h"

namespace unweave {
inline namespace v0 {
namespace {

/// A solver that can go on from any weights, and a head whose gradient can be measured. Told before
/// the store is read.
const SolverEntry& require_any_start(const TrainOptions& how) {
  const SolverEntry& entry = how.solver.empty() ? default_solver() : solver_entry(how.solver);
  if (!how.options.hidden.empty())
    throw UsageError("weights of a network have no unique minimiser to be measured against; choose another " +
                     option("head"));
  if (!entry.any_start)
    throw UsageError(std::string(entry.name) + " claims something of a training from nothing; " + option("solver") +
                     " takes given weights where it is " +
                     solvers_with([](const SolverEntry& one) { return one.any_start; }));
  if (!has_exact_slopes(how.options.head))
    throw UsageError(
        std::string(name_of(how.options.head)) +
        ": its slopes are not known to more than float64, so that no gradient is measured; choose another " +
        option("head"));
  return entry;
}

/// F x C, with the intercepts as last row where the model has them.
Matrix as_weights(const LinearModel& given, const LinearShape& shape, Head head, bool intercept) {
  const auto width = index_of(shape.width), classes = index_of(shape.classes);
  Matrix out = Matrix::Zero(width + (intercept ? 1 : 0), classes);
  for (Eigen::Index c = 0; c < classes; ++c) {
    for (Eigen::Index j = 0; j < width; ++j) out(j, c) = given.coefficients[size_of(c * width + j)];
    if (intercept && !given.intercepts.empty()) out(width, c) = given.intercepts[size_of(c)];
  }
  if (!given.one_row) return out;
  if (couples_classes(head)) out.col(1) /= 2;
  out.col(0) = -out.col(1);
  return out;
}

bool has_intercepts(const LinearModel& given) {
  return std::any_of(given.intercepts.begin(), given.intercepts.end(), [](double x) { return x != 0; });
}

/// What is proved of the weights, and what they are worth.
GivenFigures measure(const Objective& objective, const Matrix& weights, const LinearModel& given,
                     MemoryBudget& budget) {
  const Reservation memory = budget.reserve(exact_gradient_bytes(objective.rows, objective.classes),
                                            "the exact gradient of the given weights");
  const WatchedStep step("measure", 1, "passes");
  GivenFigures figures{.form = given.form, .missing = given.missing, .accuracies = {}};
  figures.gradient_bound = gradient_norm_bound(objective, weights);
  step.advance(1);
  figures.distance_bound = std::nextafter(figures.gradient_bound / objective.mu, INFINITY);
  return figures;
}

void compare(const Matrix& given, const Matrix& published, double grid, CertifiedModel& out) {
  out.weights = size_of(published.size());
  for (Eigen::Index k = 0; k < published.size(); ++k) {
    const double rounded = grid > 0 ? grid * std::rint(given.data()[k] / grid) : given.data()[k];
    if (published.data()[k] != rounded) ++out.changed;
  }
  const Matrix apart = published - given;
  out.largest_change = apart.cwiseAbs().maxCoeff();
  out.distance = apart.norm();
}

}  // namespace

CertifiedModel certify_model(Writer& writer, const ForeignModel& model, const TrainOptions& how) {
  const SolverEntry& entry = require_any_start(how);
  if (how.choose_weights)
    throw UsageError(option("weights", "auto") + ": the model was made on rows of some weights; give these");
  if (how.rows.of == std::vector<std::string>{"auto"})
    throw UsageError(option("rows-of", "auto") + ": the model was made on some rows; say which");
  Internals::WriterState& state = Internals::state(writer);
  StoreWriter& store = state.store();
  require_no_session(store, state.in_session);
  const bool intercept = how.intercept.value_or(entry.intercept);
  const LinearShape shape{store.manifest().classes, row_units(store, row_program(store, how))->width()};
  // The file's array, its rows in order, the start, what the solver gets of it, the release and how
  // it differs.
  constexpr std::uint64_t kCopies = 7;
  const Reservation memory = state.resources.memory().reserve(
      kCopies * sizeof(double) * shape.classes * (shape.width + 1), "the given weights");
  LinearModel given;
  if (store.manifest().labels) {  // without them training says what is missing
    given = read_linear_model(model.weights, shape, model.intercepts);
    if (!intercept && has_intercepts(given))
      throw UsageError(model.weights.string() + ": it has intercepts, and the model shall have none; leave " +
                       option("no-intercept") + " away");
  }
  CertifiedModel out;
  Matrix start;
  out.trained =
      train_model(state, how, [&](const SolverOptions& options, const RowProgram& program, const TrainingSet& rows) {
        start = as_weights(given, shape, options.head, options.intercept);
        const Objective objective{rows.rows(), rows.classes(), options.head,
                                  strong_convexity(options.lambda, rows.size()), nullptr};
        out.given = measure(objective, start, given, state.resources.memory());
        ModelRecord record;
        record.options = options;
        record.rows = program;
        record.model = blank_model(entry.name, options, rows);
        record.model.published = start;
        out.given.accuracies = evaluate_model(store, record, &rows);
        return GivenWeights{start, out.given.gradient_bound};
      });
  const StepReport& report = out.trained.report;
  out.as_given = report.passes == 0;
  const ModelRecord published = load_model(store.path(), out.trained.facts.name);
  compare(start, published.model.published, report.terms.contains("grid") ? report.terms.at("grid") : 0, out);
  return out;
}

}  // namespace v0
}  // namespace unweave
