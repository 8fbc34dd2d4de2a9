// algorithms/verification/verify_layers.cpp - copies of a node agree, and edges lead where the
// layers of a store have them lead.
#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/verification/verify_checks.h"
#include "engine/graph/edge_pieces.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"

namespace unweave {
namespace {

constexpr std::size_t kNodesATask = 4096;

/// Labels and features of a node's later copies are those of the first.
void check_copies(const VerifyContext& context, FalseStatements& wrong) {
  const Contents& contents = context.contents;
  const NodeOrder& order = contents.order();
  const std::uint32_t columns = contents.features().columns();
  const WatchedStep watched("copies", order.users(), "nodes");
  parallel_ranges(0, order.users(), kNodesATask, [&](std::size_t begin, std::size_t end) {
    std::vector<float> first(columns), other(columns);
    for (auto user = static_cast<NodeId>(begin); user < end; ++user) {
      const NodeId one = order.position(user);
      if (columns > 0) contents.features().read({one, one + 1}, 0, columns, first.data());
      for (std::uint32_t copy = 1; copy < order.copies(); ++copy) {
        const NodeId node = order.position(user, copy);
        if (contents.label(node) != contents.label(one))
          wrong.add(node, order.text(node) + " has another label in its copy " + std::to_string(copy));
        if (contents.split(node) != SplitName::none)
          wrong.add(node, order.text(node) + " is in a split by its copy " + std::to_string(copy));
        if (columns == 0) continue;
        contents.features().read({node, node + 1}, 0, columns, other.data());
        if (first != other)
          wrong.add(node, order.text(node) + " has other features in its copy " + std::to_string(copy));
      }
    }
    watched.advance(end - begin);
  });
}

/// Every edge joins a first copy, where its arc begins, and a second one.
void check_arcs(const VerifyContext& context, FalseStatements& wrong) {
  const NodeOrder& order = context.contents.order();
  const auto text = [&](NodeId node) { return order.names().text(order.user(node)); };
  for_edge_pieces(
      context.contents.graph(), [](const EdgePiece&) {},
      [&](const EdgePiece& piece) {
        for (const Edge& edge : piece.edges)
          if (order.is_first_copy(edge.u) == order.is_first_copy(edge.v))
            wrong.add(std::uint64_t{edge.u} << 32 | edge.v,
                      "the edge of " + text(edge.u) + " and " + text(edge.v) + " has no direction");
      });
}

}  // namespace

void check_layers(const VerifyContext& context) {
  if (context.contents.order().copies() == 1) return;
  FalseStatements wrong;
  check_copies(context, wrong);
  check_arcs(context, wrong);
  wrong.report_to(context.report, "layers");
}

}  // namespace unweave
