// tests/algorithms/evaluation/one_run_audit_test.cpp - guesses of many coins from one release: the
// bound, honest solvers, planted sabotage.
#include "algorithms/evaluation/one_run_audit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/shortcuts.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

/// `removals` of 90 rows leave, and others move. There are so many features that each row has
/// directions of its own.
Canary many_rows(std::size_t removals) {
  const TrainingSet rows = random_rows(90, 60, 3, 11);
  Canary canary{"many rows", rows, random_change(rows, 1, 2, removals, 5, 0.05, 5), rows};
  canary.after.apply(canary.change);
  return canary;
}

AuditResult in_one_run(const SolverFactory& make, const Canary& canary, const SolverOptions& options,
                       double confidence = 0.95) {
  const testing::TempDir folder;
  AuditOptions how;
  how.confidence = confidence;
  how.folder = folder.path();
  how.working_memory = std::size_t{1} << 28;
  return audit_in_one_run(make, options, canary, how);
}

SolverFactory solver_of(std::string_view name) {
  return [name](const SolverOptions& options, const SolverResources& resources) {
    return make_solver(name, options, resources);
  };
}

template <class Saboteur>
SolverFactory saboteur_of(std::string_view name) {
  return [name](const SolverOptions& options, const SolverResources& resources) {
    return std::make_unique<Saboteur>(name, options, resources);
  };
}

