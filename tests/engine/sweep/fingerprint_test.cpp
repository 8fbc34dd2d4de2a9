// tests/engine/sweep/fingerprint_test.cpp - residues, fingerprints, sums of columns and weights
// against their definitions.
#include "engine/sweep/fingerprint.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "support/vector_targets.h"

namespace unweave {
namespace {

/// x mod p by definition, of a number that may be negative.
std::uint64_t plain_residue(Int128 x, const Modulus& modulus) {
  const auto p = static_cast<Int128>(modulus.prime());
  const Int128 rest = x % p;
  return static_cast<std::uint64_t>(rest < 0 ? rest + p : rest);
}

template <class T>
std::uint64_t plain_fingerprint(const T* values, std::size_t width, const ColumnFactors& factors) {
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c < width; ++c)
    sum = plain_residue(Int128{sum} + Int128{values[c]} * factors.values[c], factors.modulus);
  return sum;
}

/// Numbers of which many are the least or the largest.
template <class T>
std::vector<T> extreme_values(std::size_t count, std::mt19937& random) {
  std::vector<T> values(count);
  for (T& value : values) {
    const auto drawn = static_cast<std::uint32_t>(random());
    value = drawn % 5 == 0   ? std::numeric_limits<T>::min()
            : drawn % 5 == 1 ? std::numeric_limits<T>::max()
                             : static_cast<T>(drawn >> 7);
  }
  return values;
}

template <class T>
void check_rows(std::size_t width, std::uint32_t seed) {
  constexpr std::size_t kRows = 5;
  CAPTURE(width);
  const FingerprintKey key(100, width + 3);
  std::mt19937 random(seed);
  const std::vector<T> values = extreme_values<T>(kRows * width, random);
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::span<const T> row(&values[i * width], width);
    CHECK(fingerprint_of(row, key.columns(3)) == plain_fingerprint(row.data(), width, key.columns(3)));
  }
}

/// Weights of which many are the least or the largest that there can be.
std::vector<std::int32_t> extreme_weights(std::size_t count, const Modulus& modulus, std::mt19937& random) {
  std::vector<std::int32_t> weights(count);
  for (std::int32_t& weight : weights) {
    const std::uint64_t half = modulus.prime() / 2, drawn = random();
    weight = modulus.centred(drawn % 3 == 0 ? half : drawn % 3 == 1 ? half + 1 : random() % modulus.prime());
  }
  return weights;
}

/// y of the sums of rows times weights, in numbers of 128 bits.
template <class T>
std::uint64_t plain_totals(const std::vector<T>& rows, std::size_t width, const std::vector<std::int32_t>& weights,
                           const ColumnFactors& factors) {
  std::uint64_t all = 0;
  for (std::size_t c = 0; c < width; ++c) {
    Int128 sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) sum += Int128{weights[i]} * rows[i * width + c];
    all = plain_residue(Int128{all} + Int128{plain_residue(sum, factors.modulus)} * factors.values[c], factors.modulus);
  }
  return all;
}

/// Adds rows in several calls, and then once more after the totals were taken.
template <class T>
void check_totals(std::size_t width, std::size_t count, std::mt19937& random) {
  CAPTURE(width);
  CAPTURE(count);
  const FingerprintKey key(1, width);
  const ColumnFactors factors = key.columns(0);
  const std::vector<T> rows = extreme_values<T>(count * width, random);
  const std::vector<std::int32_t> weights = extreme_weights(count, key.modulus(), random);
  const std::uint64_t expected = plain_totals(rows, width, weights, factors);
  ColumnTotals totals(width);
  for (int time = 0; time < 2; ++time) {
    for (std::size_t first = 0; first < count;) {
      const std::size_t some = std::min<std::size_t>(count - first, 1 + random() % 20);
      totals.add(&rows[first * width], some, &weights[first]);
      first += some;
    }
    CHECK(totals.take(factors) == expected);
  }
  CHECK(totals.take(factors) == 0);
  if constexpr (sizeof(T) == sizeof(std::int32_t)) {
    std::vector<const std::int32_t*> places;
    for (std::size_t i = 0; i < count; ++i) places.push_back(&rows[i * width]);
    totals.add(places, weights.data());
    CHECK(totals.take(factors) == expected);
  }
}

