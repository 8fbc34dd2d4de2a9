// algorithms/verification/verify_pairs.cpp - edges are where the roles of their pairs put them.
#include <string>

#include "algorithms/verification/verify_checks.h"
#include "engine/graph/edge_pieces.h"
#include "engine/resources/watcher.h"

namespace unweave {
namespace {

/// Every edge of a graph is in the one where it belongs.
void check_roles(const VerifyContext& context, const Graph& graph, bool are_held, FalseStatements& wrong) {
  const Contents& contents = context.contents;
  const NodeOrder& order = contents.order();
  const WatchedStep watched(are_held ? "held edges" : "edges of the graph", graph.num_blocks(), "blocks");
  const auto text = [&](Edge edge) {
    const auto [u, v] = order.led(edge);
    return "the edge of " + order.names().text(order.user(u)) + " and " + order.names().text(order.user(v));
  };
  for_edge_pieces(
      graph, [](const EdgePiece&) {},
      [&](const EdgePiece& piece) {
        for (const Edge& edge : piece.edges)
          if (contents.holds(edge.u, edge.v) != are_held)
            wrong.add(std::uint64_t{edge.u} << 32 | edge.v,
                      text(edge) + " has the role " + role_name(contents.role(edge.u, edge.v)) +
                          (are_held ? ", and is held out of the graph" : ", and is in the graph"));
        watched.advance(piece.last_block - piece.first_block);
      });
}

}  // namespace

void check_pairs(const VerifyContext& context) {
  const Graph* const held = context.contents.held();
  if (held == nullptr) return;
  std::uint64_t arcs = 0;
  check_lists(context, *held, "pairs", arcs);
  FalseStatements wrong;
  check_roles(context, context.contents.graph(), false, wrong);
  check_roles(context, *held, true, wrong);
  wrong.report_to(context.report, "pairs");
}

}  // namespace unweave
