// tests/support/csr_graph.h - an uncompressed graph in memory: the yardstick of benchmarks and the
// fixture of tests.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/graph/block_graph.h"
#include "engine/resources/parallel.h"
#include "storage/io/types.h"

namespace unweave::testing {

/// Adjacency lists with 32-bit targets and 64-bit offsets, a BlockGraph whose decoding copies
/// nothing.
class CsrGraph {
 public:
  struct BlockBuffer {};

  /// The undirected graph of `edges` in any order and direction: duplicates and self loops are
  /// dropped, lists ascend. Every id is below `nodes`.
  CsrGraph(NodeId nodes, const std::vector<Edge>& edges)
      : offsets_(static_cast<std::size_t>(nodes) + 1, 0), counts_(nodes, 0) {
    std::vector<std::uint64_t> arcs;  // source in the upper half, target in the lower
    arcs.reserve(2 * edges.size());
    for (const Edge& edge : edges) {
      assert(edge.u < nodes && edge.v < nodes);
      if (edge.u == edge.v) continue;
      arcs.push_back(std::uint64_t{edge.u} << 32 | edge.v);
      arcs.push_back(std::uint64_t{edge.v} << 32 | edge.u);
    }
    parallel_sort(arcs.begin(), arcs.end(), std::less<>());
    arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());
    targets_.reserve(arcs.size());
    for (const std::uint64_t arc : arcs) {
      ++counts_[arc >> 32];
      targets_.push_back(static_cast<NodeId>(arc));
    }
    for (std::size_t u = 0; u < counts_.size(); ++u) offsets_[u + 1] = offsets_[u] + counts_[u];
  }

  /// The lists of another graph, decoded.
  template <BlockGraph G>
  explicit CsrGraph(const G& graph) : offsets_(std::size_t{graph.num_nodes()} + 1, 0) {
    counts_.reserve(graph.num_nodes());
    targets_.reserve(graph.num_arcs());
    typename G::BlockBuffer buffer;
    DecodedBlock block;
    for (std::size_t b = 0; b < graph.num_blocks(); ++b) {
      graph.decode(b, buffer, block);
      std::size_t arcs = 0;
      for (std::uint32_t i = 0; i < block.nodes; ++i) {
        arcs += block.counts[i];
        offsets_[counts_.size() + 1] = targets_.size() + arcs;
        counts_.push_back(block.counts[i]);
      }
      targets_.insert(targets_.end(), block.targets, block.targets + arcs);
    }
  }
  /// Memory of a graph that is made of another.
  [[nodiscard]] static std::uint64_t bytes(NodeId nodes, ArcIndex arcs) noexcept {
    return sizeof(ArcIndex) * (std::uint64_t{nodes} + 1) + sizeof(std::uint32_t) * (nodes + arcs);
  }

  [[nodiscard]] NodeId num_nodes() const noexcept { return static_cast<NodeId>(offsets_.size() - 1); }
  [[nodiscard]] ArcIndex num_arcs() const noexcept { return targets_.size(); }
  [[nodiscard]] std::uint64_t num_terms() const noexcept { return targets_.size() + num_nodes(); }
  [[nodiscard]] std::size_t num_blocks() const noexcept {
    return (static_cast<std::size_t>(num_nodes()) + kBlockNodes - 1) / kBlockNodes;
  }
  void decode(std::size_t block, BlockBuffer& /*buffer*/, DecodedBlock& out) const noexcept {
    const std::size_t first = block * kBlockNodes;
    out.first = static_cast<NodeId>(first);
    out.nodes = static_cast<std::uint32_t>(std::min<std::size_t>(kBlockNodes, counts_.size() - first));
    out.counts = counts_.data() + first;
    out.targets = targets_.data() + offsets_[first];
  }

  [[nodiscard]] const std::vector<ArcIndex>& offsets() const noexcept { return offsets_; }
  [[nodiscard]] const std::vector<std::uint32_t>& counts() const noexcept { return counts_; }
  [[nodiscard]] const std::vector<NodeId>& targets() const noexcept { return targets_; }

 private:
  std::vector<ArcIndex> offsets_;  // num_nodes + 1
  std::vector<std::uint32_t> counts_;
  std::vector<NodeId> targets_;
};

}  // namespace unweave::testing
