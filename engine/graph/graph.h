// engine/graph/graph.h - the current graph: immutable shards and the edges removed and inserted
// since they were written.
//
// An edge of weight w counts as w arcs each way, and its lists name each end w times: whatever sums
// over lists weighs so. Where weights are real, w counts units, and sweeps read each neighbour once
// with its weight beside it. Nodes have one self loop each, of weight 1 or of the units that the
// import was told, which is counted in degree() and stored nowhere. Const members may run on any
// number of threads at once; changes need the graph for themselves.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "engine/graph/block_graph.h"
#include "engine/graph/node_map.h"
#include "storage/formats/shard.h"
#include "storage/io/types.h"
#include "storage/types/changes.h"

namespace unweave {

struct Manifest;

class Graph {
 public:
  /// Space for one decoded block; reused from block to block by one thread.
  struct BlockBuffer {
    std::vector<std::uint32_t> counts;
    std::vector<NodeId> targets;
    std::vector<std::uint32_t> weights;  ///< what decode_terms() alone fills
  };

  /// Opens the shards of a manifest and applies its changes, where a shard has not got them yet
  /// (Manifest::folded_spans). Throws DataError, FormatError.
  Graph(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes);

  [[nodiscard]] NodeId num_nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint64_t num_arcs() const noexcept { return arcs_; }    ///< 2 x weight, without self loops
  [[nodiscard]] std::uint64_t num_edges() const noexcept { return edges_; }  ///< whatever they weigh
  [[nodiscard]] std::uint32_t max_weight() const noexcept { return form_.max_weight; }  ///< 1 where edges have none
  [[nodiscard]] const ListForm& list_form() const noexcept { return form_; }
  /// What the self loop of a node weighs.
  [[nodiscard]] std::uint32_t self_weight() const noexcept { return self_weight_; }
  /// Terms of the sums of one level: every arc, and every node's self loop.
  [[nodiscard]] std::uint64_t num_terms() const noexcept { return arcs_ + nodes_; }
  /// Terms that a sweep of one level reads: fewer where it multiplies.
  [[nodiscard]] std::uint64_t num_swept_terms() const noexcept {
    return form_.multiplied ? 2 * edges_ + nodes_ : num_terms();
  }
  [[nodiscard]] std::uint64_t num_changed_arcs() const noexcept { return changed_arcs_; }  ///< since the shards
  [[nodiscard]] std::size_t num_blocks() const noexcept {
    return (std::size_t{nodes_} + kBlockNodes - 1) / kBlockNodes;
  }

  /// True when a list of this span of nodes differs from its shard's.
  [[nodiscard]] bool has_changes(NodeRange span) const noexcept;

  /// Weight of the edges of `node` and of its self loop; without weights, its neighbours and
  /// itself. Throws FormatError.
  [[nodiscard]] std::uint32_t degree(NodeId node) const {
    const std::uint32_t base = counts_of(node >> span_log2_)[node & span_mask_] + self_weight_;
    const Delta* const delta = delta_of(node);
    if (delta == nullptr) return base;
    return base + static_cast<std::uint32_t>(delta->inserted.size()) -
           static_cast<std::uint32_t>(delta->removed.size());
  }
  /// Weight of the edges of `node` alone: the length of its list.
  [[nodiscard]] std::uint32_t list_length(NodeId node) const { return degree(node) - self_weight_; }
  /// Puts the sorted neighbours of `node`, without itself and as often as their edges weigh, into
  /// `out` (which keeps its capacity). Throws FormatError.
  void neighbours(NodeId node, std::vector<NodeId>& out) const;
  /// Puts the neighbours that the shard has into `out`, without the changes since. Throws
  /// FormatError.
  void base_neighbours(NodeId node, std::vector<NodeId>& out) const;
  /// Such a list with the changes applied: `base` itself, or a copy in `buffer` where the node has
  /// changes.
  [[nodiscard]] std::span<const NodeId> with_changes(NodeId node, std::span<const NodeId> base,
                                                     std::vector<NodeId>& buffer) const;
  [[nodiscard]] bool has_edge(NodeId u, NodeId v) const { return weight(u, v) > 0; }
  /// What the edge weighs; 0 where there is none.
  [[nodiscard]] std::uint32_t weight(NodeId u, NodeId v) const;
  /// The lists of nodes [32 block, 32 block + 32), changes applied. Throws FormatError.
  void decode(std::size_t block, BlockBuffer& buffer, DecodedBlock& out) const { decode(block, {}, buffer, out); }
  /// Likewise, from a copy of the block's bytes as they lie in its shard, unless that is empty.
  void decode(std::size_t block, std::span<const std::byte> encoded, BlockBuffer& buffer, DecodedBlock& out) const;
  /// Likewise, as sweeps read them: where weights are real, each neighbour once, and its weight
  /// beside it.
  void decode_terms(std::size_t block, std::span<const std::byte> encoded, BlockBuffer& buffer,
                    DecodedBlock& out) const;
  /// Where blocks [first, last), which lie in one shard, are in its file.
  [[nodiscard]] Shard::Place place(std::size_t first, std::size_t last) const noexcept;
  /// Blocks [first, last) will be decoded soon.
  void read_ahead(std::size_t first, std::size_t last) const noexcept;
  /// Blocks [first, last) will not be decoded soon.
  void forget(std::size_t first, std::size_t last) const noexcept;
  /// Bytes of all lists in the files.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;
  /// The list of `node` will be read soon.
  void read_ahead(NodeId node) const noexcept { read_ahead(node / kBlockNodes, node / kBlockNodes + 1); }
  /// The lists of all nodes of a range will be read soon.
  void read_ahead(NodeRange nodes) const noexcept {
    read_ahead(nodes.first / kBlockNodes, (std::size_t{nodes.last} + kBlockNodes - 1) / kBlockNodes);
  }
  static constexpr std::uint64_t kNearNodes = 256;  ///< whose lists lie within some 16 KiB
  /// The most memory that one BlockBuffer comes to hold. Reads the counts of all nodes. Throws
  /// FormatError.
  [[nodiscard]] std::uint64_t max_decoded_bytes() const;
  /// Likewise, where decode_terms() alone fills it.
  [[nodiscard]] std::uint64_t max_term_bytes() const;

