// tests/engine/graph/node_map_test.cpp - the sparse map against std::map, under random changes.
#include "engine/graph/node_map.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <random>

#include "engine/resources/parallel.h"

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("a node map holds what a std::map holds") {
    constexpr NodeId kNodes = 1000;
    NodeMap<std::unique_ptr<int>> map(kNodes);
    std::map<NodeId, int> expected;
    std::mt19937 random(4);
    for (int step = 0; step < 20'000; ++step) {
      // Few nodes at first and many later, so that pages fill and empty again.
      const auto node = static_cast<NodeId>(random() % (step < 10'000 ? kNodes : 130));
      if (random() % 3 == 0) {
        map.erase(node);
        expected.erase(node);
      } else {
        map.at(node) = std::make_unique<int>(step);
        expected[node] = step;
      }
      CHECK(map.size() == expected.size());
      if (step % 500 != 0) continue;
      for (NodeId at = 0; at < kNodes; ++at) {
        const auto there = expected.find(at);
        const std::unique_ptr<int>* found = map.find(at);
        REQUIRE((found != nullptr) == (there != expected.end()));
        if (found != nullptr) CHECK(**found == there->second);
      }
      auto next = expected.lower_bound(37);
      map.for_each({37, 700}, [&](NodeId at, const std::unique_ptr<int>& value) {
        REQUIRE(next != expected.end());
        CHECK(at == next->first);
        CHECK(*value == next->second);
        ++next;
      });
      CHECK(next == expected.lower_bound(700));
    }
    map.clear();
    CHECK(map.size() == 0);
    CHECK(map.find(5) == nullptr);
  }

  TEST_CASE("walks over few values of many nodes find them all") {
    constexpr NodeId kNodes = 3'000'001;
    NodeMap<NodeId> map(kNodes);
    std::mt19937 random(11);
    for (int round = 0; round < 3; ++round) {
      std::map<NodeId, NodeId> expected;
      const auto put = [&](NodeId node) { map.at(node) = expected[node] = static_cast<NodeId>(random()); };
      for (const NodeId node : {NodeId{0}, NodeId{4095}, NodeId{4096}, NodeId{262'143}, NodeId{262'144}, kNodes - 1})
        if (round != 1) put(node);
      for (int i = 0; i < 300; ++i) put(static_cast<NodeId>(random() % kNodes));
      for (int i = 0; i < 100; ++i) {  // some pages are empty again
        const NodeId node = std::next(expected.begin(), static_cast<std::ptrdiff_t>(random() % expected.size()))->first;
        map.erase(node);
        expected.erase(node);
      }
      map.change_each([](NodeId& value) { ++value; });
      for (auto& [node, value] : expected) ++value;
      for (int i = 0; i < 50; ++i) {
        const auto a = static_cast<NodeId>(random() % kNodes), b = static_cast<NodeId>(random() % kNodes);
        const NodeRange range = i == 0 ? NodeRange{0, kNodes} : NodeRange{std::min(a, b), std::max(a, b)};
        std::map<NodeId, NodeId> found;
        map.for_each(range, [&](NodeId node, const NodeId& value) { found.emplace(node, value); });
        CHECK(found == std::map<NodeId, NodeId>(expected.lower_bound(range.first), expected.lower_bound(range.last)));
      }
      map.clear();
      std::size_t left = 0;
      map.for_each({0, kNodes}, [&](NodeId, const NodeId&) { ++left; });
      CHECK(left == 0);
    }
  }

  TEST_CASE("tasks fill pages of their own") {
    constexpr NodeId kPages = 64, kPage = NodeMap<NodeId>::kPageNodes;
    NodeMap<NodeId> map(kPages * kPage);
    parallel_ranges(0, kPages, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t node = first * kPage; node < last * kPage; node += 3)
        map.at(static_cast<NodeId>(node)) = static_cast<NodeId>(node) + 1;
    });
    std::size_t seen = 0;
    map.for_each({0, kPages * kPage}, [&](NodeId node, const NodeId& value) {
      CHECK(value == node + 1);
      ++seen;
    });
    CHECK(seen == map.size());
    CHECK(seen >= kPages * kPage / 3);
  }
}

}  // namespace unweave
