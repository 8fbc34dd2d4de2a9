// storage/codec/repeats.cpp - adds places to ids and takes them off.
#include "storage/codec/repeats.h"

namespace unweave {

bool can_spread(std::span<const NodeId> list) noexcept {
  return list.empty() || list.back() + (list.size() - 1) <= kMaxNodeId;
}

void spread_repeats(std::span<const std::uint32_t> counts, NodeId* targets) noexcept {
  for (const std::uint32_t count : counts) {
    for (std::uint32_t i = 0; i < count; ++i) targets[i] += i;
    targets += count;
  }
}

bool join_repeats(std::span<const std::uint32_t> counts, NodeId num_nodes, NodeId* targets) noexcept {
  bool valid = true;
  for (const std::uint32_t count : counts) {
    for (std::uint32_t i = 0; i < count; ++i) targets[i] -= i;
    // Ids that strictly increased do not decrease now, so that the last one is the largest.
    valid = valid && (count == 0 || targets[count - 1] < num_nodes);
    targets += count;
  }
  return valid;
}

}  // namespace unweave
