// engine/state/target_list_writer.cpp - copies the lists of the targets into shards of their own,
// where that pays.
#include "engine/state/target_list_writer.h"

#include <vector>

#include "engine/resources/look_ahead.h"
#include "engine/resources/parallel.h"
#include "storage/formats/node_file.h"
#include "storage/formats/shard.h"
#include "storage/formats/store_layout.h"

namespace unweave {
namespace {

constexpr std::uint64_t kWriterBytes = std::uint64_t{16} << 20;  // encoded lists that a thread keeps in memory

/// Whether lists of `arcs` arcs are worth keeping apart: a copy of most of the graph is not.
bool target_lists_pay(std::uint64_t arcs, const Graph& graph) noexcept {
  return arcs <= graph.num_ids() / 8;
}

}  // namespace

void write_target_lists(const std::filesystem::path& store, const Contents& contents, LevelFiles& files) {
  const Graph& graph = contents.graph();
  std::vector<NodeId> targets;
  std::uint64_t arcs = 0;
  for (NodeId node = 0; node < contents.num_nodes(); ++node) {
    if (contents.label(node) == kNoLabel) continue;
    targets.push_back(node);
    arcs += graph.list_length(node);
  }
  if (target_lists_pay(arcs, graph)) write_target_lists(store, graph, targets, files);
}

void write_target_lists(const std::filesystem::path& store, const Graph& graph, std::span<const NodeId> targets,
                        LevelFiles& files) {
  const auto count = static_cast<NodeId>(targets.size());
  files.targets = write_ids(store, "targets", targets, "state");
  files.lists.assign(num_spans(count), {});
  run_items(files.lists.size(), active_threads(), [&](std::size_t item, std::size_t) {
    const NodeRange span = span_range(count, item);
    ShardWriter writer(store, span, graph.num_nodes(), graph.list_form(), kWriterBytes, ShardOf::targets);
    NeighbourList list;
    const auto nodes = targets.subspan(span.first, span.size());
    NodesAhead ahead(nodes, Graph::kNearNodes, [&](NodeRange range) { graph.read_ahead(range); });
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ahead.at(i);
      graph.base_neighbours(nodes[i], list);
      writer.add(list.ids, list.weights);
    }
    files.lists[item] = writer.finish();
  });
}

std::uint64_t most_target_list_bytes(const Graph& graph, NodeId targets, std::uint64_t arcs) noexcept {
  if (!target_lists_pay(arcs, graph)) return 0;
  constexpr std::uint64_t kBlockBytes = 16;  // its offset, its header, the padding of its bits
  const std::uint64_t blocks = targets / kBlockNodes + num_spans(targets);
  const std::uint64_t of_arc = sizeof(NodeId) + (graph.list_form().multiplied ? sizeof(std::uint32_t) : 0);
  return sealed_file_bytes(sizeof(NodeId) * std::uint64_t{targets}) + num_spans(targets) * sealed_file_bytes(0) +
         sealed_file_bytes(of_arc * (arcs + targets) + kBlockBytes * blocks);
}

}  // namespace unweave
