#include "algorithms/rmat.h"

namespace unweave {
namespace {

constexpr std::uint64_t kGolden = 0x9E37'79B9'7F4A'7C15;

/// A bijection of 64-bit numbers whose outputs for consecutive inputs look random (the finaliser of SplitMix64).
std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EB;
  return x ^ x >> 31;
}

/// A bijection of [0, 2^scale) chosen by `key`: steps that each can be undone modulo 2^scale.
NodeId permute(NodeId node, std::uint64_t key, int scale) noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << scale) - 1;
  const int shift = scale / 2 + 1;
  std::uint64_t x = node;
  for (int round = 0; round < 4; ++round) {
    key = mix(key + kGolden);
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
  const std::uint64_t stream = mix(mix(seed + kGolden) + index * kGolden);
  Edge edge;
  std::uint64_t random = 0;
  for (int bit = 0; bit < scale; ++bit) {
    // Each 64-bit number serves two bits of the ids.
    random = bit % 2 == 0 ? mix(stream + static_cast<std::uint64_t>(bit + 1) * kGolden) : random >> 32;
    const std::uint64_t draw = random & 0xFFFF'FFFF;
    edge.u = edge.u << 1 | static_cast<NodeId>(draw >= kAB);
    edge.v = edge.v << 1 | static_cast<NodeId>((draw >= kA && draw < kAB) || draw >= kABC);
  }
  const std::uint64_t key = mix(seed ^ kGolden);
  return {permute(edge.u, key, scale), permute(edge.v, key, scale)};
}

}  // namespace unweave
