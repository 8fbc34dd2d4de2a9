// tests/algorithms/learning/kept_preconditioner_test.cpp - how long a session keeps a
// preconditioner, and that it saves products.
#include "algorithms/learning/kept_preconditioner.h"

#include <doctest/doctest.h>

#include <limits>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/working_memory.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr std::size_t kSessionMemory = std::size_t{64} << 20;

Objective session_objective(const TrainingSet& set) {
  return {set.rows(), set.classes(), Head::kLogistic, 1e-3, nullptr};
}

std::unique_ptr<Preconditioner> plain_preconditioner(const Objective& objective) {
  const Matrix nothing = Matrix::Zero(index_of(objective.rows.features), index_of(objective.classes));
  return make_diagonal_preconditioner(HessianOperator(objective, nothing));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a preconditioner is kept until it is worn, or until products would pay a better one") {
    const TrainingSet set = random_rows(200, 5, 3, 60), wider = random_rows(200, 6, 3, 61);
    const Objective objective = session_objective(set), other = session_objective(wider);
    KeptPreconditioner kept;
    CHECK(kept.take(objective) == nullptr);
    const double guess = kept.worth();
    CHECK(guess > 0);
    kept.keep(plain_preconditioner(objective), objective, guess / 2);
    CHECK(kept.worth() == guess);
    auto taken = kept.take(objective);
    CHECK(taken != nullptr);
    kept.keep(std::move(taken), objective, 0.7 * guess);
    taken = kept.take(objective);
    CHECK(taken != nullptr);
    kept.keep(std::move(taken), objective, 0.8 * guess);  // worn
    CHECK(kept.worth() == 1.6 * guess);
    CHECK(kept.take(objective) == nullptr);

    // The first one cost what was guessed; so many products pay one that costs more, which is kept
    // as long as they do not grow.
    KeptPreconditioner hard;
    CHECK(hard.take(objective) == nullptr);
    hard.keep(plain_preconditioner(objective), objective, 10 * guess);
    CHECK(hard.take(objective) == nullptr);
    CHECK(hard.worth() == 20 * guess);
    hard.keep(plain_preconditioner(objective), objective, 5 * guess);
    CHECK(hard.take(objective) != nullptr);

    KeptPreconditioner shaped;
    CHECK(shaped.take(objective) == nullptr);
    shaped.keep(plain_preconditioner(objective), objective, 1);
    CHECK(shaped.take(other) == nullptr);
  }

  TEST_CASE("what may cost more products is stronger, and serves rows that changed since") {
    constexpr std::size_t kFeatures = 600, kRows = 900, kFactors = 40;
    const Matrix loads = random_matrix(kFactors, kFeatures, 62), scores = random_matrix(kRows, kFactors, 63),
                 noise = random_matrix(kRows, kFeatures, 64);
    TrainingSet set(kFeatures, 3), fewer(kFeatures, 3);
    std::vector<float> row(kFeatures);
    for (std::size_t i = 0; i < kRows; ++i) {
      const Matrix values = scores.row(index_of(i)) * loads + 0.1 * noise.row(index_of(i));
      for (std::size_t f = 0; f < kFeatures; ++f) row[f] = static_cast<float>(values(0, index_of(f)) / 200);
      set.append(static_cast<NodeId>(i), row, static_cast<ClassId>(i % 3));
      if (i % 100 > 0) fewer.append(static_cast<NodeId>(i), row, static_cast<ClassId>(i % 3));
    }
    const Objective objective = session_objective(set), after = session_objective(fewer);
    const std::size_t ample = std::numeric_limits<std::size_t>::max();
    CHECK(preconditioner_bytes(set.rows(), 3, ample) == 0);  // a quarter of a product pays no picks
    const std::size_t bytes = preconditioner_bytes(set.rows(), 3, ample, 1e9);
    CHECK(bytes > 3 * 512 * 512 * sizeof(double));
    CHECK(preconditioner_bytes(set.rows(), 3, bytes - 1, 1e9) < bytes);
    CHECK(working_memory_within(set.rows(), 3, kSessionMemory, 1e9).preconditioner == bytes);

    NewtonOptions options;
    options.tolerance = 1e-7;
    options.memory = kSessionMemory;
    const NewtonResult start = minimise(objective, Matrix::Zero(kFeatures, 3), options),
                       alone = minimise(after, start.weights, options);
    KeptPreconditioner kept;
    static_cast<void>(kept.take(objective));
    kept.keep(plain_preconditioner(objective), objective, 1e6);  // so many products pay any
    options.kept = &kept;
    NewtonResult first = minimise(objective, start.weights + 1e-4 * random_matrix(kFeatures, 3, 65), options);
    REQUIRE(first.preconditioner != nullptr);
    kept.keep(std::move(first.preconditioner), objective, first.products);
    const NewtonResult second = minimise(after, start.weights, options);
    CHECK(2 * second.products < alone.products);
    CHECK(second.residual <= options.tolerance);
  }
}
