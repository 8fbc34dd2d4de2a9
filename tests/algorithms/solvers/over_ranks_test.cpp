// tests/algorithms/solvers/over_ranks_test.cpp - every solver that trains over ranks finds there
// what it finds alone.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/shared_rows.h"
#include "support/thread_ranks.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr std::size_t kSpareMemory = std::size_t{1} << 28;

SolverOptions options_for(const SolverEntry& entry, Head head) {
  SolverOptions options = taken_options(entry.name, {});
  options.head = head;
  options.lambda = 0.02;
  options.tau = 1e-4;
  options.seed = 5;
  return options;
}

bool same_bits(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         std::memcmp(a.data(), b.data(), size_of(a.size()) * sizeof(double)) == 0;
}

void check_same_fit(const Fit& fit, const Fit& alone) {
  CHECK(same_bits(fit.model.published, alone.model.published));
  CHECK(fit.model.state.numbers == alone.model.state.numbers);
  CHECK(fit.model.state.arrays == alone.model.state.arrays);
  CHECK(fit.model.trained_rows == alone.model.trained_rows);
  CHECK(fit.report.terms.values() == alone.report.terms.values());
  CHECK(fit.report.residual_bound == alone.report.residual_bound);
  CHECK(fit.report.passes == alone.report.passes);
  CHECK(fit.report.steps == alone.report.steps);
  CHECK(fit.report.certified == alone.report.certified);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("solvers over ranks: weights, state and terms have the bits of one process, for every head") {
    const TrainingSet whole = random_rows(1500, 6, 3, 31);
    std::set<std::string_view> solvers;
    for (const SolverEntry* const entry : all_solvers()) {
      if (!entry->linear.over_ranks) continue;
      solvers.insert(entry->name);
      for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax}) {
        if (couples_classes(head) && !entry->coupled_heads) continue;
        CAPTURE(std::string(entry->name));
        CAPTURE(std::string(name_of(head)));
        const auto solver = make_solver(entry->name, options_for(*entry, head), {kSpareMemory, {}});
        const auto fit_among = [&](std::size_t size) {
          std::vector<Fit> fits(size);
          run_ranks(size, [&](Ranks& ranks) { fits[ranks.rank()] = solver->fit(shared_among(ranks, whole), kExact); });
          return fits;
        };
        Fit alone = solver->fit(whole, kExact);
        if (entry->canonical) {  // one process may go another way to the same weights
          const Fit rank = fit_among(1).front();
          CHECK(same_bits(rank.model.published, alone.model.published));
          alone = rank;
        }
        for (const std::size_t size : {1U, 2U, 3U, 4U, 8U}) {
          CAPTURE(size);
          for (const Fit& fit : fit_among(size)) check_same_fit(fit, alone);
        }
      }
    }
    CHECK((solvers == std::set<std::string_view>{"exact", "newton", "retrain", "scalegun", "cgu", "ceu", "newton-step",
                                                 "jackknife", "descent-to-delete", "finetune", "neggrad"}));
  }

  TEST_CASE("solvers over ranks: noise is drawn once") {
    const TrainingSet whole = random_rows(600, 4, 2, 37);
    for (const std::string_view name : {"newton", "scalegun", "newton-step"}) {
      CAPTURE(std::string(name));
      SolverOptions options = options_for(solver_entry(name), Head::kLogistic);
      options.seed.reset();
      const auto solver = make_solver(name, options, {kSpareMemory, {}});
      std::vector<Fit> fits(3);
      run_ranks(3, [&](Ranks& ranks) { fits[ranks.rank()] = solver->fit(shared_among(ranks, whole), kExact); });
      for (const Fit& fit : fits) CHECK(same_bits(fit.model.published, fits[0].model.published));
      CHECK_FALSE(same_bits(fits[0].model.published, solver->fit(whole, kExact).model.published));
    }
  }

  TEST_CASE("solvers over ranks: the others are refused with the names of those that can") {
    SolverOptions network;
    network.head = Head::kSoftmax;
    network.hidden = {4};
    CHECK_NOTHROW(require_over_ranks("exact", {}));
    CHECK_THROWS_WITH_AS(require_over_ranks("rewind", {}), doctest::Contains("start it alone"), UsageError);
    CHECK_THROWS_WITH_AS(require_over_ranks("rewind", {}), doctest::Contains("exact, "), UsageError);
    CHECK_THROWS_WITH_AS(require_over_ranks("retrain", network), doctest::Contains("retrain with hidden layers"),
                         UsageError);
  }
}
