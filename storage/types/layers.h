// storage/types/layers.h - how a store's graph, which is undirected, holds a graph that is not.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace unweave {

/// What a node of a user stands for in the graph of a store: one node, or copies of it.
enum class Layers : std::uint8_t {
  none,     ///< one node; edges have no direction
  directed  ///< two: copy 0 has the arcs that begin at the node, copy 1 those that end there
};

/// Nodes of the graph for each node of a user. With n nodes of users, copy c of node u is number
/// c n + u of the graph before it is ordered.
[[nodiscard]] constexpr std::uint32_t copies_of(Layers layers) noexcept {
  return layers == Layers::directed ? 2 : 1;
}
[[nodiscard]] constexpr std::string_view text_of(Layers layers) noexcept {
  return layers == Layers::directed ? "directed" : "none";
}
/// The layers that a text names; nothing for another text.
[[nodiscard]] constexpr std::optional<Layers> layers_of(std::string_view text) noexcept {
  for (const Layers one : {Layers::none, Layers::directed})
    if (text == text_of(one)) return one;
  return std::nullopt;
}

}  // namespace unweave
