// storage/types/layers.h - how a store's graph, which is undirected and of one kind, holds a graph
// that is not.
//
// A node of users stands for copies of it in the graph of the store. With n nodes of users, copy c
// of node u is number c n + u of the graph before it is ordered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace unweave {

/// Without directions and relations a node is its only copy.
struct Layers {
  /// Two copies: copy 0 has the arcs that begin at the node, copy 1 those that end there.
  bool directed = false;
  /// Names of kinds of edges. Copy r has the edges of relation r alone; not with directions.
  std::vector<std::string> relations{};
  /// Sets of relations, each ascending, of two at least: the copies behind, in which an edge weighs
  /// as many units as relations of the set have it (NARS: Yu et al., 2020).
  std::vector<std::vector<std::uint32_t>> subsets{};

  [[nodiscard]] bool any() const noexcept { return directed || !relations.empty(); }
  [[nodiscard]] std::uint32_t copies() const noexcept {
    if (relations.empty()) return directed ? 2 : 1;
    return static_cast<std::uint32_t>(relations.size() + subsets.size());
  }
  /// Units that an edge of a copy weighs at most, where users' edges have no weights.
  [[nodiscard]] std::uint32_t max_weight() const noexcept;
  /// The copies that have the edges of a relation: its own, and those of sets with it.
  [[nodiscard]] std::vector<std::uint32_t> copies_with(std::uint32_t relation) const;

  friend bool operator==(const Layers&, const Layers&) = default;
};

/// Why no store has these layers; empty where one may.
[[nodiscard]] std::string layers_fault(const Layers& layers);
/// The place of a relation among `relations`; as many as there are where none has this name.
[[nodiscard]] std::uint32_t relation_named(const Layers& layers, const std::string& name);

}  // namespace unweave
