// tests/algorithms/solvers/references/reference_solvers_test.cpp - networks and cheap references:
// what they train, what a batch does to them, and that nothing is claimed.
#include "algorithms/solvers/references/reference_solvers.h"

#include <doctest/doctest.h>

#include "algorithms/random/permutation.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/noiseless_learning.h"
#include "storage/io/error.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

SolverOptions small_network(std::vector<std::size_t> hidden = {6}) {
  SolverOptions options;
  options.head = Head::kSoftmax;
  options.hidden = std::move(hidden);
  options.parameters["epochs"] = 12;
  return options;
}

/// (1/n) sum of the losses plus the term of lambda.
double objective_at(const Model& model, const SolverOptions& options, const TrainingSet& rows) {
  const Vector weights = as_vector(model.published);
  return Network(shape_of(model)).loss({weights.data(), size_of(weights.size())}, ChosenRows(rows)) /
             static_cast<double>(rows.size()) +
         options.lambda / 2 * weights.squaredNorm();
}

double right(const Model& model, const TrainingSet& rows) {
  std::vector<double> margins(rows.size() * rows.classes());
  margins_of(model, rows.row(0).data(), rows.size(), margins.data());
  double hits = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto first = margins.begin() + static_cast<std::ptrdiff_t>(i * rows.classes());
    hits += std::max_element(first, first + static_cast<std::ptrdiff_t>(rows.classes())) - first == rows.labels()[i];
  }
  return hits / static_cast<double>(rows.size());
}

void check_claims_nothing(const StepReport& report) {
  CHECK_FALSE(report.certified);
  CHECK_FALSE(report.claim.has_value());
  CHECK(report.budget == 0);
}

