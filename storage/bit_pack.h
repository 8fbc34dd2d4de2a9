// storage/bit_pack.h - groups of bit-packed integers, and neighbour lists made of such groups.
//
// A value of `width` bits (0 to 32) at position i of a packed run occupies bits [i * width, (i + 1) * width), counted
// from the lowest bit of the first byte. A run of n values fills packed_bytes(n, width) bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/types.h"

namespace unweave {

inline constexpr std::size_t kPackGroup = 16;  ///< values that share a width
inline constexpr unsigned kMaxPackWidth = 32;

[[nodiscard]] constexpr std::size_t packed_bytes(std::size_t values, unsigned width) noexcept {
  return (values * width + 7) / 8;
}

/// The smallest width that holds every value.
[[nodiscard]] unsigned pack_width(std::span<const std::uint32_t> values) noexcept;

/// Appends `values`, packed; all must fit `width`.
void pack(std::span<const std::uint32_t> values, unsigned width, std::vector<std::byte>& out);

/// Value `index` of a packed run; the run must hold it.
[[nodiscard]] std::uint32_t unpack_one(std::span<const std::byte> run, unsigned width, std::size_t index) noexcept;

inline constexpr std::size_t kMaxPackedLists = 32;

/// Groups of gaps in a list of `count` ids, the first of which is stored apart.
[[nodiscard]] constexpr std::size_t gap_groups(std::uint32_t count) noexcept {
  return (std::size_t{count} + kPackGroup - 2) / kPackGroup;
}

/// At most kMaxPackedLists neighbour lists as packed first ids and groups of packed (gap - 1), anywhere in `bytes`.
struct PackedLists {
  std::span<const std::uint32_t> counts;  ///< ids in each list
  NodeId num_nodes;
  NodeId base;           ///< added to each stored first id
  unsigned first_width;  ///< at most kMaxPackWidth
  std::span<const std::byte> bytes;
  std::size_t firsts_at;  ///< a run of one value for each non-empty list
  std::size_t widths_at;  ///< one byte for each group, gap_groups(count) for a list
  std::size_t runs_at;    ///< the groups' runs; runs, widths and firsts lie inside `bytes`
  std::size_t runs_end;
};

/// Writes the lists, concatenated, to `targets`, and up to kPackGroup elements of anything past them. Reads nothing
/// outside the spans. True if all widths are valid, the groups fill their bytes exactly, each list strictly increases
/// and all ids are below num_nodes; otherwise the contents of `targets` are unspecified.
[[nodiscard]] bool unpack_lists(const PackedLists& lists, NodeId* targets);

}  // namespace unweave
