// engine/state/target_graph.h - the present lists of the targets alone, in the blocks of the graph:
// a last level that is swept from them reads a file of their size and not the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/graph/graph.h"
#include "storage/formats/target_lists.h"
#include "storage/io/types.h"

namespace unweave {

/// A BlockGraph in which whoever is no target has no neighbours. Const members may run on any
/// number of threads at once.
class TargetGraph {
 public:
  struct BlockBuffer {
    TargetLists::Cursor cursor;
    std::vector<std::uint32_t> counts;
    std::vector<NodeId> targets;
    std::vector<std::uint32_t> weights;
    NeighbourList changed;
  };

  /// Both must outlive this object; the lists were written from shards of the graph.
  TargetGraph(const Graph& graph, const TargetLists& lists) noexcept : graph_(&graph), lists_(&lists) {}

  [[nodiscard]] NodeId num_nodes() const noexcept { return graph_->num_nodes(); }
  [[nodiscard]] std::size_t num_blocks() const noexcept { return graph_->num_blocks(); }
  /// What a buffer comes to hold beside that of a graph's block.
  [[nodiscard]] std::uint64_t more_buffer_bytes() const noexcept { return lists_->max_cursor_bytes(); }
  [[nodiscard]] std::uint64_t max_decoded_bytes() const { return graph_->max_decoded_bytes(); }
  [[nodiscard]] std::uint32_t self_weight() const noexcept { return graph_->self_weight(); }
  /// The lists of the targets among nodes [32 block, 32 block + 32). Throws FormatError.
  void decode(std::size_t block, BlockBuffer& buffer, DecodedBlock& out) const;
  /// Calls use(node, list) for every target, in ascending order. Throws FormatError.
  template <class Use>
  void for_each(const Use& use) const {
    NeighbourList changed;
    lists_->for_each({0, num_nodes()},
                     [&](NodeId node, const ListView& list) { use(node, graph_->with_changes(node, list, changed)); });
  }

 private:
  const Graph* graph_;
  const TargetLists* lists_;
};

}  // namespace unweave
