// algorithms/live/hash_lanes.h - BLAKE2b of many messages side by side, each in a lane of the
// machine's vectors.
//
// The hashes are those of libsodium, which takes one message at a time: of messages of some hundred
// bytes, as nodes have, this makes four times as many a second by vectors of 512 bits, and two and
// a half times as many by vectors of 256. RFC 7693 is the description of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "algorithms/live/digest.h"

namespace unweave {

/// Bytes that BLAKE2b takes at a time.
inline constexpr std::size_t kHashBlockBytes = 128;

/// A message in a buffer.
struct HashedMessage {
  std::uint64_t first;  ///< where it begins, in bytes
  std::uint64_t bytes;  ///< at least one
  Digest* hash;         ///< where its hash goes
};

/// Puts the BLAKE2b-256 of every message at its place. Messages are filled with zeros to whole
/// blocks of `buffer`. As many lanes work as there are messages left, so that one much longer than
/// the others is better hashed alone.
void hash_side_by_side(std::span<const std::byte> buffer, std::span<const HashedMessage> messages);

}  // namespace unweave
