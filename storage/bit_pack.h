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

/// Neighbour lists as firsts and groups of (gap - 1): a list of c > 0 ids has ceil((c - 1) / kPackGroup) groups.
struct PackedLists {
  std::span<const std::uint32_t> counts;
  const NodeId* firsts;               ///< one for each non-empty list, below num_nodes
  std::span<const std::byte> widths;  ///< one for each group; as many as counts ask for
  std::span<const std::byte> runs;    ///< the groups' runs
  NodeId num_nodes;
};

/// Writes the lists, concatenated, to `targets`, and up to kPackGroup elements of anything past them. Reads no byte
/// outside the spans. True if all widths are valid, the groups fill `runs` exactly, each list strictly increases and
/// all ids are below num_nodes; otherwise the contents of `targets` are unspecified.
[[nodiscard]] bool unpack_lists(const PackedLists& lists, NodeId* targets);

}  // namespace unweave
