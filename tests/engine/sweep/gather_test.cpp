// tests/engine/sweep/gather_test.cpp - the kernels against sums and quotients in plain 64-bit
// integers.
#include "engine/sweep/gather.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/graphs.h"
#include "support/vector_targets.h"

namespace unweave {
namespace {

using testing::for_each_target;

/// A tile with the padding that kernels may read, filled with a value that would show.
std::vector<std::int32_t> random_tile(std::size_t rows, std::size_t width, std::int32_t bound, std::uint32_t seed) {
  std::vector<std::int32_t> tile(rows * width + kTilePadding, 123'456'789);
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::int32_t> value(-bound, bound);
  for (std::size_t i = 0; i < rows * width; ++i) tile[i] = value(random);
  return tile;
}

struct Gathered {
  std::vector<std::int64_t> sums;  // rows of `nodes`
  std::vector<std::int32_t> quotients;
  std::size_t wide = 0;
};

/// With totals of the quotients, which are compared with those of what was written.
template <class T>
Gathered gather(const TileOf<T>& tile, const std::vector<NodeId>& nodes,
                const std::vector<std::vector<NodeId>>& lists) {
  std::vector<std::uint32_t> counts;
  std::vector<NodeId> targets;
  for (const auto& list : lists) {
    counts.push_back(static_cast<std::uint32_t>(list.size()));
    targets.insert(targets.end(), list.begin(), list.end());
  }
  const std::size_t size = nodes.size() * tile.width;
  std::vector<std::int32_t> sums(size, -77);
  std::vector<std::int64_t> wide_sums(size);
  std::vector<std::uint32_t> wide_nodes(nodes.size());
  Gathered out;
  // On a cache line, so that the widths that can pass by the caches do.
  const std::size_t padded = (size * sizeof(T) + 63) / 64 * 64;
  const std::unique_ptr<T, decltype(&std::free)> quotients(static_cast<T*>(std::aligned_alloc(64, padded)), &std::free);
  std::fill_n(quotients.get(), size, T{-77});
  const FingerprintKey key(static_cast<NodeId>(nodes.size()), tile.width);
  std::vector<std::int32_t> weights;
  for (NodeId i = 0; i < nodes.size(); ++i) weights.push_back(key.weight(i));
  ColumnTotals totals(tile.width), written(tile.width);
  out.wide = gather_lists(
      tile, {nodes, counts.data(), targets.data(), targets.size(), {}},
      GatherOutputOf<T>{sums.data(), wide_sums.data(), wide_nodes.data(), quotients.get(), &totals, weights.data()});
  written.add(quotients.get(), nodes.size(), weights.data());
  CHECK(totals.take(key.columns(0)) == written.take(key.columns(0)));
  out.quotients.assign(quotients.get(), quotients.get() + size);
  out.sums.assign(sums.begin(), sums.end());
  for (std::size_t i = 0; i < out.wide; ++i) {
    for (std::size_t c = 0; c < tile.width; ++c) {
      CHECK(sums[wide_nodes[i] * tile.width + c] == 0);
      out.sums[wide_nodes[i] * tile.width + c] = wide_sums[i * tile.width + c];
    }
  }
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("gather_lists and gather_rows equal plain 64-bit sums for every width and target") {
    constexpr std::size_t kRows = 90;
    std::mt19937 random(5);
    const std::vector<NodeId> nodes{0, 3, 4, 31, 88, 89};
    std::vector<std::vector<NodeId>> lists;
    for (const std::size_t count : {0, 1, 13, 126, 127, 300}) {
      std::vector<NodeId>& list = lists.emplace_back();
      for (std::size_t i = 0; i < count; ++i) list.push_back(static_cast<NodeId>(random() % kRows));
    }
    for_each_target([&] {
      for (std::size_t width = 1; width <= 200; ++width) {
        CAPTURE(width);
        const auto t = random_tile(kRows, width, 1 << 24, static_cast<std::uint32_t>(width));
        const Tile tile{t.data(), width, 24};
        const Gathered got = gather(tile, nodes, lists);
        // These numbers, made small enough, in both widths.
        std::vector<std::int16_t> short_t(t.size());
        std::vector<std::int32_t> long_t(t.size());
        for (std::size_t i = 0; i < kRows * width; ++i)
          long_t[i] = short_t[i] = static_cast<std::int16_t>(t[i] % ((1 << kMaxShortScaleBits) + 1));
        const Gathered short_got = gather(ShortTile{short_t.data(), width, kMaxShortScaleBits}, nodes, lists);
        const Gathered long_got = gather(Tile{long_t.data(), width, kMaxShortScaleBits}, nodes, lists);
        CHECK(short_got.sums == long_got.sums);
        CHECK(short_got.quotients == long_got.quotients);
        std::vector<std::int32_t> quotients;
        std::vector<std::int64_t> expected;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          std::vector<std::int64_t> list_sums(width, 1000);
          gather_rows(tile, {lists[i], lists[(i + 1) % lists.size()]}, list_sums.data());
          bool same = true;
          for (std::size_t c = 0; c < width; ++c) {
            std::int64_t sum = 0;
            for (const NodeId v : lists[i]) sum += t[v * width + c];
            same &= list_sums[c] == sum + 1000;
            expected.push_back(sum + t[nodes[i] * width + c]);
            quotients.push_back(static_cast<std::int32_t>(
                testing::plain_quotient(expected.back(), static_cast<std::int64_t>(lists[i].size()) + 1)));
          }
          CHECK(same);
        }
        CHECK(got.sums == expected);
        CHECK(got.quotients == quotients);
      }
    });
  }

