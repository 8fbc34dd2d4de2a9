// engine/graph/csr_graph.cpp - makes an uncompressed graph from edges or from a store's graph, and gives its blocks.
#include "engine/graph/csr_graph.h"

#include <algorithm>
#include <cassert>

#include "engine/resources/parallel.h"

namespace unweave {

CsrGraph::CsrGraph(NodeId nodes, const std::vector<Edge>& edges)
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

void CsrGraph::decode(std::size_t block, BlockBuffer& /*buffer*/, DecodedBlock& out) const noexcept {
  const std::size_t first = block * kBlockNodes;
  out.first = static_cast<NodeId>(first);
  out.nodes = static_cast<std::uint32_t>(std::min<std::size_t>(kBlockNodes, counts_.size() - first));
  out.counts = counts_.data() + first;
  out.targets = targets_.data() + offsets_[first];
}

}  // namespace unweave
