// storage/formats/whole_graph_file.h - to which whole graph each node belongs, and labels and
// splits of whole graphs, at rest (FORMAT.md, "Whole graphs").
//
// Graphs of nodes: sealed file of kind "graphs", i32 for each node in the order of the store, -1
// for none. Labels and splits are files as those of nodes are (node_file.h), by the number of a
// graph.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"

namespace unweave {

FileEntry write_graphs_of_nodes(const std::filesystem::path& store, std::span<const std::int32_t> graphs);
/// One number a node, each kNoGraph or below `count`. Throws FormatError.
[[nodiscard]] std::vector<std::int32_t> read_graphs_of_nodes(const std::filesystem::path& store, const FileEntry& entry,
                                                             NodeId nodes, std::uint32_t count);

/// Labels of graphs, with names of the classes where there are some.
FileEntry write_graph_labels(const std::filesystem::path& store, std::span<const std::int32_t> labels,
                             const std::vector<std::string>& names);
/// A split of graphs; `name` is train, valid or test.
FileEntry write_graph_split(const std::filesystem::path& store, const std::string& name,
                            std::span<const NodeId> graphs);

}  // namespace unweave
