// engine/graph/graph.cpp - applies removed and inserted edges to the lists of the shards.
#include "engine/graph/graph.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>

#include "engine/graph/local_lists.h"
#include "engine/graph/open_files.h"
#include "engine/resources/parallel.h"
#include "storage/formats/manifest.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {

Graph::Graph(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes)
    : nodes_(manifest.nodes),
      form_(manifest.list_form()),
      self_weight_(manifest.weight_unit ? manifest.weight_unit->self : 1),
      edges_(manifest.edges),
      span_log2_(static_cast<unsigned>(std::countr_zero(span_nodes(manifest.nodes)))),
      span_mask_(span_nodes(manifest.nodes) - 1),
      counts_(manifest.shards.size()) {
  shards_ = open_files<Shard>(manifest.shards.size(), [&](std::size_t i) {
    return Shard(LocalLists::folder_of(store, manifest.shards[i]), manifest.shards[i], span_range(nodes_, i), nodes_,
                 form_);
  });
  for (const Shard& shard : shards_) arcs_ += shard.arcs();
  // An edge has u < v, so that where one of its lists has the change already it is that of u.
  const std::uint64_t folded = std::uint64_t{manifest.folded_spans} << span_log2_;
  const auto present = [&](const Edge& edge) {
    return edge.u < folded ? weight_in_list(edge.v, edge.u) : weight(edge.u, edge.v);
  };
  const auto change = [&](const Edge& edge, std::uint32_t units, bool insert) {
    if (edge.u >= folded) return insert ? insert_edge(edge.u, edge.v, units) : remove_edge(edge.u, edge.v, units);
    change_arc(edge.v, edge.u, insert, units);
    arcs_ = insert ? arcs_ + units : arcs_ - units;
  };
  for_runs(changes.removed, [&](const Edge& edge, std::uint32_t units) {
    if (edge.v < folded) return;
    if (present(edge) < units)
      throw FormatError(store / manifest.changes->path, "removed edges", "no such edge in the shards");
    change(edge, units, false);
  });
  for_runs(changes.inserted, [&](const Edge& edge, std::uint32_t units) {
    if (edge.v < folded) return;
    if (present(edge) + units > form_.max_weight)
      throw FormatError(store / manifest.changes->path, "inserted edges", "already in the shards");
    change(edge, units, true);
  });
  if (arcs_ != manifest.arcs())
    throw FormatError(store / kManifestName, "edges", "shards and changes hold another number of edges");
}

const std::uint32_t* Graph::read_counts(std::size_t span) const {
  const std::uint32_t* const counts = shards_[span].counts().data();
  counts_[span].store(counts, std::memory_order_release);
  return counts;
}

void Graph::base_neighbours(NodeId node, std::vector<NodeId>& out) const {
  const std::uint32_t count = counts_of(node >> span_log2_)[node & span_mask_];
  out.resize(std::size_t{count} + kDecodeSlack);
  if (count > 0) shards_[node >> span_log2_].decode_node(node, out.data());
  out.resize(count);
}

void Graph::apply(const Delta& delta, std::span<const NodeId> base, std::vector<NodeId>& out) {
  out.clear();
  auto removed = delta.removed.begin();
  auto inserted = delta.inserted.begin();
  for (const NodeId id : base) {
    while (inserted != delta.inserted.end() && *inserted < id) out.push_back(*inserted++);
    if (removed != delta.removed.end() && *removed == id)
      ++removed;
    else
      out.push_back(id);
  }
  out.insert(out.end(), inserted, delta.inserted.end());
}

void Graph::neighbours(NodeId node, std::vector<NodeId>& out) const {
  const Delta* const delta = delta_of(node);
  if (delta == nullptr) {
    base_neighbours(node, out);
    return;
  }
  std::vector<NodeId> base;
  base_neighbours(node, base);
  apply(*delta, base, out);
}

std::span<const NodeId> Graph::with_changes(NodeId node, std::span<const NodeId> base,
                                            std::vector<NodeId>& buffer) const {
  const Delta* const delta = delta_of(node);
  if (delta == nullptr) return base;
  apply(*delta, base, buffer);
  return buffer;
}

