// storage/formats/order_file.h - the order of nodes inside a store at rest (FORMAT.md, "Order").
//
// Sealed file of kind "order", both directions of one permutation of 0 .. N-1:
//   positions   u32 for each user id: where the node stands in the store
//   users       u32 for each position: the user's id of the node that stands there
#pragma once

#include <filesystem>
#include <span>

#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"

namespace unweave {

/// `positions` is a permutation of 0 .. size-1. Holds its inverse in memory, 4 bytes a node.
FileEntry write_order(const std::filesystem::path& store, std::span<const NodeId> positions);

/// A mapped order. Const members may run on any number of threads at once.
class OrderFile {
 public:
  /// Throws DataError, FormatError.
  OrderFile(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes);

  /// Both take an id below N and give one. Throw FormatError, also where the other direction does
  /// not lead back.
  [[nodiscard]] NodeId position(NodeId user) const { return at(user); }
  [[nodiscard]] NodeId user(NodeId position) const { return at(std::uint64_t{nodes_} + position); }
  /// Asks for what position(user) reads: the order of a large graph lies on a disk, and requests
  /// name nodes anywhere.
  void read_ahead(NodeId user) const noexcept {
    file_.read_ahead(std::uint64_t{user} * sizeof(NodeId), sizeof(NodeId));
  }
  /// Checks checksums and that the two halves are permutations, each the inverse of the other;
  /// throws FormatError.
  void verify() const;

 private:
  [[nodiscard]] NodeId at(std::uint64_t index) const;
  SealedFile file_;
  NodeId nodes_;
};

}  // namespace unweave
