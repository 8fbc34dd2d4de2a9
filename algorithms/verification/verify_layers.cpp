// algorithms/verification/verify_layers.cpp - copies of a node agree, and edges lead where the
// layers of a store have them lead.
#include <sodium.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
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

/// What is wrong with an edge of two copies; empty where nothing is.
std::string fault_of(const NodeOrder& order, const Edge& edge) {
  const Layers& layers = order.layers();
  const std::uint32_t from = order.copy(edge.u), to = order.copy(edge.v);
  if (layers.layer_of(from) != layers.layer_of(to))
    return "an edge of " + order.text(edge.u) + " joins copies of two relations";
  if (layers.directed && from == to)
    return "the edge of " + order.names().text(order.user(edge.u)) + " and " + order.names().text(order.user(edge.v)) +
           " has no direction";
  if (!layers.is_given(from)) return {};
  const Edge led = order.led(edge);
  const NodeId u = order.user(led.u), v = order.user(led.v);
  if (layers.may_join(layers.layer_of(from), order.types(), u, v)) return {};
  return "the edge of " + order.names().text(u) + " and " + order.names().text(v) +
         " joins other types than its relation " + layers.relations[layers.layer_of(from)].name;
}

/// Every edge joins the copies of its layer. Edges of a set weigh what its relations have: the sums
/// of hashes of edges, times their weights, are equal, and else are so with probability 2^-64.
void check_edges(const VerifyContext& context, FalseStatements& wrong) {
  const NodeOrder& order = context.contents.order();
  const Layers& layers = order.layers();
  std::array<std::uint64_t, 2> keys{};
  if (sodium_init() < 0) throw ResourceError("libsodium does not start on this machine");
  randombytes_buf(keys.data(), sizeof keys);
  std::vector<std::uint64_t> sums(layers.count());
  for_edge_pieces(
      context.contents.graph(), [](const EdgePiece&) {},
      [&](const EdgePiece& piece) {
        for (std::size_t i = 0; i < piece.edges.size(); ++i) {
          const Edge& edge = piece.edges[i];
          if (std::string fault = fault_of(order, edge); !fault.empty()) {
            wrong.add(std::uint64_t{edge.u} << 32 | edge.v, std::move(fault));
            continue;
          }
          NodeId u = order.user(edge.u), v = order.user(edge.v);
          if (layers.directed ? layers.has_ends(order.copy(edge.u)) : u > v) std::swap(u, v);
          const std::uint64_t hash = random_bits(keys[0], random_bits(keys[1], std::uint64_t{u} << 32 | v));
          sums[layers.layer_of(order.copy(edge.u))] += hash * (piece.weights.empty() ? 1 : piece.weights[i]);
        }
      });
  if (const Graph* const held = context.contents.held(); held != nullptr)
    for_edge_pieces(
        *held, [](const EdgePiece&) {},
        [&](const EdgePiece& piece) {
          for (const Edge& edge : piece.edges)
            if (std::string fault = fault_of(order, edge); !fault.empty())
              wrong.add(std::uint64_t{edge.u} << 32 | edge.v, std::move(fault));
        });
  for (std::size_t i = 0; i < layers.subsets.size(); ++i) {
    std::uint64_t of_relations = 0;
    std::string names;
    for (const std::uint32_t relation : layers.subsets[i]) {
      of_relations += sums[relation];
      names += (names.empty() ? "" : ",") + layers.relations[relation].name;
    }
    if (sums[layers.relations.size() + i] != of_relations)
      wrong.add(i, "the edges of the set " + names + " are not those of its relations");
  }
}

}  // namespace

void check_layers(const VerifyContext& context) {
  if (!context.contents.order().layers().any()) return;
  FalseStatements wrong;
  check_copies(context, wrong);
  check_edges(context, wrong);
  wrong.report_to(context.report, "layers");
}

}  // namespace unweave
