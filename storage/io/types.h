// storage/io/types.h - the widths of ids and counts, decided here and nowhere else.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace unweave {

using NodeId = std::uint32_t;    ///< a node, 0-based; at most kMaxNodeId
using ArcIndex = std::uint64_t;  ///< a count of arcs, edges or bytes of them: above 2^32 on large graphs

inline constexpr NodeId kMaxNodeId = 0xFFFF'FFFEU;  ///< 2^32 - 2, so that a node count fits 32 bits too
inline constexpr NodeId kNoNode = 0xFFFF'FFFFU;     ///< never a node

/// The largest weight that edges may be declared to have: a list holds a neighbour once for each
/// unit.
inline constexpr std::uint32_t kMostWeight = 65535;

/// Exact sums of products; a compiler extension, spelled once.
__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

/// Consecutive nodes [first, last).
struct NodeRange {
  NodeId first = 0;
  NodeId last = 0;

  [[nodiscard]] constexpr NodeId size() const noexcept { return last - first; }
  [[nodiscard]] constexpr bool contains(NodeId node) const noexcept { return node >= first && node < last; }
  friend constexpr bool operator==(const NodeRange&, const NodeRange&) = default;
};

/// An undirected edge or a directed arc u -> v, as the caller says.
struct Edge {
  NodeId u = 0;
  NodeId v = 0;

  friend constexpr auto operator<=>(const Edge&, const Edge&) = default;
};

}  // namespace unweave
