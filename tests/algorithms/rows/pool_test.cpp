// tests/algorithms/rows/pool_test.cpp - pooled rows, pinned, and against sums in another order.
#include "algorithms/rows/pool.h"

#include <doctest/doctest.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/hex.h"

namespace unweave {
namespace {

constexpr std::size_t kNodes = 200, kColumns = 12, kGraphs = 9;

/// Numbers of splitmix64, for pinned inputs.
struct SplitMix {
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t x = state += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
};

/// Rows of multiples of 2^-22, divided by 3 in float32.
std::vector<float> pinned_values() {
  SplitMix random{21};
  std::vector<float> values;
  for (std::size_t i = 0; i < kNodes * kColumns; ++i) {
    const auto whole = static_cast<double>(static_cast<std::int64_t>(random.next() >> 44) - (std::int64_t{1} << 19));
    values.push_back(static_cast<float>(whole * 0x1p-20 / 4) / 3.0F);
  }
  return values;
}

std::vector<std::size_t> pinned_graphs() {
  std::vector<std::size_t> graphs;
  for (std::size_t i = 0; i < kNodes; ++i) graphs.push_back(SplitMix{77 + i}.next() % kGraphs);
  return graphs;
}

std::vector<float> pooled(const std::vector<float>& rows, const std::vector<std::size_t>& graphs,
                          const std::vector<std::size_t>& order, const Pool& pool) {
  std::vector<std::int64_t> sums(kGraphs * kColumns);
  std::vector<std::uint64_t> counts(kGraphs);
  for (const std::size_t node : order) {
    add_to_pool(std::span(rows).subspan(node * kColumns, kColumns),
                std::span(sums).subspan(graphs[node] * kColumns, kColumns));
    ++counts[graphs[node]];
  }
  std::vector<float> out(kGraphs * kColumns);
  for (std::size_t graph = 0; graph < kGraphs; ++graph)
    divide_pool(std::span(sums).subspan(graph * kColumns, kColumns), counts[graph], pool, &out[graph * kColumns]);
  return out;
}

std::string sha256_of(const std::vector<float>& values) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  REQUIRE(sodium_init() >= 0);
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(values.data()), values.size() * sizeof(float));
  return to_hex(std::as_bytes(std::span(hash)));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("pooled rows are the pinned ones, in whatever order nodes come") {
    const std::vector<float> rows = pinned_values();
    const std::vector<std::size_t> graphs = pinned_graphs();
    std::vector<std::size_t> order(kNodes);
    for (std::size_t i = 0; i < kNodes; ++i) order[i] = i;
    const std::vector<float> means = pooled(rows, graphs, order, {Pool::By::nodes, 0});
    CHECK(sha256_of(means).starts_with("e4eef5c8576ff26655589246689f22dd"));
    std::reverse(order.begin(), order.end());
    std::rotate(order.begin(), order.begin() + 71, order.end());
    CHECK(pooled(rows, graphs, order, {Pool::By::nodes, 0}) == means);
    // Float32 sums depend on the order, so that the case has something to find.
    const auto float_sum = [&](bool backwards) {
      std::vector<float> sums(kGraphs * kColumns);
      for (std::size_t i = 0; i < kNodes; ++i) {
        const std::size_t node = backwards ? kNodes - 1 - i : i;
        for (std::size_t c = 0; c < kColumns; ++c) sums[graphs[node] * kColumns + c] += rows[node * kColumns + c];
      }
      return sums;
    };
    CHECK(float_sum(false) != float_sum(true));
  }

  TEST_CASE("a node that leaves changes its graph alone, by subtraction") {
    const std::vector<float> rows = pinned_values();
    const std::vector<std::size_t> graphs = pinned_graphs();
    std::vector<std::int64_t> all(kColumns), left(kColumns), own(kColumns);
    for (std::size_t node = 0; node < kNodes; ++node) {
      if (graphs[node] != graphs[5]) continue;
      const auto row = std::span(rows).subspan(node * kColumns, kColumns);
      add_to_pool(row, all);
      if (node != 5) add_to_pool(row, left);
    }
    add_to_pool(std::span(rows).subspan(5 * kColumns, kColumns), own);
    for (std::size_t c = 0; c < kColumns; ++c) CHECK(all[c] - own[c] == left[c]);
  }

  TEST_CASE("the divisor is the number of nodes, its root, or a constant") {
    const std::vector<std::int64_t> sums{3 << 24, -(1 << 24), 1, 0};
    std::vector<float> out(4);
    divide_pool(sums, 3, {Pool::By::nodes, 0}, out.data());
    CHECK(out[0] == 1.0F);
    CHECK(out[1] == static_cast<float>(-1.0 / 3));
    CHECK(out[2] == static_cast<float>(0x1p-24 / 3));
    divide_pool(sums, 4, {Pool::By::root, 0}, out.data());
    CHECK(out[0] == 1.5F);
    divide_pool(sums, 4, {Pool::By::number, 64}, out.data());
    CHECK(out[1] == -1.0F / 64);
  }

  TEST_CASE("pools and forms of pairs have one text each, and other words are refused") {
    for (const std::string text : {"mean", "root", "sum=64"}) CHECK(text_of(pool_named(text)) == text);
    for (const std::string text : {"", "Mean", "sum", "sum=0", "sum=-1", "sum=1.5", "sum=64 ", "sum=99999999999"})
      CHECK_THROWS_AS(static_cast<void>(pool_named(text)), UsageError);
    for (const std::string text : {"hadamard", "difference,by=16", "both,by=1048576"})
      CHECK(text_of(pair_form_named(text)) == text);
    for (const std::string text : {"", "product", "both,by=3", "both,by=2097152", "both,16", "both,by=2,by=2"})
      CHECK_THROWS_AS(static_cast<void>(pair_form_named(text)), UsageError);
  }
}

}  // namespace unweave
