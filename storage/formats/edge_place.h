// storage/formats/edge_place.h - how far the edges of a user's file have been read.
#pragma once

#include <cstdint>

namespace unweave {

/// A place between two edges of a file. Bytes and lines are those of a text, decompressed; 0 where the format has none.
struct EdgePlace {
  std::uint64_t edges = 0;            ///< read before it
  std::uint64_t bytes = 0;            ///< those of the text before it
  std::uint64_t lines = 0;            ///< those of the text before it
  std::uint64_t ignored_weights = 0;  ///< dropped before it

  friend bool operator==(const EdgePlace&, const EdgePlace&) = default;
};

}  // namespace unweave
