#include "algorithms/sbm.h"

#include "algorithms/counter_random.h"

namespace unweave {
namespace {

constexpr std::uint64_t kRounds = 4;

std::uint64_t round_of(std::uint64_t key, std::uint64_t round, std::uint64_t half, std::uint64_t mask) noexcept {
  return random_bits(key + round, half) & mask;
}

}  // namespace

BlockModel::BlockModel(NodeId nodes, std::uint32_t blocks, std::uint64_t seed) noexcept
    : nodes_(nodes), blocks_(blocks), edge_key_(random_key(seed, 1)), order_key_(random_key(seed, 2)), half_bits_(1) {
  while (std::uint64_t{1} << 2 * half_bits_ < nodes_) ++half_bits_;
}

/// A Feistel network is a bijection of [0, 4^half_bits); repeating it until the result lies in [0, nodes) makes one of
/// that range, at most four steps on average.
NodeId BlockModel::node_at(std::uint64_t place) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = place >> half_bits_;
    std::uint64_t right = place & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ round_of(order_key_, round, right, mask);
      left = right;
      right = next;
    }
    place = left << half_bits_ | right;
  } while (place >= nodes_);
  return static_cast<NodeId>(place);
}

/// The inverse: the same rounds backwards.
std::uint64_t BlockModel::place_of(NodeId node) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t place = node;
  do {
    std::uint64_t left = place >> half_bits_;
    std::uint64_t right = place & mask;
    for (std::uint64_t round = kRounds; round-- > 0;) {
      const std::uint64_t before = right ^ round_of(order_key_, round, left, mask);
      right = left;
      left = before;
    }
    place = left << half_bits_ | right;
  } while (place >= nodes_);
  return place;
}

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
