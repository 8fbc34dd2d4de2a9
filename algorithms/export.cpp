// algorithms/export.cpp - contents of a store as NumPy files, in the user's ids.
#include "algorithms/export.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>

#include "engine/arc_sort.h"
#include "engine/look_ahead.h"
#include "engine/pipeline.h"
#include "engine/row_sorter.h"
#include "storage/error.h"
#include "storage/npy_writer.h"

namespace unweave {
namespace {

constexpr std::size_t kChunkRows = 8192;

/// Calls use(nodes, rows of Z) for all positions, a chunk at a time.
template <class Use>
void for_all_rows(const Embedding& embedding, NodeId nodes, std::span<const double> weights, const Use& use) {
  std::vector<NodeId> chunk;
  std::vector<float> z;
  for (std::uint64_t first = 0; first < nodes; first += kChunkRows) {
    chunk.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kChunkRows, nodes - first)));
    std::iota(chunk.begin(), chunk.end(), static_cast<NodeId>(first));
    z.resize(chunk.size() * embedding.row_width(weights));
    embedding.rows(chunk, weights, z.data());
    use(std::span<const NodeId>(chunk), std::span<const float>(z));
  }
}

void write_all_rows(const LiveStore& store, std::span<const double> weights, const std::filesystem::path& file,
                    NpyWriter& writer) {
  const Embedding& embedding = store.embedding();
  const NodeOrder& order = store.contents().order();
  const NodeId nodes = store.contents().num_nodes();
  if (order.is_identity()) {
    for_all_rows(embedding, nodes, weights, [&](auto, std::span<const float> z) { writer.append(z); });
    return;
  }
  const Reservation memory = store.budget().reserve(store.budget().available() / 2, "rows on their way to their ids");
  const std::size_t columns = embedding.row_width(weights);
  // Temporary files lie beside the result, since a store is never written to by readers.
  RowSorter sorter(std::filesystem::absolute(file).parent_path(), nodes, memory.bytes());
  std::vector<std::uint32_t> words(columns);
  for_all_rows(embedding, nodes, weights, [&](std::span<const NodeId> chunk, std::span<const float> z) {
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      std::memcpy(words.data(), &z[i * columns], columns * sizeof(float));
      sorter.add(order.user(chunk[i]), words);
    }
  });
  sorter.drain([&](NodeId, std::span<const std::uint32_t> row) { writer.append(row); });
}

/// Calls use(u, v) for every edge, as positions u < v in their order.
template <class Use>
void for_edges(const Graph& graph, const Use& use) {
  Graph::BlockBuffer buffer;
  DecodedBlock block;
  for (std::size_t b = 0; b < graph.num_blocks(); ++b) {
    read_ahead_of(graph, b);
    graph.decode(b, buffer, block);
    const NodeId* target = block.targets;
    for (std::uint32_t i = 0; i < block.nodes; ++i)
      for (std::uint32_t k = 0; k < block.counts[i]; ++k, ++target)
        if (*target > block.first + i) use(block.first + i, *target);
  }
}

/// Edges one at a time, written many at a time.
class EdgeSink {
 public:
  explicit EdgeSink(NpyWriter& writer) : writer_(writer) {}
  void add(NodeId u, NodeId v) {
    pairs_.insert(pairs_.end(), {u, v});
    if (pairs_.size() >= 2 * kChunkRows) flush();
  }
  void flush() {
    writer_.append(std::span<const std::int64_t>(pairs_));
    pairs_.clear();
  }

 private:
  NpyWriter& writer_;
  std::vector<std::int64_t> pairs_;
};