bool has_divisor(std::uint64_t number) {
  for (std::uint64_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0) return true;
  return false;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("residues are what division leaves, modulo the least and the largest prime and one between") {
    for (const std::uint32_t prime : {1'073'741'827U, 1'610'612'741U, 2'147'483'647U}) {
      CAPTURE(prime);
      REQUIRE(!has_divisor(prime));
      const Modulus modulus(prime);
      const std::uint64_t p = prime, most = std::numeric_limits<std::uint64_t>::max();
      CHECK(modulus.prime() == p);
      std::vector<std::uint64_t> numbers{0, 1, p - 1, p, p + 1, 2 * p - 1, 2 * p, p * p - 1, p * p, most, most - 1};
      numbers.push_back(most / p * p);
      numbers.push_back(most / p * p - 1);
      std::mt19937_64 random(prime);
      for (int i = 0; i < 1000; ++i) numbers.push_back(random());
      for (const std::uint64_t x : numbers) {
        CHECK(modulus.residue(x) == x % p);
        const auto any = static_cast<std::int64_t>(x);
        for (const Int128 wide : {Int128{any}, Int128{any} * (any >> 3), -(Int128{any} * any >> 2)})
          CHECK(modulus.residue(wide) == plain_residue(wide, modulus));
        const std::int64_t low = any >> 1;  // below 2^62
        CHECK(modulus.signed_residue(low) == plain_residue(low, modulus));
        const std::uint64_t rest = x >> 2;
        CHECK(modulus.residue(low, rest) == plain_residue((Int128{low} << 32) + rest, modulus));
        const std::uint64_t y = x % p, z = (x >> 20) % p;
        CHECK(modulus.add(y, z) == (y + z) % p);
        CHECK(modulus.subtract(y, z) == (y + p - z) % p);
        CHECK(modulus.multiply(modulus.centred(y), z) == y * z % p);
        const std::int64_t centred = modulus.centred(y);
        CHECK(plain_residue(centred, modulus) == y);
        CHECK(std::abs(centred) < std::int64_t{1} << 30);
      }
      CHECK(modulus.signed_residue(std::numeric_limits<std::int64_t>::min()) ==
            plain_residue(std::numeric_limits<std::int64_t>::min(), modulus));
    }
  }

  TEST_CASE("numbers with a divisor are no primes") {
    for (std::uint32_t odd = 3; odd < 2000; odd += 2) CHECK(is_prime(odd) == !has_divisor(odd));
    // The least composite numbers that pass for the bases 2; 2 and 3; .. up to 2, 3, 5 and 7, and
    // one for 2 and 7.
    for (const std::uint32_t odd : {2'047U, 1'373'653U, 25'326'001U, 3'215'031'751U, 314'821U}) {
      CAPTURE(odd);
      CHECK(has_divisor(odd));
      CHECK(!is_prime(odd));
    }
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
      const auto odd = static_cast<std::uint32_t>(random() | 1U);
      CAPTURE(odd);
      CHECK(is_prime(odd) == !has_divisor(odd));
    }
    CHECK(!is_prime(46'337U * 46'337U));
    CHECK(!is_prime(32'771U * 32'779U));
    CHECK(is_prime(4'294'967'291U));
  }

  TEST_CASE("every key has a prime of its own between 2^30 and 2^31") {
    std::set<std::uint64_t> primes;
    std::uint64_t least = ~std::uint64_t{0}, most = 0;
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t prime = FingerprintKey(1, 1).modulus().prime();
      CHECK(prime > std::uint64_t{1} << 30);
      CHECK(prime < std::uint64_t{1} << 31);
      CHECK(!has_divisor(prime));
      primes.insert(prime);
      least = std::min(least, prime);
      most = std::max(most, prime);
    }
    CHECK(primes.size() > 48);
    // All 50 in one half of the range: once in 2^49 runs.
    CHECK(least < std::uint64_t{3} << 29);
    CHECK(most > std::uint64_t{3} << 29);
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
    const Modulus modulus(2'147'483'647);
    const std::vector<std::int32_t> factors(700, 1 << kFactorBits);  // the largest there can be
    const ColumnFactors all{factors.data(), modulus};
    testing::for_each_target([&] {
      for (const std::int32_t value :
           {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
        const std::vector<std::int32_t> row(600, value);
        CHECK(fingerprint_of(std::span(row), all) == plain_fingerprint(row.data(), row.size(), all));
        // And of columns, with the largest weights of either sign.
        for (const std::uint64_t weight : {modulus.prime() / 2, modulus.prime() / 2 + 1}) {
          constexpr std::size_t kRows = 3000;
          const std::vector<std::int32_t> rows(kRows * 17, value), weights(kRows, modulus.centred(weight));
          ColumnTotals totals(17);
          totals.add(rows.data(), kRows, weights.data());
          CHECK(totals.take(all) == plain_totals(rows, 17, weights, all));
        }
      }
    });
  }

  TEST_CASE("totals of columns are those of numbers without end, of any width and number of rows") {
    testing::for_each_target([] {
      std::mt19937 random(7);
      for (int i = 0; i < 120; ++i) {
        const std::size_t width = 1 + random() % 300, count = 1 + random() % (i % 8 == 0 ? 600 : 40);
        check_totals<std::int32_t>(width, count, random);
        check_totals<std::int16_t>(width, count, random);
      }
      for (const std::size_t width : {1U, 8U, 15U, 16U, 17U, 64U, 128U, 129U})
        for (const std::size_t count : {1U, 3U, 4U, 7U, 8U, 9U, 33U}) {
          check_totals<std::int32_t>(width, count, random);
          check_totals<std::int16_t>(width, count, random);
        }
    });
  }

  TEST_CASE("rows beyond 32 bits have the fingerprints of their numbers") {
    const FingerprintKey key(1, 11);
    const std::vector<std::int64_t> row{1,
                                        -1,
                                        std::int64_t{1} << 52,
                                        -(std::int64_t{1} << 52),
                                        0,
                                        7,
                                        -7,
                                        1 << 30,
                                        2,
                                        std::numeric_limits<std::int64_t>::min(),
                                        std::numeric_limits<std::int64_t>::max()};
    CHECK(fingerprint_of(std::span(row), key.columns(0)) == plain_fingerprint(row.data(), row.size(), key.columns(0)));
    const std::vector<std::int32_t> narrow{1, -1, 5, 1 << 30, 0, 7, -7, 1 << 30, 2};
    CHECK(fingerprint_of(std::span<const std::int64_t>(std::vector<std::int64_t>(narrow.begin(), narrow.end())),
                         key.columns(0)) == fingerprint_of(std::span(narrow), key.columns(0)));
  }

  TEST_CASE("a list weighs what its nodes weigh together") {
    constexpr NodeId kNodes = 70'000;
    const FingerprintKey key(kNodes, 1);
    RowMask some(kNodes);
    for (NodeId node = 0; node < kNodes; node += 3) some.insert(node);
    std::mt19937 random(5);
    for (const std::size_t length : {0U, 1U, 31U, 32U, 33U, 500U, 40'000U}) {
      std::vector<NodeId> list(length);
      for (NodeId& node : list) node = static_cast<NodeId>(random() % kNodes);
      for (const NodeId node : {NodeId{0}, NodeId{kNodes - 1}}) {
        Int128 all = key.weight(node), kept = some.contains(node) ? key.weight(node) : 0;
        for (const NodeId one : list) {
          all += key.weight(one);
          kept += some.contains(one) ? key.weight(one) : 0;
        }
        const Modulus& modulus = key.modulus();
        CHECK(key.list_weight(node, list) == modulus.centred(plain_residue(all, modulus)));
        CHECK(key.list_weight(node, list, some) == modulus.centred(plain_residue(kept, modulus)));
      }
    }
  }

  TEST_CASE("keys are drawn anew, without zeros, and differ from node to node and from column to column") {
    const FingerprintKey one(5'000, 300), other(5'000, 300);
    std::set<std::int32_t> weights;
    std::set<std::int32_t> factors;
    for (NodeId node = 0; node < 5'000; ++node) weights.insert(one.weight(node));
    for (std::size_t c = 0; c < 300; ++c) factors.insert(*one.columns(c).values);
    CHECK(weights.size() > 4'990);
    CHECK(weights.count(0) == 0);
    CHECK(factors.size() > 298);
    CHECK(*factors.begin() > 0);
    CHECK(*factors.rbegin() <= 1 << kFactorBits);
    CHECK(one.weight(17) != other.weight(17));
    CHECK(*one.columns(17).values != *other.columns(17).values);
    CHECK(one.columns(17).values == one.columns(0).values + 17);
  }
}

}  // namespace unweave
