// algorithms/live/hash_messages.cpp - gathers words, and hashes messages of them side by side.
#include "algorithms/live/hash_messages.h"

#include <sodium.h>

namespace unweave {

Digest blake2b(std::span<const std::byte> first, std::span<const std::byte> second) {
  Digest digest{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, digest.size());
  for (const auto bytes : {first, second})
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(digest.data()), digest.size());
  return digest;
}

void MessageWords::grow(std::size_t count) {
  words_.resize(std::max(2 * words_.size(), used_ + count));
}

void MessageWords::add_bytes(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::size_t count = (bytes.size() + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
  std::uint32_t* const words = extend(count);
  words[count - 1] = 0;
  std::memcpy(words, bytes.data(), bytes.size());
}

void HashMessages::end(Digest* place) {
  const std::span<const std::byte> message = words_.bytes().subspan(first_ * sizeof(std::uint32_t));
  if (message.size() > kLongBytes) {
    *place = blake2b(message);
    words_.shrink(first_);
    return;
  }
  messages_.push_back({first_ * sizeof(std::uint32_t), message.size(), place});
  constexpr std::size_t kBlockWords = kHashBlockBytes / sizeof(std::uint32_t);
  words_.add_zeros((kBlockWords - words_.size() % kBlockWords) % kBlockWords);
  first_ = words_.size();
  if (words_.bytes().size() >= kBytesTogether) flush();
}

void HashMessages::flush() {
  hash_side_by_side(words_.bytes(), messages_);
  messages_.clear();
  words_.shrink(0);
  first_ = 0;
}

}  // namespace unweave
