// engine/graph/graph.cpp - applies removed and inserted edges to the lists of the shards.
#include "engine/graph/graph.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <iterator>
#include <numeric>
#include <string>

#include "engine/graph/local_lists.h"
#include "engine/graph/open_files.h"
#include "engine/resources/parallel.h"
#include "storage/formats/manifest.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr const char* kNoSuchEdge = "a removed edge is not in the list; this file or that of the list is damaged";
constexpr const char* kThereAlready =
    "an inserted edge is in the list already; this file or that of the list is damaged";

}  // namespace

Graph::Graph(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes)
    : changes_file_(manifest.changes ? store / manifest.changes->path : store),
      nodes_(manifest.nodes),
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
  const std::uint64_t stored_arcs = arcs_;
  // An edge has u < v, so that where one of its lists has the change already it is that of u.
  const std::uint64_t folded = std::uint64_t{manifest.folded_spans} << span_log2_;
  const auto change = [&](const ChangedEdge& edge, bool insert) {
    if (edge.u >= folded)
      return insert ? insert_edge(edge.u, edge.v, edge.units) : remove_edge(edge.u, edge.v, edge.units);
    change_arc(edge.v, edge.u, insert, edge.units);
    arcs_ = insert ? arcs_ + edge.units : arcs_ - edge.units;
  };
  for (const ChangedEdge& edge : changes.removed)
    if (edge.v >= folded) change(edge, false);
  const bool removed_more = arcs_ > stored_arcs;  // than there are
  for (const ChangedEdge& edge : changes.inserted)
    if (edge.v >= folded) change(edge, true);
  if (removed_more || arcs_ != manifest.arcs())
    throw FormatError(store / kManifestName, "edges", "shards and changes hold another number of edges");
  is_open_ = true;
}

std::uint32_t Graph::changed_count(NodeId node, std::uint32_t count, const Delta& delta) const {
  require_fitting(node, delta);
  const std::uint64_t changed = count - delta.removed.total() + delta.inserted.total();
  if (changed > kMostListWeight) fail_changes(node, "its edges weigh more than those of a node may");
  return static_cast<std::uint32_t>(changed);
}

void Graph::require_fitting(NodeId node, const Delta& delta) const {
  const std::atomic_ref<bool> fits(delta.fits);
  if (fits.load(std::memory_order_relaxed)) return;
  NeighbourList base, changed;
  base_neighbours(node, base);
  append_changed(node, delta, base.view(), changed);
  fits.store(true, std::memory_order_relaxed);
}

void Graph::fail_changes(NodeId node, const char* fault) const {
  throw FormatError(changes_file_, "edges of the node at position " + std::to_string(node), fault);
}

std::uint32_t Graph::read_count(NodeId node) const {
  const Shard& shard = shards_[node >> span_log2_];
  const std::uint32_t count = shard.count(node & span_mask_);
  if (shard.has_counts()) counts_[node >> span_log2_].store(shard.counts().data(), std::memory_order_release);
  return count;
}

void Graph::base_neighbours(NodeId node, NeighbourList& out) const {
  const Shard& shard = shards_[node >> span_log2_];
  const std::uint32_t count = shard.id_count(node & span_mask_);
  out.ids.resize(std::size_t{count} + kDecodeSlack);
  out.weights.resize(form_.multiplied ? count : 0);
  if (count > 0) shard.decode_node(node, out.ids.data(), out.weights.data());
  out.ids.resize(count);
}

/// Appends such a list with its changes.
void Graph::append_changed(NodeId node, const Delta& delta, const ListView& base, NeighbourList& out) const {
  const auto put = [&](NodeId id, std::uint32_t weight) {
    if (form_.multiplied && weight > 0) {
      out.ids.push_back(id);
      out.weights.push_back(weight);
      return;
    }
    for (; weight > 0; --weight) out.ids.push_back(id);
  };
  std::size_t removed = 0, inserted = 0;
  std::uint32_t most = 0;
  bool missing = false;  // what is found is told behind the loop, which stays short
  const auto put_inserted = [&](NodeId before) {
    for (; inserted < delta.inserted.size() && delta.inserted.id(inserted) < before; ++inserted)
      put(delta.inserted.id(inserted), delta.inserted.units(inserted));
  };
  for_neighbours(base, [&](NodeId id, std::uint32_t weight) {
    put_inserted(id);
    if (inserted < delta.inserted.size() && delta.inserted.id(inserted) == id) {
      weight += delta.inserted.units(inserted++);
      most = std::max(most, weight);
    } else if (removed < delta.removed.size() && delta.removed.id(removed) == id) {
      const std::uint32_t less = delta.removed.units(removed++);
      missing |= less > weight;
      weight -= std::min(less, weight);
    }
    put(id, weight);
  });
  if (missing || removed < delta.removed.size()) fail_changes(node, kNoSuchEdge);
  if (most > form_.max_weight) fail_changes(node, kThereAlready);
  put_inserted(kNoNode);
}

void Graph::neighbours(NodeId node, NeighbourList& out) const {
  const Delta* const delta = delta_of(node);
  if (delta == nullptr) return base_neighbours(node, out);
  NeighbourList base;
  base_neighbours(node, base);
  out.clear();
  append_changed(node, *delta, base.view(), out);
}

void Graph::neighbours(NodeId node, std::vector<NodeId>& out) const {
  NeighbourList list;
  list.ids.swap(out);
  neighbours(node, list);
  out.swap(list.ids);
}

ListView Graph::with_changes(NodeId node, const ListView& base, NeighbourList& buffer) const {
  const Delta* const delta = delta_of(node);
  if (delta == nullptr) return base;
  buffer.clear();
  append_changed(node, *delta, base, buffer);
  return buffer.view();
}

