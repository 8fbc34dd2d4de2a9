// algorithms/verification/verify_whole_graphs.cpp - edges stay inside whole graphs, and whoever is
// in a split of graphs has a label.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/verification/verify_checks.h"
#include "engine/graph/edge_pieces.h"

namespace unweave {
namespace {

std::string whole_graph_text(std::int32_t graph) {
  return graph == kNoGraph ? "no graph" : "graph " + std::to_string(graph);
}

void check_inside(const VerifyContext& context, FalseStatements& wrong) {
  const NodeOrder& order = context.contents.order();
  const WholeGraphs& graphs = context.contents.graphs();
  for_edge_pieces(
      context.contents.graph(), [](const EdgePiece&) {},
      [&](const EdgePiece& piece) {
        for (const Edge& edge : piece.edges)
          if (graphs.of(edge.u) != graphs.of(edge.v))
            wrong.add(std::uint64_t{edge.u} << 32 | edge.v,
                      "the edge of " + order.text(edge.u) + " and " + order.text(edge.v) + " joins " +
                          whole_graph_text(graphs.of(edge.u)) + " and " + whole_graph_text(graphs.of(edge.v)));
      });
}

void check_splits_of_graphs(const WholeGraphs& graphs, FalseStatements& wrong) {
  constexpr std::array kSplits{std::pair(SplitName::train, "train"), std::pair(SplitName::valid, "valid"),
                               std::pair(SplitName::test, "test")};
  for (std::size_t i = 0; i < kSplits.size(); ++i) {
    const std::vector<NodeId>& members = graphs.members(kSplits[i].first);
    for (const NodeId graph : members)
      if (graphs.label(graph) == kNoLabel)
        wrong.add(graph, whole_graph_text(static_cast<std::int32_t>(graph)) + " is in " + kSplits[i].second +
                             " and has no label");
    for (std::size_t j = i + 1; j < kSplits.size(); ++j) {
      const std::vector<NodeId>& others = graphs.members(kSplits[j].first);
      std::vector<NodeId> both;
      std::set_intersection(members.begin(), members.end(), others.begin(), others.end(), std::back_inserter(both));
      for (const NodeId graph : both)
        wrong.add(graph, whole_graph_text(static_cast<std::int32_t>(graph)) + " is in " + kSplits[i].second +
                             " and in " + kSplits[j].second);
    }
  }
}

}  // namespace

void check_whole_graphs(const VerifyContext& context) {
  if (!context.contents.graphs().any()) return;
  FalseStatements wrong;
  check_inside(context, wrong);
  check_splits_of_graphs(context.contents.graphs(), wrong);
  wrong.report_to(context.report, "whole graphs");
}

}  // namespace unweave