/// The rows i of `set` with keep(i).
template <class Keep>
TrainingSet some_of(const TrainingSet& set, const Keep& keep) {
  TrainingSet out(set.features(), set.classes(), set.form());
  for (std::size_t i = 0; i < set.size(); ++i)
    if (keep(i)) out.append(set.nodes()[i], set.row(i), set.labels()[i]);
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("SGD takes the steps of its definition, rows in the order of the key, a last batch by its own rows") {
    const TrainingSet rows = random_rows(23, 5, 3, 1);
    const Network network({Head::kSoftmax, 5, 3, {4}, Activation::kSmelu});
    const SgdPlan plan{2, 10, 0.4, 0.5};
    Vector weights = network.initial(8), slow = weights;
    run_sgd(network, rows, plan, 0.01, 77, weights);
    double step = 0.4;
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch, step *= 0.5) {
      const Permutation order(23, random_key(77, epoch));
      for (std::size_t first = 0; first < 23; first += 10) {
        const std::size_t count = std::min<std::size_t>(10, 23 - first);
        Vector mean = Vector::Zero(slow.size());
        for (std::size_t i = first; i < first + count; ++i) {
          const auto at = static_cast<std::uint32_t>(order.at(i));
          mean += network.gradient({slow.data(), size_of(slow.size())}, ChosenRows(rows, {&at, 1}));
        }
        slow -= step * (mean / static_cast<double>(count) + 0.01 * slow);
      }
    }
    CHECK((weights - slow).norm() < 1e-13 * slow.norm());

    // A linear term pulls every step the same way, whatever the rows of its batch.
    const Vector linear = random_matrix(network.size(), 1, 9).col(0);
    Vector pulled = network.initial(8), free = pulled;
    const SgdPlan one_step{1, 23, 0.4, 1};
    run_sgd(network, rows, one_step, 0.01, 77, pulled, &linear);
    run_sgd(network, rows, one_step, 0.01, 77, free);
    CHECK((pulled - free + 0.4 / 23 * linear).norm() < 1e-14 * linear.norm());
  }

  TEST_CASE("a network learns what no linear model can") {
    TrainingSet rows(2, 2);
    for (std::size_t i = 0; i < 400; ++i) {
      const double angle = 0.7 * static_cast<double>(i), radius = i % 2 == 0 ? 0.3 : 0.9;
      const float row[] = {static_cast<float>(radius * std::cos(angle)), static_cast<float>(radius * std::sin(angle))};
      rows.append(static_cast<NodeId>(i), row, i % 2);
    }
    SolverOptions options = small_network({12});
    options.lambda = 1e-6;
    options.parameters = {{"epochs", 150}, {"decay", 1}};
    const Fit ring = make_solver("retrain", options)->fit(rows, kExact);
    CHECK(right(ring.model, rows) > 0.98);
    check_claims_nothing(ring.report);
    CHECK(ring.model.published.cols() == 1);
    options.hidden.clear();
    options.parameters.clear();
    CHECK(right(make_solver("finetune", options)->fit(rows, kExact).model, rows) < 0.7);
  }

  TEST_CASE("retrain of a network forgets: after any batches it is the model of the rows that are left, to the bit") {
    const SolverOptions options = small_network({5, 4});
    const auto solver = make_solver("retrain", options);
    TrainingSet rows = random_rows(90, 6, 3, 2);
    Fit fit = solver->fit(rows, kExact);
    for (unsigned round = 0; round < 2; ++round) {
      const BatchChange change = random_change(rows, round, 20, 3, 8, 0.1, round);
      rows.apply(change);
      const StepReport report = solver->absorb(fit.model, rows, change, kExact);
      CHECK(report.retrained);
      check_claims_nothing(report);
    }
    CHECK(fit.model.published == solver->fit(rows, kExact).model.published);
    CHECK(fit.model.releases == 3);
  }

  TEST_CASE("finetune goes on from the present weights on the present rows") {
    for (const bool linear : {true, false}) {
      SolverOptions options = linear ? SolverOptions{} : small_network();
      options.parameters["tune-epochs"] = 3;
      const auto solver = make_solver("finetune", options);
      TrainingSet rows = random_rows(120, 6, 3, 3);
      Fit fit = solver->fit(rows, kExact);
      CHECK(fit.report.terms.at("tune_epochs") == 3);
      CHECK(fit.report.terms.at("tune_step_size") == 0.05);
      const Model start = fit.model;
      const BatchChange change = random_change(rows, 0, 3, 40, 40, 0.3, 3);
      rows.apply(change);
      const double before = objective_at(start, options, rows);
      const StepReport report = solver->absorb(fit.model, rows, change, kExact);
      check_claims_nothing(report);
      CHECK_FALSE(report.retrained);
      CHECK(report.terms.at("tune_epochs") == 3);
      CHECK(objective_at(fit.model, options, rows) < before);
      Vector slow = as_vector(start.published);
      run_sgd(Network(shape_of(start)), rows, {3, 32, 0.05, 1}, options.lambda, random_key(3, 1), slow);
      CHECK(as_vector(fit.model.published) == slow);
      // A model that has missed the batch is learnt again.
      Model late = start;
      CHECK(solver->catch_up(late, rows, kExact).retrained);
      CHECK(late.published == solver->fit(rows, kExact).model.published);
    }
  }

  TEST_CASE("neggrad ascends on rows that left, and from the old to the new values of rows that moved") {
    for (const bool linear : {true, false}) {
      SolverOptions options = linear ? SolverOptions{} : small_network();
      options.parameters["batch-rows"] = 1000;  // one step
      options.parameters["ascent-step-size"] = 0.5;
      const auto solver = make_solver("neggrad", options);
      CHECK(solver->reads_moved_rows());
      const TrainingSet rows = random_rows(120, 6, 3, 4);
      const Fit fit = solver->fit(rows, kExact);
      const Network network(shape_of(fit.model));
      const Vector start = as_vector(fit.model.published);
      const std::span<const double> at(start.data(), size_of(start.size()));
      for (const auto& [removals, moves] : {std::pair<std::size_t, std::size_t>{6, 0}, {0, 9}, {6, 9}}) {
        const BatchChange change = random_change(rows, 0, 20, removals, moves, 0.3, 4);
        TrainingSet after = rows;
        after.apply(change);
        Model model = fit.model;
        const StepReport report = solver->absorb(model, after, change, kExact);
        check_claims_nothing(report);
        Vector rise = Vector::Zero(start.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const auto old = static_cast<std::uint32_t>(i);
          if (change.removed.find(rows.nodes()[i])) rise += network.gradient(at, ChosenRows(rows, {&old, 1}));
          if (!change.moved_from.find(rows.nodes()[i])) continue;
          const auto now = static_cast<std::uint32_t>(*after.find(rows.nodes()[i]));
          rise +=
              network.gradient(at, ChosenRows(rows, {&old, 1})) - network.gradient(at, ChosenRows(after, {&now, 1}));
        }
        CHECK(rise.norm() > 1e-3);
        CHECK((as_vector(model.published) - start - 0.5 / 1000 * rise).norm() < 1e-12);
        CHECK(report.terms.at("removed_rows") == static_cast<double>(removals));
        CHECK(report.terms.at("moved_rows") == static_cast<double>(moves));
      }
    }
  }

  TEST_CASE("neggrad's steps: the loss of what left rises, every row once an epoch") {
    SolverOptions options = small_network();
    options.parameters["batch-rows"] = 4;
    options.parameters["ascent-epochs"] = 3;
    const auto solver = make_solver("neggrad", options);
    TrainingSet rows = random_rows(120, 6, 3, 5);
    Fit fit = solver->fit(rows, kExact);
    const BatchChange change = random_change(rows, 0, 5, 22, 0, 0, 5);
    rows.apply(change);
    const double before = objective_at(fit.model, options, change.removed);
    static_cast<void>(solver->absorb(fit.model, rows, change, kExact));
    CHECK(objective_at(fit.model, options, change.removed) > before);
    CHECK(fit.model.trained_rows == 98);
  }

  TEST_CASE("without a row left, a class or a feature there are still finite weights; what cannot be is refused") {
    for (const char* name : {"retrain", "finetune", "neggrad"}) {
      for (const bool linear : {true, false}) {
        SolverOptions options = linear ? SolverOptions{} : small_network();
        const auto solver = make_solver(name, options);
        const TrainingSet rows = random_rows(9, 4, 3, 6, 2);
        Fit fit = solver->fit(rows, kExact);
        BatchChange all(4, 3);
        for (std::size_t i = 0; i < rows.size(); ++i)
          all.removed.append(rows.nodes()[i], rows.row(i), rows.labels()[i]);
        const TrainingSet none = some_of(rows, [](std::size_t) { return false; });
        static_cast<void>(solver->absorb(fit.model, none, all, kExact));
        CHECK(fit.model.published.allFinite());
        CHECK(fit.model.trained_rows == 0);
        CHECK_THROWS_AS(solver->absorb(fit.model, rows, BatchChange(4, 3), kExact), UsageError);
        CHECK_THROWS_AS(solver->catch_up(fit.model, random_rows(9, 5, 3, 6), kExact), UsageError);
      }
    }
    SolverOptions options = small_network();
    for (const char* linear : {"newton", "cgu", "ceu", "langevin", "langevin-full"}) {
      SolverOptions plain = options;
      plain.parameters.clear();
      CHECK_THROWS_WITH_AS(
          make_solver(linear, plain),
          doctest::Contains(
              (std::string(linear) + " trains linear models alone; head=mlp is for replay, retrain").c_str()),
          UsageError);
    }
    options.hidden = {3, 0};
    CHECK_THROWS_AS(make_solver("retrain", options), UsageError);
    options.hidden = std::vector<std::size_t>(17, 2);
    CHECK_THROWS_AS(make_solver("retrain", options), UsageError);
    for (const auto& [parameter, value] : {std::pair<const char*, double>{"epochs", 0},
                                           {"epochs", 1.5},
                                           {"batch-rows", -1},
                                           {"step-size", 0},
                                           {"decay", 1.1},
                                           {"decay", 0}}) {
      SolverOptions wrong = small_network();
      wrong.parameters[parameter] = value;
      CHECK_THROWS_AS(make_solver("finetune", wrong), UsageError);
    }
    SolverOptions wild = small_network();
    wild.head = Head::kSoftmax;
    wild.lambda = 1e6;  // a step of 0.5 then multiplies the weights by -500,000
    CHECK_THROWS_WITH_AS(make_solver("retrain", wild)->fit(random_rows(400, 4, 3, 6), kExact),
                         "the weights have left the finite numbers; lower the step size that set gives", UsageError);
    SolverOptions linear;
    linear.parameters["epochs"] = 3;
    for (const char* name : {"retrain", "scalegun"}) CHECK_THROWS_AS(make_solver(name, linear), UsageError);
  }
}
