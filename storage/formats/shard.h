// storage/formats/shard.h - one compressed CSR shard: the adjacency of an aligned range of nodes
// (FORMAT.md, "Shards").
//
// Sealed file of kind "shard"; parameters: first node, nodes in the shard, arcs, nodes of the
// graph, bytes of counts, and the largest weight of an edge, 0 where edges have none.
//   offsets   u32 for each block and one more: where its bytes begin, relative to the first one
//   counts    neighbours of each node without the self loop, in packed groups (bit_pack.h)
//   blocks    gap_block.h, each decodable alone
//
// An edge of weight w stands in each list w times, and counts as w arcs: lists are then those of
// repeats.h. In the form "multiplied" (ListForm) its bytes hold it once: counts are those of
// neighbours, behind them lies the weight of each list in the same form, and each block begins with
// the weights of its arcs (weight_groups.h).
#pragma once

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "storage/codec/gap_block.h"
#include "storage/formats/overflow_buffer.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"
#include "storage/types/weight_unit.h"

namespace unweave {

/// Whose lists a shard holds: those of a span of nodes, in the graph or among the edges that are
/// held out of it, or of a span of the targets, which are then counted as nodes are.
enum class ShardOf { nodes, held, targets };

/// Lists of consecutive nodes, of which the first one begins a block: counts[i] sorted ids each,
/// one list after the other.
struct GivenLists {
  std::span<const std::uint32_t> counts;
  std::span<const NodeId> ids;
  /// What the edge of each id weighs, which then stands there once; empty where edges have no
  /// weights, or an id stands there as often as its edge weighs. The multiplied form takes no
  /// lists without.
  std::span<const std::uint32_t> weights{};
};

/// Consecutive whole blocks of a shard, encoded apart from it so that several threads can share the
/// work.
struct EncodedLists {
  std::vector<std::uint32_t> counts;       ///< arcs of each node
  std::vector<std::uint32_t> neighbours;   ///< distinct ones of each node; empty unless the form is multiplied
  std::vector<std::uint32_t> block_bytes;  ///< length of each block
  std::vector<std::byte> bytes;            ///< the blocks

  /// All become empty, and keep their memory.
  void clear() noexcept {
    counts.clear();
    neighbours.clear();
    block_bytes.clear();
    bytes.clear();
  }
};

/// Replaces `out` by the encoding of lists. Where an edge of weight w stands in a file w times, the
/// ids of one block at a time are repeated for it. Any thread. Throws ResourceError for a list of
/// more than the format takes.
void encode_lists(const GivenLists& lists, const ListForm& form, EncodedLists& out);
/// Likewise, appends the encoding of the lists of one block.
void append_block(const GivenLists& lists, const ListForm& form, EncodedLists& out);

/// Encodes one shard. Lists arrive in node order: one add() a node of the range, or whole blocks by
/// append(); then finish().
class ShardWriter {
 public:
  /// Holds at most `memory_limit` bytes of encoded lists in memory, the rest in a temporary file of
  /// the store.
  ShardWriter(const std::filesystem::path& store, NodeRange range, NodeId graph_nodes, const ListForm& form,
              std::uint64_t memory_limit, ShardOf of = ShardOf::nodes);
  /// The sorted neighbours of the next node, without itself, and the weights of GivenLists.
  void add(std::span<const NodeId> neighbours, std::span<const std::uint32_t> weights = {});
  /// The lists of the next nodes. What came before, and all but the last of such pieces, fills
  /// whole blocks.
  void append(const EncodedLists& lists);
  FileEntry finish();
  /// Arcs of all lists, after finish().
  [[nodiscard]] std::uint64_t arcs() const noexcept { return arcs_; }