  /// Takes weight from an edge, which must have it; without weights, the edge. u != v.
  void remove_edge(NodeId u, NodeId v, std::uint32_t weight = 1);
  /// Adds weight to an edge; without weights, the edge, which must not exist. u != v.
  void insert_edge(NodeId u, NodeId v, std::uint32_t weight = 1);
  /// Notes how many edges these calls have made or ended.
  void count_edges(std::int64_t more) noexcept { edges_ += static_cast<std::uint64_t>(more); }

  /// Memory of lists that differ from the shards': for so many edges of so many nodes at most, each
  /// unit of weight one, and for those that there are.
  [[nodiscard]] static std::uint64_t change_bytes(std::uint64_t edges, std::uint64_t nodes) noexcept {
    return std::min(2 * edges, nodes) * kDeltaBytes + 2 * edges * 2 * sizeof(NodeId);
  }
  [[nodiscard]] std::uint64_t change_bytes() const noexcept {
    return (deltas_ ? deltas_->size() : 0) * kDeltaBytes + changed_arcs_ * 2 * sizeof(NodeId);
  }
  /// Differences from the shards, sorted, each edge with u < v and once for each unit of weight.
  void collect_changes(Changes& out) const;
  [[nodiscard]] const std::vector<Shard>& shards() const noexcept { return shards_; }

 private:
  struct Delta {
    std::vector<NodeId> removed;   ///< sorted; arcs of the shard
    std::vector<NodeId> inserted;  ///< sorted; arcs that the shard lacks
  };
  /// What differs from the shard's list; null: nothing.
  [[nodiscard]] const Delta* delta_of(NodeId node) const noexcept { return deltas_ ? deltas_->find(node) : nullptr; }
  /// Counts of a shard, which are read at the first call.
  [[nodiscard]] const std::uint32_t* counts_of(std::size_t span) const {
    const std::uint32_t* const counts = counts_[span].load(std::memory_order_acquire);
    return counts != nullptr ? counts : read_counts(span);
  }
  const std::uint32_t* read_counts(std::size_t span) const;
  /// Calls use(shard, first, last) for the blocks of each shard among [first, last), counted from
  /// its own first one.
  template <class Use>
  void for_shards(std::size_t first, std::size_t last, const Use& use) const;
  /// What the edge weighs by the list of `u` alone; 0 where it is not there.
  [[nodiscard]] std::uint32_t weight_in_list(NodeId u, NodeId v) const;
  /// Whether a list of one block differs from its shard's.
  [[nodiscard]] bool has_changes(std::size_t block) const noexcept;
  static void merge_units(const Delta& delta, std::span<const NodeId> base, std::span<const std::uint32_t> weights,
                          std::vector<NodeId>& ids, std::vector<std::uint32_t>& units);
  void change_arc(NodeId from, NodeId to, bool insert, std::uint32_t units);
  static constexpr std::uint64_t kDeltaBytes = 128;  ///< memory of a node in deltas_: two entries, and the least array
  static void apply(const Delta& delta, std::span<const NodeId> base, std::vector<NodeId>& out);

  NodeId nodes_;
  ListForm form_;
  std::uint32_t self_weight_;
  std::uint64_t edges_;
  std::uint64_t arcs_ = 0;
  std::uint64_t changed_arcs_ = 0;
  std::uint64_t most_inserted_ = 0;  ///< arcs of one node that its shard lacks, ever
  unsigned span_log2_;
  NodeId span_mask_;
  std::vector<Shard> shards_;
  mutable std::vector<std::atomic<const std::uint32_t*>> counts_;  ///< null before the first use
  std::unique_ptr<NodeMap<Delta>> deltas_;                         ///< null until the first change
};

}  // namespace unweave
