// engine/ingest/community_order.cpp - communities by label propagation, their clusters, and nodes
// sorted by both.
#include "engine/ingest/community_order.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "engine/graph/edge_pieces.h"
#include "engine/ingest/node_ranking.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/parallel.h"

namespace unweave {
namespace {

constexpr std::uint32_t kMostMembers = 1024;  // nodes of a community; a few more come where many join one at a time
constexpr unsigned kPasses = 4;               // over the lists
constexpr unsigned kClusterPasses = 8;        // over the sample at most, for each level of clusters
constexpr unsigned kMostLevels = 12;
constexpr std::size_t kSteps = 64;  // in a pass: labels change between two of them
constexpr std::size_t kMostStepBlocks = 4096;
constexpr std::size_t kBlocksATask = 128;
constexpr std::uint32_t kMostCounted = 4096;  // neighbours of one node, evenly from its list
constexpr std::uint64_t kLeastSample = std::uint64_t{1} << 22;
constexpr std::size_t kNodesATurn = std::size_t{1} << 14;

/// A fixed hash that breaks ties; another one in each pass, so that no label is always preferred.
std::uint32_t tie(std::uint32_t label, unsigned pass) noexcept {
  std::uint64_t x = (std::uint64_t{label} | std::uint64_t{pass + 1} << 32) * 0x9E37'79B9'7F4A'7C15U;
  x = (x ^ x >> 32) * 0xD6E8'FEB8'6659'FD93U;
  return static_cast<std::uint32_t>(x >> 32);
}

/// The labels that occur most often in a list, and those that come next.
struct Leaders {
  static constexpr std::uint32_t kMost = 8;  // labels that are equally frequent
  std::array<std::uint32_t, kMost + 1> most, next;
  std::uint32_t num_most = 0, num_next = 0;
};

/// How often labels occur, in a table that fits the nearest cache.
class LabelCounts {
 public:
  /// Labels that are equally frequent come as they are met first. Whether a label is new cannot be
  /// foretold, so that no jump depends on it.
  void count(std::span<const std::uint32_t> labels, Leaders& leaders) {
    const std::size_t slots = std::bit_ceil(std::max(kLeastSlots, 4 * labels.size()));
    if (slots > slots_.size()) {
      slots_.assign(slots, {});
      places_.resize(slots);
    }
    Slot* const table = slots_.data();
    std::uint32_t* const places = places_.data();
    const int shift = 32 - std::countr_zero(slots);
    std::size_t used = 0;
    std::uint32_t most = 0, next = 0;
    for (const std::uint32_t label : labels) {
      std::size_t at = label * 0x9E37'79B1U >> shift;
      while ((table[at].count != 0) & (table[at].label != label)) at = (at + 1) & (slots - 1);
      const std::uint32_t count = table[at].count + 1;
      places[used] = static_cast<std::uint32_t>(at);
      used += count == 1 ? 1 : 0;
      table[at] = {label, count};
      most = std::max(most, count);
    }
    const auto note = [](std::uint32_t label, bool leads, std::array<std::uint32_t, Leaders::kMost + 1>& to,
                         std::uint32_t& found) {
      to[found] = label;
      found += leads && found < Leaders::kMost ? 1 : 0;
    };
    leaders.num_most = leaders.num_next = 0;
    for (std::size_t i = 0; i < used; ++i) {
      const Slot& slot = table[places[i]];
      note(slot.label, slot.count == most, leaders.most, leaders.num_most);
      next = std::max(next, slot.count == most ? 0 : slot.count);
    }
    for (std::size_t i = 0; i < used; ++i) {
      Slot& slot = table[places[i]];
      note(slot.label, slot.count == next, leaders.next, leaders.num_next);
      slot.count = 0;
    }
  }

