// engine/graph/graph.h - the current graph: immutable shards and the edges removed and inserted
// since they were written.
//
// An edge of weight w counts as w arcs each way, and its lists name each end w times: whatever sums
// over lists weighs so. Where weights are real, w counts units, and lists name each neighbour once
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
#include "engine/graph/changed_arcs.h"
#include "engine/graph/node_map.h"
#include "storage/formats/shard.h"
#include "storage/io/types.h"
#include "storage/types/changes.h"
#include "storage/types/list_view.h"

namespace unweave {

struct Manifest;

class Graph {
 public:
  /// Space for one decoded block; reused from block to block by one thread.
  struct BlockBuffer {
    std::vector<std::uint32_t> counts;
    std::vector<NodeId> targets;
    std::vector<std::uint32_t> weights;  ///< where they lie beside the ids
  };

  /// Opens the shards of a manifest and applies its changes, where a shard has not got them yet
  /// (Manifest::folded_spans). Whether they fit a list is looked at when something of its node is
  /// asked for the first time: opening costs no list. Throws DataError, FormatError.
  Graph(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes);

  [[nodiscard]] NodeId num_nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint64_t num_arcs() const noexcept { return arcs_; }    ///< 2 x weight, without self loops
  [[nodiscard]] std::uint64_t num_edges() const noexcept { return edges_; }  ///< whatever they weigh
  [[nodiscard]] std::uint32_t max_weight() const noexcept { return form_.max_weight; }  ///< 1 where edges have none
  [[nodiscard]] const ListForm& list_form() const noexcept { return form_; }
  /// What the self loop of a node weighs.
  [[nodiscard]] std::uint32_t self_weight() const noexcept { return self_weight_; }
  /// Ids in all lists: arcs, or neighbours where weights lie beside them.
  [[nodiscard]] std::uint64_t num_ids() const noexcept { return form_.multiplied ? 2 * edges_ : arcs_; }
  /// Terms of the sums of one level: the ids of all lists, and every node itself.
  [[nodiscard]] std::uint64_t num_terms() const noexcept { return num_ids() + nodes_; }
  /// Ids that changes since the shards have brought into lists or taken from them, at most.
  [[nodiscard]] std::uint64_t num_changed_arcs() const noexcept { return changed_arcs_; }
  [[nodiscard]] std::size_t num_blocks() const noexcept {
    return (std::size_t{nodes_} + kBlockNodes - 1) / kBlockNodes;
  }

  /// True when a list of this span of nodes differs from its shard's.
  [[nodiscard]] bool has_changes(NodeRange span) const noexcept;

  /// Weight of the edges of `node` and of its self loop; without weights, its neighbours and
  /// itself. Throws FormatError.
  [[nodiscard]] std::uint32_t degree(NodeId node) const {
    const std::uint32_t count = count_of(node);
    const Delta* const delta = delta_of(node);
    return self_weight_ + (delta == nullptr ? count : changed_count(node, count, *delta));
  }
  /// Weight of the edges of `node` alone.
  [[nodiscard]] std::uint32_t list_weight(NodeId node) const { return degree(node) - self_weight_; }
  /// Ids in the list of `node`: its weight, or, where weights lie beside the ids, as many as it has
  /// neighbours; with changes perhaps fewer.
  [[nodiscard]] std::uint32_t list_length(NodeId node) const {
    if (!form_.multiplied) return list_weight(node);
    const std::uint32_t base = shards_[node >> span_log2_].id_count(node & span_mask_);
    const Delta* const delta = delta_of(node);
    if (delta == nullptr) return base;
    require_fitting(node, *delta);
    return base + static_cast<std::uint32_t>(delta->inserted.size());
  }
  /// Terms of the sum of `node`: the ids of its list, and itself.
  [[nodiscard]] std::uint32_t num_terms(NodeId node) const { return list_length(node) + 1; }
  /// Puts the sorted neighbours of `node`, without itself, into `out` (which keeps its capacity),
  /// and what their edges weigh as its view has it. Throws FormatError.
  void neighbours(NodeId node, NeighbourList& out) const;
  /// Likewise the ids alone.
  void neighbours(NodeId node, std::vector<NodeId>& out) const;
  /// Puts the neighbours that the shard has into `out`, without the changes since. Throws
  /// FormatError.
  void base_neighbours(NodeId node, NeighbourList& out) const;
  /// Such a list with the changes applied: `base` itself, or a copy in `buffer` where the node has
  /// changes.
  [[nodiscard]] ListView with_changes(NodeId node, const ListView& base, NeighbourList& buffer) const;
  [[nodiscard]] bool has_edge(NodeId u, NodeId v) const { return weight(u, v) > 0; }
  /// What the edge weighs; 0 where there is none.
  [[nodiscard]] std::uint32_t weight(NodeId u, NodeId v) const;
  /// The lists of nodes [32 block, 32 block + 32), changes applied. Throws FormatError.
  void decode(std::size_t block, BlockBuffer& buffer, DecodedBlock& out) const { decode(block, {}, buffer, out); }
  /// Likewise, from a copy of the block's bytes as they lie in its shard, unless that is empty.
  void decode(std::size_t block, std::span<const std::byte> encoded, BlockBuffer& buffer, DecodedBlock& out) const;
  /// Appends the lists of a block as encode_lists() has them: bytes of the shard unless one of them
  /// has changed. Throws FormatError, ResourceError.
  void append_encoded(std::size_t block, BlockBuffer& buffer, EncodedLists& out) const;
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
  [[nodiscard]] std::uint64_t max_decoded_bytes() const { return max_decoded_bytes(0, shards_.size()); }
  /// Likewise for the blocks of the spans [first, last).
  [[nodiscard]] std::uint64_t max_decoded_bytes(std::size_t first, std::size_t last) const;

