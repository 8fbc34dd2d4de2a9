// tests/algorithms/numerics/skinny_products_test.cpp - products of every shape against sums of
// their definition, and what lies beside them.
#include "algorithms/numerics/skinny_products.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "algorithms/numerics/blas.h"
#include "support/vector_targets.h"

namespace unweave {
namespace {

template <class T>
std::vector<T> draw(std::size_t count, std::mt19937& random) {
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> out(count);
  for (T& value : out) value = uniform(random);
  return out;
}

/// Whole numbers, of which sums are exact in any order.
template <class T>
std::vector<T> draw_whole(std::size_t count, std::mt19937& random) {
  std::uniform_int_distribution<int> uniform(-8, 8);
  std::vector<T> out(count);
  for (T& value : out) value = static_cast<T>(uniform(random));
  return out;
}

template <class T>
void check_shape(std::size_t m, std::size_t k, std::size_t n, bool transposed, std::mt19937& random) {
  CAPTURE(m);
  CAPTURE(k);
  CAPTURE(n);
  CAPTURE(transposed);
  constexpr T kGuard = 77;
  const std::size_t row_step = transposed ? 1 : k, inner_step = transposed ? m : 1;
  const auto element = [&](const std::vector<T>& a, std::size_t i, std::size_t j) {
    return static_cast<long double>(a[i * row_step + j * inner_step]);
  };
  for (const bool whole : {true, false})
    for (const bool add : {false, true}) {
      const std::vector<T> a = whole ? draw_whole<T>(m * k, random) : draw<T>(m * k, random);
      const std::vector<T> b = whole ? draw_whole<T>(k * n, random) : draw<T>(k * n, random);
      std::vector<T> out(m * n + 64, kGuard);
      for (std::size_t at = 0; at < m * n; ++at) out[at] = add ? 3 : std::numeric_limits<T>::quiet_NaN();
      multiply_skinny(a.data(), row_step, inner_step, b.data(), out.data(), m, k, n, add);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t c = 0; c < n; ++c) {
          long double sum = add ? 3 : 0, size = std::abs(sum);
          for (std::size_t j = 0; j < k; ++j) {
            const long double term = element(a, i, j) * static_cast<long double>(b[j * n + c]);
            sum += term;
            size += std::abs(term);
          }
          const long double roundings = static_cast<long double>(k + 1) * std::numeric_limits<T>::epsilon() / 2;
          const long double most = whole ? 0 : 1.01L * roundings * size;  // gamma of k + 1
          if (!(std::abs(static_cast<long double>(out[i * n + c]) - sum) <= most)) ++wrong;
        }
      CHECK(wrong == 0);
      CHECK(std::vector<T>(out.begin() + static_cast<std::ptrdiff_t>(m * n), out.end()) == std::vector<T>(64, kGuard));
    }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE(
      "products with few columns: every number of columns, rows and products around the tiles, by every vector extension") {
    testing::for_each_target([] {
      std::mt19937 random(11);
      for (std::size_t n = 1; n <= 70; ++n)
        for (const bool transposed : {false, true}) {
          check_shape<float>(1 + n % 29, 5, n, transposed, random);
          check_shape<double>(1 + (7 * n) % 29, 3, n, transposed, random);
        }
      for (const std::size_t m : {0U, 1U, 3U, 4U, 11U, 12U, 13U, 16U, 24U, 37U})
        for (const std::size_t n : {2U, 17U, 26U, 40U, 64U, 65U, 256U}) {
          check_shape<float>(m, 9, n, true, random);
          check_shape<double>(m, 9, n, false, random);
        }
      for (const std::size_t k : {0U, 1U, 255U, 256U, 257U, 600U}) {
        check_shape<float>(14, k, 26, false, random);
        check_shape<double>(14, k, 7, true, random);
      }
    });
  }

  TEST_CASE("an element is the same whichever tile it lies in, and by whichever function") {
    std::mt19937 random(12);
    constexpr std::size_t kRows = 31, kInner = 300, kColumns = 45;
    const std::vector<float> a = draw<float>(kRows * kInner, random), b = draw<float>(kInner * kColumns, random);
    std::vector<float> all(kRows * kColumns), by_name(kRows * kColumns), one(kColumns);
    multiply_skinny(a.data(), kInner, 1, b.data(), all.data(), kRows, kInner, kColumns, false);
    multiply(a.data(), b.data(), by_name.data(), kRows, kInner, kColumns, false);
    CHECK(all == by_name);
    for (std::size_t i = 0; i < kRows; ++i) {
      multiply_skinny(a.data() + i * kInner, kInner, 1, b.data(), one.data(), 1, kInner, kColumns, false);
      CHECK(std::equal(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(i * kColumns)));
    }
    std::vector<float> a_transposed(a.size());
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t j = 0; j < kInner; ++j) a_transposed[j * kRows + i] = a[i * kInner + j];
    multiply_transposed(a_transposed.data(), b.data(), by_name.data(), kRows, kInner, kColumns, false);
    CHECK(all == by_name);
  }
}

}  // namespace unweave