 private:
  static constexpr std::size_t kLeastSlots = 512;
  struct Slot {
    std::uint32_t label = kNoNode;
    std::uint32_t count = 0;
  };
  std::vector<Slot> slots_;            // counts of 0 between two lists
  std::vector<std::uint32_t> places_;  // where in slots_ the labels are, as they came
};

/// Label propagation over the lists.
class Communities {
 public:
  Communities(const Graph& graph, std::uint32_t* labels, std::uint32_t* sizes, WorkMeter& meter)
      : graph_(graph), labels_(labels), sizes_(sizes), meter_(meter) {
    parallel_ranges(0, graph.num_nodes(), kNodesATurn, [&](std::size_t first, std::size_t last) {
      for (std::size_t node = first; node < last; ++node) {
        labels_[node] = static_cast<std::uint32_t>(node);
        sizes_[node] = 1;
      }
    });
  }

  /// Memory of one thread: the lists of two blocks, the neighbours that are taken from them, and
  /// the labels of one.
  [[nodiscard]] static std::uint64_t thread_bytes(const Graph& graph) {
    const std::uint64_t taken = std::uint64_t{kBlockNodes} * kMostCounted * sizeof(NodeId) * 5 / 4;
    return 2 * graph.max_decoded_bytes() + 3 * std::min(graph.max_decoded_bytes(), taken);
  }

  [[nodiscard]] static std::size_t step_blocks(std::size_t blocks) noexcept {
    return std::clamp<std::size_t>(blocks / kSteps, 1, kMostStepBlocks);
  }

  void run() {
    const std::size_t blocks = graph_.num_blocks();
    const std::size_t step = step_blocks(blocks);
    next_.resize(step * kBlockNodes);
    for (unsigned pass = 0; pass < kPasses; ++pass)
      for (std::size_t first = 0; first < blocks; first += step) advance(pass, first, std::min(blocks, first + step));
  }

 private:
  /// The nodes of some blocks choose by the labels as they are, and then all of them change theirs:
  /// so the choices do not depend on the threads.
  void advance(unsigned pass, std::size_t first_block, std::size_t last_block) {
    const auto first = static_cast<NodeId>(first_block * kBlockNodes);
    const auto last = static_cast<NodeId>(std::min<std::size_t>(graph_.num_nodes(), last_block * kBlockNodes));
    parallel_ranges(first_block, last_block, kBlocksATask, [&](std::size_t begin, std::size_t end) {
      std::array<Neighbours, 2> lists;
      std::vector<std::uint32_t> values;
      LabelCounts counts;
      ask(pass, first, begin, lists[begin % 2]);
      for (; begin < end; ++begin) {
        if (begin + 1 < end) ask(pass, first, begin + 1, lists[(begin + 1) % 2]);
        choose(pass, first, lists[begin % 2], values, counts);
      }
    });
    parallel_ranges(first, last, kNodesATurn, [&](std::size_t begin, std::size_t end) {
      for (std::size_t node = begin; node < end; ++node) {
        const std::uint32_t label = next_[node - first];
        if (label == labels_[node]) continue;
        std::atomic_ref(sizes_[labels_[node]]).fetch_sub(1, std::memory_order_relaxed);
        std::atomic_ref(sizes_[label]).fetch_add(1, std::memory_order_relaxed);
        labels_[node] = label;
      }
    });
    meter_.advance(last - first);
  }

  /// The neighbours that the nodes of a block look at.
  struct Neighbours {
    NodeId first = 0;
    std::uint32_t nodes = 0;
    std::array<std::uint32_t, kBlockNodes> counts;
    std::vector<NodeId> targets;
    std::uint32_t all = 0;
    Graph::BlockBuffer buffer;
  };

