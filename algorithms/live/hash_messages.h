// algorithms/live/hash_messages.h - messages of 32-bit words on their way to a hash.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/hash_lanes.h"
#include "storage/codec/half.h"

namespace unweave {

/// BLAKE2b-256 of `first`, then `second`.
[[nodiscard]] Digest blake2b(std::span<const std::byte> first, std::span<const std::byte> second = {});

/// A growing array of words that keeps its memory from leaf to leaf.
class MessageWords {
 public:
  void add(std::uint32_t word) { *extend(1) = word; }
  template <class T>
  void add_all(std::span<const T> values) {
    static_assert(sizeof(T) % sizeof(std::uint32_t) == 0);
    std::uint32_t* const words = extend(values.size_bytes() / sizeof(std::uint32_t));
    if (!values.empty()) std::memcpy(words, values.data(), values.size_bytes());
  }
  void add_zeros(std::size_t count) { std::fill_n(extend(count), count, 0U); }
  /// Space for `count` words, to be filled by the caller.
  std::uint32_t* extend(std::size_t count) {
    if (words_.size() - used_ < count) grow(count);
    return words_.data() + std::exchange(used_, used_ + count);
  }
  /// Numbers of 16 bits, two in a word.
  void add_halves(std::span<const Half> halves) { add_bytes(std::as_bytes(halves)); }
  /// How many bytes it has, and these.
  void add_text(std::string_view text) {
    add(static_cast<std::uint32_t>(text.size()));
    add_bytes(std::as_bytes(std::span(text)));
  }
  [[nodiscard]] std::size_t size() const { return used_; }
  /// Forgets all but the first `size` words.
  void shrink(std::size_t size) { used_ = size; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_.data(), used_)); }

 private:
  // Out of line, so that what is called for every word stays short.
  void grow(std::size_t count);
  /// The last word is filled with zeros.
  void add_bytes(std::span<const std::byte> bytes);

  std::vector<std::uint32_t> words_;
  std::size_t used_ = 0;
};

/// Messages that are hashed many at a time; one object a thread.
class HashMessages {
 public:
  /// The message at hand, from its first word on.
  [[nodiscard]] MessageWords& words() { return words_; }
  /// It ends here. Its hash is at its place after flush() at the latest.
  void end(Digest* place);
  void flush();

 private:
  /// A longer message would leave the other lanes idle behind it for longer than it takes alone.
  static constexpr std::size_t kLongBytes = std::size_t{16} << 10;
  static constexpr std::size_t kBytesTogether = std::size_t{128} << 10;
  MessageWords words_;
  std::vector<HashedMessage> messages_;
  std::size_t first_ = 0;  ///< word of the message at hand
};

}  // namespace unweave
