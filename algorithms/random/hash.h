// algorithms/random/hash.h - BLAKE2b-256 of text, and the hexadecimal digits that files hold of it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace unweave {

class RandomSource;

using Hash = std::array<std::byte, 32>;

/// BLAKE2b-256 of a text, keyed by the bytes of `key` where there are any (at most 64).
[[nodiscard]] Hash hash_of(std::string_view text, std::span<const std::byte> key = {}) noexcept;

/// The hash that exactly 64 lower-case hexadecimal digits give; nothing for any other text.
[[nodiscard]] std::optional<Hash> hash_from_hex(std::string_view text) noexcept;

/// 32 random bytes.
[[nodiscard]] Hash draw_hash(RandomSource& random);

/// The bytes as text, to be hashed with others.
[[nodiscard]] std::string_view text_of(const Hash& hash) noexcept;

}  // namespace unweave
