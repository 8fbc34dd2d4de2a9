// tests/algorithms/solvers/exact/exact_slopes_test.cpp - slopes and curvatures against 80 digits.
#include "algorithms/solvers/exact/exact_slopes.h"

#include <doctest/doctest.h>

#include <optional>
#include <random>
#include <vector>

#include "algorithms/solvers/exact/exp_tables.h"
#include "support/exact_reference.h"
#include "support/vector_targets.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

/// Margins in pairs of all sizes up to `largest`, the first row all 0.
struct Margins {
  std::vector<ClassId> labels;
  std::vector<double> high, low;
  Margins(std::size_t rows, std::size_t classes, double largest, unsigned seed)
      : high(rows * classes + kPairSlack, 1e300), low(high.size(), 1e300) {  // what the slack holds does not matter
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (std::size_t i = 0; i < rows; ++i) {
      labels.push_back(static_cast<ClassId>(random() % classes));
      const double size = i == 0 ? 0 : largest * std::pow(10.0, -8 * std::abs(uniform(random)));
      for (std::size_t k = i * classes; k < (i + 1) * classes; ++k) {
        high[k] = size * uniform(random);
        low[k] = high[k] * 0x1p-54 * uniform(random);
      }
    }
  }
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("slopes in pairs stand within their bounds") {
    struct Shape {
      Head head;
      std::size_t classes;
      double largest;
    };
    for (const Shape& shape : {Shape{Head::kLogistic, 3, 120},
                               {Head::kLogistic, 1, 40},
                               {Head::kSoftmax, 3, 200},
                               {Head::kSoftmax, 41, 90},
                               {Head::kSoftmax, 1, 9},
                               {Head::kLeastSquares, 5, 1e6}}) {
      const Head head = shape.head;
      const std::size_t classes = shape.classes;
      const double largest = shape.largest;
      CAPTURE(name_of(head));
      CAPTURE(classes);
      constexpr std::size_t kRows = 60;
      const Margins at(kRows, classes, largest, 3);
      Margins slopes = at;
      std::vector<double> scratch(slope_scratch(kRows, classes), 1e300), errors(kRows * classes);
      slopes_in_pairs({head, at.labels.data(), kRows, classes, slopes.high.data(), slopes.low.data()}, scratch.data(),
                      errors.data());
      for (std::size_t i = 0; i < kRows; ++i) {
        std::vector<Decimal> margins;
        for (std::size_t k = i * classes; k < (i + 1) * classes; ++k)
          margins.push_back(Decimal(at.high[k]) + Decimal(at.low[k]));
        const DecimalRow truth = decimal_row(head, margins, at.labels[i]);
        Decimal squares = 0;
        for (std::size_t c = 0; c < classes; ++c) {
          const std::size_t k = i * classes + c;
          const Decimal off = abs(Decimal(slopes.high[k]) + Decimal(slopes.low[k]) - truth.slopes[c]);
          squares += off * off;
          if (!couples_classes(head)) CHECK(off <= Decimal(errors[k]));
        }
        if (couples_classes(head)) CHECK(sqrt(squares) <= Decimal(errors[i]));
        // Float64 slopes would not: the bound is one of pairs.
        CHECK(errors[couples_classes(head) ? i : i * classes] < 1e-24 * std::max(1.0, largest));
      }
    }
  }

  TEST_CASE("every vector extension gives the bits of the others") {
    for (const Head head : exact_heads()) {
      constexpr std::size_t kRows = 37, kClasses = 5;
      const Margins at(kRows, kClasses, 90, 8);
      std::optional<Margins> first;
      for_each_target([&] {
        Margins slopes = at;
        std::vector<double> scratch(slope_scratch(kRows, kClasses)), errors(kRows * kClasses);
        slopes_in_pairs({head, at.labels.data(), kRows, kClasses, slopes.high.data(), slopes.low.data()},
                        scratch.data(), errors.data());
        slopes.high.resize(kRows * kClasses);  // without the slack
        slopes.low.resize(kRows * kClasses);
        if (!first) first = slopes;
        CHECK(slopes.high == first->high);
        CHECK(slopes.low == first->low);
      });
    }
  }

  TEST_CASE("curvatures from float64 margins err by few roundings") {
    for (const Head head : {Head::kLogistic, Head::kSoftmax, Head::kLeastSquares}) {
      constexpr std::size_t kRows = 50, kClasses = 7;
      const Margins at(kRows, kClasses, 60, 5);
      std::vector<double> found = at.high;
      curvatures_by_own_exp(head, found.data(), kRows, kClasses);
      for (std::size_t i = 0; i < kRows; ++i) {
        const std::vector<Decimal> margins(at.high.begin() + static_cast<std::ptrdiff_t>(i * kClasses),
                                           at.high.begin() + static_cast<std::ptrdiff_t>((i + 1) * kClasses));
        const DecimalRow truth = decimal_row(head, margins, at.labels[i]);
        for (std::size_t c = 0; c < kClasses; ++c) {
          const Decimal off = abs(Decimal(found[i * kClasses + c]) - truth.curvatures[c]);
          // Differences of margins of up to 60 round, too.
          CHECK(off <= truth.curvatures[c] * Decimal((kClasses + 16 + 120) * 0x1p-53) + Decimal(0x1p-126));
        }
      }
    }
  }

  TEST_CASE("the tables of exp are those of 80 digits") {
    const Decimal step = log(Decimal(2)) / 4096;
    CHECK(Decimal(kStep1) * 0x1p45 == round(step * 0x1p45));
    CHECK(Decimal(kStep2) * 0x1p78 == round((step - Decimal(kStep1)) * 0x1p78));
    CHECK(kStep3 == static_cast<double>(step - Decimal(kStep1) - Decimal(kStep2)));
    CHECK(kStepsAUnit == static_cast<double>(1 / step));
    for (int j = 0; j < 64; ++j) {
      const Decimal coarse = exp(Decimal(step * 64 * j)), fine = exp(Decimal(step * j));
      CHECK(kCoarseHigh[j] == static_cast<double>(coarse));
      CHECK(kCoarseLow[j] == static_cast<double>(coarse - Decimal(kCoarseHigh[j])));
      CHECK(kFineHigh[j] == static_cast<double>(fine));
      CHECK(kFineLow[j] == static_cast<double>(fine - Decimal(kFineHigh[j])));
    }
  }
}