 private:
  void close_block();
  SealedName name_;
  NodeRange range_;
  NodeId graph_nodes_;
  ListForm form_;
  std::uint64_t arcs_ = 0;
  std::vector<std::uint32_t> counts_, neighbours_;
  std::vector<std::uint32_t> pending_counts_, pending_weights_;  ///< those of a block that is not whole yet
  std::vector<NodeId> pending_;
  std::vector<std::uint32_t> offsets_{0};
  EncodedLists block_;  ///< the one being encoded
  OverflowBuffer blocks_;
};

/// Writes a shard as it is for a graph of `to` nodes instead of `from`, no fewer: the lists stay,
/// and so does the range. Throws DataError, FormatError, ResourceError.
FileEntry copy_shard(const std::filesystem::path& store, const FileEntry& entry, NodeRange range, NodeId from,
                     NodeId to, ShardOf of = ShardOf::nodes);

/// Read-only view of a shard. Offsets lie in memory: whoever asks the disk for blocks must not wait
/// for the pages that say where they lie. Counts do from the first call that needs all of them, or
/// those of many blocks, so that a store is opened, and a few lists are read, without a pass over
/// its nodes. Const members may run on any number of threads at once.
class Shard {
 public:
  /// Bytes of that memory for so many nodes, to be charged by who opens their shard.
  [[nodiscard]] static constexpr std::uint64_t memory_bytes(std::uint64_t nodes, bool multiplied = false) noexcept {
    return sizeof(std::uint32_t) * ((multiplied ? 2 : 1) * nodes + nodes / kBlockNodes + 2);
  }

  /// `form`: the manifest's. Throws DataError, FormatError.
  Shard(const std::filesystem::path& store, const FileEntry& entry, NodeRange range, NodeId graph_nodes,
        const ListForm& form, ShardOf of = ShardOf::nodes);

  [[nodiscard]] NodeRange range() const noexcept { return range_; }
  [[nodiscard]] std::uint64_t arcs() const noexcept { return arcs_; }
  /// Arcs of each node of the range, without the self loop: its neighbours, or what their edges
  /// weigh. Throws FormatError, as all do that need counts.
  [[nodiscard]] std::span<const std::uint32_t> counts() const {
    const std::uint32_t* const values = counts_->values.load(std::memory_order_acquire);
    return {values != nullptr ? values : read_counts(), range_.size()};
  }
  /// The count of one node; `local` is counted from the first one of the range.
  [[nodiscard]] std::uint32_t count(NodeId local) const {
    const std::uint32_t* const values = counts_->values.load(std::memory_order_acquire);
    return values != nullptr ? values[local] : read_count(local);
  }
  /// Whether all counts lie in memory by now.
  [[nodiscard]] bool has_counts() const noexcept { return counts_->values.load(std::memory_order_acquire) != nullptr; }
  /// Ids in the list of one node.
  [[nodiscard]] std::uint32_t id_count(NodeId local) const {
    return form_.multiplied ? id_counts()[local] : count(local);
  }
  /// Ids in the list of each node: in the multiplied form each neighbour once, else its arcs.
  [[nodiscard]] std::span<const std::uint32_t> id_counts() const {
    const std::span<const std::uint32_t> arcs = counts();
    return form_.multiplied ? std::span<const std::uint32_t>(counts_->neighbours) : arcs;
  }
  /// Ids of the largest block.
  [[nodiscard]] std::uint64_t most_block_ids() const {
    static_cast<void>(counts());
    return counts_->most_block_ids;
  }
  /// Bytes of the counts in the file.
  [[nodiscard]] std::uint64_t packed_count_bytes() const noexcept { return file_.parameters()[4]; }
  [[nodiscard]] std::size_t num_blocks() const noexcept { return offsets_.size() - 1; }
  /// Ids of one block: the space that decode() needs besides kDecodeSlack.
  [[nodiscard]] std::uint64_t block_ids(std::size_t block) const;
  /// A block as it is encoded. Throws FormatError.
  [[nodiscard]] std::span<const std::byte> block_bytes(std::size_t block) const;
  /// Appends a block as append_block() does its lists, without a look at these: checksums tell that
  /// it is what was written. Throws FormatError.
  void append_block(std::size_t block, EncodedLists& out) const;
  /// Blocks [first, last) will be decoded soon.
  void read_ahead(std::size_t first, std::size_t last) const noexcept;
  /// Blocks [first, last) will not be decoded soon.
  void forget(std::size_t first, std::size_t last) const noexcept;
  /// Where blocks [first, last) lie in the file, for who reads them past the mapping, and whether
  /// their checksums have been checked since the shard was opened.
  struct Place {
    const std::filesystem::path& file;
    std::uint64_t offset = 0, bytes = 0;
    bool is_checked = false;
  };
  [[nodiscard]] Place place(std::size_t first, std::size_t last) const noexcept;
  /// Bytes of all blocks.
  [[nodiscard]] std::uint64_t all_block_bytes() const noexcept { return offsets_.back(); }
  /// Decodes all lists of a block, concatenated; in the multiplied form also, to `weights`, what
  /// the edge of each id weighs. Throws FormatError.
  void decode(std::size_t block, NodeId* targets, std::uint32_t* weights = nullptr) const {
    decode(block, block_bytes(block), targets, weights);
  }
  /// Likewise, from a copy of its bytes.
  void decode(std::size_t block, std::span<const std::byte> bytes, NodeId* targets,
              std::uint32_t* weights = nullptr) const;
  /// Decodes the list of one node, id_counts()[node - first] ids, and their weights as decode()
  /// does. Throws FormatError.
  void decode_node(NodeId node, NodeId* targets, std::uint32_t* weights = nullptr) const;
  /// Checks checksums and decodes everything; throws FormatError.
  void verify() const;

