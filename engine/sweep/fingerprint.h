// engine/sweep/fingerprint.h - rows of integers and lists of nodes as numbers modulo a secret
// prime.
//
// Sums over lists of neighbours are exact, so that they are checked as Freivalds checked products
// of matrices (IFIP Congress 1977): with a random prime p of 31 bits and random numbers q_c for the
// columns and r_u for the nodes,
//
//   fingerprint of a row x:   y(x) = sum over columns c of q_c x_c   mod p
//   weight of a list:         a_v  = sum over its nodes u of r_u     mod p
//
//   S(u) = sum over v in N(u) of t(v) for all u   implies   sum_u r_u y(S(u)) = sum_v a_v y(t(v)),  a_v over N(v),
//
// since u lies in N(v) where v lies in N(u). The other way round, sums that differ anywhere from
// those of their terms pass with a chance below 2^-25 where all fit 32 bits, and below 2^-24
// otherwise, whatever the difference, as long as it does not depend on the key; a single flipped
// bit of a sum never does. The proof is in algorithms/propagation/PROPAGATION.md. The key, which
// has the prime, is drawn from the system's generator, by each process anew. Tiles of a propagation
// that is not finished have it beside their residues, so that whoever joins them can tell whether
// they are the sums that were formed.
//
// Both sides are summed up over rows before they are over columns: sum_c q_c (sum_u r_u S(u, c)).
// The sums in brackets are exact integers of the products of two numbers of 32 bits, and what is
// done modulo p is little.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/graph/row_mask.h"
#include "engine/sweep/modulus.h"
#include "storage/formats/state_file.h"
#include "storage/io/types.h"

namespace unweave {

/// The factors q_c of some consecutive columns, 1 .. 2^kFactorBits, so that eight products with 32
/// bits add up in 64; and the prime.
struct ColumnFactors {
  const std::int32_t* values = nullptr;
  Modulus modulus{Modulus::kLeast + 3};
};
inline constexpr int kFactorBits = 29;

/// The key: p, q_c for every column and r_u, not 0, for every node. Const members may run on any
/// number of threads at once.
class FingerprintKey {
 public:
  /// Draws a key. Throws ResourceError where the system has no random numbers.
  FingerprintKey(NodeId nodes, std::size_t columns);
  /// Bytes of write().
  [[nodiscard]] static std::uint64_t written_bytes(NodeId nodes, std::size_t columns) noexcept;
  /// The key for some of the columns as bytes, a multiple of 8: prime, both tables, factors.
  void write(std::size_t first, std::size_t columns, std::vector<std::byte>& out) const;
  /// The key that was written so, for these columns alone; nothing where the bytes are none.
  [[nodiscard]] static std::optional<FingerprintKey> read(NodeId nodes, std::size_t columns,
                                                          std::span<const std::byte> bytes);
  /// Memory of a key.
  [[nodiscard]] static std::uint64_t bytes(NodeId nodes, std::size_t columns) noexcept;

  [[nodiscard]] ColumnFactors columns(std::size_t first) const noexcept { return {&factors_[first], modulus_}; }
  [[nodiscard]] const Modulus& modulus() const noexcept { return modulus_; }

  /// r_u, centred.
  [[nodiscard]] std::int32_t weight(NodeId node) const noexcept {
    return modulus_.centred(modulus_.residue(product(node)));
  }
  /// a_v of a node with these neighbours, centred: r summed over them and over the node itself.
  [[nodiscard]] std::int32_t list_weight(NodeId node, std::span<const NodeId> neighbours) const noexcept;
  /// What those of them that are in `rows` weigh.
  [[nodiscard]] std::int32_t list_weight(NodeId node, std::span<const NodeId> neighbours,
                                         const RowMask& rows) const noexcept;
  /// a_v where `self` is what the node itself counts, and weights, if there are some, what its
  /// neighbours do; `rows` may be null.
  [[nodiscard]] std::int32_t list_weight(NodeId node, std::uint32_t self, std::span<const NodeId> neighbours,
                                         const std::uint32_t* weights, const RowMask* rows) const noexcept;

 private:
  FingerprintKey(const Modulus& modulus, NodeId nodes);
  // r_u is a product of two random numbers 1 .. 2^29, of the upper and of the lower half of the
  // node's number: two small tables, which stay in a cache while lists pass by, stand for one of
  // all nodes.
  [[nodiscard]] std::uint64_t product(NodeId node) const noexcept {
    return upper_[node >> shift_] * lower_[node & mask_];
  }
  /// A sum of products and those of some more nodes, centred.
  template <class Product>
  [[nodiscard]] std::int32_t sum_weights(std::uint64_t sum, std::span<const NodeId> nodes,
                                         const Product& product_of) const noexcept;

  Modulus modulus_;
  unsigned shift_;
  NodeId mask_;
  std::vector<std::uint32_t> upper_;
  std::vector<std::uint64_t> lower_;
  std::vector<std::int32_t> factors_;
};

/// Sums of rows times numbers, column by column: exact, whatever fits 32 bits, for up to 2^30 rows.
/// One thread at a time.
class ColumnTotals {
 public:
  explicit ColumnTotals(std::size_t width) : width_(width), lines_(2 * half_lines(width)) {}
  [[nodiscard]] static std::uint64_t bytes(std::size_t width) noexcept { return 2 * half_lines(width) * sizeof(Line); }

  /// Adds weights[i] times row i, for `count` rows one after another. The weights are centred.
  void add(const std::int32_t* rows, std::size_t count, const std::int32_t* weights);
  void add(const std::int16_t* rows, std::size_t count, const std::int32_t* weights);
  /// Adds weights[i] times the row at rows[i].
  void add(std::span<const std::int32_t* const> rows, const std::int32_t* weights);
  /// y of what has been added up, which begins anew.
  [[nodiscard]] std::uint64_t take(const ColumnFactors& factors);

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// Sums modulo 2^64, and those of the upper halves of what was added at a time, in an order that
  /// suits the vectors.
  [[nodiscard]] std::int64_t* low() noexcept { return lines_.data()->data(); }
  [[nodiscard]] std::int64_t* high() noexcept { return lines_[lines_.size() / 2].data(); }

 private:
  struct alignas(64) Line : std::array<std::int64_t, 8> {};
  /// Lines for columns in whole vectors of 16.
  [[nodiscard]] static std::size_t half_lines(std::size_t width) noexcept { return 2 * ((width + 15) / 16); }

  std::size_t width_;
  std::vector<Line> lines_;
};

/// y of one row.
[[nodiscard]] std::uint64_t fingerprint_of(std::span<const std::int32_t> values, const ColumnFactors& factors);
[[nodiscard]] std::uint64_t fingerprint_of(std::span<const std::int16_t> values, const ColumnFactors& factors);
[[nodiscard]] std::uint64_t fingerprint_of(std::span<const std::int64_t> values, const ColumnFactors& factors);
/// y of a row of sums, in the form in which it is kept; 0 where it is not.
[[nodiscard]] std::uint64_t fingerprint_of(const StateRow& row, std::size_t columns, const ColumnFactors& factors);

}  // namespace unweave
