// tests/algorithms/rows/lift_test.cpp - lifted rows against dense matrices of integers, and against
// pinned bytes.
#include "algorithms/rows/lift.h"

#include <doctest/doctest.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithms/random/counter_random.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"

namespace unweave {
namespace {

/// Rows of multiples of 2^-20 with a norm below 1, by SplitMix64.
std::vector<float> pinned_rows(std::size_t count, std::size_t columns, std::uint64_t seed) {
  std::uint64_t state = seed;
  const double size = std::exp2(std::ceil(std::log2(std::sqrt(static_cast<double>(columns)))));
  std::vector<float> rows;
  for (std::size_t i = 0; i < count * columns; ++i) {
    state += 0x9E3779B97F4A7C15;
    const auto integer = static_cast<std::int64_t>(mix64(state) >> 44) - (std::int64_t{1} << 19);
    rows.push_back(static_cast<float>(static_cast<double>(integer) * 0x1p-20 / size));
  }
  return rows;
}

/// By dense products of 64-bit integers, which know no fast transform.
std::vector<float> dense_lift(std::span<const float> row, const Lift& lift) {
  const std::size_t numbers = row.size() + (lift.bias != 0 ? 1 : 0);
  std::size_t length = 1;
  while (length < numbers) length *= 2;
  const std::size_t blocks = (lift.width + length - 1) / length;
  std::vector<std::int64_t> q(length);
  for (std::size_t c = 0; c < row.size(); ++c) q[c] = std::lrint(static_cast<double>(row[c]) * 65536);
  if (lift.bias != 0) q[row.size()] = std::lrint(lift.bias * 65536);
  const double factor = 0x1p-16 / std::sqrt(std::pow(static_cast<double>(length), 3) * static_cast<double>(blocks));
  std::vector<float> out;
  for (std::size_t block = 0; block < blocks; ++block) {
    std::vector<std::int64_t> v = q;
    for (std::size_t round = 0; round < 3; ++round) {
      std::vector<std::int64_t> next(length);
      for (std::size_t i = 0; i < length; ++i)
        for (std::size_t j = 0; j < length; ++j) {
          const bool flipped = random_key(lift.key, (block * 3 + round) * length + j) >> 63 != 0;
          const bool negative = std::popcount(i & j) % 2 != 0;
          next[i] += flipped == negative ? v[j] : -v[j];
        }
      v = next;
    }
    for (const std::int64_t number : v)
      out.push_back(number > 0 ? static_cast<float>(static_cast<double>(number) * factor) : 0.0F);
  }
  return out;
}

/// Lifts rows in batches, apart from each other by one number more than the wider of both.
std::vector<float> lifted(const std::vector<float>& rows, std::size_t columns, const Lift& lift) {
  const LiftTransform transform(columns, lift);
  const std::size_t width = transform.width(), stride = columns + width + 1, count = rows.size() / columns;
  std::vector<float> room(count * stride, -7), out;
  for (std::size_t i = 0; i < count; ++i) std::copy_n(rows.data() + i * columns, columns, room.data() + i * stride);
  LiftTransform::Room work;
  for (std::size_t first = 0; first < count; first += LiftTransform::kBatch)
    transform.lift(room.data() + first * stride, std::min(LiftTransform::kBatch, count - first), stride,
                   room.data() + first * stride + columns, work);
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(room[(i + 1) * stride - 1] == -7);
    out.insert(out.end(), room.begin() + static_cast<std::ptrdiff_t>(i * stride + columns),
               room.begin() + static_cast<std::ptrdiff_t>(i * stride + columns + width));
  }
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("lifted rows are those of dense integer matrices, whatever the width, the key and the bias") {
    CHECK(random_key(7, 5) == 0x591A5CA9608CC826);
    for (const std::size_t columns : {1, 2, 3, 20, 32, 33})
      for (const Lift& lift : {Lift{1}, Lift{96, 7}, Lift{100, 3, 0.5}, Lift{64, 1, -1}}) {
        CAPTURE(columns);
        CAPTURE(lift.width);
        const std::vector<float> rows = pinned_rows(11, columns, 1 + columns);
        std::vector<float> expected;
        for (std::size_t i = 0; i < 11; ++i) {
          const std::vector<float> one = dense_lift(std::span(rows).subspan(i * columns, columns), lift);
          expected.insert(expected.end(), one.begin(), one.end());
        }
        CHECK(lifted(rows, columns, lift) == expected);
        CHECK(lifted_width(columns, lift) * 11 == expected.size());
      }
  }

