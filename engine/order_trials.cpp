#include "engine/order_trials.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "engine/parallel.h"

namespace unweave {
namespace {

double setting(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atof(text) : otherwise;
}

constexpr std::size_t kNodesATask = std::size_t{1} << 14;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

std::vector<NodeId> inverse(const std::vector<NodeId>& order) {
  std::vector<NodeId> positions(order.size());
  parallel_ranges(0, order.size(), kNodesATask, [&](std::size_t first, std::size_t last) {
    for (std::size_t at = first; at < last; ++at) positions[order[at]] = static_cast<NodeId>(at);
  });
  return positions;
}

/// Level-synchronous; children by (parent's position, degree ascending or descending or none, id).
std::vector<NodeId> trial_bfs(const Graph& graph, int by_degree) {
  const NodeId nodes = graph.num_nodes();
  std::vector<NodeId> order;
  order.reserve(nodes);
  std::vector<char> seen(nodes);
  std::vector<NodeId> roots(nodes);
  std::iota(roots.begin(), roots.end(), 0U);
  std::stable_sort(roots.begin(), roots.end(), [&](NodeId a, NodeId b) {
    return by_degree > 0 ? graph.degree(a) < graph.degree(b) : graph.degree(a) > graph.degree(b);
  });
  std::vector<NodeId> list;
  for (const NodeId root : roots) {
    if (seen[root]) continue;
    seen[root] = 1;
    std::size_t at = order.size();
    order.push_back(root);
    for (; at < order.size(); ++at) {
      graph.neighbours(order[at], list);
      const std::size_t begin = order.size();
      for (const NodeId v : list)
        if (!seen[v]) {
          seen[v] = 1;
          order.push_back(v);
        }
      if (by_degree != 0)
        std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(begin), order.end(), [&](NodeId a, NodeId b) {
          return by_degree > 0 ? graph.degree(a) < graph.degree(b) : graph.degree(a) > graph.degree(b);
        });
    }
  }
  return inverse(order);
}

class Labels {
 public:
  explicit Labels(const Graph& graph) : graph_(graph), label_(graph.num_nodes()), volume_(graph.num_nodes(), 1) {
    std::iota(label_.begin(), label_.end(), 0U);
  }
  void restart() {
    std::iota(label_.begin(), label_.end(), 0U);
    std::fill(volume_.begin(), volume_.end(), 1U);
  }

  /// Returns how many nodes changed.
  std::uint64_t round(double gamma, std::uint64_t number, std::uint32_t most, double share) {
    const std::size_t blocks = graph_.num_blocks();
    const auto batches = static_cast<std::size_t>(setting("LLP_BATCHES", 64));
    const std::size_t step = std::max<std::size_t>(1, (blocks + batches - 1) / batches);
    const std::uint64_t limit = share >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(share * 0x1p64);
    std::uint64_t changed = 0;
    std::vector<NodeId> next(step * kBlockNodes);
    for (std::size_t b = 0; b < batches; ++b) {
      // Batches in an order of the round's own.
      const std::size_t which = (b * 37 + number * 11) % batches;
      const std::size_t first = which * step, last = std::min(blocks, first + step);
      if (first >= last) continue;
      const auto first_node = static_cast<NodeId>(first * kBlockNodes);
      parallel_ranges(first, last, 16, [&](std::size_t begin, std::size_t end) {
        Graph::BlockBuffer buffer;
        DecodedBlock block;
        Counter counter;
        for (std::size_t i = begin; i < end; ++i) {
          graph_.decode(i, buffer, block);
          const NodeId* targets = block.targets;
          for (std::uint32_t k = 0; k < block.nodes; targets += block.counts[k++]) {
            const NodeId node = block.first + k;
            next[node - first_node] = label_[node];
            if (block.counts[k] == 0 || mix(mix(node) + number) > limit) continue;
            next[node - first_node] = choose(node, targets, block.counts[k], gamma, number, most, counter);
          }
        }
      });
      const auto last_node = static_cast<NodeId>(std::min<std::size_t>(graph_.num_nodes(), last * kBlockNodes));
      for (NodeId node = first_node; node < last_node; ++node) {
        const NodeId to = next[node - first_node];
        if (to == label_[node]) continue;
        --volume_[label_[node]];
        ++volume_[to];
        label_[node] = to;
        ++changed;
      }
    }
    return changed;
  }
  [[nodiscard]] const std::vector<NodeId>& labels() const { return label_; }

