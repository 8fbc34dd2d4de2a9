// tests/engine/graph/changed_arcs_test.cpp - sets of changed arcs against a map.
#include "engine/graph/changed_arcs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("units are added to arcs and taken off as from a map, with weights and without") {
    for (const bool weights : {false, true}) {
      std::mt19937 random(weights ? 5 : 6);
      ChangedArcs arcs;
      std::map<NodeId, std::uint32_t> wanted;
      for (int step = 0; step < 3000; ++step) {
        const auto to = static_cast<NodeId>(random() % 40);
        const std::uint32_t units = weights ? 1 + static_cast<std::uint32_t>(random() % 65535) : 1;
        if (random() % 2 == 0) {
          if (!weights && wanted.contains(to)) continue;
          arcs.add(to, units, weights);
          wanted[to] += units;
        } else {
          const std::uint32_t there = wanted.contains(to) ? wanted[to] : 0, taken = std::min(units, there);
          CHECK(arcs.take(to, units) == taken);
          if (there > taken)
            wanted[to] = there - taken;
          else
            wanted.erase(to);
        }
        std::uint32_t total = 0;
        std::size_t at = 0;
        REQUIRE(arcs.size() == wanted.size());
        CHECK(arcs.empty() == wanted.empty());
        bool same = true;
        for (const auto& [id, of] : wanted) {
          same &= arcs.id(at) == id && arcs.units(at) == of;
          total += of;
          ++at;
        }
        CHECK(same);
        CHECK(arcs.total() == total);
      }
    }
  }
}

}  // namespace unweave
