// tests/support/pair_world.h - a user's data with links to predict, kept by plain sets: what pairs
// there are by the definition alone, and what a store that was streamed must equal is an import.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "storage/types/pair_rules.h"
#include "support/changed_world.h"
#include "support/tiny_store.h"

namespace unweave::testing {

/// Pairs as FORMAT.md defines them, by loops over plain sets. Shares no code with the program.
struct SlowPairs {
  using Key = std::uint64_t;
  using Pair = std::array<std::uint64_t, 3>;  ///< both ends in the order of drawing, and 1 for an edge
  PairRules rules;
  NodeId nodes = 0;

  static Key mix(Key x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }
  static Key key(Key k, Key u) {
    constexpr Key g = 0x9E3779B97F4A7C15U;
    return mix(mix(k + g) + u * g);
  }
  /// How a pair is written: as it is, where it has a direction.
  [[nodiscard]] std::pair<NodeId, NodeId> edge_of(Key u, Key v) const {
    const bool turned = !rules.directed && u > v;
    return {static_cast<NodeId>(turned ? v : u), static_cast<NodeId>(turned ? u : v)};
  }
  /// 0 valid, 1 test, 2 label, 3 plain.
  [[nodiscard]] int role(Key u, Key v) const {
    const auto [first, second] = edge_of(u, v);
    const Key r = key(key(rules.key, 0), Key{first} << 32 | second) >> 32;
    return r < rules.below_valid ? 0 : r < rules.below_test ? 1 : r < rules.below_label ? 2 : 3;
  }
  [[nodiscard]] bool is_held(Key u, Key v) const { return role(u, v) < (rules.apart ? 3 : 2); }
  [[nodiscard]] unsigned shift() const {
    unsigned bits = 1;
    while ((Key{1} << bits) < nodes) ++bits;
    return 64 - bits;
  }
  /// All pairs of a role, sorted edges each with its negatives, by which nodes are live.
  [[nodiscard]] std::vector<Pair> all(const std::set<std::pair<NodeId, NodeId>>& edges, const std::vector<bool>& live,
                                      int wanted) const {
    const Key stream = wanted == 2 ? 0 : static_cast<Key>(wanted) + 1;
    const auto may_be = [&](Key u, Key v) {
      if (u >= nodes || v >= nodes || u == v || !live[u] || !live[v]) return false;
      return !edges.contains(edge_of(u, v)) || (wanted == 2 && role(u, v) < 2);
    };
    std::vector<Pair> pairs;
    for (const auto& [u, v] : edges) {
      if (role(u, v) != wanted) continue;
      pairs.push_back({u, v, 1});
      const Key x = Key{u} << 32 | v;
      const bool keeps_first = (key(key(rules.key, 1), x) & 1) == 0;
      const Key kept = keeps_first ? u : v, k = key(key(rules.key, 2 + stream), x);
      for (Key j = 0; j < rules.negatives; ++j)
        for (Key t = 0; t < 16; ++t) {
          const Key w = key(k, 16 * j + t) >> shift();
          if (w >= nodes || !live[w] || w == kept) continue;
          const Key one = keeps_first || !rules.directed ? kept : w, other = one == w ? kept : w;
          if (edges.contains(edge_of(one, other)) && !(wanted == 2 && role(one, other) < 2)) continue;
          pairs.push_back({one, other, 0});
          break;
        }
    }
    for (Key i = 0; i < rules.uniform; ++i)
      for (Key t = 0; t < 16; ++t) {
        const Key k = key(key(rules.key, 5 + stream), i), u = key(k, 2 * t) >> shift(),
                  v = key(k, 2 * t + 1) >> shift();
        if (!may_be(u, v)) continue;
        pairs.push_back({u, v, 0});
        break;
      }
    return pairs;
  }
};

struct PairWorld {
  ChangedWorld base;  ///< with all edges, held or not
  PairRules rules;

  /// Does what a line of a request says; false where it changes nothing.
  bool apply(const std::string& line) { return base.apply(line); }
  [[nodiscard]] SlowPairs slow() const { return {rules, base.nodes}; }
  /// Which nodes have an edge of the graph or a feature.
  [[nodiscard]] std::vector<bool> live() const {
    const SlowPairs pairs = slow();
    std::vector<bool> nodes(base.nodes);
    for (const auto& [u, v] : base.edges)
      if (!pairs.is_held(u, v)) nodes[u] = nodes[v] = true;
    for (std::size_t i = 0; i < base.features.size(); ++i)
      if (static_cast<float>(base.features[i]) != 0) nodes[i / base.columns] = true;
    return nodes;
  }
  [[nodiscard]] std::vector<SlowPairs::Pair> pairs(int role) const { return slow().all(base.edges, live(), role); }
  void import(const std::filesystem::path& store) const {
    const TempDir dir;
    ImportOptions options = base.options_in(dir.path());
    options.pairs = rules;
    WorkMeter nobody;
    import_store(store, options, ample_budget(), nobody);
  }
};

inline PairWorld pair_world(std::uint64_t seed, const std::string& rules, const std::string& order = "none") {
  PairWorld world{changed_world(50, 4, seed, false), pair_rules_named(rules)};
  world.base.order = order;
  return world;
}

/// A world like it whose edges have directions: both of some, and loops.
inline PairWorld directed_pair_world(std::uint64_t seed, const std::string& rules, const std::string& order = "none") {
  PairWorld world = pair_world(seed, rules, order);
  world.base.direct_all(seed);
  world.rules.directed = true;
  return world;
}
inline PairWorld pair_world_of(bool directed, std::uint64_t seed, const std::string& rules, const std::string& order) {
  return directed ? directed_pair_world(seed, rules, order) : pair_world(seed, rules, order);
}

/// The pinned graph: 240 edges of 60 nodes, drawn by SplitMix64 from 3; all nodes have features.
inline PairWorld pinned_pair_world() {
  std::uint64_t state = 3;
  const auto below = [&](std::uint64_t bound) {
    state += 0x9E3779B97F4A7C15U;
    return static_cast<NodeId>(SlowPairs::mix(state) % bound);
  };
  PairWorld world{{}, pair_rules_named("valid=.1,test=.1,share=.3,apart,negatives=2,key=11")};
  world.base.nodes = 60;
  world.base.columns = 1;
  world.base.features.assign(60, 0.5);
  world.base.labels.assign(60, -1);
  world.base.splits.assign(60, "none");
  while (world.base.edges.size() < 240) {
    const NodeId u = below(60), v = below(60);
    if (u != v) world.base.edges.insert({std::min(u, v), std::max(u, v)});
  }
  return world;
}

/// Two hops of means over all rows, with which stores of pairs are propagated.
inline const PropagationSpec& pair_spec() {
  static const PropagationSpec means = tiny_spec(2, true, 1);
  return means;
}

}  // namespace unweave::testing