  TEST_CASE("sums at the edges of int32 are exact, and wide only when the value is") {
    for (const int scale_bits : {0, 10, 23, 24, 28, 30}) {
      for (const std::size_t degree : {1, 2, 3, 7, 8, 126, 127, 128, 129, 254, 255, 256, 1000}) {
        for (const std::int32_t sign : {1, -1}) {
          CAPTURE(scale_bits);
          CAPTURE(degree);
          const std::int32_t bound = sign * (std::int32_t{1} << scale_bits);
          // Column 0 is at the bound everywhere; column 1 alternates, so that partial sums swing
          // but the sum is small.
          std::vector<std::int32_t> t(2 * 2 + kTilePadding, 0);
          t[0] = t[1] = t[2] = bound;
          t[3] = -bound;
          std::vector<NodeId> list(degree - 1);
          for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<NodeId>((i + 1) % 2);
          for_each_target([&] {
            const Gathered got = gather(Tile{t.data(), 2, scale_bits}, {0}, {list});
            const std::int64_t sum = static_cast<std::int64_t>(degree) * bound;
            CHECK(got.sums == std::vector<std::int64_t>{sum, degree % 2 == 0 ? 0 : bound});
            const bool fits =
                sum >= std::numeric_limits<std::int32_t>::min() && sum <= std::numeric_limits<std::int32_t>::max();
            CHECK(got.wide == (fits ? 0 : 1));
            CHECK(got.quotients[0] == bound);
          });
        }
      }
    }
  }

