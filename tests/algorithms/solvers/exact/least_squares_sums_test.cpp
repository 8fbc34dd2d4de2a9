// tests/algorithms/solvers/exact/least_squares_sums_test.cpp - sums in closed form against the
// general way to the minimiser and against whole numbers.
#include "algorithms/solvers/exact/least_squares_sums.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "algorithms/solvers/exact/exact_minimiser.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr std::size_t kSumsMemory = std::size_t{64} << 20;

Objective squares_of(const TrainingSet& set, double mu) {
  return {set.rows(), set.classes(), Head::kLeastSquares, mu, nullptr};
}

Matrix in_general(const TrainingSet& set, double mu, int bits) {
  const Matrix nothing = Matrix::Zero(index_of(set.features()), index_of(set.classes()));
  return minimise_exactly(squares_of(set, mu), nothing, {bits, kSumsMemory}).weights;
}

/// Rows of very different sizes in very different columns, some below all slices of the others.
TrainingSet uneven_rows(std::size_t rows, std::size_t features, std::size_t classes, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  TrainingSet set(features, classes);
  std::vector<float> row(features);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t f = 0; f < features; ++f)
      row[f] = static_cast<float>(0.3 * normal(random) *
                                  std::ldexp(1.0, -static_cast<int>(random() % (f % 3 == 0 ? 90 : 4))));
    set.append(static_cast<NodeId>(i), row, static_cast<ClassId>(random() % classes));
  }
  return set;
}

TrainingSet part_of(const TrainingSet& set, std::size_t first, std::size_t last) {
  TrainingSet out(set.features(), set.classes());
  for (std::size_t i = first; i < last; ++i) out.append(set.nodes()[i], set.row(i), set.labels()[i]);
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the closed form gives the bits that the general way gives") {
    for (const unsigned seed : {70U, 71U})
      for (const double mu : {1e-4, 0.3}) {
        const TrainingSet even = random_rows(300, 7, 4, seed), uneven = uneven_rows(700, 9, 3, seed);
        for (const TrainingSet* set : {&even, &uneven})
          for (const int bits : {24, 36}) {
            const auto found = LeastSquaresSums(squares_of(*set, mu)).minimise(mu, bits);
            REQUIRE(found);
            CHECK(found->weights == in_general(*set, mu, bits));
            CHECK(found->radius > 0);
            CHECK(found->radius < std::ldexp(1.0, -bits - 1));
          }
      }
  }

  TEST_CASE("sums follow removed and moved rows, batch after batch") {
    const double mu = 1e-3;
    TrainingSet rows = uneven_rows(400, 8, 3, 72);
    LeastSquaresSums sums(squares_of(rows, mu));
    std::mt19937 random(73);
    for (int batch = 0; batch < 25; ++batch) {
      BatchChange change(8, 3);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const unsigned fate = static_cast<unsigned>(random() % 20);
        if (fate == 0) change.removed.append(rows.nodes()[i], rows.row(i), rows.labels()[i]);
        if (fate < 1 || fate > 3) continue;
        std::vector<float> moved(rows.row(i).begin(), rows.row(i).end());
        moved[random() % 8] *= 0.5F;
        change.moved_from.append(rows.nodes()[i], rows.row(i), rows.labels()[i]);
        change.moved_to.append(rows.nodes()[i], moved, rows.labels()[i]);
      }
      rows.apply(change);
      sums.follow(change);
      CHECK(sums.are_of(rows.rows()));
      const auto found = sums.minimise(mu, 30);
      REQUIRE(found);
      CHECK(found->weights == in_general(rows, mu, 30));
    }
    // All rows gone: the minimiser is 0, and what rounding left of the sums is within its bound.
    BatchChange change(8, 3);
    for (std::size_t i = 0; i < rows.size(); ++i) change.removed.append(rows.nodes()[i], rows.row(i), rows.labels()[i]);
    sums.follow(change);
    const auto nothing = sums.minimise(mu, 24);
    REQUIRE(nothing);
    CHECK(nothing->weights.isZero(0));
  }

  TEST_CASE("a row that was not told of is seen in the weights") {
    const TrainingSet rows = random_rows(60, 4, 2, 74), others = part_of(rows, 0, 59);
    LeastSquaresSums sums(squares_of(rows, 1e-2));
    const auto found = sums.minimise(1e-2, 24);
    REQUIRE(found);
    CHECK(found->weights != in_general(others, 1e-2, 24));
    CHECK(sums.are_of(rows.rows()));
    CHECK_FALSE(sums.are_of(others.rows()));
    TrainingSet relabelled = part_of(rows, 0, 59);
    relabelled.append(rows.nodes()[59], rows.row(59), 1 - rows.labels()[59]);
    CHECK_FALSE(sums.are_of(relabelled.rows()));
  }

  TEST_CASE("nothing is returned where it is not proved") {
    TrainingSet rows(3, 2);
    for (NodeId i = 0; i < 40; ++i) rows.append(i, std::vector<float>{0.5F, 0.25F, 0.125F}, i % 2);
    const Objective objective = squares_of(rows, 1e-18);
    CHECK_FALSE(LeastSquaresSums(objective).minimise(1e-18, 24));
    CHECK(LeastSquaresSums::serve(objective));
    Objective logistic = objective;
    logistic.head = Head::kLogistic;
    CHECK_FALSE(LeastSquaresSums::serve(logistic));
    const TrainingSet wide = random_rows(5, 600, 2, 75);
    CHECK_FALSE(LeastSquaresSums::serve(squares_of(wide, 1)));
  }
}
