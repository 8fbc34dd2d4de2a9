// algorithms/random/hash.cpp - hashes texts with libsodium's BLAKE2b.
#include "algorithms/random/hash.h"

#include <sodium.h>

#include "algorithms/random/random_source.h"
#include "storage/io/checksum.h"

namespace unweave {

Hash hash_of(std::string_view text, std::span<const std::byte> key) noexcept {
  Hash out{};
  crypto_generichash(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     reinterpret_cast<const unsigned char*>(key.data()), key.size());
  return out;
}

std::optional<Hash> hash_from_hex(std::string_view text) noexcept {
  Hash out{};
  std::size_t bytes = 0;
  if (text.size() != 2 * out.size() || text.find_first_not_of("0123456789abcdef") != std::string_view::npos ||
      sodium_hex2bin(reinterpret_cast<unsigned char*>(out.data()), out.size(), text.data(), text.size(), nullptr,
                     &bytes, nullptr) != 0)
    return std::nullopt;
  return out;
}

Hash draw_hash(RandomSource& random) {
  Hash out{};
  for (std::byte& byte : out) byte = static_cast<std::byte>(random.below(256));
  return out;
}

std::string_view text_of(const Hash& hash) noexcept {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

}  // namespace unweave
