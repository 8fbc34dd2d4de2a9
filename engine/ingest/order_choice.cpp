// engine/ingest/order_choice.cpp - computes every order and encodes a sample of the lists under
// each.
#include "engine/ingest/order_choice.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <iomanip>
#include <mutex>
#include <numeric>
#include <sstream>
#include <utility>

#include "engine/ingest/graph_order.h"
#include "engine/resources/parallel.h"
#include "storage/formats/shard.h"

namespace unweave {
namespace {

constexpr std::uint64_t kStratumBlocks = 128;  // in the sample, at least, of those with about as many arcs
constexpr std::size_t kStrata = 65;
constexpr std::size_t kNodesAPart = std::size_t{1} << 16;

/// Blocks whose arcs have as many binary digits, of which every one of `stride` is in the sample.
struct Stratum {
  std::uint64_t blocks = 0, stride = 1;
  std::uint64_t arcs = 0;                      // all its blocks have so many
  std::uint64_t seen_arcs = 0, seen_bits = 0;  // found in the sample
};

/// The blocks that a store would have.
struct Blocks {
  std::vector<std::uint64_t> arcs;
  std::array<Stratum, kStrata> strata;

  [[nodiscard]] Stratum& stratum(std::uint64_t block) {
    return strata[static_cast<std::size_t>(std::bit_width(arcs[block]))];
  }
};

struct PlacedNode {
  NodeId position;
  NodeId node;
};

void encode_sample(const Graph& graph, std::span<const NodeId> positions, std::span<const PlacedNode> nodes,
                   Blocks& blocks) {
  std::vector<std::uint32_t> counts;
  std::vector<std::pair<NodeId, std::uint32_t>> moved;
  NeighbourList list, lists;
  EncodedLists encoded;
  for (std::size_t i = 0; i < nodes.size();) {
    const std::uint64_t block = nodes[i].position / kBlockNodes;
    counts.clear();
    lists.clear();
    for (; i < nodes.size() && nodes[i].position / kBlockNodes == block; ++i) {
      graph.neighbours(nodes[i].node, list);
      if (!positions.empty()) {
        moved.clear();
        for (std::size_t at = 0; at < list.ids.size(); ++at)
          moved.emplace_back(positions[list.ids[at]], list.weights.empty() ? 1 : list.weights[at]);
        std::sort(moved.begin(), moved.end());
        for (std::size_t at = 0; at < moved.size(); ++at) {
          list.ids[at] = moved[at].first;
          if (!list.weights.empty()) list.weights[at] = moved[at].second;
        }
      }
      counts.push_back(static_cast<std::uint32_t>(list.ids.size()));
      lists.ids.insert(lists.ids.end(), list.ids.begin(), list.ids.end());
      lists.weights.insert(lists.weights.end(), list.weights.begin(), list.weights.end());
    }
    encode_lists({counts, lists.ids, lists.weights}, graph.list_form(), encoded);
    Stratum& stratum = blocks.stratum(block);
    stratum.seen_arcs += lists.ids.size();
    stratum.seen_bits += 8 * encoded.bytes.size();
  }
}

}  // namespace

double sampled_bits_per_arc(const Graph& graph, std::span<const NodeId> positions, MemoryBudget& budget) {
  constexpr std::uint64_t kMostSampled = 2 * kStratumBlocks * kStrata * kBlockNodes;
  const Reservation memory = budget.reserve(
      graph.num_blocks() * (sizeof(std::uint64_t) + 1) +
          std::min<std::uint64_t>(graph.num_nodes(), kMostSampled) * sizeof(PlacedNode) + 4 * graph.max_decoded_bytes(),
      "sample of lists");
  const auto position = [&](NodeId node) { return positions.empty() ? node : positions[node]; };
  Blocks blocks;
  blocks.arcs.resize(graph.num_blocks());
  parallel_ranges(0, graph.num_nodes(), kNodesAPart, [&](std::size_t first, std::size_t last) {
    for (auto node = static_cast<NodeId>(first); node < last; ++node)  // the self loop is in no list
      std::atomic_ref(blocks.arcs[position(node) / kBlockNodes])
          .fetch_add(graph.list_length(node), std::memory_order_relaxed);
  });
  for (std::size_t block = 0; block < blocks.arcs.size(); ++block) {
    ++blocks.stratum(block).blocks;
    blocks.stratum(block).arcs += blocks.arcs[block];
  }
  for (Stratum& stratum : blocks.strata) stratum.stride = std::max<std::uint64_t>(1, stratum.blocks / kStratumBlocks);
  std::vector<bool> taken(blocks.arcs.size());
  std::array<std::uint64_t, kStrata> passed{};
  for (std::size_t block = 0; block < taken.size(); ++block) {
    const auto digits = static_cast<std::size_t>(std::bit_width(blocks.arcs[block]));
    taken[block] = digits > 0 && passed[digits]++ % blocks.strata[digits].stride == 0;
  }
  std::vector<PlacedNode> sample;
  std::mutex mutex;
  parallel_ranges(0, graph.num_nodes(), kNodesAPart, [&](std::size_t first, std::size_t last) {
    std::vector<PlacedNode> part;
    for (auto node = static_cast<NodeId>(first); node < last; ++node)
      if (taken[position(node) / kBlockNodes]) part.push_back({position(node), node});
    const std::scoped_lock lock(mutex);
    sample.insert(sample.end(), part.begin(), part.end());
  });
  std::sort(sample.begin(), sample.end(),
            [](const PlacedNode& a, const PlacedNode& b) { return a.position < b.position; });
  encode_sample(graph, positions, sample, blocks);
  double bits = 0;
  for (const Stratum& stratum : blocks.strata)
    if (stratum.seen_arcs > 0)
      bits += static_cast<double>(stratum.arcs) * static_cast<double>(stratum.seen_bits) /
              static_cast<double>(stratum.seen_arcs);
  return bits / static_cast<double>(std::max<std::uint64_t>(1, graph.num_ids()));
}

std::vector<NodeId> choose_order(const Graph& graph, MemoryBudget& budget, WorkMeter& meter, std::string* why) {
  std::vector<NodeId> best;
  std::string taken = "none";
  double least = sampled_bits_per_arc(graph, {}, budget);
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << "none " << least;
  // The caller has charged one list of positions. The order that holds most comes first, while
  // there is no other one.
  Reservation kept;
  for (const char* const name : {"community", "bfs", "degree"}) {
    if (!best.empty() && kept.bytes() == 0)
      kept = budget.reserve(std::uint64_t{graph.num_nodes()} * sizeof(NodeId), "positions of nodes");
    std::vector<NodeId> positions = compute_order(name, graph, budget, meter, nullptr);
    const double bits = sampled_bits_per_arc(graph, positions, budget);
    text << ", " << name << ' ' << bits;
    if (bits >= least) continue;
    best = std::move(positions);
    least = bits;
    taken = name;
  }
  if (best.empty()) {
    best.resize(graph.num_nodes());
    std::iota(best.begin(), best.end(), NodeId{0});
  }
  if (why != nullptr)
    *why = "the order auto is " + taken + " here, which takes the fewest bits an arc in a sample of the lists (" +
           text.str() + ")";
  return best;
}

}  // namespace unweave
