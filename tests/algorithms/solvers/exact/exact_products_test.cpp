// tests/algorithms/solvers/exact/exact_products_test.cpp - slices, their products and their sums,
// against integers and rational sums of 80 digits.
#include "algorithms/solvers/exact/exact_products.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <random>
#include <vector>

#include "algorithms/numerics/whole_products.h"
#include "algorithms/solvers/exact/grid_rounding.h"
#include "algorithms/solvers/exact/pair.h"
#include "storage/io/error.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using Integer = boost::multiprecision::cpp_int;

/// x 2^shift, which must be whole.
Integer whole(double x, int shift) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  const auto bits = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  const int up = exponent - 53 + shift;
  if (up >= 0) return Integer(bits) << static_cast<unsigned>(up);
  CHECK((Integer(bits) & ((Integer(1) << static_cast<unsigned>(-up)) - 1)) == 0);
  return Integer(bits) >> static_cast<unsigned>(-up);
}

constexpr int kShift = 400;  // makes every number of these tests whole

/// Rows over many binary orders, the smallest denormal among them.
std::vector<float> wide_rows(std::size_t count, std::size_t features) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  std::vector<float> rows(count * features);
  for (float& x : rows) x = static_cast<float>(normal(random) * std::exp(3 * normal(random)) / 4096);
  const float corners[] = {0x1p-149F, -0x1p-140F, 0, 0.75F, 0x1p-24F, 0x3p-50F, 1e-30F, -1e-20F, 0x1p-126F};
  std::copy(std::begin(corners), std::end(corners), rows.begin());
  return rows;
}

struct Slices {
  std::vector<double> whole, first, second, rest;
  RowSlices parts{};
  Slices(const std::vector<float>& rows, std::size_t count, std::size_t features, int exponent)
      : whole(rows.size()), first(rows.size()), second(rows.size()), rest(rows.size()) {
    parts = {whole.data(), first.data(), second.data(), rest.data()};
    slice_rows(rows.data(), count, features, exponent, parts);
  }
};

int exponent_of(const std::vector<float>& rows) {
  double largest = 0;
  for (const float x : rows) largest = std::max(largest, std::abs(static_cast<double>(x)));
  return exponent_above(largest);
}