  /// Takes weight from an edge, which must have it; without weights, the edge. u != v.
  void remove_edge(NodeId u, NodeId v, std::uint32_t weight = 1);
  /// Adds weight to an edge; without weights, the edge, which must not exist. u != v.
  void insert_edge(NodeId u, NodeId v, std::uint32_t weight = 1);
  /// Notes how many edges these calls have made or ended.
  void count_edges(std::int64_t more) noexcept { edges_ += static_cast<std::uint64_t>(more); }

  /// Memory of lists that differ from the shards': for so many edges of so many nodes at most, an
  /// edge for each unit where ids are repeated, and for those that there are.
  [[nodiscard]] static std::uint64_t change_bytes(std::uint64_t edges, std::uint64_t nodes, bool weights) noexcept {
    return delta_bytes(std::min(2 * edges, nodes), 2 * edges, weights);
  }
  [[nodiscard]] std::uint64_t change_bytes() const noexcept {
    return delta_bytes(deltas_ ? deltas_->size() : 0, changed_arcs_, form_.max_weight > 1);
  }
  /// Memory of where they lie, once there is one.
  [[nodiscard]] static std::uint64_t map_bytes(NodeId nodes) noexcept { return NodeMap<Delta>::empty_bytes(nodes); }
  /// Differences from the shards.
  void collect_changes(Changes& out) const;
  [[nodiscard]] const std::vector<Shard>& shards() const noexcept { return shards_; }

 private:
  /// What differs from a list of the shard; a neighbour stands in one of both alone.
  struct Delta {
    ChangedArcs removed;        ///< arcs that the shard has, or that weigh more there
    ChangedArcs inserted;       ///< arcs that the shard lacks, or that weigh less there
    mutable bool fits = false;  ///< whether that is known; read and set as an atomic
  };
  /// What differs from the shard's list; null: nothing.
  [[nodiscard]] const Delta* delta_of(NodeId node) const noexcept { return deltas_ ? deltas_->find(node) : nullptr; }
  /// The count that the shard has of a node; those of few nodes are read without those of all.
  [[nodiscard]] std::uint32_t count_of(NodeId node) const {
    const std::uint32_t* const counts = counts_[node >> span_log2_].load(std::memory_order_acquire);
    return counts != nullptr ? counts[node & span_mask_] : read_count(node);
  }
  [[nodiscard]] std::uint32_t read_count(NodeId node) const;
  /// Throws FormatError where the list of the shard is not one that has such changes.
  void require_fitting(NodeId node, const Delta& delta) const;
  /// What the edges of a node weigh whose shard says `count`.
  [[nodiscard]] std::uint32_t changed_count(NodeId node, std::uint32_t count, const Delta& delta) const;
  /// The changes of a node are others than its list allows for.
  [[noreturn]] void fail_changes(NodeId node, const char* fault) const;
  /// Calls use(shard, first, last) for the blocks of each shard among [first, last), counted from
  /// its own first one.
  template <class Use>
  void for_shards(std::size_t first, std::size_t last, const Use& use) const;
  /// What the edge weighs by the list of `u` alone; 0 where it is not there.
  [[nodiscard]] std::uint32_t weight_in_list(NodeId u, NodeId v) const;
  /// Whether a list of one block differs from its shard's.
  [[nodiscard]] bool has_changes(std::size_t block) const noexcept;
  void append_changed(NodeId node, const Delta& delta, const ListView& base, NeighbourList& out) const;
  void change_arc(NodeId from, NodeId to, bool insert, std::uint32_t units);
  /// Memory of so many nodes in deltas_, two entries each, and of their arcs.
  [[nodiscard]] static std::uint64_t delta_bytes(std::uint64_t nodes, std::uint64_t arcs, bool weights) noexcept {
    return nodes * 2 * sizeof(Delta) + ChangedArcs::bytes(nodes, arcs, weights);
  }

  std::filesystem::path changes_file_;  ///< the one that the graph was opened with
  NodeId nodes_;
  ListForm form_;
  std::uint32_t self_weight_;
  std::uint64_t edges_;
  std::uint64_t arcs_ = 0;
  std::uint64_t changed_arcs_ = 0;
  std::uint64_t most_inserted_ = 0;  ///< ids that changes have brought into one list, ever
  unsigned span_log2_;
  NodeId span_mask_;
  std::vector<Shard> shards_;
  mutable std::vector<std::atomic<const std::uint32_t*>> counts_;  ///< null before the first use
  std::unique_ptr<NodeMap<Delta>> deltas_;                         ///< null until the first change
  bool is_open_ = false;                                           ///< changes fit from now on: they were asked for
};

}  // namespace unweave
