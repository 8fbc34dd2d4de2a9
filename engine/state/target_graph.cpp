// engine/state/target_graph.cpp - puts lists of targets where a block of the graph would have them.
#include "engine/state/target_graph.h"

#include <algorithm>

namespace unweave {

void TargetGraph::decode(std::size_t block, BlockBuffer& buffer, DecodedBlock& out) const {
  const auto first = static_cast<NodeId>(block * kBlockNodes);
  const auto last = static_cast<NodeId>(std::min<std::size_t>(num_nodes(), (block + 1) * kBlockNodes));
  buffer.counts.assign(last - first, 0);
  std::size_t most = 0;
  for (NodeId node = first; node < last; ++node) most += graph_->degree(node) - 1;
  if (most > buffer.targets.capacity()) buffer.targets = {};  // no more memory than the lists of the largest block
  buffer.targets.clear();
  buffer.targets.reserve(most);
  lists_->for_each({first, last}, buffer.cursor, [&](NodeId node, std::span<const NodeId> base) {
    const std::span<const NodeId> list = graph_->with_changes(node, base, buffer.changed);
    buffer.counts[node - first] = static_cast<std::uint32_t>(list.size());
    buffer.targets.insert(buffer.targets.end(), list.begin(), list.end());
  });
  out = {first, last - first, buffer.counts.data(), buffer.targets.data()};
}

}  // namespace unweave
