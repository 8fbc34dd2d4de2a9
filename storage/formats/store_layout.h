// storage/formats/store_layout.h - how node ids are cut into shards and partitions; a function of
// the node count alone, so that equal contents give equal files whatever their history.
#pragma once

#include <string>

#include "storage/io/types.h"

namespace unweave {

inline constexpr NodeId kMinSpanNodes = NodeId{1} << 16;
inline constexpr NodeId kMaxSpans = 1024;

/// Nodes of one shard, partition or feature file: a power of two, at least 65,536, giving at most
/// 1,024 spans.
[[nodiscard]] constexpr NodeId span_nodes(NodeId nodes) noexcept {
  std::uint64_t span = kMinSpanNodes;
  while (span * kMaxSpans < nodes) span *= 2;
  return static_cast<NodeId>(span);
}

[[nodiscard]] constexpr std::size_t num_spans(NodeId nodes) noexcept {
  const std::uint64_t span = span_nodes(nodes);
  return static_cast<std::size_t>((nodes + span - 1) / span);
}

[[nodiscard]] constexpr NodeRange span_range(NodeId nodes, std::size_t index) noexcept {
  const std::uint64_t span = span_nodes(nodes);
  const std::uint64_t first = index * span;
  const std::uint64_t last = first + span < nodes ? first + span : nodes;
  return {static_cast<NodeId>(first), static_cast<NodeId>(last)};
}

/// What the name of a span's file begins with: its first node in ten digits, so that names sort as
/// nodes do.
[[nodiscard]] inline std::string span_stem(NodeId first) {
  const std::string digits = std::to_string(first);
  return std::string(10 - digits.size(), '0') + digits;
}

}  // namespace unweave