std::uint32_t Graph::weight(NodeId u, NodeId v) const {
  if (u == v) return 0;
  return degree(u) > degree(v) ? weight_in_list(v, u) : weight_in_list(u, v);
}

std::uint32_t Graph::weight_in_list(NodeId u, NodeId v) const {
  const auto count_of = [v](const std::vector<NodeId>& list) {
    const auto [first, last] = std::equal_range(list.begin(), list.end(), v);
    return static_cast<std::uint32_t>(last - first);
  };
  if (form_.multiplied) {  // without lists that name an end once a unit
    const Shard& shard = shards_[u >> span_log2_];
    const std::size_t local = u & span_mask_, block = local / kBlockNodes;
    std::vector<NodeId> ids(shard.block_neighbours(block) + kDecodeSlack);
    std::vector<std::uint32_t> weights(ids.size());
    shard.decode_weighted(block, shard.block_bytes(block), ids.data(), weights.data());
    const auto counts = shard.neighbour_counts();
    std::size_t begin = 0;
    for (std::size_t node = block * kBlockNodes; node < local; ++node) begin += counts[node];
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(begin), last = first + counts[local];
    const auto at = std::lower_bound(first, last, v);
    const std::uint32_t base = at != last && *at == v ? weights[static_cast<std::size_t>(at - ids.begin())] : 0;
    const Delta* const delta = delta_of(u);
    return delta == nullptr ? base : base + count_of(delta->inserted) - count_of(delta->removed);
  }
  std::vector<NodeId> list;
  neighbours(u, list);
  return count_of(list);
}

template <class Use>
void Graph::for_shards(std::size_t first, std::size_t last, const Use& use) const {
  const std::size_t span_blocks = (std::size_t{span_mask_} + 1) / kBlockNodes;
  for (last = std::min(last, num_blocks()); first < last;) {
    const std::size_t shard = first / span_blocks;
    const std::size_t end = std::min(last, (shard + 1) * span_blocks);
    use(shards_[shard], first - shard * span_blocks, end - shard * span_blocks);
    first = end;
  }
}

void Graph::read_ahead(std::size_t first, std::size_t last) const noexcept {
  for_shards(first, last, [](const Shard& shard, std::size_t from, std::size_t to) { shard.read_ahead(from, to); });
}

void Graph::forget(std::size_t first, std::size_t last) const noexcept {
  for_shards(first, last, [](const Shard& shard, std::size_t from, std::size_t to) { shard.forget(from, to); });
}

std::uint64_t Graph::file_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Shard& shard : shards_) bytes += shard.all_block_bytes();
  return bytes;
}

Shard::Place Graph::place(std::size_t first, std::size_t last) const noexcept {
  const std::size_t span_blocks = (std::size_t{span_mask_} + 1) / kBlockNodes, shard = first / span_blocks;
  return shards_[shard].place(first - shard * span_blocks, last - shard * span_blocks);
}

void Graph::decode(std::size_t block, std::span<const std::byte> encoded, BlockBuffer& buffer,
                   DecodedBlock& out) const {
  const auto first = static_cast<NodeId>(block * kBlockNodes);
  const auto nodes = static_cast<std::uint32_t>(std::min<std::size_t>(kBlockNodes, nodes_ - first));
  const Shard& shard = shards_[first >> span_log2_];
  const std::size_t local = (first & span_mask_) / kBlockNodes;
  const std::size_t arcs = shard.block_arcs(local);
  if (buffer.targets.size() < arcs + kDecodeSlack) buffer.targets.resize((arcs + kDecodeSlack) * 5 / 4);
  if (encoded.empty())
    shard.decode(local, buffer.targets.data());
  else
    shard.decode(local, encoded, buffer.targets.data());
  out = {first, nodes, counts_of(first >> span_log2_) + (first & span_mask_), buffer.targets.data()};
  if (!has_changes(block)) return;

  std::vector<NodeId> merged;
  std::vector<NodeId> list;
  buffer.counts.assign(nodes, 0);
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const std::span<const NodeId> base(buffer.targets.data() + at, out.counts[i]);
    at += out.counts[i];
    if (const Delta* const delta = delta_of(first + i)) {
      apply(*delta, base, list);
      merged.insert(merged.end(), list.begin(), list.end());
      buffer.counts[i] = static_cast<std::uint32_t>(list.size());
    } else {
      merged.insert(merged.end(), base.begin(), base.end());
      buffer.counts[i] = out.counts[i];
    }
  }
  if (buffer.targets.size() < merged.size()) buffer.targets.resize(merged.size());
  std::copy(merged.begin(), merged.end(), buffer.targets.begin());
  out.counts = buffer.counts.data();
  out.targets = buffer.targets.data();
}

