// algorithms/synthetic/rmat.cpp - descends the recursive matrix bit by bit for one edge.
#include "algorithms/synthetic/rmat.h"

#include "algorithms/random/counter_random.h"

namespace unweave {
namespace {

/// A bijection of [0, 2^scale) chosen by `key`: steps that each can be undone modulo 2^scale.
NodeId permute(NodeId node, std::uint64_t key, int scale) noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << scale) - 1;
  const int shift = scale / 2 + 1;
  std::uint64_t x = node;
  for (int round = 0; round < 4; ++round) {
    key = mix64(key + kGoldenRatio);
    x = (x * (key | 1) + (key >> 32)) & mask;
    x ^= x >> shift;
  }
  return static_cast<NodeId>(x);
}

}  // namespace

Edge rmat_edge(std::uint64_t seed, std::uint64_t index, int scale) noexcept {
  // Cumulative probabilities of the quadrants (0,0), (0,1), (1,0) in units of 2^-32.
  constexpr auto kA = static_cast<std::uint64_t>(0.57 * 0x1p32);
  constexpr auto kAB = static_cast<std::uint64_t>(0.76 * 0x1p32);
  constexpr auto kABC = static_cast<std::uint64_t>(0.95 * 0x1p32);
  const std::uint64_t stream = mix64(mix64(seed + kGoldenRatio) + index * kGoldenRatio);
  Edge edge;
  std::uint64_t random = 0;
  for (int bit = 0; bit < scale; ++bit) {
    // Each 64-bit number serves two bits of the ids.
    random = bit % 2 == 0 ? mix64(stream + static_cast<std::uint64_t>(bit + 1) * kGoldenRatio) : random >> 32;
    const std::uint64_t draw = random & 0xFFFF'FFFF;
    edge.u = edge.u << 1 | static_cast<NodeId>(draw >= kAB);
    edge.v = edge.v << 1 | static_cast<NodeId>((draw >= kA && draw < kAB) || draw >= kABC);
  }
  const std::uint64_t key = mix64(seed ^ kGoldenRatio);
  return {permute(edge.u, key, scale), permute(edge.v, key, scale)};
}

}  // namespace unweave
