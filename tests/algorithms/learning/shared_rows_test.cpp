// tests/algorithms/learning/shared_rows_test.cpp - sums over rows that ranks share, against the
// bits of one process.
#include "support/shared_rows.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/objective.h"
#include "algorithms/learning/preconditioner.h"
#include "algorithms/learning/rank_passes.h"
#include "algorithms/learning/row_sample.h"
#include "algorithms/learning/spectral_norm.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/solvers/exact/exact_gradient.h"
#include "engine/ranks/planned_ranks.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/thread_ranks.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr std::size_t kSpare = std::size_t{1} << 28;

/// The bits of numbers, one after the other.
class BitsOf {
 public:
  BitsOf& add(double value) {
    bits_.push_back(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  template <class Dense>
  requires requires(const Dense& dense) { dense.data(); }
  BitsOf& add(const Dense& dense) {
    for (Eigen::Index k = 0; k < dense.size(); ++k) add(static_cast<double>(dense.data()[k]));
    return *this;
  }
  friend bool operator==(const BitsOf&, const BitsOf&) = default;

 private:
  std::vector<std::uint64_t> bits_;
};

/// What `measure` finds on rows that so many ranks share, all of which must find it.
BitsOf over_ranks(std::size_t size, const TrainingSet& whole,
                  const std::function<BitsOf(const TrainingSet&)>& measure) {
  std::vector<BitsOf> found(size);
  run_ranks(size, [&](Ranks& ranks) { found[ranks.rank()] = measure(shared_among(ranks, whole)); });
  for (const BitsOf& one : found) CHECK(one == found[0]);
  return found[0];
}

void check_same(const TrainingSet& whole, const std::function<BitsOf(const TrainingSet&)>& measure) {
  const BitsOf alone = measure(whole);
  for (const std::size_t size : {1U, 2U, 3U, 4U, 8U}) {
    CAPTURE(size);
    CHECK(over_ranks(size, whole, measure) == alone);
  }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("ranks hold their own rows alone, and all labels and norms") {
    const TrainingSet whole = random_rows(4100, 5, 3, 7, 0, true);
    for (const std::size_t size : {1U, 2U, 3U, 4U, 8U, 20U}) {
      CAPTURE(size);
      std::vector<RankShare> own(size);
      std::mutex mutex;
      std::size_t wrong = 0;
      run_ranks(size, [&](Ranks& ranks) {
        const TrainingSet set = shared_among(ranks, whole);
        const Rows rows = set.rows(), all = whole.rows();
        const std::scoped_lock lock(mutex);
        own[ranks.rank()] = set.own();
        wrong += rows.count == all.count && set.size() == whole.size() ? 0 : 1;
        for (std::size_t i = 0; i < rows.count; ++i)
          wrong += rows.norms[i] == all.norms[i] && rows.labels[i] == all.labels[i] ? 0 : 1;
        for (std::size_t i = rows.first; i < rows.last; ++i)
          wrong += std::memcmp(rows.row(i), all.row(i), rows.features * sizeof(float)) == 0 ? 0 : 1;
        wrong += most_rows_of_a_rank(rows) <= whole.size() / size + 4100 / 16 + 1 ? 0 : 1;
      });
      CHECK(wrong == 0);
      CHECK(own.front().begin == 0);
      CHECK(own.back().end == whole.size());
      for (std::size_t r = 1; r < size; ++r) CHECK(own[r].begin == own[r - 1].end);
    }
  }

  TEST_CASE("gradients, Hessian products and exact gradients have the bits of one process") {
    for (const std::size_t count : {0U, 1U, 700U, 3000U})
      for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax}) {
        CAPTURE(count);
        const TrainingSet whole = random_rows(count, 9, 4, 11, 0, true);
        const Matrix weights = random_matrix(10, 4, 5), step = random_matrix(10, 4, 6, 1e-9);
        const std::vector<std::size_t> classes{0, 1, 2, 3}, some{1, 3};
        check_same(whole, [&](const TrainingSet& set) {
          BitsOf bits;
          const Objective objective = objective_of(set, 1e-3, head);
          Curvatures kept = curvatures_within(objective, kSpare);
          const Gradient rough = rough_gradient(objective, weights),
                         fine = gradient_with_error(objective, weights, &kept);
          bits.add(rough.value).add(rough.error).add(rough.norm);
          bits.add(fine.value).add(fine.error).add(fine.slope_norm).add(fine.class_slope_norm);
          for (const Curvatures* from :
               {static_cast<const Curvatures*>(nullptr), static_cast<const Curvatures*>(&kept)}) {
            const HessianOperator hessian(objective, weights, from);
            bits.add(hessian.apply(weights, classes)).add(hessian.diagonal());
            if (!couples_classes(head)) bits.add(hessian.apply(weights.leftCols(2), some));
          }
          const CurvatureAction action = curvature_action(objective, weights, step);
          bits.add(action.product).add(action.image_norm).add(action.squared_image_norm);
          if (count > 0) bits.add(spectral_norm_above(set.rows()));
          const ExactGradient exact = exact_gradient(objective, weights, 3);
          const FirstOrder next = first_order(objective, exact, step);
          return bits.add(exact.value).add(exact.error).add(next.residual).add(next.error);
        });
      }
  }

