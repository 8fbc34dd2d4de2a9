// engine/state/target_graph.cpp - puts lists of targets where a block of the graph would have them.
#include "engine/state/target_graph.h"

#include <algorithm>

namespace unweave {

void TargetGraph::decode(std::size_t block, BlockBuffer& buffer, DecodedBlock& out) const {
  const auto first = static_cast<NodeId>(block * kBlockNodes);
  const auto last = static_cast<NodeId>(std::min<std::size_t>(num_nodes(), (block + 1) * kBlockNodes));
  buffer.counts.assign(last - first, 0);
  const bool weights = graph_->list_form().multiplied;
  std::size_t most = 0;
  for (NodeId node = first; node < last; ++node) most += graph_->list_length(node);
  // No more memory than the lists of the largest block take.
  const auto make_room = [&](auto& values) {
    if (most > values.capacity()) values = {};
    values.clear();
    values.reserve(most + 1);  // an array also where there is nothing
  };
  make_room(buffer.targets);
  if (weights) make_room(buffer.weights);
  lists_->for_each({first, last}, buffer.cursor, [&](NodeId node, const ListView& base) {
    const ListView list = graph_->with_changes(node, base, buffer.changed);
    buffer.counts[node - first] = static_cast<std::uint32_t>(list.ids.size());
    buffer.targets.insert(buffer.targets.end(), list.ids.begin(), list.ids.end());
    if (list.weights != nullptr)
      buffer.weights.insert(buffer.weights.end(), list.weights, list.weights + list.ids.size());
  });
  out = {first, last - first, buffer.counts.data(), buffer.targets.data(), weights ? buffer.weights.data() : nullptr};
}

}  // namespace unweave
