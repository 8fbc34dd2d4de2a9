// tests/algorithms/evaluation/audit_test.cpp - honest solvers pass, every planted sabotage is
// caught, a bound is right as often as it says.
#include "algorithms/evaluation/audit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "algorithms/evaluation/distinguisher.h"
#include "algorithms/evaluation/stated_run.h"
#include "algorithms/privacy/accounting/epsilon_lower_bound.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/sabotage.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

/// `removals` rows, one at the most, leave and others move.
Canary canary_on(const TrainingSet& rows, std::size_t removals, std::size_t moves, double distance) {
  Canary canary{"one row", rows, random_change(rows, 1, rows.size(), removals, moves, distance, 5), rows};
  canary.after.apply(canary.change);
  return canary;
}

Canary plain_canary(std::size_t removals = 1) {
  return canary_on(random_rows(60, 6, 3, 11), removals, 20, 0.05);
}

/// False alarms at a rate of 1e-7.
AuditResult attack(const SolverFactory& make, const Canary& canary, const SolverOptions& options,
                   std::uint64_t trials) {
  const testing::TempDir folder;
  AuditOptions how;
  how.trials = trials;
  how.confidence = 1 - 1e-7;
  how.folder = folder.path();
  return audit(make, options, canary, how);
}

/// Binomial tail by summation.
double at_least(int trials, int hits, double p) {
  double sum = 0;
  for (int k = hits; k <= trials; ++k)
    sum += std::exp(std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) - std::lgamma(trials - k + 1.0) + k * std::log(p) +
                    (trials - k) * std::log1p(-p));
  return sum;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a claim of epsilon 0: equality with training from nothing, and every planted difference is seen") {
    const Canary canary = plain_canary();
    const SolverOptions options = taken_options("exact", {});
    const AuditResult kept = attack(honest_solver("exact"), canary, options, 16);
    CHECK(kept.certified);
    CHECK(kept.evidence.unlearned_hits == 0);
    CHECK(kept.evidence.epsilon == 0);
    CHECK_FALSE(kept.refuted());
    const auto refuted = [&](const SolverFactory& make) {
      const AuditResult broken = attack(make, canary, options, 16);
      CHECK(broken.evidence.unlearned_hits == 16);
      CHECK(broken.refuted());
    };
    refuted(made_by<NoStep>("exact"));
    refuted(made_by<SkippedMoves>("exact"));
    refuted(made_by<StaleLambda>("exact"));
  }

  TEST_CASE("a lower bound of epsilon: exact limits, by summation") {
    const std::uint64_t n = 60;
    const double delta = 0.01, confidence = 0.9;
    for (const auto& [p_hits, q_hits] : {std::pair<std::uint64_t, std::uint64_t>{50, 3}, {60, 0}, {20, 1}}) {
      const double bound = epsilon_lower_bound({n, p_hits}, {n, q_hits}, delta, confidence);
      REQUIRE(bound > 0);
      // The limits by bisection of the tails, each with 5 %.
      double p = 0, q = 1;
      for (double step = 0.5; step > 1e-13; step /= 2) {
        if (at_least(60, static_cast<int>(p_hits), p + step) < 0.05) p += step;
        if (1 - at_least(60, static_cast<int>(q_hits) + 1, q - step) < 0.05) q -= step;
      }
      CHECK(bound == doctest::Approx(std::log((p - delta) / q)).epsilon(1e-9));
    }
    CHECK(epsilon_lower_bound({n, 3}, {n, 50}, delta, confidence) == 0);
    CHECK(epsilon_lower_bound({n, 0}, {n, 0}, delta, confidence) == 0);
    CHECK(epsilon_lower_bound({n, 60}, {n, 60}, delta, confidence) == 0);
    CHECK(epsilon_lower_bound({0, 0}, {0, 0}, delta, confidence) == 0);
    const double certain = epsilon_lower_bound({1000000000, 1000000000}, {1000000000, 0}, 1e-300, 1 - 1e-12);
    CHECK(certain == doctest::Approx(17.4).epsilon(0.01));
  }

  TEST_CASE("the curve of two Gaussians: no threshold refutes what is so, and most refute a shift twice as large") {
    constexpr std::uint64_t kTrials = 400;
    const double delta = 1e-4, mu = 1 / sigma_of(1, 1, delta);
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    int false_alarms = 0, told = 0, told_by_point = 0;
    for (int run = 0; run < 200; ++run)
      for (const double shift : {mu, 3 * mu}) {
        const double threshold = -1 + 0.01 * run;
        std::uint64_t p = 0, q = 0;
        for (std::uint64_t t = 0; t < kTrials; ++t) {
          p += normal(random) + shift > threshold ? 1 : 0;
          q += normal(random) > threshold ? 1 : 0;
        }
        const double bound = gaussian_epsilon_lower_bound({kTrials, p}, {kTrials, q}, delta, 0.95);
        const double point = epsilon_lower_bound({kTrials, p}, {kTrials, q}, delta, 0.95);
        if (shift == mu) {
          false_alarms += bound > 1 ? 1 : 0;
        } else {
          told += bound > 1 ? 1 : 0;
          told_by_point += point > 1 ? 1 : 0;
        }
      }
    CHECK(false_alarms <= 10);  // five percent and less: the limits of Clopper and Pearson are careful
    CHECK(told > 190);
    CHECK(told_by_point < 20);
    CHECK(gaussian_epsilon_lower_bound({10, 0}, {10, 10}, delta, 0.95) == 0);
    CHECK(gaussian_epsilon_lower_bound({kTrials, kTrials}, {kTrials, 0}, delta, 0.95) > 5);
    CHECK(std::isfinite(gaussian_epsilon_lower_bound({kTrials, kTrials}, {kTrials, 0}, delta, 0.95)));
  }

  TEST_CASE("a lower bound of epsilon refuses what is no probability and no count") {
    for (const double bad : {0.0, 1.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
      CHECK_THROWS_AS(static_cast<void>(epsilon_lower_bound({10, 5}, {10, 5}, bad, 0.9)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(epsilon_lower_bound({10, 5}, {10, 5}, 0.1, bad)), UsageError);
    }
    CHECK_THROWS_AS(static_cast<void>(epsilon_lower_bound({10, 11}, {10, 5}, 0.1, 0.9)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(epsilon_lower_bound({10, 5}, {10, 11}, 0.1, 0.9)), UsageError);
  }

  TEST_CASE("randomised response: the bound is below the true epsilon in all but a few runs, and not far" *
            doctest::test_suite("slow")) {
    const double truth = 1.5, p = std::exp(truth) / (1 + std::exp(truth));
    std::mt19937 random(3);
    int above = 0, near = 0;
    constexpr int kRuns = 100;
    for (int run = 0; run < kRuns; ++run) {
      const auto sample = [&](double chance) {
        Scores scores(2);  // the second tells nothing
        for (int t = 0; t < 500; ++t) {
          scores[0].push_back(std::bernoulli_distribution(chance)(random) ? 1 : 0);
          scores[1].push_back(std::normal_distribution<double>()(random));
        }
        return scores;
      };
      const TwoScores choice{sample(p), sample(1 - p)};
      const Event event = choose_event(choice, 500, {1e-6, 0.8});
      CHECK(event.statistic == 0);
      const double bound = try_event(event, {sample(p), sample(1 - p)}, {1e-6, 0.8}).epsilon;
      above += bound > truth ? 1 : 0;
      near += bound > truth - 0.5 ? 1 : 0;
    }
    CHECK(above < 0.2 * kRuns);
    CHECK(near > 0.9 * kRuns);
  }

  TEST_CASE("no honest solver is refuted, whatever moves and whoever leaves" * doctest::test_suite("slow")) {
    for (const std::size_t removals : {std::size_t{0}, std::size_t{1}}) {
      const Canary canary = plain_canary(removals);
      for (const std::string_view solver : solver_names()) {
        SolverOptions options;
        options.lambda = 0.05;
        if (!solver_entry(solver).linear.trained) options = taken_options(solver, options);
        const AuditResult result = attack(honest_solver(solver), canary, options, 160);
        CAPTURE(std::string(solver));
        CHECK(result.most > options.epsilon);
        CHECK_FALSE(result.refuted());
        CHECK((result.claim.has_value() || !result.certified));
        CHECK(std::isfinite(result.evidence.epsilon));
      }
    }
  }

  TEST_CASE("newton, retrain and langevin are audited as certified; too few trials are refused") {
    const Canary canary = plain_canary();
    for (const char* solver : {"newton", "retrain", "langevin"})
      CHECK(attack(honest_solver(solver), canary, {}, 16).certified);
    CHECK_FALSE(attack(honest_solver("scalegun"), canary, {}, 16).certified);
    CHECK_THROWS_AS(static_cast<void>(attack(honest_solver("newton"), canary, {}, 15)), UsageError);
  }

  TEST_CASE("sabotage is caught: a tenth of the noise, no step, reused noise, skipped moves") {
    const Canary canary = plain_canary(), moves = plain_canary(0);
    for (const auto& [what, make] : {std::pair{std::string("a tenth of the noise"), made_by<WeakNoise>("newton")},
                                     {"no step", made_by<NoStep>("newton")},
                                     {"reused noise", made_by<ReusedNoise>("newton")},
                                     {"skipped moves", made_by<SkippedMoves>("newton")},
                                     {"a tenth of the noise of retrain", made_by<WeakNoise>("retrain")},
                                     {"skipped moves of retrain", made_by<SkippedMoves>("retrain")}}) {
      const auto& shown = what;
      CAPTURE(shown);
      // Noise is the same to the bit where its level is, hence where no row leaves.
      const AuditResult result = attack(make, what == "reused noise" ? moves : canary, {}, 160);
      CHECK(result.certified);
      CHECK(result.refuted());
      CHECK(result.evidence.epsilon <= result.most);
    }
  }

  TEST_CASE("runs over slots with a third of the noise that they name are caught, against the run that is stated" *
            doctest::test_suite("slow")) {
    const Canary canary = canary_on(random_rows(24, 4, 2, 12), 1, 4, 0.3);
    const std::vector<std::pair<std::string, double>> runs{{"langevin", 0}, {"langevin-full", 0}, {"rewind", 0},
                                                           {"rewind", 1},   {"descend", 0},       {"descend", 2}};
    for (const auto& one : runs) {
      const std::string name = one.first;
      const double sampling = one.second;
      CAPTURE(name);
      CAPTURE(sampling);
      SolverOptions options;
      options.lambda = 0.05;
      options.parameters["epochs"] = 60;
      options.parameters["sigma"] = sampling == 0 ? 0.05 : 2;  // above what drawn batches scatter
      if (sampling != 0) options.parameters["sampling"] = sampling;
      const AuditResult fair = attack(honest_solver(name), canary, options, 400);
      CHECK(fair.certified);
      CHECK_FALSE(fair.refuted());
      const AuditResult weak = attack(made_by<ThirdOfNoise>(name), canary, options, 400);
      CHECK(weak.certified);
      CHECK(weak.refuted());
      CHECK(weak.attack.starts_with("distance from the "));
    }
  }

  TEST_CASE("T4's stated run over drawn batches ends where the solver's own runs do, in the mean and in its spread") {
    const Canary canary = canary_on(random_rows(30, 3, 2, 12), 2, 4, 0.3);
    SolverOptions options;
    options.lambda = 0.05;
    options.parameters = {{"epochs", 30}, {"batch-rows", 8}, {"sampling", 1}, {"sigma", 1e-3}};
    const auto solver = make_solver("rewind", options, {});
    Fit fit = solver->fit(canary.before, {});
    const StepReport report = solver->absorb(fit.model, canary.after, canary.change, {});
    REQUIRE(states_run(report));
    constexpr int kRuns = 600;
    const auto moments = [&](const auto& draw) {
      Matrix sum = Matrix::Zero(3, 2), squares = sum;
      for (int i = 0; i < kRuns; ++i) {
        const Matrix weights = draw();
        sum += weights / kRuns;
        squares += weights.cwiseProduct(weights) / kRuns;
      }
      return std::pair(sum, Matrix(squares - sum.cwiseProduct(sum)));
    };
    RandomSource random = RandomSource::from_seed(1, 2);
    const auto [mean, variance] = moments([&] {
      Model model = fit.model;
      static_cast<void>(solver->catch_up(model, canary.after, {}));
      return model.published;
    });
    const auto [stated_mean, stated_variance] =
        moments([&] { return stated_run(report, options, canary.before, canary.after, random); });
    CHECK(variance.minCoeff() > 10 * 1e-6);  // that of the draws, far above the noise
    for (Eigen::Index k = 0; k < mean.size(); ++k) {
      CHECK(std::abs(mean(k) - stated_mean(k)) < 6 * std::sqrt(2 * variance(k) / kRuns));
      CHECK(std::abs(variance(k) / stated_variance(k) - 1) < 6 * std::sqrt(4.0 / kRuns));
    }
  }

  TEST_CASE(
      "T3's stated run ends where the solver's own run does, with emptied slots and rows that moved, for every head") {
    const Canary canary = canary_on(random_rows(30, 4, 3, 12), 2, 4, 0.3);
    for (const Head head : {Head::kLogistic, Head::kSoftmax, Head::kLeastSquares}) {
      SolverOptions options;
      options.head = head;
      options.lambda = 0.05;
      options.parameters = {{"epochs", 7}, {"batch-rows", 8}, {"decay", 0.97}, {"s-max", 1e-9}};
      const auto solver = make_solver("hessian-free", options, {});
      Fit fit = solver->fit(canary.before, {});
      const StepReport report = solver->absorb(fit.model, canary.after, canary.change, {});
      REQUIRE(states_run(report));
      RandomSource random = RandomSource::from_seed(1, 2);
      const Matrix stated = stated_run(report, options, canary.before, canary.after, random);
      CHECK((stated - fit.model.published).norm() < 100 * report.terms.at("sigma"));
      CHECK(report.terms.at("sigma") < 1e-8);
      // The whole schedule matters: with one epoch of another size it ends elsewhere.
      StepReport other = report;
      other.terms.publish("decay", 0.96);
      CHECK((stated_run(other, options, canary.before, canary.after, random) - stated).norm() > 1e-3);
    }
  }

  TEST_CASE("langevin without its epochs is caught" * doctest::test_suite("slow")) {
    SolverOptions options;
    options.lambda = 0.005;
    const AuditResult result =
        attack(made_by<NoStep>("langevin"), canary_on(random_rows(24, 2, 2, 12), 1, 4, 0.3), options, 400);
    CHECK(result.certified);
    CHECK(result.refuted());
  }

  TEST_CASE("a fresh B after a trigger that depends on B is caught; without the trigger nothing is" *
            doctest::test_suite("slow")) {
    const Canary canary = canary_on(random_rows(24, 1, 1, 13), 1, 0, 0);
    SolverOptions options;
    options.epsilon = 0.5;
    options.alpha = 3;
    options.lambda = 0.05;
    // The margin is not large: one of eight audits must catch it, and none may find what is not
    // there.
    const auto caught = [&](bool draws_again, std::uint64_t audits) {
      for (options.seed = 1; *options.seed <= audits; ++*options.seed) {
        const AuditResult result = attack(
            [&](const SolverOptions& own, const SolverResources& resources) {
              return std::make_unique<ExactObjectiveNoise>(own, resources, draws_again);
            },
            canary, options, 10000);
        CHECK(result.certified);
        if (result.refuted()) return true;
      }
      return false;
    };
    CHECK_FALSE(caught(false, 1));
    CHECK(caught(true, 8));
  }
}
