// storage/io/checksum.cpp - computes XXH3 checksums, and writes bytes as hexadecimal digits.
#include "storage/io/checksum.h"

#define XXH_STATIC_LINKING_ONLY  // a streaming state on the stack
#ifdef __x86_64__
#include <xxh_x86dispatch.h>  // renames the XXH3 functions to those that choose by processor at run time
#else
#include <xxhash.h>
#endif

#include <cstring>

namespace unweave {
namespace {

Checksum128 digest_of(const XXH3_state_t& state) noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  Checksum128 result;
  std::memcpy(result.data(), canonical.digest, result.size());
  return result;
}

}  // namespace

std::uint64_t checksum64(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Checksum128 checksum128(std::span<const std::byte> first, std::span<const std::byte> second) noexcept {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, first.data(), first.size());
  XXH3_128bits_update(&state, second.data(), second.size());
  return digest_of(state);
}

Checksum128 checksum128(const std::function<std::span<const std::byte>()>& next) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (auto part = next(); !part.empty(); part = next()) XXH3_128bits_update(&state, part.data(), part.size());
  return digest_of(state);
}

}  // namespace unweave
