// tests/engine/sweep/fingerprint_test.cpp - fingerprints and weights against their definitions, digit by digit.
#include "engine/sweep/fingerprint.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <set>
#include <vector>

#include "support/vector_targets.h"

namespace unweave {
namespace {

/// x mod p by definition, of a number that may be negative.
std::uint64_t plain_residue(Int128 x) {
  const Int128 rest = x % static_cast<Int128>(kPrime);
  return static_cast<std::uint64_t>(rest < 0 ? rest + static_cast<Int128>(kPrime) : rest);
}

template <class T>
std::uint64_t plain_fingerprint(const T* values, std::size_t width, ColumnFactors factors) {
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c < width; ++c)
    sum = plain_residue(Int128{sum} + plain_residue(static_cast<Int128>(values[c]) * factors[c]));
  return sum;
}

template <class T>
void check_rows(std::size_t width, std::uint32_t seed) {
  constexpr std::size_t kRows = 5;
  CAPTURE(width);
  const FingerprintKey key(100, width + 3);
  std::mt19937 random(seed);
  std::vector<T> values(kRows * width);
  for (T& value : values) {
    const auto drawn = static_cast<std::uint32_t>(random());
    value = drawn % 5 == 0   ? std::numeric_limits<T>::min()
            : drawn % 5 == 1 ? std::numeric_limits<T>::max()
                             : static_cast<T>(drawn >> 7);
  }
  std::vector<std::uint64_t> out(kRows);
  fingerprint_rows(values.data(), kRows, width, key.columns(3), out.data());
  for (std::size_t i = 0; i < kRows; ++i) CHECK(out[i] == plain_fingerprint(&values[i * width], width, key.columns(3)));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("residues are what division leaves") {
    const UInt128 p = kPrime;
    for (const UInt128 x : {UInt128{0}, UInt128{1}, p - 1, p, p + 1, 2 * p, p * p, ~UInt128{0}}) {
      CHECK(residue(x) == static_cast<std::uint64_t>(x % p));
      CHECK(multiply_residues(static_cast<std::uint64_t>(x % p), kPrime - 1) ==
            static_cast<std::uint64_t>(x % p * (p - 1) % p));
    }
    for (const Int128 x : {Int128{0}, Int128{-1}, static_cast<Int128>(p), -static_cast<Int128>(p), Int128{1} << 70,
                           -(Int128{1} << 70), Int128{std::numeric_limits<std::int64_t>::min()}})
      CHECK(signed_residue(x) == plain_residue(x));
    CHECK(add_residues(kPrime - 1, kPrime - 1) == kPrime - 2);
    CHECK(subtract_residues(0, kPrime - 1) == 1);
    CHECK(subtract_residues(5, 5) == 0);
  }

  TEST_CASE("fingerprints equal their definition at every width, on every vector extension") {
    testing::for_each_target([] {
      for (std::size_t width = 1; width < 40; ++width) {
        check_rows<std::int32_t>(width, 1);
        check_rows<std::int16_t>(width, 2);
      }
      for (const std::size_t width : {63U, 64U, 127U, 128U, 129U, 300U, 1433U}) {
        check_rows<std::int32_t>(width, 3);
        check_rows<std::int16_t>(width, 4);
      }
    });
  }

  TEST_CASE("the largest sums of a lane do not overflow") {
    const FingerprintKey key(1, 600);
    const std::vector<std::int32_t> least(600, std::numeric_limits<std::int32_t>::min());
    const std::vector<std::int32_t> most(600, std::numeric_limits<std::int32_t>::max());
    std::vector<std::int32_t> factors(700, 1 << kFactorBits);  // the largest there can be
    testing::for_each_target([&] {
      for (const auto& row : {least, most}) {
        std::uint64_t out = 0;
        fingerprint_rows(row.data(), 1, row.size(), factors.data(), &out);
        CHECK(out == plain_fingerprint(row.data(), row.size(), factors.data()));
      }
    });
  }

  TEST_CASE("rows beyond 32 bits have the fingerprints of their numbers") {
    const FingerprintKey key(1, 9);
    const std::vector<std::int64_t> row{1, -1, std::int64_t{1} << 52, -(std::int64_t{1} << 52), 0, 7, -7, 1 << 30, 2};
    CHECK(fingerprint_of(row, key.columns(0)) == plain_fingerprint(row.data(), row.size(), key.columns(0)));
    const std::vector<std::int32_t> narrow{1, -1, 5, 1 << 30, 0, 7, -7, 1 << 30, 2};
    std::uint64_t out = 0;
    fingerprint_rows(narrow.data(), 1, narrow.size(), key.columns(0), &out);
    CHECK(fingerprint_of(std::vector<std::int64_t>(narrow.begin(), narrow.end()), key.columns(0)) == out);
  }

  TEST_CASE("the fingerprint of a change is that of the difference") {
    const std::vector<std::int32_t> before{5, -7, 1 << 30, -(1 << 30), 0, 3}, change{-6, 7, -(1 << 29), 1 << 29, 9, 0};
    for (const std::size_t copies : {1U, 6U, 50U}) {
      std::vector<std::int32_t> first, after, difference;
      for (std::size_t i = 0; i < copies * before.size(); ++i) {
        first.push_back(before[i % before.size()]);
        difference.push_back(change[i % before.size()]);
        after.push_back(first.back() + difference.back());
      }
      const FingerprintKey key(1, after.size());
      testing::for_each_target([&] {
        CHECK(fingerprint_of_change(after, first.data(), key.columns(0)) ==
              plain_fingerprint(difference.data(), difference.size(), key.columns(0)));
      });
    }
  }

  TEST_CASE("a list weighs what its nodes weigh together") {
    constexpr NodeId kNodes = 70'000;
    const FingerprintKey key(kNodes, 1);
    RowMask some(kNodes);
    for (NodeId node = 0; node < kNodes; node += 3) some.insert(node);
    std::mt19937 random(5);
    for (const std::size_t length : {0U, 1U, 11U, 12U, 13U, 500U, 40'000U}) {
      std::vector<NodeId> list(length);
      for (NodeId& node : list) node = static_cast<NodeId>(random() % kNodes);
      for (const NodeId node : {NodeId{0}, NodeId{kNodes - 1}}) {
        Int128 all = key.weight(node), kept = some.contains(node) ? key.weight(node) : 0;
        for (const NodeId one : list) {
          all += key.weight(one);
          kept += some.contains(one) ? key.weight(one) : 0;
        }
        CHECK(key.list_weight(node, list) == plain_residue(all));
        CHECK(key.list_weight(node, list, some) == plain_residue(kept));
      }
    }
  }

  TEST_CASE("keys are drawn anew, without zeros, and differ from node to node and from column to column") {
    const FingerprintKey one(5'000, 300), other(5'000, 300);
    std::set<std::uint64_t> weights;
    std::set<std::int32_t> factors;
    for (NodeId node = 0; node < 5'000; ++node) weights.insert(one.weight(node));
    for (std::size_t c = 0; c < 300; ++c) factors.insert(*one.columns(c));
    CHECK(weights.size() > 4'990);
    CHECK(factors.size() > 298);
    CHECK(*weights.begin() > 0);
    CHECK(*factors.begin() > 0);
    CHECK(*factors.rbegin() <= 1 << kFactorBits);
    CHECK(one.weight(17) != other.weight(17));
    CHECK(*one.columns(17) != *other.columns(17));
    CHECK(*one.columns(17) == *(one.columns(0) + 17));
  }
}

}  // namespace unweave
