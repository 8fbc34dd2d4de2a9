// algorithms/verification/verify_layers.cpp - copies of a node agree, and edges lead where the
// layers of a store have them lead.
#include <sodium.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "algorithms/random/counter_random.h"
#include "algorithms/verification/verify_checks.h"
#include "engine/graph/edge_pieces.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

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

/// Every edge joins equal copies. Edges of a set weigh what its relations have: the sums of hashes
/// of edges, times their weights, are equal, and else are so with probability 2^-64.
void check_relations(const VerifyContext& context, FalseStatements& wrong) {
  const NodeOrder& order = context.contents.order();
  const Layers& layers = order.layers();
  std::array<std::uint64_t, 2> keys{};
  if (sodium_init() < 0) throw ResourceError("libsodium does not start on this machine");
  randombytes_buf(keys.data(), sizeof keys);
  std::vector<std::uint64_t> sums(order.copies());
  for_edge_pieces(
      context.contents.graph(), [](const EdgePiece&) {},
      [&](const EdgePiece& piece) {
        for (std::size_t i = 0; i < piece.edges.size(); ++i) {
          const Edge& edge = piece.edges[i];
          const std::uint32_t copy = order.copy(edge.u);
          if (copy != order.copy(edge.v)) {
            wrong.add(std::uint64_t{edge.u} << 32 | edge.v,
                      "an edge of " + order.text(edge.u) + " joins copies of two relations");
            continue;
          }
          const auto [u, v] = std::minmax<NodeId>({order.user(edge.u), order.user(edge.v)});
          const std::uint64_t hash = random_bits(keys[0], random_bits(keys[1], std::uint64_t{u} << 32 | v));
          sums[copy] += hash * (piece.weights.empty() ? 1 : piece.weights[i]);
        }
      });
  for (std::size_t i = 0; i < layers.subsets.size(); ++i) {
    std::uint64_t of_relations = 0;
    std::string names;
    for (const std::uint32_t relation : layers.subsets[i]) {
      of_relations += sums[relation];
      names += (names.empty() ? "" : ",") + layers.relations[relation];
    }
    if (sums[layers.relations.size() + i] != of_relations)
      wrong.add(i, "the edges of the set " + names + " are not those of its relations");
  }
}

}  // namespace

void check_layers(const VerifyContext& context) {
  if (context.contents.order().copies() == 1) return;
  FalseStatements wrong;
  check_copies(context, wrong);
  (context.contents.order().layers().directed ? check_arcs : check_relations)(context, wrong);
  wrong.report_to(context.report, "layers");
}

}  // namespace unweave
