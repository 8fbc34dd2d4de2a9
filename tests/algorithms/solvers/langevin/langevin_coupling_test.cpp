// tests/algorithms/solvers/langevin/langevin_coupling_test.cpp - T2: coupled production runs stay
// within the account, and laws agree.
#include <doctest/doctest.h>

#include <cmath>

#include "algorithms/registry/registry.h"
#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/solvers/langevin/langevin_constants.h"
#include "algorithms/solvers/langevin/langevin_solver.h"
#include "support/langevin_runs.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

SolverOptions langevin_run_options(Head head, double lambda) {
  SolverOptions options;
  options.head = head;
  options.lambda = lambda;
  options.seed = 3;
  return options;
}

/// own_distance of a change, as the solver charges it on a model of `before`.
double charged(const TrainingSet& before, const BatchChange& change, const SolverOptions& options, bool full) {
  const auto solver = make_solver(full ? "langevin-full" : "langevin", options);
  Model model = solver->fit(before, kExact).model;
  TrainingSet after = before;
  after.apply(change);
  return solver->absorb(model, after, change, kExact).terms.at("own_distance");
}

struct Moments {
  Vector mean;
  double variance = 0;  ///< mean over the coordinates
};

template <class Draw>
Moments moments(std::size_t runs, const Draw& draw) {
  std::vector<Matrix> all;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) all.push_back(draw(seed));
  Moments out;
  out.mean = Vector::Zero(all[0].size());
  for (const Matrix& one : all) out.mean += one.reshaped() / static_cast<double>(runs);
  for (const Matrix& one : all)
    out.variance += (one.reshaped() - out.mean).squaredNorm() / static_cast<double>(out.mean.size() * (runs - 1));
  return out;
}

