#include "storage/checksum.h"

#define XXH_STATIC_LINKING_ONLY  // a streaming state on the stack
#ifdef __x86_64__
#include <xxh_x86dispatch.h>  // renames the XXH3 functions to those that choose by processor at run time
#else
#include <xxhash.h>
#endif

#include <cstring>

namespace unweave {

std::uint64_t checksum64(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Checksum128 checksum128(std::span<const std::byte> first, std::span<const std::byte> second) noexcept {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, first.data(), first.size());
  XXH3_128bits_update(&state, second.data(), second.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  Checksum128 result;
  std::memcpy(result.data(), canonical.digest, result.size());
  return result;
}

std::string to_hex(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4U];
    text += kDigits[std::to_integer<unsigned>(b) & 15U];
  }
  return text;
}

}  // namespace unweave
