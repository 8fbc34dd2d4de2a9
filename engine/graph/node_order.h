// engine/graph/node_order.h - the border between users and a store: users speak of ids, everything
// inside a store of positions.
//
// A position is a place in the order of the store: shards, features, labels, splits and state lie
// in it, and NodeId means a position wherever nothing else is said. Ids become positions where
// something comes in (import, requests) and positions become ids where something goes out (export,
// messages, digest). Under the order "none" they are the same. Where the store has a dictionary,
// users write names for ids; node_names.h is that part of the border.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/graph/node_names.h"
#include "storage/formats/manifest.h"
#include "storage/formats/order_file.h"
#include "storage/io/types.h"

namespace unweave {

/// Const members may run on any number of threads at once.
class NodeOrder {
 public:
  /// Throws DataError, FormatError.
  NodeOrder(const std::filesystem::path& store, const Manifest& manifest) : names_(store, manifest) {
    if (manifest.order_file) file_.emplace(store, *manifest.order_file, manifest.nodes);
  }

  /// True when every id is its own position.
  [[nodiscard]] bool is_identity() const noexcept { return !file_; }
  /// Both take an id below N. Throw FormatError.
  [[nodiscard]] NodeId position(NodeId user) const { return file_ ? file_->position(user) : user; }
  [[nodiscard]] NodeId user(NodeId position) const { return file_ ? file_->user(position) : position; }
  /// Asks for what position(user) reads.
  void read_ahead(NodeId user) const noexcept {
    if (file_) file_->read_ahead(user);
  }
  /// What users call the nodes, by their ids.
  [[nodiscard]] const NodeNames& names() const noexcept { return names_; }
  /// The node at a position is removed.
  void lose_name(NodeId position) { names_.lose(user(position)); }
  /// "node 17", or "node alice", for messages.
  [[nodiscard]] std::string text(NodeId position) const { return "node " + names_.text(user(position)); }

 private:
  NodeNames names_;
  std::optional<OrderFile> file_;
};

}  // namespace unweave
