// engine/graph/arc_lists.h - from chunks of arcs to sorted adjacency lists, range of nodes after
// range of nodes; the outer half of arc_sort.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/graph/arc_chunks.h"
#include "engine/resources/memory.h"
#include "storage/io/types.h"

namespace unweave {

/// Counts of edges as they came. duplicates = edges_read - self_loops - arcs / 2: a repeated edge,
/// in either direction.
struct ArcCounts {
  std::uint64_t edges_read = 0;
  std::uint64_t self_loops = 0;     ///< edges u-u, dropped
  std::uint64_t duplicates = 0;     ///< 0 until arcs are counted
  std::uint64_t upward = 0;         ///< edges u-v with u < v, repeats too
  ArcIndex arcs = 0;                ///< unique: an edge is two, whatever it weighs
  std::uint64_t spooled_bytes = 0;  ///< bytes of arcs for which memory had no room, written to a temporary file
  std::optional<NodeId> smallest_node, largest_node;  ///< among all ids seen, self loops included; empty without edges
};

/// Counts with the number of unique arcs, which whoever took the lists has counted.
[[nodiscard]] ArcCounts with_arcs(ArcCounts counts, ArcIndex arcs) noexcept;

/// Adjacency lists of consecutive nodes. Used again and again, so that vectors keep their size.
struct ArcLists {
  NodeRange nodes;
  std::uint64_t raw_arcs = 0;          ///< arcs of these nodes, repeated ones too, or what they weigh (begin())
  std::uint64_t last_key = 0;          ///< key of the last arc that was appended, for whoever appends the next
  std::uint64_t last_units = 0;        ///< what the arcs of its node weigh until then
  std::vector<std::uint32_t> counts;   ///< neighbours of each node
  std::vector<NodeId> targets;         ///< the lists, each sorted
  std::vector<std::uint32_t> weights;  ///< what each of these arcs weighs; empty where edges have no weights
};

/// Told of an edge that came with two weights; throws.
using RefuseWeights = std::function<void(Edge edge, std::uint32_t one, std::uint32_t other)>;

/// The arcs of a graph, or those of some sources, ready to be sorted.
class SortedArcs {
 public:
  /// `sort_bytes` bounds buffers for sorting and for the lists of pipeline_items() ranges. `store`
  /// holds `chunks`.
  SortedArcs(std::unique_ptr<ChunkStore> store, std::vector<ArcChunk> chunks, ArcKeys keys, const ArcCounts& counts,
             std::size_t sort_bytes);

  /// What is known before sorting.
  [[nodiscard]] const ArcCounts& counts() const noexcept { return counts_; }

  /// Bytes that suffice for sorting: with more, ranges are large enough already, unless one block
  /// of nodes has very many arcs.
  [[nodiscard]] static std::size_t most_sort_bytes();

  /// Begins to cut the nodes [0, nodes), `nodes` above all ids, into ranges of whole blocks within
  /// one span (storage/formats/store_layout.h). Before the first next().
  void begin(NodeId nodes) { begin(nodes, {0, nodes}); }
  /// Likewise, but only the nodes of `part`, which are those of whole spans. `repeats`: whoever
  /// encodes the lists writes an id as often as its edge weighs, and ranges are cut by what their
  /// arcs weigh.
  void begin(NodeId nodes, NodeRange part, bool repeats = false);
  /// Memory that such an encoding takes beyond what the sorter was given: a node whose edges weigh
  /// much has a long list. To be charged by whoever encodes the lists.
  [[nodiscard]] std::uint64_t excess_bytes(const ArcLists& lists) const noexcept {
    return repeats_ && lists.raw_arcs > capacity_ ? (lists.raw_arcs - capacity_) * 3 * sizeof(NodeId) : 0;
  }
  /// An edge of two weights is a DataError, unless this is called before load().
  void refuse_weights_by(RefuseWeights refuse) { refuse_weights_ = std::move(refuse); }
  /// Sets `lists.nodes` to the next range; false after the last. One thread at a time. Throws
  /// DataError.
  bool next(ArcLists& lists);
  /// Fills in the lists of a range that next() gave. Any number of threads. Throws DataError,
  /// ResourceError.
  void load(ArcLists& lists);

 private:
  struct Range {
    NodeRange nodes;
    std::uint64_t arcs = 0;
  };

  [[nodiscard]] std::span<const ArcChunk> chunks_of(std::uint64_t first_node, std::uint64_t last_node) const;
  void plan();
  void split_bucket(const Range& bucket);
  void push(const Range& range, std::uint64_t most_arcs);
  void append(std::uint64_t first_key, std::uint64_t last_key, std::uint64_t arcs, HugeBuffer& keys, ArcLists& lists);
  void append_unique(std::span<const std::uint64_t> keys, ArcLists& lists) const;
  void append_weighted(std::span<const std::uint64_t> keys, ArcLists& lists) const;
  std::size_t gather(std::uint64_t first_key, std::uint64_t last_key, std::uint64_t* keys) const;
  /// Arcs, or what they weigh, in each of kBins parts of [first_key, first_key + kBins * bin_keys).
  [[nodiscard]] std::vector<std::uint64_t> count_bins(std::uint64_t first_key, std::uint64_t bin_keys) const;
  [[nodiscard]] HugeBuffer borrow();
  void give_back(HugeBuffer keys);

  std::unique_ptr<ChunkStore> store_;
  std::vector<ArcChunk> chunks_;  // by bucket
  ArcKeys keys_;
  RefuseWeights refuse_weights_;
  ArcCounts counts_;
  std::uint8_t log2_width_;  // logarithm of the widest bucket's width; all others nest
  std::uint64_t capacity_;   // arcs that a range may have, unless one block has more
  std::uint64_t
      most_chunk_arcs_;  // arcs of one chunk; those of a process before this one may be larger than the store's

  NodeId nodes_ = 0;
  bool repeats_ = false;
  NodeRange part_;                // those of the ranges that next() gives
  std::uint64_t planned_to_ = 0;  // node
  std::deque<Range> planned_;
  std::uint64_t planned_arcs_ = 0;

  MemoryBudget budget_;  // without limit: capacity_ bounds the buffers
  std::mutex mutex_;
  std::vector<HugeBuffer> buffers_;  // buffers that nobody uses now
};

}  // namespace unweave
