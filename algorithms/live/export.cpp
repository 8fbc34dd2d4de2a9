// algorithms/live/export.cpp - contents of a store as NumPy files, in the user's ids.
#include "algorithms/live/export.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>

#include "algorithms/live/live_store.h"
#include "engine/ingest/arc_sort.h"
#include "engine/ingest/row_sorter.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/pipeline.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"
#include "storage/npy/id_writer.h"

namespace unweave {
namespace {

constexpr std::size_t kChunkRows = 8192;
constexpr std::uint64_t kChunkBytes = std::uint64_t{64} << 20;

/// A store is never written to by readers.
std::filesystem::path folder_beside(const LiveStore& store, const NpyTarget& target) {
  return target.stream != nullptr ? store.temporary_folder() : std::filesystem::absolute(target.file).parent_path();
}

/// Rows of Z, a chunk at a time; of a node without an embedding NaN.
class RowReader {
 public:
  RowReader(const LiveStore& store, std::span<const double> weights)
      : embedding_(store.embedding()), weights_(weights), width_(embedding_.row_width(weights)) {
    const std::uint64_t row = std::max<std::uint64_t>(1, width_ * sizeof(float));
    memory_ = store.budget().reserve(std::min(memory_shares::kChunk.of(store.budget()), kChunkBytes), "rows to export");
    chunk_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(memory_.bytes() / row, 1, kChunkRows));
  }

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] std::size_t chunk() const noexcept { return chunk_; }

  /// Valid until the next call.
  std::span<const float> read(std::span<const NodeId> positions) {
    targets_.clear();
    for (const NodeId node : positions)
      if (embedding_.is_target(node)) targets_.push_back(node);
    z_.resize(positions.size() * width_);
    embedding_.rows(targets_, weights_, z_.data());
    // The rows that there are stand at the front; each goes to its own place, the last one first.
    std::size_t from = targets_.size();
    for (std::size_t i = positions.size(); i-- > from;) {
      const auto place = z_.begin() + static_cast<std::ptrdiff_t>(i * width_);
      if (embedding_.is_target(positions[i])) {
        --from;
        const auto row = z_.begin() + static_cast<std::ptrdiff_t>(from * width_);
        std::copy(row, row + static_cast<std::ptrdiff_t>(width_), place);
      } else {
        std::fill_n(place, width_, std::numeric_limits<float>::quiet_NaN());
      }
    }
    return z_;
  }

 private:
  const Embedding& embedding_;
  std::span<const double> weights_;
  std::size_t width_, chunk_ = 1;
  Reservation memory_;
  std::vector<NodeId> targets_;
  std::vector<float> z_;
};

/// The array of rows and, where it is wanted, that of their ids.
class RowSink {
 public:
  RowSink(std::uint64_t rows, std::size_t width, const NpyTarget& target, const std::optional<NpyTarget>& ids,
          const NodeNames& names) {
    const std::array<std::uint64_t, 2> shape{rows, width};
    rows_.emplace(target, "<f4", sizeof(float), shape);
    if (ids) ids_.emplace(*ids, rows, names.writer());
  }
  template <class T>
  void add(std::span<const NodeId> ids, std::span<const T> rows) {
    rows_->append(rows);
    if (!ids_) return;
    wide_.assign(ids.begin(), ids.end());
    ids_->append(std::span<const std::int64_t>(wide_));
  }
  void finish() {
    rows_->finish();
    if (ids_) ids_->finish();
  }

 private:
  std::optional<NpyWriter> rows_;
  std::optional<IdWriter> ids_;
  std::vector<std::int64_t> wide_;
};

std::uint64_t rows_to_write(const LiveStore& store, bool all) {
  const Embedding& embedding = store.embedding();
  return all ? store.contents().num_nodes() : embedding.cone().rows(embedding.levels());
}

/// Calls use(positions) for all of them that have rows, or for all there are, a chunk at a time.
template <class Use>
void for_positions(const LiveStore& store, bool all, std::size_t most, const Use& use) {
  const Embedding& embedding = store.embedding();
  std::vector<NodeId> chunk;
  chunk.reserve(most);
  const WatchedStep watched("embeddings", rows_to_write(store, all), "rows");
  for (NodeId node = 0; node < store.contents().num_nodes(); ++node) {
    if (!all && !embedding.is_target(node)) continue;
    chunk.push_back(node);
    if (chunk.size() < most) continue;
    use(std::span<const NodeId>(chunk));
    watched.advance(chunk.size());
    chunk.clear();
  }
  use(std::span<const NodeId>(chunk));
  watched.advance(chunk.size());
}

