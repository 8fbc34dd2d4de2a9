// engine/sweep/fingerprint.cpp - draws keys, and adds up what lists of nodes weigh.
#include "engine/sweep/fingerprint.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
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
  for (T& number : std::span(numbers).first(count)) {
    number = static_cast<T>(static_cast<std::uint32_t>(number) >> (32 - bits));
    ++number;
  }
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
      lower_(draw_numbers<std::uint64_t>(mask_ + std::size_t{1}, kHalfBits)),
      factors_(draw_numbers<std::int32_t>(columns, kFactorBits, kFactorPadding)) {}

FingerprintKey::FingerprintKey(const Modulus& modulus, NodeId nodes)
    : modulus_(modulus), shift_(shift_for(nodes)), mask_((NodeId{1} << shift_) - 1) {}

std::uint64_t FingerprintKey::written_bytes(NodeId nodes, std::size_t columns) noexcept {
  const unsigned shift = shift_for(nodes);
  return 8 * (1 + (std::uint64_t{1} << shift) + ((nodes >> shift) + 2) / 2 + (columns + std::uint64_t{1}) / 2);
}

void FingerprintKey::write(std::size_t first, std::size_t columns, std::vector<std::byte>& out) const {
  const auto append = [&](std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
    out.resize((out.size() + 7) / 8 * 8);
  };
  const std::uint64_t prime = modulus_.prime();
  append(std::as_bytes(std::span(&prime, 1)));
  append(std::as_bytes(std::span(lower_)));
  append(std::as_bytes(std::span(upper_)));
  append(std::as_bytes(std::span(factors_).subspan(first, columns)));
}

std::optional<FingerprintKey> FingerprintKey::read(NodeId nodes, std::size_t columns,
                                                   std::span<const std::byte> bytes) {
  if (bytes.size() != written_bytes(nodes, columns)) return std::nullopt;
  std::size_t at = 0;
  const auto take = [&](auto& numbers, std::size_t count) {
    const std::size_t size = count * sizeof(numbers[0]);
    numbers.resize(count);
    std::memcpy(numbers.data(), bytes.data() + at, size);
    at += (size + 7) / 8 * 8;
    return std::all_of(numbers.begin(), numbers.end(), [](auto number) {
      return number >= 1 && static_cast<std::uint64_t>(number) <= std::uint64_t{1} << kHalfBits;
    });
  };
  std::uint64_t prime = 0;
  std::memcpy(&prime, bytes.data(), sizeof prime);
  at = sizeof prime;
  if (prime < Modulus::kLeast || prime >= 2 * std::uint64_t{Modulus::kLeast} || prime % 2 == 0 ||
      !is_prime(static_cast<std::uint32_t>(prime)))
    return std::nullopt;
  FingerprintKey key(Modulus(static_cast<std::uint32_t>(prime)), nodes);
  if (!take(key.lower_, key.mask_ + std::size_t{1}) || !take(key.upper_, (nodes >> key.shift_) + std::size_t{1}) ||
      !take(key.factors_, columns))
    return std::nullopt;
  key.factors_.resize(columns + kFactorPadding);
  return key;
}

std::uint64_t FingerprintKey::bytes(NodeId nodes, std::size_t columns) noexcept {
  const unsigned shift = shift_for(nodes);
  return ((nodes >> shift) + 1) * sizeof(std::uint32_t) + (std::uint64_t{1} << shift) * sizeof(std::uint64_t) +
         (columns + kFactorPadding) * sizeof(std::int32_t);
}

template <class Product>
std::int32_t FingerprintKey::sum_weights(std::uint64_t sum, std::span<const NodeId> nodes,
                                         const Product& product_of) const noexcept {
  for (std::size_t first = 0; first < nodes.size(); first += kUnreduced) {
    const std::span<const NodeId> some = nodes.subspan(first, std::min(kUnreduced, nodes.size() - first));
    // Four sums, so that an addition need not wait for the one before.
    std::uint64_t other = 0, third = 0, fourth = 0;
    std::size_t i = 0;
    for (; i + 4 <= some.size(); i += 4) {
      sum += product_of(some[i]);
      other += product_of(some[i + 1]);
      third += product_of(some[i + 2]);
      fourth += product_of(some[i + 3]);
    }
    for (; i < some.size(); ++i) sum += product_of(some[i]);
    sum = modulus_.residue(sum + other + third + fourth);
  }
  return modulus_.centred(nodes.empty() ? modulus_.residue(sum) : sum);
}

std::int32_t FingerprintKey::list_weight(NodeId node, std::span<const NodeId> neighbours) const noexcept {
  return sum_weights(product(node), neighbours, [this](NodeId one) { return product(one); });
}

std::int32_t FingerprintKey::list_weight(NodeId node, std::span<const NodeId> neighbours,
                                         const RowMask& rows) const noexcept {
  // A mask rather than a branch that nobody can predict.
  const auto product_of = [&](NodeId one) { return product(one) & (0 - std::uint64_t{rows.contains(one)}); };
  return sum_weights(product_of(node), neighbours, product_of);
}

std::int32_t FingerprintKey::list_weight(NodeId node, std::uint32_t self, std::span<const NodeId> neighbours,
                                         const std::uint32_t* weights, const RowMask* rows) const noexcept {
  const auto residue = [&](NodeId one, std::uint64_t times) {
    if (rows != nullptr && !rows->contains(one)) return std::uint64_t{0};
    return modulus_.residue(modulus_.residue(product(one)) * times);  // below 2^30 times 2^30 at most
  };
  std::uint64_t sum = residue(node, self);
  for (std::size_t i = 0; i < neighbours.size(); ++i)
    sum = modulus_.add(sum, residue(neighbours[i], weights == nullptr ? 1 : weights[i]));
  return modulus_.centred(sum);
}

std::uint64_t fingerprint_of(const StateRow& row, std::size_t columns, const ColumnFactors& factors) {
  if (row.narrow != nullptr) return fingerprint_of(std::span(row.narrow, columns), factors);
  return row.wide == nullptr ? 0 : fingerprint_of(std::span(row.wide, columns), factors);
}

std::uint64_t fingerprint_of(std::span<const std::int64_t> values, const ColumnFactors& factors) {
  Int128 sum = 0;  // 64 bits and kFactorBits, of fewer than 2^32 columns
  for (std::size_t c = 0; c < values.size(); ++c) sum += Int128{values[c]} * factors.values[c];
  return factors.modulus.residue(sum);
}

}  // namespace unweave
