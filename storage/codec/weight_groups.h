// storage/codec/weight_groups.h - weights of arcs to bytes and back: each less 1, in groups of
// bit_pack.h, one after the other with their shape bytes (FORMAT.md, "Shards").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace unweave {

/// Appends weights of 1 and more.
void encode_weights(std::span<const std::uint32_t> weights, std::vector<std::byte>& out);

/// Fills `weights` from the beginning of `bytes`, and returns how many bytes that took. Throws
/// BlockError (gap_block.h) where they are damaged, cut short, or one of them is above `most`.
[[nodiscard]] std::size_t decode_weights(std::span<const std::byte> bytes, std::uint32_t most,
                                         std::span<std::uint32_t> weights);

}  // namespace unweave
