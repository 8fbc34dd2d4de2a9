// algorithms/updates/receivers.h - which rows of a level a push writes, and what each of them
// receives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "engine/graph/arc_chunks.h"
#include "engine/graph/graph.h"
#include "engine/resources/memory.h"
#include "storage/formats/target_lists.h"
#include "storage/io/spool_file.h"
#include "storage/io/types.h"

namespace unweave {

/// Rows to be written, with the sources of each.
struct TouchedRows {
  std::vector<NodeId> rows;            ///< sorted
  std::vector<std::size_t> first;      ///< rows + 1 positions in `sources`
  std::vector<std::uint32_t> sources;  ///< indices of the pushed rows, each as often as its edge weighs
  std::vector<std::uint32_t> weights;  ///< where they are real: what each source counts, which stands there once
};

/// Memory that an arc of a push takes on the way to its receiver: a key, room to grow, what it grew
/// out of, and the key in its part.
inline constexpr std::uint64_t kReceiverBytes = 3 * 8 + 8;

/// Into how many slices of the nodes a push of so many arcs is cut, so that those of one slice have
/// room.
[[nodiscard]] std::uint64_t receiver_slices(std::uint64_t arcs, const MemoryBudget& budget);

/// Receivers of a push, by part of the nodes: keys of a receiver, a source and, where weights are
/// real, what the edge between them weighs (ArcKeys), in no order.
using SentKeys = std::vector<std::vector<std::uint64_t>>;

/// The neighbours of each source and itself, as far as they lie in the slice, which is cut into
/// parts of `part_nodes`. Each of some tasks gives one SentKeys.
[[nodiscard]] std::vector<SentKeys> receivers_of(const Graph& graph, std::span<const NodeId> sources, NodeRange slice,
                                                 NodeId part_nodes);

/// The receivers of all slices of the nodes, in a file without a name for each task: the lists of
/// the sources are read once, however many slices there are.
class SpooledReceivers {
 public:
  /// Slice s is [bounds[s], bounds[s + 1]), and together they are all nodes. The sources have
  /// `arcs` arcs in sum. `room`: bytes of memory for what is on its way to the files in `folder`.
  /// Throws ResourceError, DataError.
  SpooledReceivers(const Graph& graph, std::span<const NodeId> sources, std::uint64_t arcs,
                   std::span<const NodeId> bounds, const std::filesystem::path& folder, std::uint64_t room);
  /// As receivers_of(), for one slice. Throws DataError.
  [[nodiscard]] std::vector<SentKeys> of(std::size_t slice, NodeId part_nodes) const;

 private:
  /// Keys of a slice that a task has written together. In front of them in its file stand a
  /// checksum of what follows it, and the piece that it wrote before.
  struct Piece {
    std::uint64_t at = kNone;  ///< where it lies; kNone: there is none
    std::uint64_t keys = 0;
  };
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t kHeadWords = 3;

  ArcKeys of_pair_;
  std::vector<NodeId> bounds_;
  std::vector<MappedSpool> files_;          ///< one a task; pieces are too many for a call of the system each
  std::vector<std::vector<Piece>> newest_;  ///< the last piece of each slice, by task
};

/// Distinct nodes that receive something.
struct ReceiverSample {
  std::vector<NodeId> nodes;  ///< sorted
  std::uint64_t each = 1;     ///< how many of them one stands for
};

/// The receivers of the sources, which have `arcs` arcs in sum: all of them where arcs are few,
/// else those in a fixed sixteenth of the nodes.
[[nodiscard]] ReceiverSample sample_receivers(const Graph& graph, std::span<const NodeId> sources, std::uint64_t arcs);

/// The rows among `nodes`, a part of the slice, that receive something from the sources or are in
/// `repaired` (sorted), as far as they `stay`.
[[nodiscard]] TouchedRows touched_rows(const Graph& graph, std::span<const NodeId> sources,
                                       std::span<const SentKeys> sent, std::size_t part, NodeRange nodes,
                                       std::span<const NodeId> repaired, const std::function<bool(NodeId)>& stays);

/// Where a node stands among the sources of a push.
class SourceIndex {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// `sources`: distinct, in any order.
  explicit SourceIndex(std::span<const NodeId> sources);
  /// The index of `node`, or kNone.
  [[nodiscard]] std::uint32_t find(NodeId node) const noexcept;

 private:
  [[nodiscard]] std::size_t bit_of(NodeId node) const noexcept { return (node * 0x9E3779B1U) >> shift_; }
  unsigned shift_;
  std::vector<std::uint64_t> some_;    ///< a bit for each source, which other nodes share: most look-ups end here
  std::vector<std::uint32_t> begins_;  ///< where in sources_ those of each word of bits begin, and the end
  std::vector<std::pair<NodeId, std::uint32_t>> sources_;  ///< by the word of their bit: two or so have one word
};

/// Finds what touched_rows() would give for the sources' receivers, from the lists of the rows that
/// are to receive: those of the last level. `graph` tells what has changed in them.
[[nodiscard]] TouchedRows touched_targets(const TargetLists& targets, const Graph& graph, const SourceIndex& sources,
                                          std::span<const NodeId> repaired, NodeRange nodes,
                                          const std::function<bool(NodeId)>& stays);

}  // namespace unweave
