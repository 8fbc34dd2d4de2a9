// storage/codec/weight_groups.cpp - packs the weights of a block's arcs, and unpacks them.
#include "storage/codec/weight_groups.h"

#include <algorithm>

#include "storage/codec/bit_pack.h"
#include "storage/codec/gap_block.h"

namespace unweave {

void encode_weights(std::span<const std::uint32_t> weights, std::vector<std::byte>& out) {
  for (std::size_t first = 0; first < weights.size(); first += kPackGroup) {
    const auto group = weights.subspan(first, std::min(kPackGroup, weights.size() - first));
    GroupValues values{};
    std::transform(group.begin(), group.end(), values.begin(), [](std::uint32_t weight) { return weight - 1; });
    const std::size_t shape_at = out.size();
    out.emplace_back();
    const std::byte shape = pack_group(values, group.size(), out);
    out[shape_at] = shape;
  }
}

std::size_t decode_weights(std::span<const std::byte> bytes, std::uint32_t most, std::span<std::uint32_t> weights) {
  std::size_t at = 0;
  std::uint32_t largest = 0;
  for (std::size_t first = 0; first < weights.size(); first += kPackGroup) {
    const auto group = weights.subspan(first, std::min(kPackGroup, weights.size() - first));
    if (!unpack_group(bytes, at, group.size(), group.data())) throw BlockError{"weights that are damaged or cut short"};
    for (std::uint32_t& weight : group) largest = std::max(largest, weight++);
  }
  if (largest >= most) throw BlockError{"a weight above the largest one of the graph"};
  return at;
}

}  // namespace unweave
