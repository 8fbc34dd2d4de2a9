// engine/ingest/relation_subsets.cpp - walks the lists of a node in all relations side by side.
#include "engine/ingest/relation_subsets.h"

#include <algorithm>
#include <vector>

namespace unweave {
namespace {

constexpr std::size_t kEdgesAtOnce = std::size_t{1} << 16;

/// The lists of one relation, node after node; a block is decoded once.
class RelationLists {
 public:
  RelationLists(const Graph& graph, NodeId first) : graph_(graph), next_(first) {}

  /// Neighbours of the next node, by numbers of the graph.
  std::span<const NodeId> next() {
    const std::size_t block = next_ / kBlockNodes, place = next_ % kBlockNodes;
    if (!is_decoded_ || place == 0) {
      graph_.decode(block, buffer_, decoded_);
      targets_ = decoded_.targets;
      for (std::size_t i = 0; i < place; ++i) targets_ += decoded_.counts[i];
      is_decoded_ = true;
    }
    const std::span<const NodeId> list(targets_, decoded_.counts[place]);
    targets_ += list.size();
    ++next_;
    return list;
  }

 private:
  const Graph& graph_;
  NodeId next_;
  bool is_decoded_ = false;
  Graph::BlockBuffer buffer_;
  DecodedBlock decoded_;
  const NodeId* targets_ = nullptr;
};

/// Edges on their way to a sorter, many at a time.
class EdgeBatch {
 public:
  explicit EdgeBatch(ArcSorter& sorter) : sorter_(sorter) {}
  void add(NodeId u, NodeId v, std::uint32_t weight) {
    edges_.push_back({u, v});
    weights_.push_back(weight);
    if (edges_.size() == kEdgesAtOnce) flush();
  }
  void flush() {
    sorter_.add(edges_, weights_);
    edges_.clear();
    weights_.clear();
  }

 private:
  ArcSorter& sorter_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> weights_;
};

}  // namespace

void add_with_subsets(const Graph& relations, const Layers& layers, NodeId users, ArcSorter& sorter, WorkMeter& meter) {
  const auto count = static_cast<std::uint32_t>(layers.relations.size());
  std::vector<RelationLists> lists;
  lists.reserve(count);
  for (std::uint32_t r = 0; r < count; ++r) lists.emplace_back(relations, layers.copies_of(r).first * users);
  EdgeBatch batch(sorter);
  std::vector<std::vector<NodeId>> ends(
      count);  ///< where arcs of the node lead, or its later neighbours, by users' ids
  std::vector<NodeId> all;
  for (NodeId user = 0; user < users; ++user) {
    for (std::uint32_t r = 0; r < count; ++r) {
      const auto [from, to] = layers.copies_of(r);
      ends[r].clear();
      for (const NodeId other : lists[r].next())
        if (layers.directed || other - to * users > user) ends[r].push_back(other - to * users);
      for (const NodeId other : ends[r]) batch.add(from * users + user, to * users + other, 1);
    }
    for (std::size_t i = 0; i < layers.subsets.size(); ++i) {
      all.clear();
      for (const std::uint32_t r : layers.subsets[i]) all.insert(all.end(), ends[r].begin(), ends[r].end());
      std::sort(all.begin(), all.end());
      const auto [from, to] = layers.copies_of(count + static_cast<std::uint32_t>(i));
      for (auto at = all.begin(); at != all.end();) {
        const auto end = std::upper_bound(at, all.end(), *at);
        batch.add(from * users + user, to * users + *at, static_cast<std::uint32_t>(end - at));
        at = end;
      }
    }
    if (user % kEdgesAtOnce == kEdgesAtOnce - 1) meter.advance(kEdgesAtOnce);
  }
  batch.flush();
  meter.advance(users % kEdgesAtOnce);
}

}  // namespace unweave
