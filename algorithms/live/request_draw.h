// algorithms/live/request_draw.h - requests drawn from what a store holds, as papers on unlearning draw them.
//
// source   Yi and Wei, ScaleGUN, ICLR 2025, appendix: adversarial and vulnerable edges.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/io/types.h"
#include "storage/types/request.h"

namespace unweave {

class LiveStore;

enum class DrawKind {
  kNode,            ///< `node` of nodes of the pool; by default labelled training nodes
  kFeature,         ///< `feature` of the same
  kEdge,            ///< `edge` of edges with an end in the pool; by default all
  kVulnerableEdge,  ///< `edge` of edges between a node of the pool, by default labelled test nodes, that has few
                    ///< neighbours, and a neighbour with its label: nodes in random order, of each its edges
  kAdversarialEdge,  ///< `insert-edge` of pairs that are no edge, a node of the pool, by default all with a label, and any
                     ///< node with another label
};

/// "node", "feature", "edge", "vulnerable-edge" or "adversarial-edge". Throws UsageError for other names.
[[nodiscard]] DrawKind parse_draw(std::string_view name);

struct DrawOptions {
  DrawKind kind = DrawKind::kNode;
  std::uint64_t count = 0;
  std::optional<std::vector<NodeId>> pool;  ///< the user's ids
  std::uint64_t degree_below = 10;          ///< neighbours of a vulnerable node, its self loop not counted
  std::uint64_t seed = 1;
};

/// `count` requests in the user's ids, in random order, none twice, uniformly but for vulnerable edges; a function of the
/// options and of what the store holds in the order of its nodes. Throws UsageError when there are not so many, FormatError.
[[nodiscard]] std::vector<Request> draw_requests(const LiveStore& store, const DrawOptions& options);

}  // namespace unweave
