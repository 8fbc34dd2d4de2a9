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

  /// Neighbours of the next node, by numbers of the graph, each once.
  ListView next() {
    const std::size_t block = next_ / kBlockNodes, place = next_ % kBlockNodes;
    if (!is_decoded_ || place == 0) {
      graph_.decode(block, buffer_, decoded_);
      read_ = 0;
      for (std::size_t i = 0; i < place; ++i) read_ += decoded_.counts[i];
      is_decoded_ = true;
    }
    const std::uint32_t* const weights = decoded_.weights == nullptr ? nullptr : decoded_.weights + read_;
    const ListView list{{decoded_.targets + read_, decoded_.counts[place]}, weights};
    read_ += list.ids.size();
    ++next_;
    return list;
  }

 private:
  const Graph& graph_;
  NodeId next_;
  bool is_decoded_ = false;
  Graph::BlockBuffer buffer_;
  DecodedBlock decoded_;
  std::size_t read_ = 0;  ///< ids of the block
};

/// The other end of an edge, by users' ids, and what the edge weighs.
struct WeighedEnd {
  NodeId user = 0;
  std::uint32_t weight = 0;
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

void add_with_subsets(const Graph& relations, const Layers& layers, NodeId users, ArcSorter& sorter, WorkMeter& meter,
                      const RefuseSum& refuse) {
  const auto count = static_cast<std::uint32_t>(layers.relations.size());
  std::vector<RelationLists> lists;
  lists.reserve(count);
  for (std::uint32_t r = 0; r < count; ++r) lists.emplace_back(relations, layers.copies_of(r).first * users);
  EdgeBatch batch(sorter);
  std::vector<std::vector<WeighedEnd>> ends(count);  ///< where arcs of the node lead, or its later neighbours
  std::vector<WeighedEnd> all;
  for (NodeId user = 0; user < users; ++user) {
    for (std::uint32_t r = 0; r < count; ++r) {
      const auto [from, to] = layers.copies_of(r);
      const NodeId first = to * users, source = from * users + user;
      ends[r].clear();
      for_neighbours(lists[r].next(), [&](NodeId other, std::uint32_t weight) {
        if (layers.directed || other - first > user) ends[r].push_back({other - first, weight});
      });
      for (const WeighedEnd& end : ends[r]) batch.add(source, first + end.user, end.weight);
    }
    for (std::size_t i = 0; i < layers.subsets.size(); ++i) {
      all.clear();
      for (const std::uint32_t r : layers.subsets[i]) all.insert(all.end(), ends[r].begin(), ends[r].end());
      std::sort(all.begin(), all.end(), [](const WeighedEnd& a, const WeighedEnd& b) { return a.user < b.user; });
      const std::uint32_t layer = count + static_cast<std::uint32_t>(i);
      const auto [from, to] = layers.copies_of(layer);
      for (auto at = all.begin(); at != all.end();) {
        const NodeId other = at->user;
        std::uint64_t units = 0;
        for (; at != all.end() && at->user == other; ++at) units += at->weight;
        if (units > kMostWeight) refuse(layer, {user, other}, units);
        batch.add(from * users + user, to * users + other, static_cast<std::uint32_t>(units));
      }
    }
    if (user % kEdgesAtOnce == kEdgesAtOnce - 1) meter.advance(kEdgesAtOnce);
  }
  batch.flush();
  meter.advance(users % kEdgesAtOnce);
}

}  // namespace unweave
