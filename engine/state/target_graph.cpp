// engine/state/target_graph.cpp - puts lists of targets where a block of the graph would have them.
#include "engine/state/target_graph.h"

#include <algorithm>

namespace unweave {

void TargetGraph::decode(std::size_t block, BlockBuffer& buffer, DecodedBlock& out) const {
  const auto first = static_cast<NodeId>(block * kBlockNodes);
  const auto last = static_cast<NodeId>(std::min<std::size_t>(num_nodes(), (block + 1) * kBlockNodes));
  buffer.counts.assign(last - first, 0);
  std::size_t most = 0;
  for (NodeId node = first; node < last; ++node) most += graph_->list_length(node);
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

void TargetGraph::decode_terms(std::size_t block, std::span<const std::byte> /*encoded*/, BlockBuffer& buffer,
                               DecodedBlock& out) const {
  decode(block, buffer, out);
  if (!graph_->list_form().multiplied) return;
  // In place: a list that names each neighbour once is no longer than it was.
  buffer.weights.clear();
  buffer.weights.reserve(1);  // which says that there are weights
  NodeId* to = buffer.targets.data();
  const NodeId* list = to;
  for (std::uint32_t& count : buffer.counts) {
    const NodeId* const end = list + count;
    NodeId* const begin = to;
    for_runs(std::span(list, end), [&](NodeId target, std::uint32_t weight) {
      *to++ = target;
      buffer.weights.push_back(weight);
    });
    count = static_cast<std::uint32_t>(to - begin);
    list = end;
  }
  out.weights = buffer.weights.data();
}

}  // namespace unweave
