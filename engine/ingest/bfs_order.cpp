// engine/ingest/bfs_order.cpp - searches the graph level by level on all threads and orders each
// level.
#include "engine/ingest/bfs_order.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "engine/ingest/node_ranking.h"
#include "engine/resources/parallel.h"

namespace unweave {
namespace {

constexpr std::size_t kFewNodes = 256;  // a level that is not worth the start of threads
constexpr std::size_t kNodesATask = 512;

class Search {
 public:
  Search(const Graph& graph, WorkMeter& meter)
      : graph_(graph), meter_(meter), positions_(graph.num_nodes(), kNoNode), parents_(graph.num_nodes(), kNoNode) {}

  std::vector<NodeId> run() {
    for (const NodeId root : nodes_by_degree(graph_)) {
      if (positions_[root] != kNoNode) continue;
      std::vector<NodeId> level{root};
      while (!level.empty()) {
        place(level);
        level = reached_from(std::move(level));
      }
    }
    return std::move(positions_);
  }

 private:
  void place(const std::vector<NodeId>& level) {
    for (const NodeId node : level) positions_[node] = next_++;
    meter_.advance(level.size());
  }

  /// The next level, in order.
  std::vector<NodeId> reached_from(std::vector<NodeId> level) {
    std::sort(level.begin(), level.end());
    std::vector<NodeId> found;
    if (level.size() <= kFewNodes) {
      search(level, found);
    } else {
      std::mutex mutex;
      parallel_ranges(0, level.size(), kNodesATask, [&](std::size_t first, std::size_t last) {
        std::vector<NodeId> part;
        search(std::span(level).subspan(first, last - first), part);
        const std::scoped_lock lock(mutex);
        found.insert(found.end(), part.begin(), part.end());
      });
    }
    const auto before = [&](NodeId a, NodeId b) {
      if (parents_[a] != parents_[b]) return parents_[a] < parents_[b];
      const std::uint32_t of_a = graph_.degree(a), of_b = graph_.degree(b);
      return of_a != of_b ? of_a > of_b : a < b;
    };
    if (found.size() <= kFewNodes)
      std::sort(found.begin(), found.end(), before);
    else
      parallel_sort(found.begin(), found.end(), before);
    return found;
  }

  /// Nodes that some of `level`, which is sorted, are the first to see, each once; parents become
  /// the smallest position that sees them.
  void search(std::span<const NodeId> level, std::vector<NodeId>& found) {
    if (level.size() < 8) {
      std::vector<NodeId> list;
      for (const NodeId node : level) {
        graph_.neighbours(node, list);
        see(node, list, found);
      }
      return;
    }
    Graph::BlockBuffer buffer;
    DecodedBlock block;
    std::vector<std::span<const NodeId>> lists;  // those of the nodes of the level in a block
    for (std::size_t i = 0; i < level.size();) {
      graph_.decode(level[i] / kBlockNodes, buffer, block);
      lists.clear();
      const NodeId* targets = block.targets;
      for (std::uint32_t k = 0; k < block.nodes && i + lists.size() < level.size(); targets += block.counts[k++]) {
        if (level[i + lists.size()] != block.first + k) continue;
        lists.emplace_back(targets, block.counts[k]);
        // Positions lie anywhere: they are all asked for before the first is looked at.
        for (const NodeId other : lists.back()) __builtin_prefetch(&positions_[other]);
      }
      for (const std::span<const NodeId> list : lists) see(level[i++], list, found);
    }
  }

  void see(NodeId node, std::span<const NodeId> neighbours, std::vector<NodeId>& found) {
    const NodeId own = positions_[node];
    for (const NodeId other : neighbours) {
      if (positions_[other] != kNoNode) continue;
      std::atomic_ref<NodeId> parent(parents_[other]);
      NodeId held = parent.load(std::memory_order_relaxed);
      while (own < held && !parent.compare_exchange_weak(held, own, std::memory_order_relaxed)) {
      }
      if (held == kNoNode) found.push_back(other);
    }
  }

  const Graph& graph_;
  WorkMeter& meter_;
  std::vector<NodeId> positions_;  // kNoNode until placed
  std::vector<NodeId> parents_;    // positions of the first to see them
  NodeId next_ = 0;
};

}  // namespace

std::vector<NodeId> bfs_order(const Graph& graph, MemoryBudget& budget, WorkMeter& meter) {
  const Reservation memory = budget.reserve(std::uint64_t{graph.num_nodes()} * 20, "breadth-first search");
  meter.start("order", graph.num_nodes(), "nodes");
  return Search(graph, meter).run();
}

}  // namespace unweave