/// By id, of a store in another order.
void write_sorted_rows(const LiveStore& store, RowReader& reader, bool all, const NpyTarget& target, RowSink& sink) {
  const NodeOrder& order = store.contents().order();
  const Reservation memory =
      store.budget().reserve(memory_shares::kRowSort.of(store.budget()), "rows on their way to their ids");
  RowSorter sorter(folder_beside(store, target), store.contents().num_nodes(), memory.bytes());
  std::vector<std::uint32_t> words(reader.width());
  for_positions(store, all, reader.chunk(), [&](std::span<const NodeId> positions) {
    const std::span<const float> z = reader.read(positions);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      std::memcpy(words.data(), &z[i * words.size()], words.size() * sizeof(float));
      sorter.add(order.user(positions[i]), words);
    }
  });
  const WatchedStep watched("embeddings by id", rows_to_write(store, all), "rows");
  sorter.drain([&](NodeId id, std::span<const std::uint32_t> row) {
    sink.add({&id, 1}, row);
    watched.advance(1);
  });
}

/// Calls use(u, v, weight) for every edge, as positions u < v in their order.
template <class Use>
void for_all_edges(const Graph& graph, const Use& use) {
  Graph::BlockBuffer buffer;
  DecodedBlock block;
  const WatchedStep watched("edges", graph.num_blocks(), "blocks");
  for (std::size_t b = 0; b < graph.num_blocks(); ++b) {
    watched.advance(1);
    read_ahead_of(graph, b);
    graph.decode(b, buffer, block);
    for_edges(block, use);
  }
}

/// Edges one at a time, written many at a time, and their weights where somebody wants them.
class EdgeSink {
 public:
  EdgeSink(const std::filesystem::path& store, std::uint64_t edges, const std::optional<NpyTarget>& pairs,
           const std::optional<NpyTarget>& weights)
      : store_(store), left_(edges) {
    const std::array<std::uint64_t, 2> shape{edges, 2};
    if (pairs) pair_writer_.emplace(*pairs, "<i8", sizeof(std::int64_t), shape);
    if (weights) weight_writer_.emplace(*weights, "<i8", sizeof(std::int64_t), std::span(shape).first(1));
  }
  void add(NodeId u, NodeId v, std::uint32_t weight) {
    if (left_-- == 0) fail();
    if (pair_writer_) pairs_.insert(pairs_.end(), {u, v});
    if (weight_writer_) weights_.push_back(weight);
    if (std::max(pairs_.size() / 2, weights_.size()) >= kChunkRows) flush();
  }
  void finish() {
    if (left_ != 0) fail();
    flush();
    if (pair_writer_) pair_writer_->finish();
    if (weight_writer_) weight_writer_->finish();
  }

 private:
  /// Lists that lack an arc of an edge have checksums of their own only where somebody forged them.
  [[noreturn]] void fail() const {
    throw DataError(store_.string() + ": its lists of neighbours do not have the edges that its manifest counts; run " +
                    operation("verify " + store_.string()));
  }
  void flush() {
    if (pair_writer_) pair_writer_->append(std::span<const std::int64_t>(pairs_));
    if (weight_writer_) weight_writer_->append(std::span<const std::int64_t>(weights_));
    pairs_.clear();
    weights_.clear();
  }
  const std::filesystem::path& store_;
  std::uint64_t left_;  ///< edges that are still to come
  std::optional<NpyWriter> pair_writer_, weight_writer_;
  std::vector<std::int64_t> pairs_, weights_;
};

/// Edges by the user's ids come in no useful order.
void write_sorted_edges(const LiveStore& store, const std::filesystem::path& folder, EdgeSink& sink) {
  const NodeOrder& order = store.contents().order();
  const Reservation memory = store.budget().reserve(memory_shares::kRowSort.of(store.budget()), "sorting of edges");
  const NodeId nodes = store.contents().num_nodes();
  const Graph& graph = store.contents().graph();
  ArcSorter sorter(folder, static_cast<std::size_t>(memory.bytes()), nodes, graph.max_weight());
  std::vector<Edge> edges;
  std::vector<std::uint32_t> weights;
  for_all_edges(graph, [&](NodeId u, NodeId v, std::uint32_t weight) {
    edges.push_back({order.user(u), order.user(v)});
    if (graph.max_weight() > 1) weights.push_back(weight);
    if (edges.size() < kChunkRows) return;
    sorter.add(edges, weights);
    edges.clear();
    weights.clear();
  });
  sorter.add(edges, weights);
  const std::unique_ptr<SortedArcs> arcs = sorter.finish();
  arcs->begin(nodes);
  run_pipeline<ArcLists>(
      [&](ArcLists& lists) { return arcs->next(lists); }, [&](ArcLists& lists) { arcs->load(lists); },
      [&](const ArcLists& lists) {
        const DecodedBlock all{lists.nodes.first, lists.nodes.size(), lists.counts.data(), lists.targets.data()};
        for_edges(all, [&](NodeId u, NodeId v, std::uint32_t weight) { sink.add(u, v, weight); });
      });
}