  /// Finds the neighbours and fetches their labels, which lie anywhere, while those of another
  /// block are counted. In the first pass the nodes from `first` on have labels of their own still,
  /// which say nothing.
  void ask(unsigned pass, NodeId first, std::size_t number, Neighbours& lists) const {
    DecodedBlock block;
    read_ahead_of(graph_, number);
    graph_.decode(number, lists.buffer, block);
    const std::size_t most =
        std::accumulate(block.counts, block.counts + block.nodes, std::size_t{0},
                        [](std::size_t sum, std::uint32_t count) { return sum + std::min(count, kMostCounted); });
    if (most > lists.targets.size()) lists.targets.resize(most * 5 / 4);
    lists.first = block.first;
    lists.nodes = block.nodes;
    NodeId* to = lists.targets.data();
    const auto take = [&](NodeId node) {
      *to++ = node;
      __builtin_prefetch(labels_ + node);
    };
    const NodeId* target = block.targets;
    for (std::uint32_t i = 0; i < block.nodes; target += block.counts[i++]) {
      std::span<const NodeId> list(target, block.counts[i]);
      if (pass == 0)
        list = list.first(static_cast<std::size_t>(std::lower_bound(list.begin(), list.end(), first) - list.begin()));
      lists.counts[i] = static_cast<std::uint32_t>(std::min<std::size_t>(list.size(), kMostCounted));
      if (lists.counts[i] == list.size())
        for (const NodeId node : list) take(node);
      else
        for (std::uint64_t k = 0; k < kMostCounted; ++k) take(list[k * list.size() / kMostCounted]);
    }
    lists.all = static_cast<std::uint32_t>(to - lists.targets.data());
  }

  void choose(unsigned pass, NodeId first, const Neighbours& lists, std::vector<std::uint32_t>& values,
              LabelCounts& counts) {
    if (lists.all > values.size()) values.resize(std::size_t{lists.all} * 5 / 4);
    for (std::size_t i = 0; i < lists.all; ++i) values[i] = labels_[lists.targets[i]];
    std::array<Leaders, kBlockNodes> leaders;
    const std::uint32_t* value = values.data();
    for (std::uint32_t i = 0; i < lists.nodes; value += lists.counts[i++]) {
      counts.count({value, lists.counts[i]}, leaders[i]);
      for (std::uint32_t k = 0; k < leaders[i].num_most; ++k) __builtin_prefetch(sizes_ + leaders[i].most[k]);
    }
    for (std::uint32_t i = 0; i < lists.nodes; ++i) {
      const NodeId node = lists.first + i;
      const std::uint32_t own = labels_[node];
      std::uint32_t best = best_of({leaders[i].most.data(), leaders[i].num_most}, own, pass);
      if (best == kNoNode) best = best_of({leaders[i].next.data(), leaders[i].num_next}, own, pass);
      next_[node - first] = best == kNoNode ? own : best;
    }
  }

  /// The label whose community is the smallest besides the node itself, and then the one of the
  /// largest hash; kNoNode where no community has room.
  [[nodiscard]] std::uint32_t best_of(std::span<const std::uint32_t> labels, std::uint32_t own, unsigned pass) const {
    std::uint32_t found = kNoNode, least = kMostMembers, hash = 0;
    for (const std::uint32_t label : labels) {
      const std::uint32_t members = sizes_[label] - (label == own ? 1 : 0);
      if (members > least || members == kMostMembers) continue;
      const std::uint32_t own_hash = tie(label, pass);
      if (members == least && own_hash < hash) continue;
      found = label;
      least = members;
      hash = own_hash;
    }
    return found;
  }

  const Graph& graph_;
  std::uint32_t* labels_;
  std::uint32_t* sizes_;  // nodes that have a label
  WorkMeter& meter_;
  std::vector<std::uint32_t> next_;  // labels of the nodes of a step
};

/// How many nodes a community has on average at least, or there are too many for all of them to be
/// arranged. They are small where nodes have few neighbours.
std::uint32_t least_average(std::uint64_t nodes, std::uint64_t arcs) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(arcs / std::max<std::uint64_t>(1, nodes) / 4, 2, 8));
}

/// Blocks whose arcs are looked at for the edges between communities: every one of `stride`.
struct ArcSample {
  std::size_t stride = 1;
  std::uint64_t arcs = 0;

  [[nodiscard]] static std::uint64_t wanted(std::uint64_t nodes) noexcept { return std::max(kLeastSample, nodes); }

  explicit ArcSample(const Graph& graph) {
    const std::uint64_t most = wanted(graph.num_nodes());
    stride = std::max<std::size_t>(1, static_cast<std::size_t>((graph.num_ids() + most - 1) / most));
    for (std::size_t block = 0; block < graph.num_blocks(); block += stride) arcs += block_arcs(graph, block);
  }

