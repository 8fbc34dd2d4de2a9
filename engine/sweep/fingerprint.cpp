// engine/sweep/fingerprint.cpp - draws keys, and adds up what lists of nodes weigh.
#include "engine/sweep/fingerprint.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <string>
#include <system_error>

#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kFactorPadding = 32;  // vectors of factors are loaded whole
constexpr int kHalfBits = 29;
constexpr std::size_t kUnreduced = 32;  // products of two numbers up to 2^kHalfBits that fit 64 bits, with a residue

/// Fills memory from the system's generator.
void draw(std::span<std::byte> bytes) {
  constexpr std::size_t kAtOnce = 256;  // bytes that the system never cuts short
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kAtOnce);
    if (getrandom(bytes.data(), size, 0) != static_cast<ssize_t>(size)) {
      if (errno == EINTR) continue;
      throw ResourceError("random numbers: " + std::system_category().message(errno));
    }
    bytes = bytes.subspan(size);
  }
}

/// Numbers 1 .. 2^bits, and zeros after them.
template <class T>
std::vector<T> draw_numbers(std::size_t count, int bits, std::size_t zeros = 0) {
  std::vector<T> numbers(count + zeros);
  draw(std::as_writable_bytes(std::span(numbers).first(count)));
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<T>(1 + (static_cast<std::uint32_t>(numbers[i]) >> (32 - bits)));
  return numbers;
}

/// A prime between 2^30 and 2^31, each with the same chance.
std::uint32_t draw_prime() {
  for (;;) {
    std::array<std::uint32_t, 16> numbers{};
    draw(std::as_writable_bytes(std::span(numbers)));
    for (const std::uint32_t number : numbers)
      if (const std::uint32_t odd = number >> 1 | Modulus::kLeast | 1U; is_prime(odd)) return odd;
  }
}

unsigned shift_for(NodeId nodes) {
  return (static_cast<unsigned>(std::bit_width(nodes)) + 1) / 2;
}

}  // namespace

FingerprintKey::FingerprintKey(NodeId nodes, std::size_t columns)
    : modulus_(draw_prime()),
      shift_(shift_for(nodes)),
      mask_((NodeId{1} << shift_) - 1),
      upper_(draw_numbers<std::uint32_t>((nodes >> shift_) + std::size_t{1}, kHalfBits)),
      lower_(draw_numbers<std::uint32_t>(mask_ + std::size_t{1}, kHalfBits)),
      factors_(draw_numbers<std::int32_t>(columns, kFactorBits, kFactorPadding)) {}

std::uint64_t FingerprintKey::bytes(NodeId nodes, std::size_t columns) noexcept {
  const unsigned shift = shift_for(nodes);
  return ((nodes >> shift) + 1 + (std::uint64_t{1} << shift)) * sizeof(std::uint32_t) +
         (columns + kFactorPadding) * sizeof(std::int32_t);
}

std::int32_t FingerprintKey::list_weight(NodeId node, std::span<const NodeId> neighbours) const noexcept {
  std::uint64_t sum = product(node);
  for (std::size_t i = 0; i < neighbours.size();) {
    const std::size_t end = std::min(neighbours.size(), i + kUnreduced);
    for (; i < end; ++i) sum += product(neighbours[i]);
    sum = modulus_.residue(sum);
  }
  return modulus_.centred(modulus_.residue(sum));
}

std::int32_t FingerprintKey::list_weight(NodeId node, std::span<const NodeId> neighbours,
                                         const RowMask& rows) const noexcept {
  std::uint64_t sum = rows.contains(node) ? product(node) : 0;
  for (std::size_t i = 0; i < neighbours.size();) {
    const std::size_t end = std::min(neighbours.size(), i + kUnreduced);
    // A mask rather than a branch that nobody can predict.
    for (; i < end; ++i) sum += product(neighbours[i]) & (0 - std::uint64_t{rows.contains(neighbours[i])});
    sum = modulus_.residue(sum);
  }
  return modulus_.centred(modulus_.residue(sum));
}

std::uint64_t fingerprint_of(const StateRow& row, std::size_t columns, const ColumnFactors& factors) {
  if (row.narrow != nullptr) return fingerprint_of(std::span(row.narrow, columns), factors);
  return row.wide == nullptr ? 0 : fingerprint_of(std::span(row.wide, columns), factors);
}

std::uint64_t fingerprint_of(std::span<const std::int64_t> values, const ColumnFactors& factors) {
  const Modulus& modulus = factors.modulus;
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c < values.size(); ++c)
    sum = modulus.residue(sum + modulus.any_residue(values[c]) * static_cast<std::uint64_t>(factors.values[c]));
  return sum;
}

}  // namespace unweave