  TEST_CASE("preconditioners have the bits of one process, whatever the sample") {
    struct Shape {
      std::size_t rows, features;
    };
    for (const Shape& shape : {Shape{900, 6}, {3000, 6}, {40'000, 3}}) {
      CAPTURE(shape.rows);
      const TrainingSet whole = random_rows(shape.rows, shape.features, 3, 13);
      const Matrix weights = random_matrix(shape.features, 3, 15), residual = random_matrix(shape.features, 3, 16);
      const std::vector<std::size_t> classes{0, 1, 2};
      check_same(whole, [&](const TrainingSet& set) {
        BitsOf bits;
        const HessianOperator hessian(objective_of(set, 1e-3), weights);
        // Ranks share the classes, of which there are fewer than some numbers of ranks.
        for (const std::size_t directions : {shape.features, shape.features - 1}) {
          const auto sampled = make_sampled_preconditioner(hessian, {directions, 300});
          bits.add(sampled->apply(residual, classes));
          sampled->refresh(hessian);
          bits.add(sampled->apply(residual, classes));
        }
        return bits.add(make_diagonal_preconditioner(hessian)->apply(residual, classes))
            .add(make_spectral_preconditioner(hessian)->apply(residual, classes));
      });
    }
  }

  TEST_CASE("a refresh sends the rows of a sample no second time, and what a plan says") {
    // More rows than a sample has, on ranks that lack some of its rows at both ends of their lanes.
    const TrainingSet whole = random_rows(33 * 4096, 3, 2, 17);
    const Matrix weights = random_matrix(3, 2, 15);
    for (const bool sampled : {true, false}) {
      CAPTURE(sampled);
      PlannedRanks plan(3, 0);
      if (sampled)
        count_sampled_refresh(whole.rows(), 2, 3, plan);
      else
        plan.count_sum((2 + 1) * sizeof(double));
      std::vector<RankTraffic> made(3), refreshed(3);
      run_ranks(3, [&](Ranks& ranks) {
        const TrainingSet set = shared_among(ranks, whole);
        const HessianOperator hessian(objective_of(set, 1e-3), weights);
        ranks.count_from_here();
        const auto preconditioner =
            sampled ? make_sampled_preconditioner(hessian, {3, 300}) : make_spectral_preconditioner(hessian);
        made[ranks.rank()] = ranks.traffic();
        ranks.count_from_here();
        preconditioner->refresh(hessian);
        refreshed[ranks.rank()] = ranks.traffic();
      });
      for (std::size_t rank = 0; rank < 3; ++rank) {
        CHECK(refreshed[rank].verbs == plan.calls().verbs);
        CHECK(refreshed[rank].verbs < made[rank].verbs);
      }
      std::uint64_t bytes = 0;
      for (const RankTraffic& one : refreshed) bytes += one.received_bytes;
      if (sampled) CHECK(bytes == plan.calls().received_bytes);  // threads do not count what sums take
    }
  }

  TEST_CASE("a sample whose lanes end elsewhere than those of all rows") {
    // 33 lanes of all rows, 16 of the sample: ranks lack rows at both ends of their lanes.
    const TrainingSet whole = random_rows(33 * 4096, 2, 2, 17);
    for (const std::size_t most : {5000U, 32768U, 100'000U})
      check_same(whole, [&](const TrainingSet& set) { return BitsOf().add(gram_of(RowSample(set.rows(), most))); });
  }

  TEST_CASE("minimisers have the bits of one process") {
    for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax})
      for (const std::size_t memory : {std::size_t{0}, kSpare}) {
        const TrainingSet whole = random_rows(2500, 8, 3, 19, 0, true);
        check_same(whole, [&](const TrainingSet& set) {
          NewtonOptions options;
          options.memory = memory;
          const NewtonResult done = minimise(objective_of(set, 1e-4, head), Matrix::Zero(9, 3), options);
          return BitsOf().add(done.weights).add(done.residual).add(done.passes).add(done.steps);
        });
      }
  }

  TEST_CASE("what does not fit on one rank is taken on none") {
    const TrainingSet whole = random_rows(2500, 8, 3, 23);
    std::vector<WorkingMemory> found(3);
    run_ranks(3, [&](Ranks& ranks) {
      const TrainingSet set = shared_among(ranks, whole);
      found[ranks.rank()] = working_memory_within(set.rows(), 3, ranks.rank() == 1 ? 0 : kSpare);
    });
    for (const WorkingMemory& memory : found) CHECK(memory.total() == 0);
  }

  TEST_CASE("shared rows do not change, and what a rank throws all throw") {
    const TrainingSet whole = random_rows(600, 3, 2, 29);
    CHECK_THROWS_WITH_AS(run_ranks(2,
                                   [&](Ranks& ranks) {
                                     TrainingSet set = shared_among(ranks, whole);
                                     set.apply(BatchChange(3, 2));
                                   }),
                         "training rows that ranks share do not change", UsageError);
    std::vector<std::string> told(4);
    CHECK_THROWS_AS(
        run_ranks(4,
                  [&](Ranks& ranks) {
                    try {
                      const TrainingSet set = shared_among(ranks, whole);
                      if (ranks.rank() == 2) throw DataError("rows are damaged");
                      static_cast<void>(gradient_with_error(objective_of(set, 1e-3), random_matrix(3, 2, 1)));
                    } catch (const DataError& error) {
                      told[ranks.rank()] = error.what();
                      throw;
                    }
                  }),
        DataError);
    for (const std::string& one : told) CHECK(one == "rows are damaged");
  }
}
