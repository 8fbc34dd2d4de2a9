// storage/formats/expiry_file.h - what is to be removed when, at rest (FORMAT.md, "Expiries").
//
// Sealed file of kind "expiries": for each item, sorted, 16 bytes
//   item   two u32: the ends of an edge, ids of the user or numbers of copies (storage/types/layers.h),
//          the smaller one first; twice the id of a node; kNoNode and the id of a node whose features
//          are to go; kMaxNodeId and the number of a whole graph
//   time   i64, milliseconds since 1970, UTC
// and, where a request that set one had an id, a line for each item: this id, or nothing.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "storage/io/time_text.h"
#include "storage/io/types.h"
#include "storage/types/file_entry.h"

namespace unweave {

struct Layers;
struct Request;

/// What a note is about: an edge u < v, or one of these.
[[nodiscard]] constexpr Edge node_item(NodeId user) noexcept {
  return {user, user};
}
[[nodiscard]] constexpr Edge feature_item(NodeId user) noexcept {
  return {kNoNode, user};
}
[[nodiscard]] constexpr Edge graph_item(NodeId graph) noexcept {
  return {kMaxNodeId, graph};
}
[[nodiscard]] constexpr bool is_node_item(Edge item) noexcept {
  return item.u == item.v;
}
[[nodiscard]] constexpr bool is_feature_item(Edge item) noexcept {
  return item.u == kNoNode;
}
/// An edge has its smaller end first, and a store fewer graphs than nodes may have numbers.
[[nodiscard]] constexpr bool is_graph_item(Edge item) noexcept {
  return item.u == kMaxNodeId && item.v < kMaxNodeId;
}

struct Expiry {
  Edge item;
  Millis time = 0;   ///< from then on it is to be removed
  std::string id{};  ///< that of the request that said so; empty: it had none

  friend bool operator==(const Expiry&, const Expiry&) = default;
};

/// As it lies in the file.
struct PackedExpiry {
  Edge item;
  Millis time = 0;
};

/// The request that sets the note anew. `users`: how many nodes users know, of which the layers
/// have copies.
[[nodiscard]] Request note_request(const Expiry& expiry, const Layers& layers, NodeId users);
/// The request that does what the note asks for when its time has come.
[[nodiscard]] Request removal_request(const Expiry& expiry, const Layers& layers, NodeId users);

/// `expiries` is sorted by item, each item once.
FileEntry write_expiries(const std::filesystem::path& store, std::span<const Expiry> expiries);
/// All of the file is checked. `graphs`: how many whole graphs the store has. Throws DataError,
/// FormatError.
[[nodiscard]] std::vector<Expiry> read_expiries(const std::filesystem::path& store, const FileEntry& entry,
                                                NodeId nodes, std::uint32_t graphs = 0);
/// How many items a file of so many bytes names at most.
[[nodiscard]] std::uint64_t count_expiries(const FileEntry& entry) noexcept;

}  // namespace unweave