/// By Pascal's triangle, in long double.
long double tail_by_counting(std::uint64_t made, std::uint64_t right) {
  std::vector<long double> chance{1};
  for (std::uint64_t n = 0; n < made; ++n) {
    chance.push_back(0);
    for (std::size_t k = chance.size() - 1; k > 0; --k) chance[k] = (chance[k] + chance[k - 1]) / 2;
    chance[0] /= 2;
  }
  long double sum = 0;
  for (std::size_t k = chance.size(); k-- > right;) sum += chance[k];
  return sum;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the chance of so many right guesses: the binomial tail by Pascal's triangle, and far beyond float64") {
    for (const std::uint64_t made : {1, 2, 7, 40, 333})
      for (std::uint64_t right = 0; right <= made; right += 1 + made / 13)
        CHECK(log_chance({made, right}) ==
              doctest::Approx(static_cast<double>(std::log(tail_by_counting(made, right)))).epsilon(1e-10));
    CHECK(log_chance({0, 0}) == 0);
    CHECK(log_chance({5000, 5000}) == doctest::Approx(-5000 * std::log(2.0)).epsilon(1e-12));
    CHECK(log_chance({5000, 0}) == 0);
    CHECK_THROWS_AS(static_cast<void>(log_chance({3, 4})), UsageError);
  }

  TEST_CASE("one run: both bounds invert what a claim allows, and refuse levels that are none") {
    const double delta = 1e-3, confidence = 0.95;
    const CoinGuesses guesses{20, 17};
    const double chance = std::exp(log_chance(guesses));
    const double bound = one_run_lower_bound(guesses, delta, confidence);
    CHECK(std::exp(bound) * chance + delta == doctest::Approx(0.05).epsilon(1e-9));
    CHECK(one_run_lower_bound(guesses, 0, confidence) > bound);
    CHECK(one_run_lower_bound(guesses, 0.06, confidence) == 0);
    CHECK(one_run_lower_bound({20, 11}, delta, confidence) == 0);
    const double curve = gaussian_one_run_lower_bound(guesses, delta, confidence);
    CHECK(curve > bound);
    // The least shift at which Gaussians meet an event of this chance with one in twenty, by
    // bisection.
    double mu = 0;
    for (double step = 8; step > 1e-12; step /= 2) {
      const double quantile = [&] {
        double x = -40;
        for (double s = 40; s > 1e-14; s /= 2)
          if (std::erfc(-(x + s) / std::sqrt(2.0)) / 2 < chance) x += s;
        return x;
      }();
      if (std::erfc(-(quantile + mu + step) / std::sqrt(2.0)) / 2 < 0.05) mu += step;
    }
    CHECK(curve == doctest::Approx(epsilon_of(mu, 1, delta)).epsilon(1e-6));
    CHECK(gaussian_one_run_lower_bound({20, 11}, delta, confidence) == 0);
    CHECK(std::isfinite(gaussian_one_run_lower_bound({4000, 4000}, delta, confidence)));
    for (const double bad : {-0.1, 1.0, std::nan("")})
      CHECK_THROWS_AS(static_cast<void>(one_run_lower_bound(guesses, bad, confidence)), UsageError);
    for (const double bad : {0.0, 1.0, std::nan("")})
      CHECK_THROWS_AS(static_cast<void>(gaussian_one_run_lower_bound(guesses, delta, bad)), UsageError);
  }

  TEST_CASE("one run: a claim that is reached refutes itself no more often than it may, one of half of it often") {
    // The release is the coins themselves with a chance, and else other coins: the worst that
    // (epsilon, 0) allows of 12 coins.
    constexpr std::uint64_t kCoins = 12;
    const double epsilon = 3, lucky = std::exp(epsilon) * std::exp2(-static_cast<double>(kCoins));
    const double told =
        (lucky - std::exp2(-static_cast<double>(kCoins))) / (1 - std::exp2(-static_cast<double>(kCoins)));
    std::mt19937_64 random(5);
    int above = 0, refuted = 0;
    constexpr int kRuns = 20000;
    for (int run = 0; run < kRuns; ++run) {
      const bool all = std::bernoulli_distribution(told)(random);
      std::uint64_t right = 0;
      for (std::uint64_t i = 0; i < kCoins; ++i) right += all || random() % 2 == 1 ? 1 : 0;
      const double bound = one_run_lower_bound({kCoins, right}, 0, 1 - lucky);
      above += bound > epsilon * (1 + 1e-9) ? 1 : 0;
      refuted += bound > epsilon / 2 ? 1 : 0;
    }
    CHECK(above <= lucky * kRuns);
    CHECK(refuted >= 0.7 * lucky * kRuns);
  }

  TEST_CASE("labels by coins: only rows that leave, present rows and their slots are those of any other coins") {
    const Canary canary = many_rows(20);
    std::vector<bool> coins(20, false);
    coins[3] = coins[7] = true;
    const Canary drawn = with_labels_by_coins(canary, coins, std::vector<std::size_t>(20, 2));
    REQUIRE(drawn.before.size() == canary.before.size());
    CHECK(std::ranges::equal(drawn.before.nodes(), canary.before.nodes()));
    CHECK(std::ranges::equal(drawn.after.labels(), canary.after.labels()));
    std::size_t differ = 0;
    for (std::size_t i = 0; i < canary.before.size(); ++i) {
      CHECK(std::ranges::equal(drawn.before.row(i), canary.before.row(i)));
      if (drawn.before.labels()[i] == canary.before.labels()[i]) continue;
      ++differ;
      const auto at = canary.change.removed.find(canary.before.nodes()[i]);
      REQUIRE(at.has_value());
      CHECK(coins[*at]);
      CHECK(drawn.before.labels()[i] == (canary.before.labels()[i] + 2) % 3);
      CHECK(drawn.change.removed.labels()[*at] == drawn.before.labels()[i]);
    }
    CHECK(differ == 2);
    TrainingSet after = drawn.before;
    after.apply(drawn.change);
    CHECK(std::ranges::equal(after.labels(), drawn.after.labels()));
  }

  TEST_CASE("one run: a solver that unlearns nothing is refuted, an honest one is not; half of the coins are guessed") {
    const Canary canary = many_rows(40);
    for (const char* name : {"exact", "newton", "retrain"}) {
      const SolverOptions options = taken_options(name, {});
      CAPTURE(std::string(name));
      const AuditResult fair = in_one_run(solver_of(name), canary, options, 1 - 1e-6);
      CHECK(fair.certified);
      CHECK_FALSE(fair.refuted());
      REQUIRE(fair.guesses.has_value());
      CHECK(fair.guesses->made == (std::string_view(name) == "exact" ? 0 : 20));  // equal weights say nothing
      const AuditResult kept = in_one_run(saboteur_of<NoStep>(name), canary, options, 1 - 1e-3);
      CHECK(kept.certified);
      CHECK(kept.guesses->made == 20);
      CHECK(kept.refuted());
      CHECK(kept.evidence.epsilon <= kept.most);
    }
  }

  TEST_CASE("one run: requests that remove no training row, and a single class, are refused") {
    CHECK_THROWS_AS(static_cast<void>(in_one_run(solver_of("newton"), many_rows(0), {})), UsageError);
    const TrainingSet rows = random_rows(30, 3, 1, 4);
    Canary canary{"one class", rows, random_change(rows, 1, 2, 5, 0, 0, 5), rows};
    canary.after.apply(canary.change);
    CHECK_THROWS_AS(static_cast<void>(in_one_run(solver_of("newton"), canary, {})), UsageError);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("one run: of every solver that is certified, false alarms are no more frequent than the confidence says") {
    const Canary canary = many_rows(40);
    for (const std::string_view name : solver_names()) {
      SolverOptions options = taken_options(name, {});
      options.lambda = 0.05;
      int certified = 0, refuted = 0;
      for (int run = 0; run < 20; ++run) {
        const AuditResult result = in_one_run(solver_of(name), canary, options, 0.9);
        certified += result.certified ? 1 : 0;
        refuted += result.refuted() ? 1 : 0;
      }
      CAPTURE(std::string(name));
      CHECK((certified == 0 || certified == 20));
      CHECK(refuted <= 9);  // more than 9 of 20 by a tenth each: less than one in 100,000
    }
  }

  TEST_CASE("one run: an old iterate under fresh noise is refuted for runs over slots") {
    const Canary canary = many_rows(40);
    for (const char* name : {"langevin", "langevin-full", "rewind", "descend", "hessian-free"}) {
      SolverOptions options = taken_options(name, {});
      options.lambda = 0.05;
      if (std::string_view(name) == "hessian-free")
        options.parameters["s-max"] = 1e-3;
      else
        options.parameters["sigma"] = std::string_view(name).starts_with("langevin") ? 1e-3 : 1e-4;
      CAPTURE(std::string(name));
      CHECK_FALSE(in_one_run(solver_of(name), canary, options, 1 - 1e-6).refuted());
      const AuditResult old = in_one_run(saboteur_of<OldIterate>(name), canary, options, 1 - 1e-3);
      CHECK(old.certified);
      CHECK(old.refuted());
    }
  }
}
