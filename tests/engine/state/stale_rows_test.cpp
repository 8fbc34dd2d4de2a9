// tests/engine/state/stale_rows_test.cpp - stale rows against a plain map: what they hold, and sums
// that follow every change.
#include "engine/state/stale_rows.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "engine/resources/parallel.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

constexpr NodeId kNodes = 5000;
constexpr std::uint32_t kColumns = 7;

struct PlainRow {
  std::uint32_t degree = 0;
  std::vector<std::int32_t> delta;
};
using PlainRows = std::map<NodeId, PlainRow>;

void check_equal(const StaleRows& rows, const PlainRows& plain, bool only_squares) {
  REQUIRE(rows.size() == plain.size());
  std::vector<UInt128> squares(kColumns);
  std::vector<Int128> magnitudes(kColumns), sums(kColumns);
  for (const auto& [node, row] : plain) {
    std::vector<std::int32_t> delta(kColumns);
    rows.add_to(node, -1, delta.data());
    for (std::uint32_t c = 0; c < kColumns; ++c) {
      REQUIRE(delta[c] == -row.delta[c]);
      const Int128 weighted = Int128{row.delta[c]} * row.degree;
      squares[c] += static_cast<UInt128>(weighted * row.delta[c]);
      magnitudes[c] += weighted < 0 ? -weighted : weighted;
      sums[c] += weighted;
    }
  }
  const bool same_squares = rows.squares() == squares;
  CHECK(same_squares);
  if (only_squares) return;
  const StaleRows::Totals& totals = rows.totals();
  const bool same = totals.squares == squares && totals.magnitudes == magnitudes && totals.sums == sums;
  CHECK(same);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE(
      "totals follow every change exactly, from differences of 1 to 2^30 and degrees to 2^31, in memory and in files") {
    const testing::TempDir folder;
    std::mt19937_64 random(7);
    StaleRows rows(kNodes, kColumns);
    PlainRows plain;
    check_equal(rows, plain, true);  // squares are followed from here on, the others from the first totals()
    for (int step = 0; step < 20'000; ++step) {
      const auto node = static_cast<NodeId>(random() % kNodes);
      const auto kind = random() % 10;
      if (kind == 0) {
        rows.erase(node);
        plain.erase(node);
      } else {
        const auto bits = random() % 31;
        std::vector<std::int32_t> delta(kColumns);
        for (std::int32_t& one : delta) {
          one = static_cast<std::int32_t>(random() % ((std::uint64_t{1} << bits) + 1));
          if (random() % 2 == 0) one = -one;
        }
        const auto degree = static_cast<std::uint32_t>(1 + random() % (std::uint64_t{1} << (random() % 32)));
        const bool adds = kind < 4 && bits < 20 && (!plain.contains(node) || std::abs(plain[node].delta[0]) < 1 << 20);
        PlainRow& row = plain[node];
        row.degree = degree;
        if (adds) {
          rows.add(node, degree, delta.data());
          row.delta.resize(kColumns);
          for (std::uint32_t c = 0; c < kColumns; ++c) row.delta[c] += delta[c];
        } else {
          rows.set(node, degree, delta.data());
          row.delta = delta;
        }
        if (row.delta == std::vector<std::int32_t>(kColumns)) plain.erase(node);
      }
      if (step % 800 == 799) {  // often enough that files are put together
        rows.spill(folder.path());
        CHECK(rows.bytes_in_memory() == 0);
      }
      if (step % 1000 == 999) check_equal(rows, plain, step < 10'000);
    }
    rows.clear();
    check_equal(rows, {}, false);
  }

  TEST_CASE("totals that nothing changed are not added up again") {
    StaleRows rows(kNodes, kColumns);
    const std::vector<std::int32_t> delta(kColumns, 3);
    for (NodeId node = 0; node < kNodes; node += 50) rows.set(node, 2, delta.data());
    static_cast<void>(rows.totals());
    const std::uint64_t once = rows.folds();
    for (int column = 0; column < 1000; ++column) static_cast<void>(rows.totals());
    CHECK(rows.folds() == once);
    rows.set(1, 2, delta.data());
    CHECK(rows.totals().sums[0] == Int128{6} * (kNodes / 50 + 1));
    CHECK(rows.folds() == once + 1);
  }

  TEST_CASE("tasks that keep to pages of their own lose nothing") {
    const ThreadLimit limit(4);
    StaleRows rows(kNodes, kColumns);
    static_cast<void>(rows.totals());
    const auto delta_of = [](NodeId node, int round) {
      std::vector<std::int32_t> delta(kColumns);
      for (std::uint32_t c = 0; c < kColumns; ++c)
        delta[c] = static_cast<std::int32_t>((node * 31 + c * 7 + static_cast<unsigned>(round)) % 40'000) - 20'000;
      return delta;
    };
    PlainRows plain;
    for (int round = 0; round < 5; ++round) {
      parallel_ranges(0, kNodes / 64 + 1, 1, [&](std::size_t first, std::size_t last) {
        for (std::size_t node = first * 64; node < std::min<std::size_t>(kNodes, last * 64); ++node)
          rows.set(static_cast<NodeId>(node), static_cast<std::uint32_t>(node + 1),
                   delta_of(static_cast<NodeId>(node), round).data());
      });
    }
    for (NodeId node = 0; node < kNodes; ++node) plain[node] = {node + 1, delta_of(node, 4)};
    std::erase_if(plain, [](const auto& one) { return one.second.delta == std::vector<std::int32_t>(kColumns); });
    check_equal(rows, plain, false);
  }
}

}  // namespace unweave
