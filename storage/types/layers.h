// storage/types/layers.h - how a store's graph, which is undirected and of one kind, holds a graph
// that is not.
//
// A node of users stands for copies of it in the graph of the store. With n nodes of users, copy c
// of node u is number c n + u of the graph before it is ordered. A layer is one kind of edges, or a
// set of kinds; it has one copy of each node, or two where edges have directions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/types/node_types.h"

namespace unweave {

/// A kind of edges.
struct Relation {
  std::string name;
  /// Types of the ends of its edges, where they are known. Where edges have no directions, either
  /// end may be the first one.
  std::optional<EndTypes> ends{};

  friend bool operator==(const Relation&, const Relation&) = default;
};

/// Without directions and relations a node is its only copy.
struct Layers {
  /// Two copies a layer: the first has the arcs that begin at the node, the second those that end
  /// there.
  bool directed = false;
  /// Layer r has the edges of relation r alone.
  std::vector<Relation> relations{};
  /// Sets of relations, each ascending, of two at least: the layers behind, in which an edge weighs
  /// what it weighs in all relations of the set together (NARS: Yu et al., 2020).
  std::vector<std::vector<std::uint32_t>> subsets{};

  [[nodiscard]] bool any() const noexcept { return directed || !relations.empty(); }
  /// How many layers there are; one where there are no relations.
  [[nodiscard]] std::uint32_t count() const noexcept {
    return relations.empty() ? 1 : static_cast<std::uint32_t>(relations.size() + subsets.size());
  }
  [[nodiscard]] std::uint32_t copies() const noexcept { return directed ? 2 * count() : count(); }
  /// The copies of its first and of its second node that an edge of a layer joins.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> copies_of(std::uint32_t layer) const noexcept {
    return directed ? std::pair(2 * layer, 2 * layer + 1) : std::pair(layer, layer);
  }
  [[nodiscard]] std::uint32_t layer_of(std::uint32_t copy) const noexcept { return directed ? copy / 2 : copy; }
  /// Whether arcs end at a copy.
  [[nodiscard]] bool has_ends(std::uint32_t copy) const noexcept { return directed && copy % 2 == 1; }
  /// Whether the edges of a copy are those that users have given, and not those of a set.
  [[nodiscard]] bool is_given(std::uint32_t copy) const noexcept {
    return relations.empty() || layer_of(copy) < relations.size();
  }
  /// Units that an edge of a copy weighs at most, where users' edges have no weights.
  [[nodiscard]] std::uint32_t max_weight() const noexcept;
  /// The layers that have the edges of a relation: its own, and those of sets with it.
  [[nodiscard]] std::vector<std::uint32_t> layers_with(std::uint32_t relation) const;
  /// Whether an edge of a relation may join two nodes, by their ids.
  [[nodiscard]] bool may_join(std::uint32_t relation, const NodeTypes& types, std::uint64_t u, std::uint64_t v) const;

  friend bool operator==(const Layers&, const Layers&) = default;
};

/// Why no store of these types has these layers; empty where one may.
[[nodiscard]] std::string layers_fault(const Layers& layers, const NodeTypes& types);
/// Whether the types of some relation's ends are known.
[[nodiscard]] bool knows_ends(const Layers& layers);
/// The names of the relations, in their order.
[[nodiscard]] std::vector<std::string> relation_names(const Layers& layers);
/// The place of a relation among `relations`; as many as there are where none has this name.
[[nodiscard]] std::uint32_t relation_named(const Layers& layers, const std::string& name);

}  // namespace unweave
