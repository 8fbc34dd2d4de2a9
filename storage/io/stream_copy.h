// storage/io/stream_copy.h - a copy to memory that is not read again soon: it does not displace
// what the caches hold.
#pragma once

#include <cstddef>
#include <span>

namespace unweave {

/// Copies `bytes` to `to`, past the caches where whole vectors lie aligned. Other threads that
/// learn of it by a lock or an atomic see the copy.
void stream_copy(std::byte* to, std::span<const std::byte> bytes) noexcept;

}  // namespace unweave
