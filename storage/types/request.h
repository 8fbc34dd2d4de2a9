// storage/types/request.h - what is asked of a store: to remove, insert or set something, and how
// far sums may lag behind.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace unweave {

enum class RequestKind : std::uint8_t {
  remove_edge = 1,
  remove_node = 2,
  remove_feature = 3,
  insert_edge = 4,
  set_feature = 5,
  set_label = 6,
  move_split = 7,
  expire_edge = 8,
  insert_node = 9,
  set_weight = 10,
  expire_node = 11,
  expire_feature = 12,
  remove_graph = 13,
  set_graph_label = 14,
  move_graph_split = 15,
  expire_graph = 16,
};
inline constexpr RequestKind kLastRequestKind = RequestKind::expire_graph;

/// Whether requests of a kind name two nodes.
[[nodiscard]] constexpr bool names_edge(RequestKind kind) noexcept {
  return kind == RequestKind::remove_edge || kind == RequestKind::insert_edge || kind == RequestKind::expire_edge ||
         kind == RequestKind::set_weight;
}
/// Whether the number in requests of a kind, `u`, is that of a whole graph and not that of a node.
[[nodiscard]] constexpr bool names_graph(RequestKind kind) noexcept {
  return kind == RequestKind::remove_graph || kind == RequestKind::set_graph_label ||
         kind == RequestKind::move_graph_split || kind == RequestKind::expire_graph;
}
/// Whether requests of a kind say when something is to go.
[[nodiscard]] constexpr bool sets_expiry(RequestKind kind) noexcept {
  return kind == RequestKind::expire_edge || kind == RequestKind::expire_node || kind == RequestKind::expire_feature ||
         kind == RequestKind::expire_graph;
}
/// Whether requests of a kind set something, which their value says; an inserted edge may have a
/// value too, its weight, and a removal the moment that a note gave it (is_expired()).
[[nodiscard]] constexpr bool sets_value(RequestKind kind) noexcept {
  return kind >= RequestKind::set_feature && kind != RequestKind::remove_graph;
}

/// One line of a stream. Node ids are kept as given (64 bits), so that an absurd id is rejected,
/// not truncated.
struct Request {
  RequestKind kind = RequestKind::remove_edge;
  std::uint64_t u = 0;  ///< a node, or a whole graph (names_graph())
  std::uint64_t v = 0;  ///< only for edges
  std::string id{};     ///< what its sender calls it; empty: nothing
  std::string value{};  ///< what is to be set; empty for the kinds that set nothing, and for a weight of 1
  /// Whether the sender wrote the node's name, and not its number: by a name that a node has lost,
  /// it is not meant any more.
  bool u_by_name = false, v_by_name = false;
  /// The relation of an edge, in a store of some: 1 for the first one; 0 where none is named.
  std::uint32_t relation = 0;

  friend bool operator==(const Request&, const Request&) = default;
};

/// Whether a removal was asked for by a note whose moment, its value, had come: its id is that of
/// the request that set the note. No sender writes such a request.
[[nodiscard]] inline bool is_expired(const Request& request) noexcept {
  const bool removes = request.kind <= RequestKind::remove_feature || request.kind == RequestKind::remove_graph;
  return removes && !request.value.empty();
}

/// Bytes of the words of requests: what they set, and what their senders call them.
[[nodiscard]] std::uint64_t text_bytes(std::span<const Request> requests) noexcept;

/// How r_max of a batch is meant (design: exact is r_max = 0).
enum class ThresholdScale : std::uint8_t { absolute = 0, paper = 1, code = 2 };

}  // namespace unweave
