// algorithms/learning/row_unit.h - what a row of a model is of.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace unweave {

/// What has a label and a row of its own in a training set.
enum class RowUnit {
  node,   ///< a node of the graph
  pair,   ///< two nodes, which an edge may join
  graph,  ///< a whole graph: nodes that have one label together
};

/// "node", "pair" or "graph"; several are written with an s behind it.
[[nodiscard]] constexpr std::string_view name_of(RowUnit unit) noexcept {
  return unit == RowUnit::node ? "node" : unit == RowUnit::pair ? "pair" : "graph";
}

/// What a word names; none for another word.
[[nodiscard]] constexpr std::optional<RowUnit> unit_named(std::string_view name) noexcept {
  for (const RowUnit unit : std::array{RowUnit::node, RowUnit::pair, RowUnit::graph})
    if (name_of(unit) == name) return unit;
  return std::nullopt;
}

}  // namespace unweave
