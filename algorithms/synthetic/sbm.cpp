// algorithms/synthetic/sbm.cpp - draws both ends of one edge.
#include "algorithms/synthetic/sbm.h"

#include "algorithms/random/counter_random.h"

namespace unweave {

BlockModel::BlockModel(NodeId nodes, std::uint32_t blocks, std::uint64_t seed) noexcept
    : nodes_(nodes), blocks_(blocks), edge_key_(random_key(seed, 1)), ids_(nodes, random_key(seed, 2)) {}

Edge BlockModel::edge(std::uint64_t index) const noexcept {
  constexpr auto kInside = static_cast<std::uint64_t>(kHomophily * 0x1p64);
  const std::uint64_t key = random_bits(edge_key_, index);
  const std::uint64_t from = bits_below(random_bits(key, 0), nodes_);
  const std::uint64_t first = first_place(block_at(from));
  const std::uint64_t size = first_place(block_at(from) + std::uint64_t{1}) - first;
  const std::uint64_t bits = random_bits(key, 2);
  if (size == nodes_ || random_bits(key, 1) < kInside) return {node_at(from), node_at(first + bits_below(bits, size))};
  const std::uint64_t outside = bits_below(bits, nodes_ - size);
  return {node_at(from), node_at(outside < first ? outside : outside + size)};
}

}  // namespace unweave