void write_array(const NpyTarget& target, const std::vector<std::int64_t>& values) {
  const std::array<std::uint64_t, 1> shape{values.size()};
  NpyWriter writer(target, "<i8", sizeof(std::int64_t), shape);
  writer.append(std::span<const std::int64_t>(values));
  writer.finish();
}

}  // namespace

ExportedRows export_embeddings(const LiveStore& store, const std::optional<std::vector<NodeId>>& nodes,
                               std::span<const double> weights, const NpyTarget& target, MissingRows missing,
                               const std::optional<NpyTarget>& ids) {
  const Embedding& embedding = store.embedding();
  const NodeOrder& order = store.contents().order();
  const bool all = missing == MissingRows::nan;
  RowReader reader(store, weights);
  ExportedRows exported;
  if (!nodes) {
    exported = {rows_to_write(store, all), store.contents().num_nodes() - rows_to_write(store, false)};
    RowSink sink(exported.rows, reader.width(), target, ids, order.names());
    if (order.is_identity())
      for_positions(store, all, reader.chunk(),
                    [&](std::span<const NodeId> positions) { sink.add(positions, reader.read(positions)); });
    else
      write_sorted_rows(store, reader, all, target, sink);
    sink.finish();
    return exported;
  }
  for (const NodeId node : *nodes) {
    if (embedding.is_target(order.position(node))) continue;
    ++exported.missing;
    if (!all)
      throw UsageError("node " + order.names().text(node) + " has no embedding; take it out of the list, give `" +
                       option("missing", "nan") + "` for a row of NaN, or run " +
                       operation("propagate " + store.path().string() + ' ' + option("rows", "all")) +
                       " for rows of all nodes");
  }
  exported.rows = nodes->size();
  RowSink sink(exported.rows, reader.width(), target, ids, order.names());
  std::vector<NodeId> positions;
  const WatchedStep watched("embeddings", nodes->size(), "rows");
  for (std::size_t first = 0; first < nodes->size(); first += reader.chunk()) {
    const auto chunk = std::span(*nodes).subspan(first, std::min(reader.chunk(), nodes->size() - first));
    positions.clear();
    for (const NodeId node : chunk) positions.push_back(order.position(node));
    sink.add(chunk, reader.read(positions));
    watched.advance(chunk.size());
  }
  sink.finish();
  return exported;
}

void export_edges(const LiveStore& store, const std::optional<NpyTarget>& target,
                  const std::optional<NpyTarget>& weights) {
  const Graph& graph = store.contents().graph();
  EdgeSink sink(store.path(), graph.num_edges(), target, weights);
  if (store.contents().order().is_identity())
    for_all_edges(graph, [&](NodeId u, NodeId v, std::uint32_t weight) { sink.add(u, v, weight); });
  else
    write_sorted_edges(store, folder_beside(store, target ? *target : weights.value()), sink);
  sink.finish();
}

void export_labels(const LiveStore& store, const NpyTarget& target) {
  const Contents& contents = store.contents();
  const std::array<std::uint64_t, 1> shape{contents.num_nodes()};
  NpyWriter writer(target, "<i8", sizeof(std::int64_t), shape);
  std::vector<std::int64_t> labels;
  for (NodeId user = 0; user < contents.num_nodes(); ++user) {
    labels.push_back(contents.label(contents.order().position(user)));
    if (labels.size() < kChunkRows) continue;
    writer.append(std::span<const std::int64_t>(labels));
    labels.clear();
  }
  writer.append(std::span<const std::int64_t>(labels));
  writer.finish();
}

void export_names(const LiveStore& store, const NpyTarget& target) {
  const Contents& contents = store.contents();
  if (!contents.order().names().given())
    throw UsageError(store.path().string() + ": its nodes have numbers alone; an import gives them names, " +
                     option("ids"));
  TextWriter writer(target);
  const WatchedStep watched("names", contents.num_nodes(), "nodes");
  for (NodeId user = 0; user < contents.num_nodes(); ++user) {
    writer.add(contents.name(contents.order().position(user)));
    if (user % kChunkRows == kChunkRows - 1) watched.advance(kChunkRows);
  }
  writer.finish();
}

void export_expiries(const LiveStore& store, const NpyTarget& target) {
  const NodeNames& names = store.contents().order().names();
  TextWriter writer(target);
  for (const auto& [edge, time] : store.contents().expiries().sorted())
    writer.add(names.text_of({RequestKind::expire_edge, edge.u, edge.v, {}, time_text(time)}));
  writer.finish();
}

void export_train(const LiveStore& store, const NpyTarget& target) {
  const Contents& contents = store.contents();
  std::vector<std::int64_t> nodes;
  for (const NodeId node : contents.train())
    if (contents.label(node) != kNoLabel) nodes.push_back(contents.order().user(node));
  std::sort(nodes.begin(), nodes.end());
  write_array(target, nodes);
}

}  // namespace unweave