 private:
  struct Counter {
    std::vector<std::pair<NodeId, std::uint32_t>> slots;
    std::vector<std::uint32_t> used;
  };
  NodeId choose(NodeId node, const NodeId* targets, std::uint32_t count, double gamma, std::uint64_t number,
                std::uint32_t most, Counter& counter) const {
    std::size_t size = 4;
    while (size < 2 * std::size_t{count}) size *= 2;
    if (counter.slots.size() < size) counter.slots.resize(size, {kNoNode, 0});
    counter.used.clear();
    const auto add = [&](NodeId label, std::uint32_t amount) {
      std::size_t at = (label * 0x9E3779B1U) & (size - 1);
      while (counter.slots[at].first != label) {
        if (counter.slots[at].first == kNoNode) {
          counter.slots[at] = {label, 0};
          counter.used.push_back(static_cast<std::uint32_t>(at));
          break;
        }
        at = (at + 1) & (size - 1);
      }
      counter.slots[at].second += amount;
    };
    for (std::uint32_t k = 0; k < count; ++k) add(label_[targets[k]], 1);
    const NodeId own = label_[node];
    NodeId best = own;
    double best_value = -1e300;
    std::uint64_t best_tie = 0;
    bool own_seen = false;
    for (const std::uint32_t at : counter.used) {
      const auto [label, found] = counter.slots[at];
      counter.slots[at] = {kNoNode, 0};
      own_seen |= label == own;
      const double others = static_cast<double>(volume_[label]) - (label == own ? 1 : 0);
      if (label != own && others + 1 > most) continue;
      const double value = found - gamma * (others - found);
      const std::uint64_t tie = label == own ? ~std::uint64_t{0} : mix(mix(label) + number) >> 1;
      if (value > best_value || (value == best_value && tie > best_tie)) {
        best = label;
        best_value = value;
        best_tie = tie;
      }
    }
    if (!own_seen) {
      const double value = -gamma * (static_cast<double>(volume_[own]) - 1);
      if (value >= best_value) best = own;
    }
    return best;
  }

  const Graph& graph_;
  std::vector<NodeId> label_;
  std::vector<std::uint32_t> volume_;
};

std::vector<NodeId> label_order(const Graph& graph, std::vector<NodeId> positions, bool warm) {
  const NodeId nodes = graph.num_nodes();
  Labels labels(graph);
  const int first = static_cast<int>(setting("LLP_FIRST", 0)), last = static_cast<int>(setting("LLP_LAST", 10));
  const int rounds = static_cast<int>(setting("LLP_ROUNDS", 6));
  const double share = setting("LLP_SHARE", 0.5);
  const auto most = static_cast<std::uint32_t>(std::min<double>(nodes, setting("LLP_MOST", 4e9)));
  std::uint64_t number = 0;
  for (int step = first; step <= last; ++step) {
    const double gamma = step == 11 ? 0 : std::ldexp(1.0, -step);
    if (!warm) labels.restart();
    for (int r = 0; r < rounds; ++r) {
      const std::uint64_t changed = labels.round(gamma, ++number, most, r == 0 && !warm ? 1.0 : share);
      if (std::getenv("LLP_SHOW")) std::fprintf(stderr, "gamma 2^-%d round %d: %lu changed\n", step, r, changed);
      if (changed < nodes / 1000) break;
    }
    // The place of a cluster is that of its first node so far.
    std::vector<NodeId> place(nodes, kNoNode);
    for (NodeId node = 0; node < nodes; ++node) {
      NodeId& at = place[labels.labels()[node]];
      at = std::min(at, positions[node]);
    }
    std::vector<std::uint64_t> keys(nodes);
    for (NodeId node = 0; node < nodes; ++node)
      keys[positions[node]] = std::uint64_t{place[labels.labels()[node]]} << 32 | positions[node];
    std::vector<NodeId> by_position(nodes);
    for (NodeId node = 0; node < nodes; ++node) by_position[positions[node]] = node;
    parallel_sort(keys.begin(), keys.end(), std::less<>());
    std::vector<NodeId> next(nodes);
    for (NodeId at = 0; at < nodes; ++at) next[by_position[static_cast<NodeId>(keys[at])]] = at;
    positions = std::move(next);
  }
  return positions;
}

std::vector<NodeId> identity(NodeId nodes) {
  std::vector<NodeId> positions(nodes);
  std::iota(positions.begin(), positions.end(), 0U);
  return positions;
}

}  // namespace

std::string trial_names() {
  return "bfsd, rcm, llp, llpw, llpb, llpd, llpbd";
}

bool is_trial(std::string_view name) {
  for (const char* one : {"bfsd", "rcm", "llp", "llpw", "llpb", "llpd", "llpbd"})
    if (name == one) return true;
  return false;
}

std::vector<NodeId> trial_order(std::string_view name, const Graph& graph, MemoryBudget&, WorkMeter&) {
  if (name == "bfsd") return trial_bfs(graph, -1);
  if (name == "rcm") return trial_bfs(graph, 1);
  if (name == "llpbd") return label_order(graph, trial_bfs(graph, -1), true);
  if (name == "llpd") {
    std::vector<NodeId> order(graph.num_nodes());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return graph.degree(a) > graph.degree(b); });
    return label_order(graph, inverse(order), true);
  }
  if (name == "llpb") return label_order(graph, trial_bfs(graph, 0), true);
  return label_order(graph, identity(graph.num_nodes()), name == "llpw");
}

}  // namespace unweave
