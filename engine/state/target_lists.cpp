#include "engine/state/target_lists.h"

#include "engine/resources/look_ahead.h"
#include "engine/resources/parallel.h"
#include "storage/formats/node_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kWriterBytes = std::uint64_t{16} << 20;  // of encoded lists that a thread keeps in memory

}  // namespace

TargetLists::TargetLists(const std::filesystem::path& store, const LevelFiles& files, NodeId graph_nodes)
    : nodes_(read_ids(store, files.targets.value(), graph_nodes)) {
  const auto targets = static_cast<NodeId>(nodes_.size());
  span_blocks_ = span_nodes(targets) / kBlockNodes;
  if (files.lists.size() != num_spans(targets))
    throw FormatError(store / kManifestName, "lists", "not one file a span of the targets");
  for (std::size_t i = 0; i < files.lists.size(); ++i) {
    shards_.emplace_back(store, files.lists[i], span_range(targets, i), graph_nodes, ShardOf::targets);
    arcs_ += shards_.back().arcs();
  }
}

std::span<const std::uint32_t> TargetLists::decode(std::size_t block, std::vector<NodeId>& lists) const {
  const Shard& shard = shards_[block / span_blocks_];
  const std::size_t local = block % span_blocks_;
  lists.resize(shard.block_arcs(local) + kDecodeSlack);
  // Half a MiB and more before its turn: who reads all lists reads the file from end to end.
  constexpr std::size_t kAhead = 256;
  if (local % kAhead == 0) {
    const std::size_t first = std::min(local + (local == 0 ? 0 : kAhead), shard.num_blocks());
    shard.read_ahead(first, std::min(local + 2 * kAhead, shard.num_blocks()));
  }
  shard.decode(local, lists.data());
  return shard.counts().subspan(local * kBlockNodes);
}

void TargetLists::verify() const {
  for (const Shard& shard : shards_) shard.verify();
}

bool target_lists_pay(std::uint64_t arcs, std::uint64_t graph_arcs) noexcept {
  return arcs <= graph_arcs / 8;
}

std::uint64_t most_target_list_bytes(NodeId targets, std::uint64_t arcs) noexcept {
  constexpr std::uint64_t kBlockBytes = 16;  // its offset, its header, the padding of its bits
  const std::uint64_t blocks = targets / kBlockNodes + num_spans(targets);
  return sealed_file_bytes(sizeof(NodeId) * std::uint64_t{targets}) + num_spans(targets) * sealed_file_bytes(0) +
         sealed_file_bytes(sizeof(NodeId) * (arcs + targets) + kBlockBytes * blocks);
}

void write_target_lists(const std::filesystem::path& store, const Graph& graph, std::span<const NodeId> targets,
                        LevelFiles& files) {
  const auto count = static_cast<NodeId>(targets.size());
  files.targets = write_ids(store, "targets", targets, "state");
  files.lists.assign(num_spans(count), {});
  run_items(files.lists.size(), active_threads(), [&](std::size_t item, std::size_t) {
    const NodeRange span = span_range(count, item);
    ShardWriter writer(store, span, graph.num_nodes(), kWriterBytes, ShardOf::targets);
    std::vector<NodeId> list;
    const auto nodes = targets.subspan(span.first, span.size());
    NodesAhead ahead(nodes, Graph::kNearNodes, [&](NodeRange range) { graph.read_ahead(range); });
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ahead.at(i);
      graph.base_neighbours(nodes[i], list);
      writer.add(list);
    }
    files.lists[item] = writer.finish();
  });
}

}  // namespace unweave
