// storage/io/checksum.h - XXH3 checksums: they find damage, not intent; content digests are
// cryptographic and elsewhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace unweave {

[[nodiscard]] std::uint64_t checksum64(std::span<const std::byte> bytes) noexcept;

/// XXH3-128 in its canonical big-endian form.
using Checksum128 = std::array<std::byte, 16>;
[[nodiscard]] Checksum128 checksum128(std::span<const std::byte> first, std::span<const std::byte> second) noexcept;
/// The checksum of bytes that come in parts, the last of which is empty. Throws what `next` throws.
[[nodiscard]] Checksum128 checksum128(const std::function<std::span<const std::byte>()>& next);

}  // namespace unweave