  /// Calls use(a, b) on any thread for the clusters of both ends of each arc that joins two of them
  /// below `clusters`.
  template <class Use>
  void for_arcs(const Graph& graph, const std::uint32_t* cluster_of, std::uint32_t clusters, const Use& use) const {
    const std::size_t blocks = (graph.num_blocks() + stride - 1) / stride;
    parallel_ranges(0, blocks, kBlocksATask, [&](std::size_t first, std::size_t last) {
      Graph::BlockBuffer buffer;
      DecodedBlock block;
      for (; first < last; ++first) {
        graph.decode(first * stride, buffer, block);
        const NodeId* target = block.targets;
        const std::size_t ends = std::accumulate(block.counts, block.counts + block.nodes, std::size_t{0});
        for (std::size_t i = 0; i < ends; ++i) __builtin_prefetch(cluster_of + target[i]);
        for (std::uint32_t i = 0; i < block.nodes; target += block.counts[i++]) {
          const std::uint32_t one = cluster_of[block.first + i];
          if (one >= clusters) continue;
          for (const NodeId node : std::span(target, block.counts[i]))
            if (const std::uint32_t other = cluster_of[node]; other != one && other < clusters) use(one, other);
        }
      }
    });
  }
};

/// Clusters of communities, clusters of these, and so on, each by the method of Blondel et al. on
/// the sample.
class Hierarchy {
 public:
  /// `cluster_of` has the community of each node; those from `communities` on are left out.
  Hierarchy(const Graph& graph, const ArcSample& sample, const std::uint32_t* cluster_of, std::uint32_t communities)
      : offsets_(std::size_t{communities} + 1), order_(communities), volumes_(communities) {
    const auto add = [&](std::uint32_t cluster, std::uint64_t more) {
      return std::atomic_ref(offsets_[cluster]).fetch_add(more, std::memory_order_relaxed);
    };
    sample.for_arcs(graph, cluster_of, communities, [&](std::uint32_t a, std::uint32_t b) {
      add(a, 1);
      add(b, 1);
    });
    std::exclusive_scan(offsets_.begin(), offsets_.end(), offsets_.begin(), std::uint64_t{0});
    ends_.resize(offsets_.back());
    // In which order the ends of a cluster come depends on the threads; they are only ever counted.
    sample.for_arcs(graph, cluster_of, communities, [&](std::uint32_t a, std::uint32_t b) {
      ends_[add(a, 1)] = b;
      ends_[add(b, 1)] = a;
    });
    for (std::size_t i = communities; i > 0; --i) offsets_[i] = offsets_[i - 1];
    offsets_[0] = 0;
    for (std::uint32_t i = 0; i < communities; ++i) volumes_[i] = offsets_[i + 1] - offsets_[i];
    std::iota(order_.begin(), order_.end(), 0U);
    starts_.resize(order_.size() + 1);
    std::iota(starts_.begin(), starts_.end(), 0U);
  }

  /// The place of each community.
  std::vector<std::uint32_t> run() {
    for (unsigned level = 0; level < kMostLevels; ++level) {
      cluster();
      if (!join()) break;
    }
    std::vector<std::uint32_t> places(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) places[order_[i]] = static_cast<std::uint32_t>(i);
    return places;
  }

 private:
  [[nodiscard]] std::uint32_t groups() const noexcept { return static_cast<std::uint32_t>(starts_.size() - 1); }

  /// Each group in turn takes the label that raises the modularity most, on one thread.
  void cluster() {
    labels_.resize(groups());
    std::iota(labels_.begin(), labels_.end(), 0U);
    sums_ = volumes_;
    scores_.assign(groups(), 0);
    for (unsigned pass = 0; pass < kClusterPasses; ++pass) {
      std::uint32_t moved = 0;
      for (std::uint32_t group = 0; group < groups(); ++group) moved += move(group, pass) ? 1 : 0;
      if (moved <= groups() / 128) break;
    }
  }

