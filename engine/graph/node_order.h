// engine/graph/node_order.h - the border between users and a store: users speak of ids, everything
// inside a store of positions.
//
// A position is a place in the order of the store: shards, features, labels, splits and state lie
// in it, and NodeId means a position wherever nothing else is said. Ids become positions where
// something comes in (import, requests) and positions become ids where something goes out (export,
// messages, digest). Under the order "none" they are the same. Where a store has layers
// (storage/types/layers.h) a node of users has several positions, one for each of its copies, and
// each of these becomes the same id again, so that no copy is ever shown. Where the store has a
// dictionary, users write names for ids; node_names.h is that part of the border.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/node_names.h"
#include "storage/formats/manifest.h"
#include "storage/formats/order_file.h"
#include "storage/io/types.h"
#include "storage/types/layers.h"
#include "storage/types/node_types.h"

namespace unweave {

/// Const members may run on any number of threads at once.
class NodeOrder {
 public:
  /// Throws DataError, FormatError.
  NodeOrder(const std::filesystem::path& store, const Manifest& manifest)
      : names_(store, manifest),
        layers_(manifest.layers),
        types_(manifest.types),
        copies_(layers_.copies()),
        users_(manifest.user_nodes()) {
    if (manifest.order_file) file_.emplace(store, *manifest.order_file, manifest.nodes);
  }

  /// True when every id is its own position, and the only one.
  [[nodiscard]] bool is_identity() const noexcept { return !file_ && copies() == 1; }
  /// Nodes that users know, N below.
  [[nodiscard]] NodeId users() const noexcept { return users_; }
  [[nodiscard]] const Layers& layers() const noexcept { return layers_; }
  /// Kinds of the nodes of users; empty where there is one.
  [[nodiscard]] const NodeTypes& types() const noexcept { return types_; }
  [[nodiscard]] std::uint32_t copies() const noexcept { return copies_; }

  /// Takes an id below N. Throws FormatError, as all that take or give positions.
  [[nodiscard]] NodeId position(NodeId user, std::uint32_t copy = 0) const { return place(copy * users_ + user); }
  [[nodiscard]] NodeId user(NodeId position) const {
    const NodeId one = number(position);
    return one < users_ ? one : one % users_;
  }
  [[nodiscard]] std::uint32_t copy(NodeId position) const { return number(position) / users_; }
  [[nodiscard]] bool is_first_copy(NodeId position) const { return copies() == 1 || number(position) < users_; }
  /// Where the ends of an edge of users stand that leads from u to v; of one of the first kind,
  /// where there are several.
  [[nodiscard]] Edge ends(NodeId u, NodeId v) const {
    const auto [from, to] = layers_.copies_of(0);
    return {position(u, from), position(v, to)};
  }
  /// Whether arcs end at a position, which no edge without a direction does.
  [[nodiscard]] bool has_ends(NodeId position) const { return layers_.directed && layers_.has_ends(copy(position)); }
  /// An edge with the end first at which it begins; as it is where it has no direction.
  [[nodiscard]] Edge led(Edge edge) const { return has_ends(edge.u) ? Edge{edge.v, edge.u} : edge; }
  /// Copy c of node u is number c N + u of the graph before it was ordered.
  [[nodiscard]] NodeId number(NodeId position) const { return file_ ? file_->user(position) : position; }
  [[nodiscard]] NodeId place(NodeId number) const { return file_ ? file_->position(number) : number; }
  /// All copies of the nodes that stand at these positions, those of a node one after the other.
  [[nodiscard]] std::vector<NodeId> with_copies(std::span<const NodeId> positions) const {
    if (copies() == 1) return {positions.begin(), positions.end()};
    std::vector<NodeId> all;
    all.reserve(positions.size() * copies());
    for (const NodeId one : positions)
      for (std::uint32_t copy = 0; copy < copies(); ++copy) all.push_back(position(user(one), copy));
    return all;
  }
  /// Asks for what position(user, copy) reads.
  void read_ahead(NodeId user, std::uint32_t copy = 0) const noexcept {
    if (file_) file_->read_ahead(copy * users_ + user);
  }
  /// What users call the nodes, by their ids.
  [[nodiscard]] const NodeNames& names() const noexcept { return names_; }
  /// The node at a position is removed.
  void lose_name(NodeId position) { names_.lose(user(position)); }
  /// "node 17", or "node alice", for messages.
  [[nodiscard]] std::string text(NodeId position) const { return "node " + names_.text(user(position)); }

 private:
  NodeNames names_;
  Layers layers_;
  NodeTypes types_;
  std::uint32_t copies_;
  NodeId users_;
  std::optional<OrderFile> file_;
};

}  // namespace unweave