/// 40 rows of one feature and one class. All targets are +1, so least squares pulls the weight up
/// from 0.
TrainingSet line() {
  TrainingSet set(1, 1);
  for (NodeId i = 0; i < 40; ++i) {
    const float value = 0.5F + 0.01F * static_cast<float>(i);
    set.append(i, std::span(&value, 1), 0);
  }
  return set;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("T2: coupled runs on rows that moved and left stay within the distance charged, at every epoch") {
    for (const auto& kind : {std::pair(false, false), {true, false}, {false, true}})
      for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax}) {
        const bool full = kind.first, intercept = kind.second;
        CAPTURE(full);
        CAPTURE(intercept);
        SolverOptions options = langevin_run_options(head, 0.02);
        options.intercept = intercept;
        const TrainingSet before = random_rows(200, 6, 3, 61, 0, intercept);
        // Other gradients are bounded too loosely for a removal to be small beside the moves.
        const BatchChange change = coherent_change(before, head == Head::kLogistic ? 2 : 0, 80, 0.3F);
        TrainingSet after = before;
        after.apply(change);
        const double bound = charged(before, change, options, full);

        const LangevinState state = slots_on(before, options, full);
        Chain old_rows(state, options, before.features(), 3), new_rows = old_rows;
        double largest = 0;
        for (std::uint64_t epoch = 0; epoch < state.constants.epochs; ++epoch) {
          old_rows.epoch(before, epoch);
          new_rows.epoch(after, epoch);
          largest = std::max(largest, (old_rows.weights - new_rows.weights).norm());
          REQUIRE(largest <= bound);
        }
        // Leaving out the moved rows would be too little: the runs stand farther apart.
        BatchChange removals_only(before.features(), 3, before.form());
        removals_only.removed = change.removed;
        TrainingSet fewer = before;
        fewer.apply(removals_only);
        const auto solver = make_solver(full ? "langevin-full" : "langevin", options);
        Model model = solver->fit(before, kExact).model;
        const double ignoring = solver->absorb(model, fewer, removals_only, kExact).terms.at("own_distance");
        if (!intercept) CHECK(largest > 1.2 * ignoring);  // with it the removed rows weigh more than the moves
        CHECK(bound > largest);
      }
  }

  TEST_CASE("T2: along a sequence the aligned retraining ends within what the account of each release says") {
    const SolverOptions options = langevin_run_options(Head::kLogistic, 0.05);
    const auto solver = make_solver("langevin", options);
    TrainingSet rows = random_rows(150, 5, 3, 62);
    Fit fit = solver->fit(rows, kExact);
    const LangevinState state = slots_on(rows, options);
    REQUIRE(state.constants == langevin_state(fit.model).constants);
    const std::uint64_t learnt = state.constants.epochs;

    std::uint64_t begins = learnt;  // epochs of the run so far
    Chain run(state, options, 5, 3);
    for (std::uint64_t epoch = 0; epoch < learnt; ++epoch) run.epoch(rows, epoch);
    for (unsigned request = 0; request < 6; ++request) {
      const BatchChange change = coherent_change(rows, request % 3, 40 + 10 * request, 0.2F);
      rows.apply(change);
      const StepReport report = solver->absorb(fit.model, rows, change, kExact);
      REQUIRE_FALSE(report.retrained);
      REQUIRE(report.certified);
      const auto epochs = static_cast<std::uint64_t>(report.passes);
      const double distance = report.terms.at("distance");
      CHECK(report.residual_bound <= options.epsilon);
      CHECK(report.residual_bound ==
            accountant_of(state.constants, run.sgd(), options).epsilon(distance, epochs, state.constants.sigma));

      // The retraining shares the noise of the run's last T epochs.
      Chain retraining(state, options, 5, 3);
      for (std::uint64_t epoch = begins + epochs - learnt; epoch < begins; ++epoch) retraining.epoch(rows, epoch);
      const double start = run.sgd().diameter() * run.sgd().power(run.sgd().iterations(learnt - epochs));
      CHECK((run.weights - retraining.weights).norm() <= start + distance);
      for (std::uint64_t epoch = begins; epoch < begins + epochs; ++epoch) {
        run.epoch(rows, epoch);
        retraining.epoch(rows, epoch);
      }
      CHECK((run.weights - retraining.weights).norm() <=
            run.sgd().power(run.sgd().iterations(epochs)) * (start + distance));
      begins += epochs;
    }
    CHECK(langevin_state(fit.model).distance > 0);
  }

  TEST_CASE("T2: the account grows with what earlier requests left over") {
    const SolverOptions options = langevin_run_options(Head::kLogistic, 0.05);
    const auto solver = make_solver("langevin", options);
    TrainingSet rows = random_rows(150, 5, 3, 63);
    Fit fit = solver->fit(rows, kExact);
    const NoisySgd sgd = noisy_sgd_of(langevin_state(fit.model).constants, options, 3);
    double before = 0;
    for (unsigned request = 0; request < 3; ++request) {
      const BatchChange change = coherent_change(rows, 1, 20, 0.1F);
      rows.apply(change);
      const std::uint64_t last = langevin_state(fit.model).last_epochs;
      const StepReport report = solver->absorb(fit.model, rows, change, kExact);
      const double own = report.terms.at("own_distance");
      const double expected = request == 0 ? own : following_distance(sgd, before, last, own);
      CHECK(report.terms.at("distance") == expected);
      if (request > 0) CHECK(expected > own);
      before = expected;
    }
  }

  TEST_CASE("the noise of a run has the variance of its linear chain, and a tenth of it is told") {
    SolverOptions options = langevin_run_options(Head::kLeastSquares, 0.05);
    const TrainingSet rows = line();
    constexpr std::size_t kRuns = 600;
    double curvature = options.lambda;
    for (std::size_t i = 0; i < rows.size(); ++i)
      curvature += static_cast<double>(rows.row(i)[0]) * static_cast<double>(rows.row(i)[0]) / 40;
    const LangevinConstants constants = slots_on(rows, options, true).constants;
    const double kept = 1 - constants.step_size * curvature;
    const double expected = 2 * constants.step_size * std::pow(constants.sigma, 2) / (1 - kept * kept);
    const auto near = [&](const Moments& found) {  // 7 standard deviations of a sample variance
      return std::abs(found.variance / expected - 1) < 7 * std::sqrt(2.0 / kRuns);
    };
    const auto fitted = [&](std::uint64_t seed) {
      options.seed = seed;
      return make_solver("langevin-full", options)->fit(rows, kExact).model;
    };
    CHECK(near(moments(kRuns, [&](std::uint64_t seed) { return fitted(seed).published; })));
    CHECK_FALSE(near(moments(kRuns, [&](std::uint64_t seed) {
      Model model = fitted(seed);
      model.state.numbers.at("sigma") /= 10;
      static_cast<void>(make_solver("langevin-full", options)->catch_up(model, rows, kExact));
      return model.published;
    })));
  }

  TEST_CASE("unlearnt and retrained models have one law up to epsilon; without an epoch they have not") {
    constexpr std::size_t kRuns = 300;
    for (const char* name : {"langevin", "langevin-full"}) {
      CAPTURE(name);
      SolverOptions options = langevin_run_options(Head::kLeastSquares, 0.05);
      options.epsilon = 0.5;
      const TrainingSet before = line();
      const BatchChange change = coherent_change(before, 30, 0, 0);
      TrainingSet after = before;
      after.apply(change);
      const auto unlearnt = [&](std::uint64_t seed, bool stop_early) -> Matrix {
        options.seed = seed;
        const auto solver = make_solver(name, options);
        Model model = solver->fit(before, kExact).model;
        const Matrix old = model.published;
        const StepReport report = solver->absorb(model, after, change, kExact);
        CHECK_FALSE(report.retrained);
        return stop_early ? old : model.published;
      };
      const Moments retrained = moments(kRuns, [&](std::uint64_t seed) {
        options.seed = seed + 1000;
        Model model = make_solver(name, options)->fit(before, kExact).model;
        static_cast<void>(make_solver(name, options)->catch_up(model, after, kExact));
        return model.published;
      });
      // Means of laws at epsilon 0.5 stand within mu = 0.12 standard deviations; the samples' own
      // error is added.
      const double allowed = (0.12 + 6 * std::sqrt(2.0 / kRuns)) * std::sqrt(retrained.variance);
      const Moments right = moments(kRuns, [&](std::uint64_t seed) { return unlearnt(seed, false); });
      const Moments wrong = moments(kRuns, [&](std::uint64_t seed) { return unlearnt(seed, true); });
      CHECK((right.mean - retrained.mean).norm() <= allowed);
      CHECK((wrong.mean - retrained.mean).norm() > allowed);
      CHECK(std::abs(right.variance / retrained.variance - 1) < 0.5);
    }
  }
}