  bool move(std::uint32_t group, unsigned pass) {
    seen_.clear();
    for (std::size_t i = starts_[group]; i < starts_[group + 1]; ++i)
      for (std::uint64_t at = offsets_[order_[i]]; at < offsets_[order_[i] + 1]; ++at) {
        if (ends_[at] == group) continue;
        const std::uint32_t label = labels_[ends_[at]];
        if (scores_[label]++ == 0) seen_.push_back(label);
      }
    const std::uint32_t own = labels_[group];
    const double share =
        static_cast<double>(volumes_[group]) / static_cast<double>(std::max<std::size_t>(1, ends_.size()));
    sums_[own] -= volumes_[group];
    const auto gain = [&](std::uint32_t label) { return scores_[label] - share * static_cast<double>(sums_[label]); };
    std::uint32_t best = own, hash = 0;
    double most = gain(own);
    for (const std::uint32_t label : seen_) {
      const double found = gain(label);
      if (label == own || found < most) continue;
      const std::uint32_t own_hash = tie(label, pass);
      if (found == most && (best == own || own_hash <= hash)) continue;
      best = label;
      most = found;
      hash = own_hash;
    }
    for (const std::uint32_t label : seen_) scores_[label] = 0;
    sums_[best] += volumes_[group];
    labels_[group] = best;
    return best != own;
  }

  /// Groups of one label become one, in the place of the first of them. False where each label has
  /// one.
  bool join() {
    std::vector<std::uint32_t>& numbers = scores_;  // one for each label
    numbers.assign(groups(), kNoNode);
    std::uint32_t count = 0;
    for (std::uint32_t& label : labels_) {
      if (numbers[label] == kNoNode) numbers[label] = count++;
      label = numbers[label];
    }
    if (count == groups()) return false;
    std::vector<std::uint64_t> volumes(count, 0);
    std::vector<std::uint32_t> starts(std::size_t{count} + 1, 0), order(order_.size());
    for (std::uint32_t group = 0; group < groups(); ++group) {
      volumes[labels_[group]] += volumes_[group];
      starts[labels_[group]] += starts_[group + 1] - starts_[group];
    }
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), 0U);
    for (std::uint32_t group = 0; group < groups(); ++group)
      for (std::size_t i = starts_[group]; i < starts_[group + 1]; ++i) order[starts[labels_[group]]++] = order_[i];
    for (std::size_t i = count; i > 0; --i) starts[i] = starts[i - 1];
    starts[0] = 0;
    parallel_ranges(0, ends_.size(), kNodesATurn, [&](std::size_t first, std::size_t last) {
      for (std::size_t at = first; at < last; ++at) ends_[at] = labels_[ends_[at]];
    });
    order_ = std::move(order);
    starts_ = std::move(starts);
    volumes_ = std::move(volumes);
    return true;
  }

  std::vector<std::uint64_t> offsets_;  // where in ends_ each community begins
  std::vector<std::uint32_t> ends_;     // groups in which the other ends of arcs lie
  std::vector<std::uint32_t> order_;    // communities, those of a group together
  std::vector<std::uint32_t> starts_;   // where in order_ each group begins
  std::vector<std::uint64_t> volumes_;  // ends of arcs of each group
  std::vector<std::uint64_t> sums_;     // volumes of the groups that have a label
  std::vector<std::uint32_t> labels_, scores_, seen_;
};

/// Numbers the communities in the place of their labels: first those that the hierarchy arranges,
/// which are all of them unless there are too many for its memory; then the larger ones. Returns
/// their sizes and how many are arranged.
std::pair<std::vector<std::uint32_t>, std::uint32_t> number_communities(NodeId nodes, std::uint32_t average,
                                                                        std::uint32_t* labels, std::uint32_t* sizes) {
  const auto count_of = [&](std::uint32_t least) {
    return static_cast<std::uint32_t>(
        std::count_if(sizes, sizes + nodes, [&](std::uint32_t size) { return size >= least; }));
  };
  const std::uint32_t all = count_of(1);
  const std::uint32_t least = all <= nodes / average ? 1 : average;
  const std::uint32_t arranged = count_of(least);
  std::vector<std::uint32_t> found(all);
  std::uint32_t large = 0, small = arranged;
  for (NodeId label = 0; label < nodes; ++label) {
    if (sizes[label] == 0) continue;
    std::uint32_t& number = sizes[label] >= least ? large : small;
    found[number] = sizes[label];
    sizes[label] = number++;
  }
  parallel_ranges(0, nodes, kNodesATurn, [&](std::size_t first, std::size_t last) {
    for (std::size_t node = first; node < last; ++node) labels[node] = sizes[labels[node]];
  });
  return {std::move(found), arranged};
}

