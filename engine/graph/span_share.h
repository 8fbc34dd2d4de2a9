// engine/graph/span_share.h - the nodes of the spans that a rank of a job has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/ranks/ranks.h"
#include "storage/formats/store_layout.h"
#include "storage/io/types.h"

namespace unweave {

/// The nodes of consecutive spans of a graph with so many nodes.
[[nodiscard]] constexpr NodeRange nodes_of(RankShare spans, NodeId nodes) noexcept {
  const auto first_of = [&](std::size_t span) {
    return static_cast<NodeId>(std::min<std::uint64_t>(nodes, span * std::uint64_t{span_nodes(nodes)}));
  };
  return {first_of(spans.begin), first_of(spans.end)};
}

}  // namespace unweave
