// storage/formats/whole_graph_file.cpp - writes and reads the numbers of nodes' whole graphs.
#include "storage/formats/whole_graph_file.h"

#include "storage/formats/class_names.h"
#include "storage/formats/node_file.h"
#include "storage/types/changes.h"

namespace unweave {

FileEntry write_graphs_of_nodes(const std::filesystem::path& store, std::span<const std::int32_t> graphs) {
  SealedWriter writer({store, "labels", "graphs", "graphs", "graphs"});
  writer.append_values(graphs);
  return writer.finish({graphs.size()});
}

std::vector<std::int32_t> read_graphs_of_nodes(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes,
                                               std::uint32_t count) {
  const SealedFile file(store, entry, "graphs");
  if (file.size() != std::uint64_t{nodes} * sizeof(std::int32_t)) file.fail(file.size(), "not one graph a node");
  const auto graphs = file.values<std::int32_t>(0, nodes);
  for (std::size_t node = 0; node < graphs.size(); ++node)
    if (graphs[node] < kNoGraph || graphs[node] >= static_cast<std::int64_t>(count))
      file.fail(sizeof(std::int32_t) * node, "the graph at position " + std::to_string(node) + " is out of range");
  return {graphs.begin(), graphs.end()};
}

FileEntry write_graph_labels(const std::filesystem::path& store, std::span<const std::int32_t> labels,
                             const std::vector<std::string>& names) {
  return write_named_labels(store, labels, names, "graph-labels");
}

FileEntry write_graph_split(const std::filesystem::path& store, const std::string& name,
                            std::span<const NodeId> graphs) {
  return write_ids(store, "graph-" + name, graphs);
}

}  // namespace unweave