/// Nodes by the place of their community, then by degree, then by id.
std::vector<NodeId> positions_by(const Graph& graph, const std::uint32_t* cluster_of,
                                 std::span<const std::uint32_t> sizes, std::span<const std::uint32_t> places) {
  const auto place = [&](std::uint32_t cluster) { return cluster < places.size() ? places[cluster] : cluster; };
  std::vector<NodeId> starts(sizes.size() + 1, 0);
  for (std::uint32_t cluster = 0; cluster < sizes.size(); ++cluster) starts[place(cluster)] = sizes[cluster];
  std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), NodeId{0});
  std::vector<NodeId> order(graph.num_nodes());
  for (NodeId node = 0; node < graph.num_nodes(); ++node) order[starts[place(cluster_of[node])]++] = node;
  parallel_ranges(0, sizes.size(), kBlocksATask, [&](std::size_t first, std::size_t last) {
    std::vector<std::uint64_t> keys;
    for (; first < last; ++first) {
      const std::span<NodeId> members(order.begin() + (first == 0 ? 0 : starts[first - 1]),
                                      order.begin() + starts[first]);
      keys.clear();
      for (const NodeId node : members) keys.push_back(std::uint64_t{~graph.degree(node)} << 32 | node);
      std::sort(keys.begin(), keys.end());
      std::transform(keys.begin(), keys.end(), members.begin(), [](std::uint64_t key) { return NodeId(key); });
    }
  });
  return positions_of(order);
}

}  // namespace

std::uint64_t community_order_bytes(std::uint64_t nodes, std::uint64_t arcs) noexcept {
  // Two words a node throughout: labels, and sizes. Beside them are the ends of the sampled arcs,
  // and 15 words for each community that is arranged. Later these are the nodes as they are sorted,
  // which are fewer words.
  const std::uint64_t sampled = std::min(arcs, ArcSample::wanted(nodes));
  return sizeof(std::uint32_t) *
         (2 * nodes + std::max(2 * sampled + 15 * (nodes / least_average(nodes, arcs)), 2 * nodes));
}

std::vector<NodeId> community_order(const Graph& graph, MemoryBudget& budget, WorkMeter& meter) {
  const NodeId nodes = graph.num_nodes();
  const ArcSample sample(graph);
  const std::uint64_t table = std::uint64_t{nodes} * sizeof(std::uint32_t);
  // A block that has many arcs may bring more of them than are wanted.
  const std::uint64_t more = sample.arcs - std::min(sample.arcs, ArcSample::wanted(nodes));
  const std::uint64_t step = std::uint64_t{Communities::step_blocks(graph.num_blocks())} * kBlockNodes;
  const Reservation memory = budget.reserve(community_order_bytes(nodes, graph.num_ids()) - 2 * table +
                                                sizeof(std::uint32_t) * (2 * more + step) +
                                                active_threads() * Communities::thread_bytes(graph),
                                            "communities of nodes");
  const HugeBuffer labels(table, budget, "communities of nodes");
  HugeBuffer sizes(table, budget, "communities of nodes");
  labels.commit();
  sizes.commit();
  meter.start("order", std::uint64_t{nodes} * kPasses, "nodes");
  auto* const community = labels.as<std::uint32_t>();
  Communities(graph, community, sizes.as<std::uint32_t>(), meter).run();
  const auto [found, arranged] =
      number_communities(nodes, least_average(nodes, graph.num_ids()), community, sizes.as<std::uint32_t>());
  sizes = {};
  const std::vector<std::uint32_t> places = Hierarchy(graph, sample, community, arranged).run();
  return positions_by(graph, community, found, places);
}

}  // namespace unweave
