// storage/codec/bit_pack.h - groups of bit-packed integers, and neighbour lists made of such
// groups.
//
// A value of `width` bits (0 to 32) at position i of a packed run occupies bits [i * width, (i + 1)
// * width), counted from the lowest bit of the first byte. A run of n values fills packed_bytes(n,
// width) bytes. A group is a run of the low bits of at most kPackGroup values and, where that is
// much smaller, a patch with the high bits of the few values that have some (FORMAT.md, "Groups").
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/io/types.h"

namespace unweave {

inline constexpr std::size_t kPackGroup = 16;  ///< values that share a width
inline constexpr unsigned kMaxPackWidth = 32;

[[nodiscard]] constexpr std::size_t packed_bytes(std::size_t values, unsigned width) noexcept {
  return (values * width + 7) / 8;
}

/// The smallest width that holds every value.
[[nodiscard]] unsigned pack_width(std::span<const std::uint32_t> values) noexcept;

/// Appends the lowest `width` bits of each value.
void pack(std::span<const std::uint32_t> values, unsigned width, std::vector<std::byte>& out);

/// Value `index` of a packed run at the beginning of `bytes`, which must hold it.
[[nodiscard]] std::uint32_t unpack_one(std::span<const std::byte> bytes, unsigned width, std::size_t index) noexcept;

/// The values of a group, zeros after the last one.
using GroupValues = std::array<std::uint32_t, kPackGroup>;

/// A group's shape byte: the width of its run, and whether a patch follows the run.
inline constexpr unsigned kPatched = 0x80;

/// Appends the group of the first `size` values, without its shape byte, which it returns.
[[nodiscard]] std::byte pack_group(const GroupValues& values, std::size_t size, std::vector<std::byte>& out);

/// Reads the patch at bytes[at] of a group whose run has `low` bits a value: ors the high bits into
/// `values` and moves `at` behind the patch. False if the patch is wrong or cut short.
[[nodiscard]] bool apply_patch(std::span<const std::byte> bytes, std::size_t& at, unsigned low,
                               GroupValues& values) noexcept;

/// Reads a group of `size` values at bytes[at], shape byte first, and moves `at` behind it. False
/// if it is wrong or cut short.
[[nodiscard]] bool unpack_group(std::span<const std::byte> bytes, std::size_t& at, std::size_t size,
                                std::uint32_t* values) noexcept;

/// Moves `at` over a group of `size` values without its shape byte, which is `shape`. False if it
/// is wrong or cut short.
[[nodiscard]] bool skip_group(std::span<const std::byte> bytes, std::size_t& at, std::size_t size,
                              unsigned shape) noexcept;

inline constexpr std::size_t kMaxPackedLists = 32;

/// Groups of gaps in a list of `count` ids, the first of which is stored apart.
[[nodiscard]] constexpr std::size_t gap_groups(std::uint32_t count) noexcept {
  return (std::size_t{count} + kPackGroup - 2) / kPackGroup;
}

/// At most kMaxPackedLists neighbour lists as packed first ids and groups of packed (gap - 1),
/// anywhere in `bytes`.
struct PackedLists {
  std::span<const std::uint32_t> counts;  ///< ids in each list
  NodeId num_nodes;
  NodeId base;           ///< added to each stored first id
  unsigned first_width;  ///< at most kMaxPackWidth
  std::span<const std::byte> bytes;
  std::size_t firsts_at;  ///< a run of one value for each non-empty list
  std::size_t shapes_at;  ///< one byte for each group, gap_groups(count) for a list
  std::size_t groups_at;  ///< the groups; groups, shapes and firsts lie inside `bytes`
  std::size_t groups_end;
};

/// Writes the lists, concatenated, to `targets`, and up to kPackGroup elements of anything past
/// them. Reads nothing outside the spans. True if all shapes are valid, the groups fill their bytes
/// exactly, each list strictly increases and all ids are below num_nodes; otherwise the contents of
/// `targets` are unspecified.
[[nodiscard]] bool unpack_lists(const PackedLists& lists, NodeId* targets);

}  // namespace unweave
