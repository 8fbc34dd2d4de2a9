// storage/codec/repeats.h - sorted lists in which an id may stand several times, as the lists of
// distinct ids that gap_block.h encodes: each id plus its place in the list.
#pragma once

#include <cstdint>
#include <span>

#include "storage/io/types.h"

namespace unweave {

/// Whether the codec has ids for such a list: sorted, its last id and its length together below
/// 2^32.
[[nodiscard]] bool can_spread(std::span<const NodeId> list) noexcept;
/// Adds to each id its place in its list: counts[i] ids each, concatenated in `targets`.
void spread_repeats(std::span<const std::uint32_t> counts, NodeId* targets) noexcept;
/// Takes the places off again, from lists that strictly increase; false where an id is not below
/// `num_nodes` then.
[[nodiscard]] bool join_repeats(std::span<const std::uint32_t> counts, NodeId num_nodes, NodeId* targets) noexcept;

}  // namespace unweave
