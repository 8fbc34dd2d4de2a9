// algorithms/verification/verify_graph.cpp - the graph is undirected without loops; splits are
// disjoint and labelled.
//
// Symmetry of all arcs takes one pass and no memory: each arc u -> v adds two 64-bit hashes of its
// edge when u < v and subtracts them when u > v, with keys drawn anew for each run. A graph that is
// symmetric gives 0 and 0; one that is not does so with probability 2^-128, 2^-96 where weights up
// to 2^16 differ. Only then a slower pass looks for the arcs to blame.
#include <sodium.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "algorithms/verification/verify_checks.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kBlocksATask = 64;

struct ArcSums {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t arcs = 0;
  std::uint64_t unique = 0;  ///< whatever they weigh

  ArcSums& operator+=(const ArcSums& other) {
    first += other.first;
    second += other.second;
    arcs += other.arcs;
    unique += other.unique;
    return *this;
  }
};

/// Finalizers of SplitMix64 (Steele et al., OOPSLA 2014) and MurmurHash3 (Appleby).
std::uint64_t split_mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}
std::uint64_t murmur_mix(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDU;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53U;
  return x ^ (x >> 33);
}

/// Calls use(u, v, weight) for every arc of some blocks.
template <class Use>
void for_all_arcs(const Graph& graph, std::size_t first, std::size_t last, const Use& use) {
  Graph::BlockBuffer buffer;
  DecodedBlock block;
  graph.read_ahead(first, last);
  for (std::size_t b = first; b < last; ++b) {
    graph.decode(b, buffer, block);
    for_arcs(block, use);
  }
}

std::string arc_text(const NodeOrder& order, NodeId u, NodeId v) {
  return "arc " + order.names().text(order.user(u)) + " -> " + order.names().text(order.user(v));
}

void require_reverse(const Contents& contents, const Graph& graph, NodeId u, NodeId v, std::uint64_t weight,
                     NeighbourList& list, FalseStatements& wrong) {
  graph.neighbours(v, list);
  std::uint64_t reverse = 0;
  for_neighbours(list.view(), [&](NodeId other, std::uint32_t one) { reverse += other == u ? one : 0; });
  if (reverse == 0)
    wrong.add(std::uint64_t{u} << 32 | v, arc_text(contents.order(), u, v) + " has no reverse");
  else if (reverse != weight)
    wrong.add(std::uint64_t{u} << 32 | v, arc_text(contents.order(), u, v) + " has another weight than its reverse");
}

/// Notes too where the manifest tells another number of edges than there are, which weights alone
/// could hide.
bool is_symmetric(const Graph& graph, std::uint64_t& arcs, FalseStatements& wrong) {
  if (sodium_init() < 0) throw ResourceError("libsodium does not start on this machine");
  std::array<std::uint64_t, 2> keys{};
  randombytes_buf(keys.data(), sizeof keys);
  const WatchedStep watched("graph", graph.num_blocks(), "blocks");
  const ArcSums total =
      ordered_sum(graph.num_blocks(), kBlocksATask, ArcSums(), [&](std::size_t first, std::size_t last) {
        ArcSums sums;
        for_all_arcs(graph, first, last, [&](NodeId u, NodeId v, std::uint64_t weight) {
          const std::uint64_t edge = std::uint64_t{std::min(u, v)} << 32 | std::max(u, v);
          const std::uint64_t sign = u < v ? weight : ~weight + 1;
          sums.first += sign * split_mix(split_mix(edge + keys[0]) + keys[1]);
          sums.second += sign * murmur_mix(murmur_mix(edge + keys[1]) + keys[0]);
          sums.arcs += weight;
          ++sums.unique;
        });
        watched.advance(last - first);
        return sums;
      });
  arcs += total.arcs;
  if (total.unique != 2 * graph.num_edges())
    wrong.add(0, "there are " + std::to_string(total.unique) + " arcs, whatever they weigh, where the manifest says " +
                     std::to_string(graph.num_edges()) + " edges");
  return total.first == 0 && total.second == 0;
}

}  // namespace

void check_graph(const VerifyContext& context) {
  check_lists(context, context.contents.graph(), "graph", context.report.arcs);
}

