// engine/sweep/fingerprint.h - rows of integers and lists of nodes as numbers modulo 2^61 - 1, under a secret key.
//
// Sums over lists of neighbours are exact, so that they are checked as Freivalds checked products of matrices (IFIP
// Congress 1977): with random numbers q_c for the columns and r_u for the nodes, and p = 2^61 - 1,
//
//   fingerprint of a row x:   y(x) = sum over columns c of q_c x_c   mod p
//   weight of a list:         a_v  = sum over its nodes u of r_u     mod p
//
//   S(u) = sum over v in N(u) of t(v) for all u   implies   sum_u r_u y(S(u)) = sum_v a_v y(t(v)),  a_v over N(v),
//
// since u lies in N(v) where v lies in N(u). The other way round, sums that differ anywhere from those of their terms pass
// with a chance of at most 2^-28, whatever the difference, as long as it does not depend on the key, and never where one
// sum alone differs; the proof is in algorithms/propagation/PROPAGATION.md. The key is drawn from the system's generator, and it never leaves the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph/row_mask.h"
#include "storage/formats/state_file.h"
#include "storage/io/types.h"

namespace unweave {

inline constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

/// x, less p where that is not below 0: a residue for x < 2 p.
[[nodiscard]] constexpr std::uint64_t less_prime(std::uint64_t x) noexcept {
  return x >= kPrime ? x - kPrime : x;
}
/// x mod p, below p + 64: 2^61 is 1.
[[nodiscard]] constexpr std::uint64_t fold(UInt128 x) noexcept {
  const UInt128 once = (x & kPrime) + (x >> 61);
  return static_cast<std::uint64_t>(once & kPrime) + static_cast<std::uint64_t>(once >> 61);
}
[[nodiscard]] constexpr std::uint64_t residue(UInt128 x) noexcept {
  return less_prime(fold(x));
}
/// The residue of a number between -2^71 and 2^71.
[[nodiscard]] constexpr std::uint64_t signed_residue(Int128 x) noexcept {
  return residue(static_cast<UInt128>(x + (Int128{kPrime} << 11)));
}
[[nodiscard]] constexpr std::uint64_t add_residues(std::uint64_t x, std::uint64_t y) noexcept {
  return less_prime(x + y);
}
[[nodiscard]] constexpr std::uint64_t subtract_residues(std::uint64_t x, std::uint64_t y) noexcept {
  return less_prime(x + kPrime - y);
}
[[nodiscard]] constexpr std::uint64_t multiply_residues(std::uint64_t x, std::uint64_t y) noexcept {
  const UInt128 product = UInt128{x} * y;  // below 2^122, so that one step is enough
  return less_prime((static_cast<std::uint64_t>(product) & kPrime) + static_cast<std::uint64_t>(product >> 61));
}

/// The factors q_c of some consecutive columns: 1 .. 2^kFactorBits, so that eight products with 32 bits add up in 64.
using ColumnFactors = const std::int32_t*;
inline constexpr int kFactorBits = 29;

/// The key: q_c for every column and r_u, not 0, for every node. Const members may run on any number of threads at once.
class FingerprintKey {
 public:
  /// Draws a key. Throws ResourceError where the system has no random numbers.
  FingerprintKey(NodeId nodes, std::size_t columns);
  /// Memory of a key.
  [[nodiscard]] static std::uint64_t bytes(NodeId nodes, std::size_t columns) noexcept;

  [[nodiscard]] ColumnFactors columns(std::size_t first) const noexcept { return &factors_[first]; }

  /// r_u, a residue.
  [[nodiscard]] std::uint64_t weight(NodeId node) const noexcept {
    return std::uint64_t{upper_[node >> shift_]} * lower_[node & mask_];
  }
  /// a_v of a node with these neighbours: r summed over them and over the node itself.
  [[nodiscard]] std::uint64_t list_weight(NodeId node, std::span<const NodeId> neighbours) const noexcept;
  /// What those of them that are in `rows` weigh.
  [[nodiscard]] std::uint64_t list_weight(NodeId node, std::span<const NodeId> neighbours,
                                          const RowMask& rows) const noexcept;

 private:
  // r_u is a product of two random numbers 1 .. 2^30, of the upper and of the lower half of the node's number: two small
  // tables, which stay in a cache while lists pass by, stand for one of all nodes.
  unsigned shift_;
  NodeId mask_;
  std::vector<std::uint32_t> upper_, lower_;
  std::vector<std::int32_t> factors_;
};

/// out[i] = y of row i, for `rows` rows of `width` values one after another. |values| < 2^31.
void fingerprint_rows(const std::int32_t* values, std::size_t rows, std::size_t width, ColumnFactors factors,
                      std::uint64_t* out);
void fingerprint_rows(const std::int16_t* values, std::size_t rows, std::size_t width, ColumnFactors factors,
                      std::uint64_t* out);
/// y of one row.
[[nodiscard]] std::uint64_t fingerprint_of(std::span<const std::int32_t> values, ColumnFactors factors);
[[nodiscard]] std::uint64_t fingerprint_of(std::span<const std::int64_t> values, ColumnFactors factors);
/// y of after - before, both of the same length, modulo 2^32: their difference, where it fits int32.
[[nodiscard]] std::uint64_t fingerprint_of_change(std::span<const std::int32_t> after, const std::int32_t* before,
                                                  ColumnFactors factors);
/// y of a row of sums, in the form in which it is kept; 0 where it is not.
[[nodiscard]] std::uint64_t fingerprint_of(const StateRow& row, std::size_t columns, ColumnFactors factors);

}  // namespace unweave
