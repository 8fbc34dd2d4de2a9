// engine/ingest/whole_graph_import.cpp - reads the graph of each node, and holds the edges against
// it.
#include "engine/ingest/whole_graph_import.h"

#include <algorithm>
#include <limits>
#include <string>

#include "engine/graph/edge_pieces.h"
#include "engine/graph/graph.h"
#include "storage/formats/whole_graph_file.h"
#include "storage/input/nodes/label_reader.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kReadGraphs = std::size_t{1} << 16;

std::string graph_text(std::int32_t graph) {
  return graph == kNoGraph ? "no graph" : "graph " + std::to_string(graph);
}

}  // namespace

WholeGraphImport::WholeGraphImport(const ImportContext& context)
    : options_(context.options),
      budget_(context.budget),
      meter_(context.meter),
      nodes_(context.nodes),
      builder_(context.builder),
      report_(context.report),
      names_(context.names),
      count_(context.options.number_of_graphs, NodeCount::kGraphs) {}

void WholeGraphImport::read() {
  const InputFile& file = *options_.graphs;
  const auto reader = open_labels(file);
  if (const auto count = reader->count()) nodes_.agree(*count, file, "rows");
  meter_.start("graphs of nodes", nodes_.known().value_or(0), "nodes");
  std::vector<std::int32_t> chunk(kReadGraphs);
  std::int32_t largest = kNoGraph;
  while (const std::size_t read = reader->read(chunk)) {
    if (graphs_.size() + read > graphs_.capacity()) {
      const std::size_t most = std::max(
          {graphs_.size() + read, 2 * graphs_.capacity(), static_cast<std::size_t>(nodes_.known().value_or(0))});
      const Reservation before = std::move(memory_);
      memory_ = budget_.reserve(most * sizeof(std::int32_t), "graphs of nodes");
      graphs_.reserve(most);
    }
    for (std::size_t i = 0; i < read; ++i) {
      if (count_.known() && chunk[i] >= static_cast<std::int64_t>(*count_.known()))
        throw InputError(display_name(file), "node " + text_of(static_cast<NodeId>(graphs_.size() + i), names_),
                         "graph " + std::to_string(chunk[i]) + ", and there are the graphs 0 to " +
                             std::to_string(*count_.known() - 1),
                         "graphs count from 0; correct it, write -1 for none, or declare more of them by " +
                             option("number-of-graphs"));
      largest = std::max(largest, chunk[i]);
    }
    graphs_.insert(graphs_.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(read));
    meter_.advance(read);
  }
  if (reader->first_may_be_header() && nodes_.known() && graphs_.size() == *nodes_.known() + 1)
    throw InputError(display_name(file), "the first line", "'0' may be a graph, or the name of a column",
                     "say which by " + option("header", "graphs=no") + " or " + option("header", "graphs=yes"));
  nodes_.agree(graphs_.size(), file, "rows");
  if (largest == kNoGraph && !count_.known())
    throw InputError(display_name(file), "whole file", "no node belongs to a graph",
                     "give the number of a graph a node, from 0, or leave out " + option("graphs"));
  if (!count_.known()) count_.agree(std::uint64_t{static_cast<std::uint32_t>(largest)} + 1, file, "largest graph + 1");
  builder_.manifest().graphs->count = static_cast<std::uint32_t>(*count_.known());
  report_.graphs = *count_.known();
}

void WholeGraphImport::require_inside(std::span<const NodeId> positions) const {
  Manifest manifest;
  manifest.shards = builder_.manifest().shards;
  manifest.edges = builder_.manifest().edges;
  manifest.max_weight = builder_.manifest().max_weight;
  manifest.weight_unit = builder_.manifest().weight_unit;
  manifest.weight_sum = builder_.manifest().weight_sum;
  manifest.nodes = nodes_.value();
  const Reservation memory = budget_.reserve(
      positions.empty() ? 0 : positions.size() * (sizeof(NodeId) + sizeof(std::int32_t)), "graphs of positions");
  std::vector<NodeId> ids(positions.size());
  for (NodeId id = 0; id < positions.size(); ++id) ids[positions[id]] = id;
  const auto id_of = [&](NodeId position) { return ids.empty() ? position : ids[position]; };
  const Graph graph(builder_.path(), manifest, Changes());
  meter_.start("edges of graphs", graph.num_nodes(), "nodes");
  for_edge_pieces(
      graph, [](const EdgePiece&) {},
      [&](const EdgePiece& piece) {
        for (const Edge& edge : piece.edges) {
          const NodeId u = id_of(edge.u), v = id_of(edge.v);
          if (graphs_[u] == graphs_[v]) continue;
          const InputFile& file = options_.edges ? *options_.edges : *options_.graphs;
          throw InputError(
              display_name(file), "edge " + text_of(std::min(u, v), names_) + " " + text_of(std::max(u, v), names_),
              "joins a node of " + graph_text(graphs_[std::min(u, v)]) + " and one of " +
                  graph_text(graphs_[std::max(u, v)]),
              "take the edge out, or correct the graphs of its nodes in " + display_name(*options_.graphs).string());
        }
        meter_.advance((piece.last_block - piece.first_block) * kBlockNodes);
      });
}

void WholeGraphImport::write(std::span<const NodeId> positions) {
  if (!positions.empty()) {
    const Reservation memory = budget_.reserve(graphs_.size() * sizeof(std::int32_t), "graphs by position");
    std::vector<std::int32_t> moved(graphs_.size());
    for (std::size_t node = 0; node < graphs_.size(); ++node) moved[positions[node]] = graphs_[node];
    graphs_ = std::move(moved);
  }
  builder_.manifest().graphs->of_nodes = write_graphs_of_nodes(builder_.path(), graphs_);
  std::vector<std::int32_t>().swap(graphs_);
  memory_.release();
}

}  // namespace unweave
