// tests/algorithms/solvers/langevin/langevin_solver_test.cpp - slots, batches, constants, and what
// is said when.
#include "algorithms/solvers/langevin/langevin_solver.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "algorithms/registry/registry.h"
#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/solvers/langevin/langevin_constants.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/langevin_runs.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr const char* kLangevinSolvers[] = {"langevin", "langevin-full"};

SolverOptions langevin_options(double lambda = 0.05) {
  SolverOptions options;
  options.lambda = lambda;
  options.seed = 11;
  return options;
}

/// One epoch without noise, straight from the definition.
Matrix plain_epoch(const LangevinState& state, const TrainingSet& rows, const SolverOptions& options, Matrix w) {
  const LangevinConstants& constants = state.constants;
  const SlotOrder order(constants);
  for (std::uint64_t batch = 0; batch < constants.padded_slots() / constants.batch_rows; ++batch) {
    TrainingSet members(rows.features(), rows.classes());
    for (std::size_t slot = 0; slot < state.slots.size(); ++slot)
      if (const auto at = rows.find(state.slots[slot]); at && order.batch_of(slot) == batch)
        members.append(rows.nodes()[*at], rows.row(*at), rows.labels()[*at]);
    Matrix next = w;
    for (Eigen::Index c = 0; c < w.cols(); ++c) {
      const Eigen::VectorXd none = Eigen::VectorXd::Zero(w.rows());
      const Eigen::VectorXd sum = options.head == Head::kSoftmax
                                      ? Eigen::VectorXd(dense_softmax(members, 0, w).gradient.col(c))
                                      : dense_gradient(members, 0, w.col(c), size_of(c), options.head, none);
      next.col(c) -=
          constants.step_size * (sum / static_cast<double>(constants.batch_rows) + options.lambda * w.col(c));
    }
    w = next.norm() > constants.radius ? Matrix(next * (constants.radius / next.norm())) : next;
  }
  return w;
}

