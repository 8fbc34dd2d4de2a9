// storage/formats/target_lists.cpp - opens the lists of the target rows, decodes them and checks
// them.
#include "storage/formats/target_lists.h"

#include <algorithm>

#include "storage/formats/manifest.h"
#include "storage/formats/node_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {

TargetLists::TargetLists(const std::filesystem::path& store, const LevelFiles& files, NodeId graph_nodes,
                         const ListForm& form)
    : multiplied_(form.multiplied), nodes_(read_ids(store, files.targets.value(), graph_nodes)) {
  const auto targets = static_cast<NodeId>(nodes_.size());
  span_blocks_ = span_nodes(targets) / kBlockNodes;
  if (files.lists.size() != num_spans(targets))
    throw FormatError(store / kManifestName, "lists", "not one file a span of the targets");
  for (std::size_t i = 0; i < files.lists.size(); ++i) {
    shards_.emplace_back(store, files.lists[i], span_range(targets, i), graph_nodes, form, ShardOf::targets);
    for (const std::uint32_t ids : shards_.back().id_counts()) arcs_ += ids;  // there are few targets, and all are read
  }
}

std::span<const std::uint32_t> TargetLists::decode(std::size_t block, NeighbourList& lists) const {
  const Shard& shard = shards_[block / span_blocks_];
  const std::size_t local = block % span_blocks_;
  const std::uint64_t ids = shard.block_ids(local);
  lists.ids.resize(ids + kDecodeSlack);
  if (multiplied_) lists.weights.resize(ids + 1);  // so that there is an array of them
  // Half a MiB and more before its turn: who reads all lists reads the file from end to end.
  constexpr std::size_t kAhead = 256;
  if (local % kAhead == 0) {
    const std::size_t first = std::min(local + (local == 0 ? 0 : kAhead), shard.num_blocks());
    shard.read_ahead(first, std::min(local + 2 * kAhead, shard.num_blocks()));
  }
  shard.decode(local, lists.ids.data(), lists.weights.data());
  return shard.id_counts().subspan(local * kBlockNodes);
}

std::uint64_t TargetLists::max_cursor_bytes() const noexcept {
  std::uint64_t ids = 0;
  for (const Shard& shard : shards_) ids = std::max(ids, shard.most_block_ids());
  // A vector that grows takes up to twice what it holds.
  return 2 * (ids + kDecodeSlack) * (sizeof(NodeId) + (multiplied_ ? sizeof(std::uint32_t) : 0));
}

void TargetLists::verify() const {
  for (const Shard& shard : shards_) shard.verify();
}

void verify_targets(const std::filesystem::path& store, const LevelPlace& place, std::size_t) {
  TargetLists(store, place.files, place.nodes, place.lists).verify();
}

}  // namespace unweave