  TEST_CASE("16-bit rows at the bound add up exactly, whatever the number of terms") {
    constexpr std::int16_t kBound = 1 << kMaxShortScaleBits;
    for (const std::size_t degree : {1U, 2U, 131'071U, 131'072U, 262'200U}) {
      for (const int sign : {1, -1}) {
        CAPTURE(degree);
        CAPTURE(sign);
        std::vector<std::int16_t> t(2 * 2 + kTilePadding, 0);
        t[0] = t[1] = t[2] = static_cast<std::int16_t>(sign * kBound);
        t[3] = static_cast<std::int16_t>(-sign * kBound);
        std::vector<NodeId> list(degree - 1);
        for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<NodeId>((i + 1) % 2);
        for_each_target([&] {
          const Gathered got = gather(ShortTile{t.data(), 2, kMaxShortScaleBits}, {0}, {list});
          const std::int64_t sum = static_cast<std::int64_t>(degree) * sign * kBound;
          CHECK(got.sums == std::vector<std::int64_t>{sum, degree % 2 == 0 ? 0 : sign * kBound});
          CHECK(got.wide == (sum == static_cast<std::int32_t>(sum) ? 0 : 1));
          CHECK(got.quotients[0] == sign * kBound);
        });
      }
    }
  }

  TEST_CASE("round_quotients rounds the true quotient, ties to even") {
    std::mt19937_64 random(9);
    for (const std::uint32_t degree : {1U, 2U, 3U, 6U, 10U, 127U, 128U, 1000U, 65'536U, 99'999'999U, kMaxDegree - 1}) {
      CAPTURE(degree);
      const auto d = static_cast<std::int64_t>(degree);
      std::vector<std::int64_t> sums;
      for (int i = 0; i < 500; ++i) {
        // Around ties and around whole quotients, of all magnitudes up to 2^24.
        const auto whole = static_cast<std::int64_t>(random() % (1U << 24)) >> (random() % 24);
        for (const std::int64_t near : {-1, 0, 1}) {
          for (const std::int64_t at : {whole * d + d / 2 + near, whole * d + near}) {
            sums.push_back(at);
            sums.push_back(-at);
          }
        }
      }
      std::vector<std::int32_t> narrow_sums;
      std::vector<std::int32_t> expected;
      std::vector<std::int32_t> narrow_expected;
      for (const std::int64_t sum : sums) {
        expected.push_back(static_cast<std::int32_t>(testing::plain_quotient(sum, d)));
        if (sum != static_cast<std::int32_t>(sum)) continue;
        narrow_sums.push_back(static_cast<std::int32_t>(sum));
        narrow_expected.push_back(expected.back());
      }
      for_each_target([&] {
        std::vector<std::int32_t> got(sums.size());
        round_quotients(std::span<const std::int64_t>(sums), degree, got.data());
        CHECK(got == expected);
        std::vector<std::int32_t> narrow_got(narrow_sums.size());
        round_quotients(std::span<const std::int32_t>(narrow_sums), degree, narrow_got.data());
        CHECK(narrow_got == narrow_expected);
      });
    }
  }

  TEST_CASE("round_scaled rounds factor * x / divisor and keeps it in bounds") {
    std::mt19937 random(12);
    std::uniform_real_distribution<float> value(-1.5F, 1.5F);
    for (const std::size_t width : {1U, 3U, 8U, 29U, 128U}) {
      for (const double divisor : {1.0, std::sqrt(3.0), 12'345.0}) {
        CAPTURE(width);
        CAPTURE(divisor);
        std::vector<float> x(width);
        for (float& one : x) one = value(random);
        x[width / 2] = 0.5F + static_cast<float>(width);  // a tie where the divisor is 1 and the factor 1
        for (const double factor : {1.0, std::ldexp(1.0, 24)}) {
          std::vector<std::int32_t> expected(width);
          for (std::size_t c = 0; c < width; ++c) {
            const double exact = factor * static_cast<double>(x[c]) / divisor;
            double nearest = std::floor(exact);
            const double above = exact - nearest;
            if (above > 0.5 || (above == 0.5 && std::fmod(nearest, 2) != 0)) nearest += 1;
            expected[c] = static_cast<std::int32_t>(std::max(-factor, std::min(factor, nearest)));
          }
          for_each_target([&] {
            std::vector<std::int32_t> got(width);
            round_scaled(x, factor, divisor, factor, got.data());
            CHECK(got == expected);
          });
        }
      }
    }
  }

  TEST_CASE("round_differences takes what was published from the rounded quotients") {
    std::mt19937_64 random(10);
    for (const std::size_t width : {1U, 7U, 8U, 16U, 33U, 128U}) {
      for (const std::uint32_t degree : {1U, 3U, 1000U}) {
        CAPTURE(width);
        CAPTURE(degree);
        std::vector<std::int64_t> sums(width);
        std::vector<std::int32_t> narrow(width), published(width), expected(width);
        std::uint32_t largest = 0;
        for (std::size_t c = 0; c < width; ++c) {
          narrow[c] = static_cast<std::int32_t>(random() % 2'000'001) - 1'000'000;
          sums[c] = narrow[c];
          published[c] = static_cast<std::int32_t>(random() % 2'000'001) - 1'000'000;
          expected[c] = static_cast<std::int32_t>(testing::plain_quotient(sums[c], degree)) - published[c];
          largest = std::max(largest, static_cast<std::uint32_t>(std::abs(expected[c])));
        }
        const FingerprintKey key(1, width);
        const ColumnFactors factors = key.columns(0);
        const std::uint64_t fingerprint = fingerprint_of(std::span<const std::int32_t>(expected), factors);
        for_each_target([&] {
          std::vector<std::int32_t> got(width);
          const auto check = [&](const RowDifference& difference) {
            CHECK(difference.largest == largest);
            CHECK(difference.fingerprint == fingerprint);
            CHECK(got == expected);
            std::fill(got.begin(), got.end(), 0);
          };
          check(round_differences(std::span<const std::int64_t>(sums), degree, published.data(), &factors, got.data()));
          check(
              round_differences(std::span<const std::int32_t>(narrow), degree, published.data(), &factors, got.data()));
          CHECK(round_differences(std::span<const std::int32_t>(narrow), degree, published.data(), nullptr, got.data())
                    .fingerprint == 0);
        });
      }
    }
  }

  TEST_CASE("add_rows adds in 32 bits, or says that it cannot") {
    constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
    for (const std::size_t width : {1U, 5U, 16U, 40U, 128U, 150U}) {
      const std::vector<std::int32_t> rows = random_tile(5, width, 1 << 24, 3);
      const Tile tile{rows.data(), width, 24};
      const FingerprintKey key(1, width);
      const std::vector<NodeId> next(200, 4);
      for (const std::vector<NodeId>& list : {std::vector<NodeId>{}, {2}, {0, 1, 4}, std::vector<NodeId>(127, 3)}) {
        CAPTURE(width);
        CAPTURE(list.size());
        std::vector<std::int32_t> before(width, 1000);
        std::vector<std::int64_t> expected(width, 1000);
        for (const NodeId node : list)
          for (std::size_t c = 0; c < width; ++c) expected[c] += rows[node * width + c];
        // The last column is brought to the brink, and then over it.
        for (const std::int64_t over : {-1, 0, 1}) {
          for (const int sign : {1, -1}) {
            const std::int64_t limit = sign > 0 ? kMost : std::int64_t{-1} - kMost;
            const std::int64_t moved = limit + sign * over - expected[width - 1];
            const std::int64_t brink = before[width - 1] + moved;
            if (brink != static_cast<std::int32_t>(brink)) continue;
            std::vector<std::int32_t> start = before;
            start[width - 1] = static_cast<std::int32_t>(brink);
            std::vector<std::int64_t> added = expected;
            for (std::int64_t& value : added) value -= 1000;
            const std::uint64_t fingerprint = fingerprint_of(std::span<const std::int64_t>(added), key.columns(0));
            for_each_target([&] {
              std::vector<std::int32_t> after(width);
              const auto got = add_rows(tile, {list, next}, start.data(), key.columns(0), after.data());
              CHECK(got.has_value() == (over <= 0));
              if (!got) return;
              CHECK(*got == fingerprint);
              for (std::size_t c = 0; c + 1 < width; ++c) CHECK(after[c] == expected[c]);
              CHECK(after[width - 1] == limit + sign * over);
            });
          }
        }
      }
      std::vector<std::int32_t> after(width);
      const std::vector<std::int32_t> before(width);
      // Too many terms to know.
      CHECK_FALSE(
          add_rows(tile, {std::vector<NodeId>(128, 0)}, before.data(), key.columns(0), after.data()).has_value());
    }
  }
}

}  // namespace unweave
