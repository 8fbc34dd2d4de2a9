// storage/formats/target_lists.h - lists of the target rows side by side (FORMAT.md, "Targets and
// lists"): an update of the last level looks through them where it would otherwise look up, all
// over the graph, the lists of whatever changed below.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "storage/formats/level_files.h"
#include "storage/formats/shard.h"
#include "storage/io/types.h"
#include "storage/types/list_view.h"

namespace unweave {

/// Read-only; const members may run on any number of threads at once.
class TargetLists {
 public:
  /// Opens what `files` names; `files.targets` must be there. Throws DataError, FormatError.
  TargetLists(const std::filesystem::path& store, const LevelFiles& files, NodeId graph_nodes, const ListForm& form);

  /// The targets when the lists were written, sorted. Since then some may have lost their labels.
  [[nodiscard]] std::span<const NodeId> nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint64_t arcs() const noexcept { return arcs_; }  ///< ids in all lists together
  [[nodiscard]] bool has(NodeId node) const noexcept { return std::binary_search(nodes_.begin(), nodes_.end(), node); }
  /// The lists that were decoded last, for whoever goes through the targets in small ranges.
  struct Cursor {
    std::size_t block = ~std::size_t{0};  ///< counted over all targets
    NeighbourList lists;
    std::span<const std::uint32_t> counts;
  };
  /// Calls use(node, list) for the targets of [range.first, range.last) in ascending order, with
  /// their lists as the graph's shards have them. Throws FormatError.
  template <class Use>
  void for_each(NodeRange range, Cursor& cursor, const Use& use) const;
  template <class Use>
  void for_each(NodeRange range, const Use& use) const {
    Cursor cursor;
    for_each(range, cursor, use);
  }
  /// Memory of so many targets: their ids, how long their lists are, and where these lie.
  [[nodiscard]] static std::uint64_t bytes(std::uint64_t targets, const ListForm& form) noexcept {
    return targets * sizeof(NodeId) + Shard::memory_bytes(targets, form.multiplied);
  }
  /// The most memory that a cursor comes to hold.
  [[nodiscard]] std::uint64_t max_cursor_bytes() const noexcept;
  /// Checks checksums and decodes everything; throws FormatError.
  void verify() const;

 private:
  [[nodiscard]] std::size_t rank(NodeId node) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
  }
  /// Decodes block `block` of all targets into `lists`; the count of each list.
  std::span<const std::uint32_t> decode(std::size_t block, NeighbourList& lists) const;

  bool multiplied_;
  std::vector<NodeId> nodes_;
  std::size_t span_blocks_;
  std::vector<Shard> shards_;
  std::uint64_t arcs_ = 0;
};

template <class Use>
void TargetLists::for_each(NodeRange range, Cursor& cursor, const Use& use) const {
  const std::size_t last = rank(range.last);
  for (std::size_t at = rank(range.first); at < last;) {
    const std::size_t block = at / kBlockNodes;
    const std::size_t end = std::min(last, (block + 1) * kBlockNodes);
    if (cursor.block != block) {
      cursor.block = ~std::size_t{0};  // until it is decoded
      cursor.counts = decode(block, cursor.lists);
      cursor.block = block;
    }
    std::size_t begin = 0;
    for (std::size_t i = block * kBlockNodes; i < end; ++i) {
      const std::uint32_t count = cursor.counts[i - block * kBlockNodes];
      const ListView list{std::span(cursor.lists.ids).subspan(begin, count),
                          multiplied_ ? cursor.lists.weights.data() + begin : nullptr};
      if (i >= at) use(nodes_[i], list);
      begin += count;
    }
    at = end;
  }
}

}  // namespace unweave