/// Edges by the user's ids come in no useful order.
void write_sorted_edges(const LiveStore& store, const std::filesystem::path& file, EdgeSink& sink) {
  const NodeOrder& order = store.contents().order();
  const Reservation memory = store.budget().reserve(store.budget().available() / 2, "sorting of edges");
  const NodeId nodes = store.contents().num_nodes();
  ArcSorter sorter(std::filesystem::absolute(file).parent_path(), static_cast<std::size_t>(memory.bytes()), nodes);
  std::vector<Edge> edges;
  for_edges(store.contents().graph(), [&](NodeId u, NodeId v) {
    edges.push_back({order.user(u), order.user(v)});
    if (edges.size() < kChunkRows) return;
    sorter.add(edges);
    edges.clear();
  });
  sorter.add(edges);
  const std::unique_ptr<SortedArcs> arcs = sorter.finish();
  arcs->begin(nodes);
  run_pipeline<ArcLists>([&](ArcLists& lists) { return arcs->next(lists); },
                         [&](ArcLists& lists) { arcs->load(lists); },
                         [&](const ArcLists& lists) {
                           const NodeId* target = lists.targets.data();
                           for (std::uint32_t i = 0; i < lists.nodes.size(); ++i)
                             for (std::uint32_t k = 0; k < lists.counts[i]; ++k, ++target)
                               if (*target > lists.nodes.first + i) sink.add(lists.nodes.first + i, *target);
                         });
}

void write_array(const std::filesystem::path& file, const std::vector<std::int64_t>& values) {
  const std::array<std::uint64_t, 1> shape{values.size()};
  NpyWriter writer(file, "<i8", sizeof(std::int64_t), shape);
  writer.append(std::span<const std::int64_t>(values));
  writer.finish();
}

}  // namespace

void export_embeddings(const LiveStore& store, const std::optional<std::vector<NodeId>>& nodes,
                       std::span<const double> weights, const std::filesystem::path& file) {
  const Embedding& embedding = store.embedding();
  const NodeId all = store.contents().num_nodes();
  const std::uint64_t targets = embedding.cone().rows(embedding.levels());
  if (!nodes && targets < all)
    throw UsageError(std::to_string(all - targets) + " of " + std::to_string(all) +
                     " nodes have no embedding; name the wanted ones with --nodes, or run `unweave propagate " +
                     store.path().string() + " --rows all`");
  const std::uint64_t rows = nodes ? nodes->size() : all;
  const std::array<std::uint64_t, 2> shape{rows, embedding.row_width(weights)};
  NpyWriter writer(file, "<f4", sizeof(float), shape);
  if (nodes) {
    std::vector<NodeId> chunk;
    std::vector<float> z;
    for (std::size_t first = 0; first < nodes->size(); first += kChunkRows) {
      chunk.clear();
      for (const NodeId node : std::span(*nodes).subspan(first, std::min(kChunkRows, nodes->size() - first)))
        chunk.push_back(store.contents().order().position(node));
      z.resize(chunk.size() * embedding.row_width(weights));
      embedding.rows(chunk, weights, z.data());
      writer.append(std::span<const float>(z));
    }
  } else {
    write_all_rows(store, weights, file, writer);
  }
  writer.finish();
}

void export_edges(const LiveStore& store, const std::filesystem::path& file) {
  const Graph& graph = store.contents().graph();
  const std::array<std::uint64_t, 2> shape{graph.num_arcs() / 2, 2};
  NpyWriter writer(file, "<i8", sizeof(std::int64_t), shape);
  EdgeSink sink(writer);
  if (store.contents().order().is_identity())
    for_edges(graph, [&](NodeId u, NodeId v) { sink.add(u, v); });
  else
    write_sorted_edges(store, file, sink);
  sink.flush();
  writer.finish();
}

void export_labels(const LiveStore& store, const std::filesystem::path& file) {
  const Contents& contents = store.contents();
  std::vector<std::int64_t> labels(contents.num_nodes());
  for (NodeId user = 0; user < contents.num_nodes(); ++user)
    labels[user] = contents.label(contents.order().position(user));
  write_array(file, labels);
}

void export_train(const LiveStore& store, const std::filesystem::path& file) {
  const Contents& contents = store.contents();
  std::vector<std::int64_t> nodes;
  for (const NodeId node : contents.train())
    if (contents.label(node) != kNoLabel) nodes.push_back(contents.order().user(node));
  std::sort(nodes.begin(), nodes.end());
  write_array(file, nodes);
}

}  // namespace unweave
