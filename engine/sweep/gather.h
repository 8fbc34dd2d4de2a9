// engine/sweep/gather.h - the hot kernels: exact sums of rows, and quotients rounded to normalised
// sums.
//
// A tile is a row-major matrix of fixed-point numbers |t| <= 2^scale_bits, of 32 bits or, up to
// kMaxShortScaleBits, of 16: half the bytes to fetch. Up to floor((2^31 - 1) / 2^scale_bits) terms
// (127 at 24 bits, 131,071 at 14) add up in int32 without overflow, so sums stay in vector
// registers of 32-bit lanes and are widened to 64 bits only at that distance: every sum is exact.
// The kernels are compiled for every vector extension and chosen at run time; they give the same
// bits on all of them, and from both widths of a tile.
//
// Vectors are loaded whole: the memory of a tile must go on for kTilePadding readable elements
// after its last row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/sweep/fingerprint.h"
#include "storage/io/types.h"

namespace unweave {

inline constexpr std::size_t kTilePadding = 16;  ///< elements
inline constexpr int kMaxScaleBits = 30;
inline constexpr int kMaxShortScaleBits = 14;  ///< 2^14 fits 16 bits; 2^15, which stands for a feature of 1, does not
/// Bytes of a value of a tile of so many scale bits.
[[nodiscard]] constexpr std::size_t value_bytes(std::int64_t scale_bits) noexcept {
  return scale_bits <= kMaxShortScaleBits ? sizeof(std::int16_t) : sizeof(std::int32_t);
}
/// Degrees stay below this: then a quotient that is no tie lies at least half a unit in the last
/// place of its float64 away from one, and rounding the float64 quotient is rounding the true one.
inline constexpr std::uint32_t kMaxDegree = std::uint32_t{1} << 29;

/// A view of n rows of `width` columns.
template <class T>
struct TileOf {
  const T* rows = nullptr;
  std::size_t width = 0;
  int scale_bits = 24;  ///< 0..kMaxScaleBits (kMaxShortScaleBits); |t| <= 2^scale_bits everywhere
};
using Tile = TileOf<std::int32_t>;
using ShortTile = TileOf<std::int16_t>;

/// The nodes whose sums gather_lists computes, as rows of the tile, with their neighbour lists one
/// after the other.
struct GatherLists {
  std::span<const NodeId> nodes;
  const std::uint32_t* counts = nullptr;  ///< neighbours of each node
  const NodeId* targets = nullptr;
  std::size_t num_targets = 0;        ///< sum of counts
  std::span<const NodeId> lookahead;  ///< what will be gathered next: its first rows are fetched from memory
  /// Null, or what each target's row is multiplied with, below 2^16: then a node's own row is
  /// multiplied with `own_weight`, and each degree is the sum of both.
  const std::uint32_t* weights = nullptr;
  std::uint32_t own_weight = 1;  ///< at most 2^30
};

/// Where gather_lists writes, the quotients past the caches; every array has room for all its
/// nodes.
template <class T>
struct GatherOutputOf {
  std::int32_t* sums = nullptr;         ///< nodes x width; a row with a sum beyond int32 is zero here
  std::int64_t* wide_sums = nullptr;    ///< rows with a sum beyond int32, in order of the nodes
  std::uint32_t* wide_nodes = nullptr;  ///< their positions in `nodes`
  T* quotients = nullptr;               ///< null, or nodes x width: round(sum / (neighbours + 1))
  /// Null, or what the rows of quotients are added to, as they were formed and not as they lie in
  /// memory: each times one of the weights of the nodes.
  ColumnTotals* quotient_sums = nullptr;
  const std::int32_t* quotient_weights = nullptr;
};
using GatherOutput = GatherOutputOf<std::int32_t>;
using ShortGatherOutput = GatherOutputOf<std::int16_t>;

/// A list of rows to add, and what will be added after it: the first rows of that are fetched from
/// memory meanwhile.
struct ListedRows {
  std::span<const NodeId> neighbours;
  std::span<const NodeId> lookahead{};
  const std::uint32_t* weights = nullptr;  ///< null, or what each row is multiplied with, at most 2^30
};

/// sums[c] += sum over v in the list of t(v, c), each times its weight, for every column c.
void gather_rows(const Tile& tile, const ListedRows& list, std::int64_t* sums);

/// after[c] = before[c] + sum over v in the list of t(v, c). Returns the fingerprint of after -
/// before; or nothing, and leaves anything in `after`, when a sum does not fit int32, there are too
/// many neighbours to know without wider sums, or these have weights. The two rows must not
/// overlap.
[[nodiscard]] std::optional<std::uint64_t> add_rows(const Tile& tile, const ListedRows& list,
                                                    const std::int32_t* before, const ColumnFactors& factors,
                                                    std::int32_t* after);

/// Sum of a node's own row and its neighbours' rows, for each node. Every id is below the number of
/// rows and each degree, counts[i] + 1 without weights, below kMaxDegree. Returns the number of
/// rows with a sum that int32 cannot hold.
std::size_t gather_lists(const Tile& tile, const GatherLists& lists, const GatherOutput& out);
std::size_t gather_lists(const ShortTile& tile, const GatherLists& lists, const ShortGatherOutput& out);

/// quotients[c] = sums[c] / degree as float64, rounded to the nearest integer with ties to even.
/// The quotients must fit int32, the sums 53 bits, and degree in [1, kMaxDegree).
void round_quotients(std::span<const std::int32_t> sums, std::uint32_t degree, std::int32_t* quotients);
void round_quotients(std::span<const std::int64_t> sums, std::uint32_t degree, std::int32_t* quotients);

struct RowDifference {
  std::uint32_t largest = 0;      ///< the largest |delta|
  std::uint64_t fingerprint = 0;  ///< that of the differences as they were formed, where there are factors
};

/// delta[c] = round_quotients(sums)[c] - published[c], which must fit int32. `factors` may be null.
RowDifference round_differences(std::span<const std::int32_t> sums, std::uint32_t degree, const std::int32_t* published,
                                const ColumnFactors* factors, std::int32_t* delta);
RowDifference round_differences(std::span<const std::int64_t> sums, std::uint32_t degree, const std::int32_t* published,
                                const ColumnFactors* factors, std::int32_t* delta);

/// out[c] = factor * x[c] / divisor in float64, rounded to the nearest integer with ties to even,
/// kept in +-limit. x is finite, and limit an integer that int32 holds.
void round_scaled(std::span<const float> x, double factor, double divisor, double limit, std::int32_t* out);

/// Name of the vector extension in use, as "AVX3".
[[nodiscard]] const char* gather_instructions();

}  // namespace unweave