void check_lists(const VerifyContext& context, const Graph& graph, std::string_view check, std::uint64_t& all_arcs) {
  FalseStatements wrong;
  if (!is_symmetric(graph, all_arcs, wrong)) {
    parallel_ranges(0, graph.num_blocks(), kBlocksATask, [&](std::size_t first, std::size_t last) {
      if (wrong.full()) return;
      NeighbourList list;
      for_all_arcs(graph, first, last, [&](NodeId u, NodeId v, std::uint64_t weight) {
        require_reverse(context.contents, graph, u, v, weight, list, wrong);
      });
    });
  } else {
    // Once more without any hash, for some nodes.
    const auto nodes = sample_nodes(context, graph.num_nodes(), [](NodeId) { return true; });
    constexpr std::uint64_t kMostArcs = std::uint64_t{1} << 28;  // in lists that are read for them
    std::atomic<std::uint64_t> arcs = 0;
    parallel_ranges(0, nodes.size(), 1, [&](std::size_t first, std::size_t last) {
      NeighbourList neighbours, list;
      for (std::size_t i = first; i < last; ++i) {
        if (arcs.load(std::memory_order_relaxed) > kMostArcs) return;
        graph.neighbours(nodes[i], neighbours);
        for_neighbours(neighbours.view(), [&](NodeId v, std::uint32_t weight) {
          if (v == nodes[i]) wrong.add(v, arc_text(context.contents.order(), v, v) + " is a loop");
          if (arcs.fetch_add(graph.list_length(v), std::memory_order_relaxed) > kMostArcs) return;
          require_reverse(context.contents, graph, nodes[i], v, weight, list, wrong);
        });
      }
    });
  }
  wrong.report_to(context.report, check);
}

void check_target_lists(const VerifyContext& context) {
  const TargetLists* targets = context.embedding == nullptr ? nullptr : context.embedding->indexes().target_lists();
  if (targets == nullptr) return;
  const Contents& contents = context.contents;
  FalseStatements wrong;
  constexpr std::size_t kNodesATask = kBlocksATask * kBlockNodes;
  const WatchedStep watched("lists of the targets", contents.num_nodes(), "nodes");
  parallel_ranges(0, contents.num_nodes(), kNodesATask, [&](std::size_t first, std::size_t last) {
    NeighbourList wanted;
    auto next = static_cast<NodeId>(first);
    const auto require_none = [&](NodeId end) {
      for (; next < end; ++next)
        if (contents.label(next) != kNoLabel) wrong.add(next, contents.order().text(next) + " has a label and no list");
    };
    targets->for_each({next, static_cast<NodeId>(last)}, [&](NodeId node, const ListView& list) {
      require_none(node);
      next = node + 1;
      contents.graph().base_neighbours(node, wanted);
      const bool same = std::equal(list.ids.begin(), list.ids.end(), wanted.ids.begin(), wanted.ids.end()) &&
                        std::equal(wanted.weights.begin(), wanted.weights.end(), list.weights);
      if (!same) wrong.add(node, contents.order().text(node) + ": its list is not that of the shards");
    });
    require_none(static_cast<NodeId>(last));
    watched.advance(last - first);
  });
  wrong.report_to(context.report, "lists of the targets");
}

void check_splits(const VerifyContext& context) {
  struct Split {
    const char* name;
    const std::vector<NodeId>& nodes;
  };
  const Contents& contents = context.contents;
  const Split splits[] = {{"train", contents.train()}, {"valid", contents.valid()}, {"test", contents.test()}};
  FalseStatements wrong;
  for (const Split& split : splits) {
    for (const NodeId node : split.nodes)
      if (contents.label(node) == kNoLabel)
        wrong.add(node, contents.order().text(node) + " is in " + split.name + " and has no label");
    for (const Split& other : splits) {
      if (&other <= &split) continue;
      std::vector<NodeId> both;
      std::set_intersection(split.nodes.begin(), split.nodes.end(), other.nodes.begin(), other.nodes.end(),
                            std::back_inserter(both));
      for (const NodeId node : both)
        wrong.add(node, contents.order().text(node) + " is in " + split.name + " and in " + other.name);
    }
  }
  wrong.report_to(context.report, "splits");
}

}  // namespace unweave