Matrix quiet_epochs(const LangevinState& state, const TrainingSet& rows, const SolverOptions& options,
                    std::uint64_t epochs, Matrix weights) {
  RandomSource unused = RandomSource::from_seed(1, 1);
  run_epochs({noisy_sgd_of(state.constants, options, rows.classes()), rows, Batches(state.constants, state.slots, rows),
              options.head, 0},
             epochs, unused, weights);
  return weights;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("an epoch is the definition, batch by batch, with padding, empty slots and the divisor of full batches") {
    for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax}) {
      SolverOptions options = langevin_options();
      options.head = head;
      TrainingSet rows = random_rows(70, 5, 3, 71);
      const LangevinState state = slots_on(rows, options);
      CHECK(state.constants.batch_rows == 32);
      CHECK(state.constants.padded_slots() == 96);
      const Matrix start = random_matrix(5, 3, 1);
      CHECK((quiet_epochs(state, rows, options, 2, start) -
             plain_epoch(state, rows, options, plain_epoch(state, rows, options, start)))
                .norm() < 1e-12);
      rows.apply(coherent_change(rows, 1, 0, 0));  // the last row
      rows.apply(random_change(rows, 0, 4, 12, 0, 0, 5));
      CHECK((quiet_epochs(state, rows, options, 1, start) - plain_epoch(state, rows, options, start)).norm() < 1e-12);
      const Matrix far = 1e3 * start;  // the ball acts
      const Matrix back = quiet_epochs(state, rows, options, 1, far);
      CHECK((back - plain_epoch(state, rows, options, far)).norm() < 1e-12 * far.norm());
      CHECK(back.norm() <= state.constants.radius * (1 + 1e-12));
    }
  }

  TEST_CASE("every row lies in one batch of at most b, and a removal leaves all others where they were") {
    const SolverOptions options = langevin_options();
    TrainingSet rows = random_rows(200, 2, 2, 72);
    const LangevinState state = slots_on(rows, options);
    const auto places = [&] {
      const Batches batches(state.constants, state.slots, rows);
      std::map<NodeId, std::uint64_t> batch_of;
      for (std::uint64_t batch = 0; batch < 7; ++batch) {
        CHECK(batches.rows_of(batch).size() <= 32);
        for (const std::uint32_t at : batches.rows_of(batch)) CHECK(batch_of.emplace(rows.nodes()[at], batch).second);
      }
      CHECK(batch_of.size() == rows.size());
      return batch_of;
    };
    const auto before = places();
    std::set<std::uint64_t> used;
    bool mixed = false;
    for (const auto& [node, batch] : before) {
      used.insert(batch);
      mixed |= batch != (node / 3 - 1) / 32;
    }
    CHECK(used.size() == 7);
    CHECK(mixed);
    rows.apply(random_change(rows, 3, 9, 20, 0, 0, 6));
    for (const auto& [node, batch] : places()) CHECK(before.at(node) == batch);
    CHECK_THROWS_AS(Batches(state.constants, state.slots, random_rows(201, 2, 2, 72)), UsageError);
  }

  TEST_CASE("a removal early in the epoch is charged less than one late, by the contraction between") {
    const SolverOptions options = langevin_options();
    const auto solver = make_solver("langevin", options);
    const TrainingSet rows = random_rows(100, 2, 2, 73);
    const LangevinState state = slots_on(rows, options);
    const NoisySgd sgd = noisy_sgd_of(state.constants, options, 2);
    const Batches batches(state.constants, state.slots, rows);
    const Model model = solver->fit(rows, kExact).model;
    const auto charge = [&](std::uint64_t batch) {
      const std::size_t at = batches.rows_of(batch)[0];
      BatchChange change(2, 2);
      change.removed.append(rows.nodes()[at], rows.row(at), rows.labels()[at]);
      TrainingSet after = rows;
      after.apply(change);
      Model copy = model;
      return solver->absorb(copy, after, change, kExact).terms.at("own_distance");
    };
    const double worst = stationary_distance(sgd, packed_shift(sgd, 1, std::numbers::sqrt2));
    for (std::uint64_t batch = 0; batch < 4; ++batch)
      CHECK(charge(batch) == doctest::Approx(worst * sgd.power(static_cast<double>(3 - batch))));
  }

  TEST_CASE("constants: the ball holds the minimiser, no request needs more than half of T") {
    for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax})
      for (const char* name : kLangevinSolvers) {
        SolverOptions options = langevin_options(0.01);
        options.head = head;
        const auto solver = make_solver(name, options);
        TrainingSet rows = random_rows(120, 4, 3, 74);
        Fit fit = solver->fit(rows, kExact);
        const LangevinConstants constants = langevin_state(fit.model).constants;
        CHECK(dense_minimiser(rows, options.lambda, head).norm() < constants.radius);
        CHECK(fit.report.retrained);
        CHECK(fit.report.residual_bound == 0);
        CHECK(fit.report.passes == static_cast<int>(constants.epochs));
        const BatchChange change = coherent_change(rows, 60, 60, 0.5F);
        rows.apply(change);
        const StepReport report = solver->absorb(fit.model, rows, change, kExact);
        CHECK_FALSE(report.retrained);
        CHECK(static_cast<std::uint64_t>(report.passes) <= constants.epochs / 2);
        CHECK(report.budget == 1);
        CHECK(report.residual_bound <= 1);
      }
  }

  TEST_CASE("bounds as printed charge two gradients for a row and ask for more epochs") {
    SolverOptions options = langevin_options(), paper = options;
    paper.bound = BoundRule::kPaper;
    const LangevinConstants ours = choose_constants(false, 500, 2, options),
                            printed = choose_constants(false, 500, 2, paper);
    CHECK(printed.epochs >= ours.epochs);
    const NoisySgd sgd = noisy_sgd_of(ours, options, 2);
    CHECK(removed_row_weight(sgd, options) == sgd.zeroed_row_weight());
    CHECK(removed_row_weight(sgd, paper) == sgd.replaced_row_weight());
    for (const std::uint64_t epochs : {1, 3, 20}) {
      CAPTURE(epochs);
      CHECK(accountant_of(ours, sgd, paper).epsilon(0.1, epochs, ours.sigma) >
            2 * accountant_of(ours, sgd, options).epsilon(0.1, epochs, ours.sigma));
    }
  }

  TEST_CASE("a request that too few epochs would not bring to epsilon is answered by training again") {
    const SolverOptions options = langevin_options();
    const auto solver = make_solver("langevin", options);
    TrainingSet rows = random_rows(150, 4, 2, 75);
    Fit fit = solver->fit(rows, kExact);
    const BatchChange first = coherent_change(rows, 1, 10, 0.1F), none(4, 2);
    rows.apply(first);
    CHECK_FALSE(solver->absorb(fit.model, rows, first, kExact).retrained);
    CHECK(langevin_state(fit.model).distance > 0);
    fit.model.state.numbers.at("epochs") = 2;
    const BatchChange second = coherent_change(rows, 3, 10, 0.1F);
    rows.apply(second);
    const Matrix before = fit.model.published;
    const StepReport report = solver->absorb(fit.model, rows, second, kExact);
    CHECK(report.retrained);
    CHECK(report.certified);
    CHECK(report.residual_bound == 0);
    CHECK(report.passes == 2);
    CHECK(langevin_state(fit.model).distance == 0);
    CHECK(langevin_state(fit.model).last_epochs == 0);
    CHECK(fit.model.releases == 3);
    CHECK(fit.model.published != before);

    // A fresh run of A: the earlier weights play no part.
    Model other = fit.model;
    other.releases = 2;
    other.published.setConstant(9);
    static_cast<void>(solver->catch_up(other, rows, kExact));
    CHECK(other.published == fit.model.published);
  }

  TEST_CASE("removed nodes leave the model's slots, by a batch and by catching up") {
    const auto solver = make_solver("langevin", langevin_options());
    TrainingSet rows = random_rows(60, 3, 2, 76);
    Fit fit = solver->fit(rows, kExact);
    const BatchChange change = random_change(rows, 0, 10, 3, 9, 0.05, 1);
    rows.apply(change);
    static_cast<void>(solver->absorb(fit.model, rows, change, kExact));
    std::vector<NodeId> slots = langevin_state(fit.model).slots;
    CHECK(slots.size() == 60);
    CHECK(std::count(slots.begin(), slots.end(), kNoNode) == 3);
    for (const NodeId node : change.removed.nodes()) CHECK(std::count(slots.begin(), slots.end(), node) == 0);
    CHECK(fit.model.trained_rows == 57);
    rows.apply(coherent_change(rows, 5, 0, 0));
    const StepReport late = solver->catch_up(fit.model, rows, kExact);
    CHECK(late.retrained);
    CHECK(late.certified);
    slots = langevin_state(fit.model).slots;
    CHECK(std::count(slots.begin(), slots.end(), kNoNode) == 8);
    CHECK(fit.model.trained_rows == 52);
  }

  TEST_CASE("T2 from any start: adaptive requests run as many epochs as any start needs, and cover later releases") {
    SolverOptions options = langevin_options();
    const auto solver = make_solver("langevin", options);
    TrainingSet rows = random_rows(80, 3, 2, 77);
    Fit fit = solver->fit(rows, kExact);
    CHECK(fit.report.certified);
    CHECK(fit.report.claim == "T2");
    CHECK(fit.report.for_tests);
    const auto next = [&](bool adaptive) {
      BatchChange change = coherent_change(rows, 1, 5, 0.1F);
      change.adaptive = adaptive;
      rows.apply(change);
      return solver->absorb(fit.model, rows, change, kExact);
    };
    const LangevinConstants constants = langevin_state(fit.model).constants;
    const NoisySgd sgd = noisy_sgd_of(constants, options, rows.classes());
    const auto any = static_cast<int>(epochs_from_anywhere(constants, sgd, options).value());
    const StepReport fewer = next(false);
    CHECK(fewer.certified);
    CHECK(fewer.passes < any);
    CHECK(fewer.scope == Scope::this_release);
    CHECK(fewer.requests == Requests::independent);
    CHECK(fewer.terms.contains("own_distance"));
    for (const bool adaptive : {true, false}) {  // the account covers nothing after the first
      const StepReport report = next(adaptive);
      CHECK(report.certified);
      CHECK(report.passes == any);
      CHECK(report.residual_bound <= 1);
      CHECK(report.scope == Scope::all_later);
      CHECK(report.requests == Requests::any);
      CHECK_FALSE(report.terms.contains("own_distance"));
      // One epoch less would not do.
      const LangevinAccountant accountant = accountant_from_anywhere(sgd, options);
      CHECK(accountant.epsilon(sgd.diameter(), static_cast<std::uint64_t>(any) - 1, constants.sigma) > 1);
    }
    CHECK(solver->catch_up(fit.model, rows, kExact).certified);
    CHECK(next(false).passes < any);

    ApproximationError lazy;
    lazy.euclidean = Vector::Constant(3, 1e-4);
    lazy.absolute = Vector::Constant(3, 1e-3);
    lazy.residue_sum = Vector::Zero(3);
    CHECK_FALSE(solver->fit(rows, lazy).report.certified);
    CHECK_FALSE(solver->absorb(fit.model, rows, BatchChange(3, 2), lazy).certified);
    const StepReport healed = solver->absorb(fit.model, rows, BatchChange(3, 2), kExact);  // it stands on lazy rows
    CHECK(healed.certified);
    CHECK(healed.passes == any);
    CHECK(solver->catch_up(fit.model, rows, kExact).certified);
    options.standardized = true;
    const StepReport standardized = make_solver("langevin", options)->fit(rows, kExact).report;
    CHECK_FALSE(standardized.certified);
    CHECK_FALSE(standardized.claim.has_value());
  }

  TEST_CASE("equal to the bit for any number of threads; another release draws other noise") {
    const TrainingSet rows = random_rows(2500, 20, 3, 78);
    for (const char* name : kLangevinSolvers) {
      const auto solver = make_solver(name, langevin_options());
      const Matrix one = [&] {
        const ThreadLimit limit(1);
        return solver->fit(rows, kExact).model.published;
      }();
      const ThreadLimit limit(4);
      Fit fit = solver->fit(rows, kExact);
      CHECK(fit.model.published == one);
      static_cast<void>(solver->catch_up(fit.model, rows, kExact));
      CHECK(fit.model.published != one);
    }
  }

  TEST_CASE("degenerate tasks: no rows, one row, one class, one feature, everything leaves") {
    for (const char* name : kLangevinSolvers)
      for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{33}})
        for (const std::size_t features : {std::size_t{1}, std::size_t{4}})
          for (const std::size_t classes : {std::size_t{1}, std::size_t{3}}) {
            const auto solver = make_solver(name, langevin_options());
            TrainingSet set = random_rows(rows, features, classes, 79, 1);
            Fit fit = solver->fit(set, kExact);
            CHECK(fit.report.certified);
            const BatchChange change = random_change(set, 0, 1, rows, 0, 0, 1);
            set.apply(change);
            CHECK(solver->absorb(fit.model, set, change, kExact).certified);
            CHECK(fit.model.published.allFinite());
            CHECK(fit.model.trained_rows == 0);
          }
  }

  TEST_CASE("refused: noise that float64 cannot resolve, models without slots, rows that are not the model's") {
    const TrainingSet rows = random_rows(40, 3, 2, 80);
    CHECK_THROWS_WITH_AS(make_solver("langevin", langevin_options(1e-12))->fit(rows, kExact),
                         doctest::Contains("could not tell it from rounding"), UsageError);
    const auto solver = make_solver("langevin", langevin_options());
    Fit fit = solver->fit(rows, kExact);
    CHECK_THROWS_AS(
        make_solver("langevin-full", langevin_options())->absorb(fit.model, rows, BatchChange(3, 2), kExact),
        UsageError);
    CHECK_THROWS_AS(solver->absorb(fit.model, random_rows(39, 3, 2, 80), BatchChange(3, 2), kExact), UsageError);
    TrainingSet others(3, 2);
    for (NodeId node = 0; node < 40; ++node) others.append(node, rows.row(node), 0);
    CHECK_THROWS_WITH_AS(solver->absorb(fit.model, others, BatchChange(3, 2), kExact), doctest::Contains("no slot"),
                         UsageError);
    fit.model.state = {};
    CHECK_THROWS_AS(solver->absorb(fit.model, rows, BatchChange(3, 2), kExact), UsageError);
  }
}
