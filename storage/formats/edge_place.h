// storage/formats/edge_place.h - how far the edges of a user's file have been read.
#pragma once

#include <cstdint>

namespace unweave {

/// What readers of edges leave out, as storage/input/edge_weight.h says.
struct LeftOutWeights {
  std::uint64_t ignored = 0;  ///< weights of edges that are taken without them
  std::uint64_t zeros = 0;    ///< weights of 0, which are no edges

  friend bool operator==(const LeftOutWeights&, const LeftOutWeights&) = default;
};

/// A place between two edges of a file. Bytes and lines are those of a text, decompressed; 0 where the format has none.
struct EdgePlace {
  std::uint64_t edges = 0;    ///< read before it
  std::uint64_t bytes = 0;    ///< those of the text before it
  std::uint64_t lines = 0;    ///< those of the text before it
  LeftOutWeights left_out{};  ///< before it

  /// Edges as the file has them, those of weight 0 too.
  [[nodiscard]] std::uint64_t entries() const noexcept { return edges + left_out.zeros; }
  friend bool operator==(const EdgePlace&, const EdgePlace&) = default;
};

}  // namespace unweave