bool Graph::has_changes(std::size_t block) const noexcept {
  constexpr NodeId kPage = NodeMap<Delta>::kPageNodes;
  static_assert(kPage % kBlockNodes == 0);
  if (!deltas_) return false;
  const auto first = static_cast<NodeId>(block * kBlockNodes);
  constexpr std::uint64_t kMask =
      (kBlockNodes == kPage ? ~std::uint64_t{0} : (std::uint64_t{1} << (kBlockNodes % kPage)) - 1);
  return ((deltas_->page_members(first) >> (first % kPage)) & kMask) != 0;
}

/// A list with its weights beside it, and the units that it has lost and gained: appended without
/// the neighbours that have none left.
void Graph::merge_units(const Delta& delta, std::span<const NodeId> base, std::span<const std::uint32_t> weights,
                        std::vector<NodeId>& ids, std::vector<std::uint32_t>& units) {
  auto removed = delta.removed.begin();
  auto inserted = delta.inserted.begin();
  const auto run_of = [](auto& at, const auto end, NodeId id) {
    std::uint32_t count = 0;
    for (; at != end && *at == id; ++at) ++count;
    return count;
  };
  const auto put = [&](NodeId id, std::uint32_t weight) {
    if (weight == 0) return;
    ids.push_back(id);
    units.push_back(weight);
  };
  for (std::size_t i = 0; i < base.size(); ++i) {
    while (inserted != delta.inserted.end() && *inserted < base[i]) {
      const NodeId id = *inserted;
      put(id, run_of(inserted, delta.inserted.end(), id));
    }
    const std::uint32_t gained = run_of(inserted, delta.inserted.end(), base[i]);
    put(base[i], weights[i] + gained - run_of(removed, delta.removed.end(), base[i]));
  }
  while (inserted != delta.inserted.end()) {
    const NodeId id = *inserted;
    put(id, run_of(inserted, delta.inserted.end(), id));
  }
}

void Graph::decode_terms(std::size_t block, std::span<const std::byte> encoded, BlockBuffer& buffer,
                         DecodedBlock& out) const {
  if (!form_.multiplied) return decode(block, encoded, buffer, out);
  const auto first = static_cast<NodeId>(block * kBlockNodes);
  const auto nodes = static_cast<std::uint32_t>(std::min<std::size_t>(kBlockNodes, nodes_ - first));
  const Shard& shard = shards_[first >> span_log2_];
  const std::size_t local = (first & span_mask_) / kBlockNodes;
  const std::size_t arcs = shard.block_neighbours(local);
  if (buffer.targets.size() < arcs + kDecodeSlack) buffer.targets.resize((arcs + kDecodeSlack) * 5 / 4);
  if (buffer.weights.size() < arcs + kDecodeSlack) buffer.weights.resize((arcs + kDecodeSlack) * 5 / 4);
  shard.decode_weighted(local, encoded.empty() ? shard.block_bytes(local) : encoded, buffer.targets.data(),
                        buffer.weights.data());
  const std::uint32_t* counts = shard.neighbour_counts().data() + (first & span_mask_);
  if (has_changes(block)) {
    std::vector<NodeId> ids;
    std::vector<std::uint32_t> weights;
    buffer.counts.assign(nodes, 0);
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const std::size_t before = ids.size();
      const std::span<const NodeId> base(buffer.targets.data() + at, counts[i]);
      const std::span<const std::uint32_t> units(buffer.weights.data() + at, counts[i]);
      static const Delta kNone;
      const Delta* const delta = delta_of(first + i);
      merge_units(delta == nullptr ? kNone : *delta, base, units, ids, weights);
      buffer.counts[i] = static_cast<std::uint32_t>(ids.size() - before);
      at += counts[i];
    }
    if (buffer.targets.size() < ids.size()) buffer.targets.resize(ids.size());
    if (buffer.weights.size() < ids.size()) buffer.weights.resize(ids.size());
    std::copy(ids.begin(), ids.end(), buffer.targets.begin());
    std::copy(weights.begin(), weights.end(), buffer.weights.begin());
    counts = buffer.counts.data();
  }
  out = {first, nodes, counts, buffer.targets.data(), buffer.weights.data()};
}

