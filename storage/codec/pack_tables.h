// storage/codec/pack_tables.h - what code for each instruction set shares: headers of patches,
// tables for vectors.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "storage/codec/bit_pack.h"

namespace unweave {

/// The header of the patch of a group (FORMAT.md, "Groups"); a run of its high bits follows.
struct PatchHeader {
  unsigned width;   ///< high bits of a value
  unsigned values;  ///< bit i: value i has high bits

  [[nodiscard]] std::size_t run_bytes() const noexcept {
    return packed_bytes(static_cast<std::size_t>(std::popcount(values)), width);
  }
};

inline constexpr std::size_t kPatchHeaderBytes = 3;

[[nodiscard]] inline PatchHeader patch_header(const std::uint8_t* bytes) noexcept {
  return {bytes[0], bytes[1] | unsigned{bytes[2]} << 8};
}

/// For each value of a run that begins with a byte: which 32-bit word of the run has its first bit,
/// how many bits of that word are before it, and 31 less that.
struct RunTables {
  std::array<std::uint32_t, kPackGroup> word, before, after;
  std::array<std::uint32_t, kPackGroup> mask;  ///< as many bits as the values have
};

/// The table at [width] is for runs with so many bits a value.
alignas(64) inline constexpr auto kRunTables = [] {
  std::array<RunTables, kMaxPackWidth + 1> tables{};
  for (std::uint32_t width = 0; width <= kMaxPackWidth; ++width) {
    for (std::uint32_t i = 0; i < kPackGroup; ++i) {
      tables[width].word[i] = i * width / 32;
      tables[width].before[i] = i * width % 32;
      tables[width].after[i] = 31 - i * width % 32;
      tables[width].mask[i] = static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1);
    }
  }
  return tables;
}();

/// The entry [bits][i] says how many of the lowest i bits of `bits` are set.
inline constexpr auto kSetBelow = [] {
  std::array<std::array<std::uint8_t, 8>, 256> tables{};
  for (unsigned bits = 0; bits < tables.size(); ++bits)
    for (unsigned i = 0; i < 8; ++i) tables[bits][i] = static_cast<std::uint8_t>(std::popcount(bits & ((1U << i) - 1)));
  return tables;
}();

}  // namespace unweave