 private:
  using BlockCounts = std::array<std::uint32_t, kBlockNodes>;
  struct Counts {
    std::mutex mutex;
    std::vector<std::uint32_t> memory, neighbours;
    std::uint64_t most_block_ids = 0;
    std::atomic<const std::uint32_t*> values = nullptr;  ///< null until all are read
    std::size_t blocks_read = 0;                         ///< alone, before
    std::optional<std::size_t> block;                    ///< the last of them, and its counts
    BlockCounts of_block{};
  };
  [[nodiscard]] const std::uint32_t* read_counts() const;
  [[nodiscard]] std::uint32_t read_count(NodeId local) const;
  /// The counts of a block, without reading those of all others as long as few blocks were asked
  /// for: they are then put into `room`.
  [[nodiscard]] std::span<const std::uint32_t> block_counts(std::size_t block, BlockCounts& room) const;
  void unpack_block(std::size_t block, BlockCounts& counts) const;
  /// Those from that of node `local` on are damaged; they begin `read` bytes behind the first ones.
  [[noreturn]] void fail_counts(std::size_t read, std::size_t local) const;
  /// Throws FormatError for edges that weigh more than those to all nodes may, `most` each.
  void require_length(std::uint64_t count, std::uint64_t most) const;
  [[nodiscard]] std::span<const std::byte> packed_counts() const;
  void unpack_counts(std::vector<std::uint32_t>& counts, std::vector<std::uint32_t>& neighbours) const;
  void check_lengths(std::span<const std::uint32_t> counts, std::span<const std::uint32_t> neighbours) const;
  /// The ids of a block in sum, which so many bytes must be able to hold.
  [[nodiscard]] std::uint64_t checked_block_ids(std::size_t block, std::span<const std::uint32_t> ids) const;
  /// The largest sum of the ids of a block.
  [[nodiscard]] std::uint64_t largest_block(std::span<const std::uint32_t> ids) const;
  /// The weights of a list are as many as the counts say.
  void check_weights(std::size_t block, std::size_t index, std::span<const std::uint32_t> weights) const;
  void decode_weighted(std::size_t block, std::span<const std::byte> bytes, NodeId* targets,
                       std::uint32_t* weights) const;
  void decode_weighted_list(std::size_t block, std::size_t index, NodeId* targets, std::uint32_t* weights) const;
  [[nodiscard]] static std::span<const std::uint32_t> of_block(std::span<const std::uint32_t> values,
                                                               std::size_t block) noexcept;
  template <class Decode>
  void decode_checked(std::size_t block, std::span<const std::byte> bytes, std::span<const std::uint32_t> counts,
                      NodeId* targets, const Decode& decode) const;
  [[noreturn]] void fail(std::size_t block, const BlockError& error) const;
  SealedFile file_;
  ShardOf of_;
  NodeRange range_;
  NodeId graph_nodes_;
  ListForm form_;
  std::uint64_t arcs_ = 0;
  std::uint64_t blocks_at_ = 0;
  std::unique_ptr<Counts> counts_ = std::make_unique<Counts>();
  std::vector<std::uint32_t> offsets_;
};

}  // namespace unweave