bool Graph::has_changes(NodeRange span) const noexcept {
  constexpr NodeId kPage = NodeMap<Delta>::kPageNodes;
  static_assert(kMinSpanNodes % kPage == 0);  // so that no page belongs to two spans
  if (!deltas_) return false;
  for (NodeId first = span.first; first < span.last; first += std::min(kPage, span.last - first))
    if (deltas_->page_members(first) != 0) return true;
  return false;
}

std::uint64_t Graph::max_decoded_bytes() const {
  parallel_ranges(0, shards_.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t span = first; span < last; ++span) static_cast<void>(counts_of(span));
  });
  std::uint64_t most = 0;
  for (const Shard& shard : shards_) most = std::max(most, shard.most_block_arcs());
  return (most + std::min(changed_arcs_, kBlockNodes * most_inserted_) + kDecodeSlack) * 5 / 4 * sizeof(NodeId);
}

std::uint64_t Graph::max_term_bytes() const {
  if (!form_.multiplied) return max_decoded_bytes();
  std::uint64_t most = 0;
  for (const Shard& shard : shards_) most = std::max(most, shard.most_block_neighbours());
  return (most + std::min(changed_arcs_, kBlockNodes * most_inserted_) + kDecodeSlack) * 5 / 4 *
         (sizeof(NodeId) + sizeof(std::uint32_t));
}

void Graph::change_arc(NodeId from, NodeId to, bool insert, std::uint32_t units) {
  if (!deltas_) deltas_ = std::make_unique<NodeMap<Delta>>(nodes_);
  Delta& delta = deltas_->at(from);
  // An arc that returns to what the shard says leaves no trace.
  std::vector<NodeId>& undo = insert ? delta.removed : delta.inserted;
  const auto [first, last] = std::equal_range(undo.begin(), undo.end(), to);
  const std::uint32_t undone = std::min(units, static_cast<std::uint32_t>(last - first));
  undo.erase(first, first + undone);
  changed_arcs_ -= undone;
  if (undone < units) {
    std::vector<NodeId>& list = insert ? delta.inserted : delta.removed;
    list.insert(std::lower_bound(list.begin(), list.end(), to), units - undone, to);
    changed_arcs_ += units - undone;
    if (insert) most_inserted_ = std::max<std::uint64_t>(most_inserted_, list.size());
  }
  if (delta.removed.empty() && delta.inserted.empty()) deltas_->erase(from);
}

void Graph::remove_edge(NodeId u, NodeId v, std::uint32_t weight) {
  assert(u != v);
  change_arc(u, v, false, weight);
  change_arc(v, u, false, weight);
  arcs_ -= 2 * std::uint64_t{weight};
}

void Graph::insert_edge(NodeId u, NodeId v, std::uint32_t weight) {
  assert(u != v);
  change_arc(u, v, true, weight);
  change_arc(v, u, true, weight);
  arcs_ += 2 * std::uint64_t{weight};
}

void Graph::collect_changes(Changes& out) const {
  out.removed.clear();
  out.inserted.clear();
  if (!deltas_) return;
  deltas_->for_each({0, nodes_}, [&](NodeId node, const Delta& delta) {
    for (const NodeId to : delta.removed)
      if (node < to) out.removed.push_back({node, to});
    for (const NodeId to : delta.inserted)
      if (node < to) out.inserted.push_back({node, to});
  });
}

}  // namespace unweave