  TEST_CASE("the bytes of lifted rows are pinned") {
    const std::vector<float> out = lifted(pinned_rows(50, 20, 1), 20, {96, 7});
    REQUIRE(out.size() == 50 * 96);
    std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
    crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(out.data()), out.size() * sizeof(float));
    CHECK(to_hex(std::as_bytes(std::span(hash))).starts_with("8966fca2703c9c9f9bda013e4cfbdef5"));
  }

  TEST_CASE("a lift does not lengthen rows, keeps zeros and takes the longest rows there are") {
    const std::vector<float> rows = pinned_rows(30, 24, 9), out = lifted(rows, 24, {512, 5});
    for (std::size_t i = 0; i < 30; ++i) {
      double before = 0, after = 0;
      for (std::size_t c = 0; c < 24; ++c) before += std::pow(rows[i * 24 + c], 2);
      for (std::size_t c = 0; c < 512; ++c) after += std::pow(out[i * 512 + c], 2);
      CHECK(std::sqrt(after) <= std::sqrt(before) * (1 + 0x1p-20) + 0x1p-16);
    }
    for (const float number : lifted(std::vector<float>(24), 24, {64})) {
      CHECK(number == 0);
      CHECK_FALSE(std::signbit(number));  // an integer has one zero
    }
    const std::size_t longest = std::size_t{1} << 16;
    std::vector<float> row(longest);
    row[longest - 1] = 1;
    double squares = 0;
    for (const float number : lifted(row, longest, {1})) squares += number * number;
    CHECK(squares == doctest::Approx(0.5).epsilon(0.05));  // half of a transform's numbers are positive
  }

  TEST_CASE("products of lifted rows are near the arc-cosine kernel") {
    std::vector<float> rows = pinned_rows(12, 20, 1);
    for (std::size_t i = 0; i < 12; ++i) {
      double squares = 0;
      for (std::size_t c = 0; c < 20; ++c) squares += std::pow(rows[i * 20 + c], 2);
      for (std::size_t c = 0; c < 20; ++c) rows[i * 20 + c] = static_cast<float>(rows[i * 20 + c] / std::sqrt(squares));
    }
    const std::size_t width = 8192;
    const std::vector<float> out = lifted(rows, 20, {width, 3});
    const auto product = [](const std::vector<float>& x, std::size_t i, std::size_t j, std::size_t length) {
      double sum = 0;
      for (std::size_t c = 0; c < length; ++c) sum += static_cast<double>(x[i * length + c]) * x[j * length + c];
      return sum;
    };
    for (std::size_t i = 0; i < 12; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const double cosine = std::min(1.0, std::max(-1.0, product(rows, i, j, 20)));
        const double angle = std::acos(cosine), pi = std::acos(-1.0);
        const double kernel = (std::sin(angle) + (pi - angle) * cosine) / (2 * pi);
        CHECK(std::abs(product(out, i, j, width) - kernel) < 0.05);
      }
  }

  TEST_CASE("what cannot be lifted is refused") {
    CHECK_THROWS_AS(LiftTransform(10, Lift{0}), UsageError);
    CHECK_THROWS_AS(LiftTransform(10, Lift{65537}), UsageError);
    CHECK_THROWS_AS(LiftTransform(65537, Lift{}), UsageError);
    CHECK_THROWS_AS(LiftTransform(65536, Lift{1024, 0, 0.5}), UsageError);
    CHECK_THROWS_AS(LiftTransform(10, Lift{1024, 0, 1.5}), UsageError);
    CHECK_THROWS_AS(LiftTransform(10, Lift{1024, 0, std::nan("")}), UsageError);
  }
}

}  // namespace unweave