std::uint32_t Graph::weight(NodeId u, NodeId v) const {
  if (u == v) return 0;
  return list_length(u) > list_length(v) ? weight_in_list(v, u) : weight_in_list(u, v);
}

std::uint32_t Graph::weight_in_list(NodeId u, NodeId v) const {
  NeighbourList list;
  neighbours(u, list);
  const auto [first, last] = std::equal_range(list.ids.begin(), list.ids.end(), v);
  if (first == last || list.weights.empty()) return static_cast<std::uint32_t>(last - first);
  return list.weights[static_cast<std::size_t>(first - list.ids.begin())];
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
  const auto make_room = [&](std::size_t ids) {
    const auto grow = [](auto& values, std::size_t size) {
      if (values.size() < size) values.resize(size * 5 / 4);
    };
    grow(buffer.targets, ids + kDecodeSlack);
    if (form_.multiplied) grow(buffer.weights, ids + kDecodeSlack);
  };
  make_room(shard.block_ids(local));
  shard.decode(local, encoded.empty() ? shard.block_bytes(local) : encoded, buffer.targets.data(),
               buffer.weights.data());
  const std::uint32_t* counts = shard.id_counts().data() + (first & span_mask_);
  if (has_changes(block)) {
    NeighbourList merged;
    buffer.counts.assign(nodes, 0);
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < nodes; at += counts[i++]) {
      const std::size_t before = merged.ids.size();
      const std::span<const NodeId> ids(buffer.targets.data() + at, counts[i]);
      const std::uint32_t* const weights = form_.multiplied ? buffer.weights.data() + at : nullptr;
      if (const Delta* const delta = delta_of(first + i)) {
        append_changed(first + i, *delta, {ids, weights}, merged);
      } else {
        merged.ids.insert(merged.ids.end(), ids.begin(), ids.end());
        if (form_.multiplied) merged.weights.insert(merged.weights.end(), weights, weights + ids.size());
      }
      buffer.counts[i] = static_cast<std::uint32_t>(merged.ids.size() - before);
    }
    make_room(merged.ids.size());
    std::copy(merged.ids.begin(), merged.ids.end(), buffer.targets.begin());
    std::copy(merged.weights.begin(), merged.weights.end(), buffer.weights.begin());
    counts = buffer.counts.data();
  }
  out = {first, nodes, counts, buffer.targets.data(), form_.multiplied ? buffer.weights.data() : nullptr};
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

bool Graph::has_changes(NodeRange span) const noexcept {
  constexpr NodeId kPage = NodeMap<Delta>::kPageNodes;
  static_assert(kMinSpanNodes % kPage == 0);  // so that no page belongs to two spans
  if (!deltas_) return false;
  for (NodeId first = span.first; first < span.last; first += std::min(kPage, span.last - first))
    if (deltas_->page_members(first) != 0) return true;
  return false;
}

void Graph::append_encoded(std::size_t block, BlockBuffer& buffer, EncodedLists& out) const {
  if (!has_changes(block)) {
    const std::size_t span_blocks = (std::size_t{span_mask_} + 1) / kBlockNodes;
    return shards_[block / span_blocks].append_block(block % span_blocks, out);
  }
  DecodedBlock lists;
  decode(block, buffer, lists);
  const std::span<const std::uint32_t> counts(lists.counts, lists.nodes);
  const auto ids = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  append_block({counts, {lists.targets, ids}, {lists.weights, lists.weights == nullptr ? 0 : ids}}, form_, out);
}

std::uint64_t Graph::max_decoded_bytes(std::size_t first, std::size_t last) const {
  parallel_ranges(first, last, 1, [&](std::size_t from, std::size_t to) {
    for (std::size_t span = from; span < to; ++span) static_cast<void>(shards_[span].counts());
  });
  std::uint64_t most = 0;
  for (std::size_t span = first; span < last; ++span) most = std::max(most, shards_[span].most_block_ids());
  return (most + std::min(changed_arcs_, kBlockNodes * most_inserted_) + kDecodeSlack) * 5 / 4 *
         (sizeof(NodeId) + (form_.multiplied ? sizeof(std::uint32_t) : 0));
}

void Graph::change_arc(NodeId from, NodeId to, bool insert, std::uint32_t units) {
  if (!deltas_) deltas_ = std::make_unique<NodeMap<Delta>>(nodes_);
  Delta& delta = deltas_->at(from);
  if (delta.removed.empty() && delta.inserted.empty()) delta.fits = is_open_;
  const auto ids = [&](const ChangedArcs& arcs) { return form_.multiplied ? arcs.size() : arcs.total(); };
  changed_arcs_ -= ids(delta.removed) + ids(delta.inserted);
  // An arc that returns to what the shard says leaves no trace.
  units -= (insert ? delta.removed : delta.inserted).take(to, units);
  if (units > 0) (insert ? delta.inserted : delta.removed).add(to, units, form_.max_weight > 1);
  changed_arcs_ += ids(delta.removed) + ids(delta.inserted);
  most_inserted_ = std::max<std::uint64_t>(most_inserted_, ids(delta.inserted));
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
    const auto collect = [&](const ChangedArcs& arcs, std::vector<ChangedEdge>& edges) {
      for (std::size_t i = 0; i < arcs.size(); ++i)
        if (node < arcs.id(i)) edges.push_back({node, arcs.id(i), arcs.units(i)});
    };
    collect(delta.removed, out.removed);
    collect(delta.inserted, out.inserted);
  });
}

}  // namespace unweave