/// Where row i's feature j lies in slices of `count` rows.
std::size_t place(std::size_t i, std::size_t j, std::size_t count, std::size_t features) {
  const std::size_t run = j / kInnerLength * kInnerLength, width = std::min(kInnerLength, features - run);
  return count * run + i * width + (j - run);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("slices add up to the rows, and products of slices are exact") {
    constexpr std::size_t kRows = 64, kFeatures = 700, kClasses = 4;
    const std::vector<float> rows = wide_rows(kRows, kFeatures);
    const int exponent = exponent_of(rows);
    const Slices z(rows, kRows, kFeatures, exponent);
    CHECK(z.parts.has_rest);
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t j = 0; j < kFeatures; ++j) {
        const std::size_t at = place(i, j, kRows, kFeatures);
        const double x = static_cast<double>(rows[i * kFeatures + j]);
        CHECK(z.whole[at] == x);
        CHECK(std::abs(z.first[at]) <= 0x1p24);
        CHECK(std::abs(z.second[at]) <= 0x1p23);
        CHECK(whole(z.first[at], kShift + exponent - 24) + whole(z.second[at], kShift + exponent - 48) +
                  whole(z.rest[at], kShift) ==
              whole(x, kShift));
      }
    for (const int levels : {2, 3}) {
      Matrix weights = random_matrix(kFeatures, kClasses, 6, 30);
      weights.col(1) *= 1e-6;
      const SlicedWeights w = slice_weights(weights, levels);
      CHECK((w.value - weights).cwiseAbs().maxCoeff() <= std::ldexp(0.5, w.exponent - 20 * levels));
      for (Eigen::Index j = 0; j < weights.rows(); ++j)
        for (Eigen::Index c = 0; c < weights.cols(); ++c) {
          Integer sum = 0;
          for (int s = 1; s <= levels; ++s) {
            const double slice = w.slices(j, (s - 1) * weights.cols() + c);
            CHECK(std::abs(slice) <= 0x1p20);
            sum += whole(slice, kShift + w.exponent - 20 * s);
          }
          CHECK(sum == whole(w.value(j, c), kShift));
        }
      // Margins of the two slices of rows, in either order, are the integers.
      std::vector<double> product(kRows * kClasses * static_cast<std::size_t>(levels));
      for (const bool backwards : {false, true}) {
        std::vector<double> high(kRows * kClasses), low(kRows * kClasses);
        for (int step = 0; step < 2; ++step) {
          const bool first = (step == 0) != backwards;
          add_margins(first ? z.first.data() : z.second.data(), kRows, kFeatures, w.slices.data(), kClasses, levels,
                      exponent - (first ? 24 : 48) + w.exponent, product.data(), high.data(), low.data());
        }
        for (std::size_t i = 0; i < kRows; i += 7)
          for (std::size_t c = 0; c < kClasses; ++c) {
            Integer margin = 0;
            for (std::size_t j = 0; j < kFeatures; ++j) {
              const std::size_t at = place(i, j, kRows, kFeatures);
              margin +=
                  (whole(z.whole[at], 200) - whole(z.rest[at], 200)) * whole(w.value(index_of(j), index_of(c)), 200);
            }
            const Integer found = whole(high[i * kClasses + c], kShift) + whole(low[i * kClasses + c], kShift);
            if (levels == 2)
              CHECK(found == margin);
            else  // three slices of weights do not fit a pair
              CHECK(abs(Integer(found - margin)) < (Integer(1) << (kShift - 90)));
          }
      }
    }
  }

  TEST_CASE("the BLAS multiplies slices at their limits without rounding, and 4,096 of them not") {
    CHECK_NOTHROW(require_exact_products());
    std::mt19937_64 random(8);
    std::vector<double> a(4096), b(4096);
    Integer sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      a[k] = static_cast<double>((random() >> 41 << 1 | 1) + (1 << 23));
      b[k] = static_cast<double>((random() >> 45 << 1 | 1) + (1 << 19));
      sum += whole(a[k], 0) * whole(b[k], 0);
    }
    double product = 0;
    for (std::size_t k = 0; k < a.size(); ++k) product += a[k] * b[k];
    CHECK(whole(product, 0) != sum);
  }

  TEST_CASE("sums in pairs are exact, in any order") {
    std::mt19937_64 random(9);
    std::vector<double> terms;
    Integer exact = 0;
    for (int k = 0; k < 3000; ++k) {
      const double x =
          std::ldexp(static_cast<double>(static_cast<std::int64_t>(random()) >> 11), static_cast<int>(random() % 40));
      terms.push_back(k % 2 == 0 ? x : -x);
      exact += whole(terms.back(), 0);
    }
    for (int order = 0; order < 3; ++order) {
      double high = 0, low = 0;
      for (const double x : terms) accumulate(high, low, x);
      CHECK(whole(high, 0) + whole(low, 0) == exact);
      std::shuffle(terms.begin(), terms.end(), random);
    }
  }

  TEST_CASE("slices of slopes leave what lies below them") {
    std::mt19937 random(10);
    std::uniform_real_distribution<double> uniform(-1, 1);
    constexpr std::size_t kRows = 5, kClasses = 3;
    std::vector<double> high(kRows * kClasses), low(kRows * kClasses);
    for (std::size_t k = 0; k < high.size(); ++k) {
      high[k] = uniform(random);
      low[k] = high[k] * 0x1p-54 * uniform(random);
    }
    for (const int levels : {2, 3}) {
      std::vector<double> slices(kRows * kClasses * static_cast<std::size_t>(levels)), rest(kRows * kClasses);
      slice_slopes(high.data(), low.data(), kRows, kClasses, 0, levels, slices.data(), rest.data());
      for (std::size_t i = 0; i < kRows; ++i)
        for (std::size_t c = 0; c < kClasses; ++c) {
          const std::size_t k = i * kClasses + c;
          Integer sum = whole(rest[k], kShift);
          for (int s = 0; s < levels; ++s)
            sum += whole(slices[(i * static_cast<std::size_t>(levels) + static_cast<std::size_t>(s)) * kClasses + c],
                         kShift - 20 * (s + 1));
          const Integer slope = whole(high[k], kShift) + whole(low[k], kShift);
          CHECK(std::abs(rest[k]) <= std::ldexp(1.0, -20 * levels - 1) + 2 * std::abs(low[k]));
          CHECK(abs(Integer(sum - slope)) <= abs(whole(rest[k], kShift)) >> 53);  // rounded once
        }
    }
  }

  TEST_CASE("rounding to the grid: the low word decides a tie, and what lies within the radius is undecided") {
    const auto rounded = [&](double at, double step, double radius) {
      return round_to_grid(Matrix::Constant(1, 1, at), Matrix::Constant(1, 1, step), Vector::Constant(1, radius), 0);
    };
    CHECK(rounded(2.5, 1e-30, 1e-31).whole(0, 0) == 3);
    CHECK(rounded(2.5, -1e-30, 1e-31).whole(0, 0) == 2);
    CHECK(rounded(-2.5, -1e-30, 1e-31).whole(0, 0) == -3);
    CHECK(rounded(2.5, 1e-30, 1e-31).undecided == std::vector<std::size_t>{0});
    CHECK(rounded(2.5, 1e-30, 1e-29).undecided == std::vector<std::size_t>{1});
    CHECK(rounded(2.5, 0, 0).undecided == std::vector<std::size_t>{1});
    CHECK(rounded(-0.2, 0x1p52, 0.4).undecided ==
          std::vector<std::size_t>{1});  // a low word beyond the high one's fraction
    CHECK(rounded(-0.4, 0x1p53, 0.2).undecided == std::vector<std::size_t>{1});
    for (const double near : {0.25, -0.25, 1e-20, -1e-20, -0.0})
      CHECK_FALSE(
          std::signbit(rounded(near, 0, 0.1).whole(0, 0)));  // a zero's sign would tell from where it was come to
    CHECK(rounded(2.25, 0.3, 0.04).whole(0, 0) == 3);
    CHECK(rounded(2.25, 0.3, 0.04).undecided == std::vector<std::size_t>{0});
    CHECK(rounded(2.25, 0.3, 0.06).undecided == std::vector<std::size_t>{1});
    CHECK(rounded(2.25, 0.3, std::nan("")).undecided == std::vector<std::size_t>{1});
    CHECK(rounded(0x1p52, 0, 0).undecided == std::vector<std::size_t>{1});
    CHECK(rounded(std::nan(""), 0, 0).undecided == std::vector<std::size_t>{1});
  }
}
