// tests/algorithms/synthetic/rmat_test.cpp - the generator: a function of (seed, index), permuted
// ids, Graph 500's skew.
#include "algorithms/synthetic/rmat.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("edges depend on seed and index alone, and ids lie in range") {
    for (const int scale : {0, 1, 2, 7, 31}) {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const Edge edge = rmat_edge(7, i, scale);
        CHECK(edge == rmat_edge(7, i, scale));
        const bool inside = (std::uint64_t{edge.u} | edge.v) < (std::uint64_t{1} << scale);
        CHECK(inside);
      }
    }
    CHECK(rmat_edge(7, 3, 20) != rmat_edge(7, 4, 20));
    CHECK(rmat_edge(7, 3, 20) != rmat_edge(8, 3, 20));
  }

  TEST_CASE("the heaviest nodes carry the share that the recursion gives them, under ids that say nothing") {
    constexpr int kScale = 10;
    constexpr std::size_t kEdges = 400'000;
    std::vector<std::size_t> out_degree(std::size_t{1} << kScale, 0);
    std::size_t in_lower_half = 0;
    for (std::size_t i = 0; i < kEdges; ++i) {
      const Edge edge = rmat_edge(1, i, kScale);
      ++out_degree[edge.u];
      in_lower_half += edge.u < (1U << (kScale - 1));
    }
    std::vector<std::size_t> sorted = out_degree;
    std::sort(sorted.rbegin(), sorted.rend());
    // A source bit is 0 with probability a + b = 0.76: the node of zeros is expected 0.76^10 of the
    // edges, and those with one bit set 10 * 0.76^9 * 0.24.
    const auto share = [&](std::size_t first, std::size_t last) {
      const auto from = sorted.begin();
      return static_cast<double>(std::accumulate(from + static_cast<std::ptrdiff_t>(first),
                                                 from + static_cast<std::ptrdiff_t>(last), std::size_t{0})) /
             kEdges;
    };
    CHECK(share(0, 1) == doctest::Approx(std::pow(0.76, 10)).epsilon(0.03));
    CHECK(share(1, 11) == doctest::Approx(10 * std::pow(0.76, 9) * 0.24).epsilon(0.03));
    CHECK(std::abs(static_cast<double>(in_lower_half) / kEdges - 0.5) < 0.2);
    const auto heaviest =
        static_cast<std::size_t>(std::max_element(out_degree.begin(), out_degree.end()) - out_degree.begin());
    CHECK(heaviest != 0);
  }
}

}  // namespace unweave
