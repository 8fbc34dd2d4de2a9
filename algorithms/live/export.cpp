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
#include "engine/graph/edge_pieces.h"
#include "engine/ingest/arc_sort.h"
#include "engine/ingest/row_sorter.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/pipeline.h"
#include "engine/resources/watcher.h"
#include "storage/formats/class_names.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"
#include "storage/io/plain_text.h"
#include "storage/io/shell_word.h"
#include "storage/npy/id_writer.h"

namespace unweave {
namespace {

constexpr std::size_t kChunkRows = 8192;
constexpr std::uint64_t kChunkBytes = std::uint64_t{64} << 20;

/// A store is never written to by readers.
std::filesystem::path folder_beside(const LiveStore& store, const NpyTarget& target) {
  return target.stream != nullptr ? store.temporary_folder()
                                  : std::filesystem::absolute(resolved_parent(target.file)).parent_path();
}

/// Rows of some nodes.
struct RowChunk {
  std::vector<NodeId> positions;  ///< those of first copies
  std::vector<NodeId> copies, targets;
  std::vector<float> rows;
};

/// Rows of Z, a chunk at a time, those of a node's copies side by side; of a node without an
/// embedding NaN.
class RowReader {
 public:
  /// `chunks`: how many of them are in memory at a time.
  RowReader(const LiveStore& store, std::span<const double> weights, std::size_t chunks)
      : embedding_(store.embedding()),
        order_(store.contents().order()),
        weights_(weights),
        copy_width_(embedding_.row_width(weights)),
        width_(copy_width_ * order_.copies()) {
    const std::uint64_t row = std::max<std::uint64_t>(1, width_ * sizeof(float));
    memory_ = store.budget().reserve(std::min(memory_shares::kChunk.of(store.budget()), kChunkBytes), "rows to export");
    chunk_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(memory_.bytes() / row / chunks, 1, kChunkRows));
  }

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] std::size_t chunk() const noexcept { return chunk_; }

  /// Asks the disk for what the rows of a chunk derive from, in long pieces, unless its positions
  /// are few in their range.
  void read_ahead(const RowChunk& chunk) const noexcept {
    const NodeRange range{chunk.positions.front(), chunk.positions.back() + 1};
    if (range.size() / 4 > chunk.positions.size()) return;
    const std::uint32_t levels = embedding_.levels();
    const bool has_result = !embedding_.has_sums() && embedding_.spec().kept.keep == Keep::embedding;
    for (std::uint32_t level = has_result ? levels : 0; level <= levels; ++level)
      if (has_result || is_used(level)) embedding_.read_ahead(level, range);
  }

  /// The rows of the chunk's positions. Any number of threads.
  void read(RowChunk& chunk) const {
    chunk.copies = order_.with_copies(chunk.positions);
    const std::vector<NodeId>& positions = chunk.copies;
    chunk.targets.clear();
    for (const NodeId node : positions)
      if (embedding_.is_target(node)) chunk.targets.push_back(node);
    std::vector<float>& z = chunk.rows;
    z.resize(positions.size() * copy_width_);
    embedding_.rows(chunk.targets, weights_, z.data());
    // The rows that there are stand at the front; each goes to its own place, the last one first.
    std::size_t from = chunk.targets.size();
    for (std::size_t i = positions.size(); i-- > from;) {
      const auto place = z.begin() + static_cast<std::ptrdiff_t>(i * copy_width_);
      if (embedding_.is_target(positions[i])) {
        --from;
        const auto row = z.begin() + static_cast<std::ptrdiff_t>(from * copy_width_);
        std::copy(row, row + static_cast<std::ptrdiff_t>(copy_width_), place);
      } else {
        std::fill_n(place, copy_width_, std::numeric_limits<float>::quiet_NaN());
      }
    }
  }

 private:
  [[nodiscard]] bool is_used(std::uint32_t level) const noexcept {
    for (std::size_t i = level; i < weights_.size(); i += embedding_.levels() + std::size_t{1})
      if (weights_[i] != 0) return true;
    return false;
  }

  const Embedding& embedding_;
  const NodeOrder& order_;
  std::span<const double> weights_;
  std::size_t copy_width_, width_, chunk_ = 1;
  Reservation memory_;
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
  const NodeOrder& order = store.contents().order();
  return all ? order.users() : embedding.cone().rows(embedding.levels()) / order.copies();
}

/// Calls use(chunk) for the rows of all nodes that have some, or for all there are, in the order of
/// their first copies. What comes next is read meanwhile.
template <class Use>
void for_positions(const LiveStore& store, bool all, const RowReader& reader, const Use& use) {
  const Embedding& embedding = store.embedding();
  const WatchedStep watched("embeddings", rows_to_write(store, all), "rows");
  const NodeOrder& order = store.contents().order();
  const NodeId nodes = store.contents().num_nodes();
  NodeId node = 0;
  run_pipeline<RowChunk>(
      [&](RowChunk& chunk) {
        chunk.positions.clear();
        for (; node < nodes && chunk.positions.size() < reader.chunk(); ++node)
          if ((all || embedding.is_target(node)) && order.is_first_copy(node)) chunk.positions.push_back(node);
        if (chunk.positions.empty()) return false;
        reader.read_ahead(chunk);
        return true;
      },
      [&](RowChunk& chunk) { reader.read(chunk); },
      [&](const RowChunk& chunk) {
        use(chunk);
        watched.advance(chunk.positions.size());
      });
}

/// By id, of a store in another order.
void write_sorted_rows(const LiveStore& store, const RowReader& reader, bool all, const NpyTarget& target,
                       RowSink& sink) {
  const NodeOrder& order = store.contents().order();
  const Reservation memory =
      store.budget().reserve(memory_shares::kRowSort.of(store.budget()), "rows on their way to their ids");
  RowSorter sorter(folder_beside(store, target), order.users(), memory.bytes());
  std::vector<std::uint32_t> words(reader.width());
  for_positions(store, all, reader, [&](const RowChunk& chunk) {
    for (std::size_t i = 0; i < chunk.positions.size(); ++i) {
      std::memcpy(words.data(), &chunk.rows[i * words.size()], words.size() * sizeof(float));
      sorter.add(order.user(chunk.positions[i]), words);
    }
  });
  const WatchedStep watched("embeddings by id", rows_to_write(store, all), "rows");
  sorter.drain([&](NodeId id, std::span<const std::uint32_t> row) {
    sink.add({&id, 1}, row);
    watched.advance(1);
  });
}

/// Calls use(piece) for all edges in their order. What comes next is decoded meanwhile.
template <class Use>
void for_all_edges(const Graph& graph, const Use& use) {
  const WatchedStep watched("edges", graph.num_blocks(), "blocks");
  for_edge_pieces(
      graph, [](const EdgePiece&) {},
      [&](EdgePiece& piece) {
        use(piece);
        watched.advance(piece.last_block - piece.first_block);
      });
}

/// Edges between users' ids, and their weights where somebody wants them.
class EdgeSink {
 public:
  EdgeSink(const LiveStore& store, std::uint64_t edges, const std::optional<NpyTarget>& pairs,
           const std::optional<NpyTarget>& weights, const std::optional<NpyTarget>& roles)
      : store_(store), left_(edges) {
    const std::array<std::uint64_t, 2> shape{left_, 2};
    if (pairs && takes_text(*pairs))
      text_writer_.emplace(*pairs);
    else if (pairs)
      pair_writer_.emplace(*pairs, "<i8", sizeof(std::int64_t), shape);
    const bool is_real = store.contents().rules().weight_unit.has_value();
    if (weights)
      weight_writer_.emplace(*weights, is_real ? "<f8" : "<i8", sizeof(std::int64_t), std::span(shape).first(1));
    if (roles) role_writer_.emplace(*roles, "<i8", sizeof(std::int64_t), std::span(shape).first(1));
  }
  /// From here on, ids are those within the types of both ends.
  void count_within_types(const EndTypes& ends) { ends_ = ends; }
  /// Edges in their order; no weights where each weighs 1.
  void add(std::span<const Edge> edges, std::span<const std::uint32_t> weights) {
    if (left_ < edges.size()) fail();
    left_ -= edges.size();
    for (std::size_t first = 0; first < edges.size(); first += kChunkRows) {
      const auto some = edges.subspan(first, std::min(kChunkRows, edges.size() - first));
      if (text_writer_) add_lines(some, weights.empty() ? weights : weights.subspan(first, some.size()));
      if (pair_writer_) {
        pairs_.resize(2 * some.size());
        std::int64_t* out = pairs_.data();
        for (const Edge& edge : some) {
          const Edge one = ends_ ? within_types(edge) : edge;
          *out++ = one.u;
          *out++ = one.v;
        }
        pair_writer_->append(std::span<const std::int64_t>(pairs_));
      }
      if (role_writer_) {
        roles_.clear();
        for (const Edge& edge : some)
          roles_.push_back(static_cast<std::int64_t>(store_.contents().rules().pairs->role(edge.u, edge.v)));
        role_writer_->append(std::span<const std::int64_t>(roles_));
      }
      if (!weight_writer_) continue;
      if (const auto& unit = store_.contents().rules().weight_unit) {
        real_weights_.clear();
        for (const std::uint32_t units : weights.subspan(first, some.size()))
          real_weights_.push_back(unit->weight(units));
        weight_writer_->append(std::span<const double>(real_weights_));
        continue;
      }
      weights_.assign(some.size(), 1);
      if (!weights.empty())
        std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(first), some.size(), weights_.begin());
      weight_writer_->append(std::span<const std::int64_t>(weights_));
    }
  }
  void finish() {
    if (left_ != 0) fail();
    if (text_writer_) text_writer_->finish();
    if (pair_writer_) pair_writer_->finish();
    if (weight_writer_) weight_writer_->finish();
    if (role_writer_) role_writer_->finish();
  }

 private:
  /// Lists that lack an arc of an edge have checksums of their own only where somebody forged them.
  [[noreturn]] void fail() const {
    const std::string store = store_.path().string();
    throw DataError(store + ": its lists of neighbours do not have the edges that its manifest counts; run " +
                    operation("verify " + shell_word(store)));
  }
  /// As import --edges reads them: ids as users write them, and a third column where the store has
  /// weights.
  void add_lines(std::span<const Edge> edges, std::span<const std::uint32_t> weights) {
    const NodeNames& names = store_.contents().order().names();
    const Contents& contents = store_.contents();
    const bool weighted = contents.rules().max_weight > 1;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      line_ = names.text(edges[i].u) + '\t' + names.text(edges[i].v);
      if (const auto& unit = contents.rules().weight_unit)
        line_ += '\t' + unit->text(weights[i]);
      else if (weighted)
        line_ += '\t' + std::to_string(weights.empty() ? 1 : weights[i]);
      text_writer_->add(line_);
    }
  }

  /// An edge without a direction may have its ends the other way round.
  [[nodiscard]] Edge within_types(Edge edge) const {
    const NodeOrder& order = store_.contents().order();
    const NodeTypes& types = order.types();
    if (!order.layers().directed && type_of(types, edge.u) != ends_->u) std::swap(edge.u, edge.v);
    return {edge.u - static_cast<NodeId>(first_id(types, ends_->u)),
            edge.v - static_cast<NodeId>(first_id(types, ends_->v))};
  }

  const LiveStore& store_;
  std::uint64_t left_;  ///< edges that are still to come
  std::optional<EndTypes> ends_;
  std::optional<TextWriter> text_writer_;
  std::optional<NpyWriter> pair_writer_, weight_writer_, role_writer_;
  std::string line_;
  std::vector<std::int64_t> pairs_, weights_, roles_;
  std::vector<double> real_weights_;
};

/// Takes the edges of other relations out of a piece.
void keep_relation(const NodeOrder& order, std::uint32_t relation, EdgePiece& piece) {
  std::size_t stay = 0;
  for (std::size_t i = 0; i < piece.edges.size(); ++i) {
    if (order.layers().layer_of(order.copy(piece.edges[i].u)) != relation) continue;
    piece.edges[stay] = piece.edges[i];
    if (!piece.weights.empty()) piece.weights[stay] = piece.weights[i];
    ++stay;
  }
  piece.edges.resize(stay);
  if (!piece.weights.empty()) piece.weights.resize(stay);
}

/// Edges by the user's ids come in no useful order, nor do those that are held beside the graph.
/// `relation`: those of its copies alone, which weigh 1 unless weights are real.
void write_sorted_edges(const LiveStore& store, const std::filesystem::path& folder,
                        const std::optional<std::uint32_t>& relation, EdgeSink& sink) {
  const NodeOrder& order = store.contents().order();
  const Reservation memory = store.budget().reserve(memory_shares::kRowSort.of(store.budget()), "sorting of edges");
  const NodeId nodes = store.contents().num_nodes();
  const Graph& graph = store.contents().graph();
  const std::uint32_t max_weight = store.contents().rules().max_weight;
  ArcSorter sorter(folder, static_cast<std::size_t>(memory.bytes()), nodes, max_weight);
  for_all_edges(graph, [&](EdgePiece& piece) {
    if (relation) keep_relation(order, *relation, piece);
    if (max_weight == 1) piece.weights.clear();
    for (Edge& edge : piece.edges) edge = {order.number(edge.u), order.number(edge.v)};
    sorter.add(piece.edges, piece.weights);
  });
  if (store.contents().held() != nullptr)
    for_all_edges(*store.contents().held(), [&](EdgePiece& piece) {
      if (max_weight > 1 && piece.weights.empty()) piece.weights.assign(piece.edges.size(), 1);
      for (Edge& edge : piece.edges) edge = {order.number(edge.u), order.number(edge.v)};
      sorter.add(piece.edges, piece.weights);
    });
  const std::unique_ptr<SortedArcs> arcs = sorter.finish();
  arcs->begin(nodes);
  std::vector<Edge> edges;
  std::vector<std::uint32_t> weights;
  run_pipeline<ArcLists>(
      [&](ArcLists& lists) { return arcs->next(lists); }, [&](ArcLists& lists) { arcs->load(lists); },
      [&](const ArcLists& lists) {
        const DecodedBlock all{lists.nodes.first, lists.nodes.size(), lists.counts.data(), lists.targets.data(),
                               lists.weights.empty() ? nullptr : lists.weights.data()};
        edges.clear();
        weights.clear();
        for_edges(all, [&](NodeId u, NodeId v, std::uint32_t weight) {
          edges.push_back({u % order.users(), v % order.users()});  // an arc begins at a first copy
          weights.push_back(weight);
        });
        sink.add(edges, weights);
      });
}

/// The relation whose edges are wanted; none where all are, since there are no relations.
std::optional<std::uint32_t> relation_of(const LiveStore& store, const std::string& name) {
  const Layers& layers = store.contents().order().layers();
  if (layers.relations.empty() && name.empty()) return std::nullopt;
  const std::uint32_t relation = relation_named(layers, name);
  if (relation < layers.relations.size()) return relation;
  if (layers.relations.empty())
    throw UsageError(option("relation", name) + ": the edges of " + store.path().string() + " have no relations");
  const std::vector<std::string> texts = relation_names(layers);
  const std::vector<std::string_view> names(texts.begin(), texts.end());
  throw UsageError(name.empty() ? store.path().string() + ": its edges have relations; name one of them by " +
                                      option("relation") + ": " + one_of(names)
                                : unknown_name("relation", name, names));
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
  const RowReader reader(store, weights, pipeline_items());
  ExportedRows exported;
  if (!nodes) {
    exported = {rows_to_write(store, all), order.users() - rows_to_write(store, false)};
    RowSink sink(exported.rows, reader.width(), target, ids, order.names());
    if (order.is_identity())
      for_positions(store, all, reader,
                    [&](const RowChunk& chunk) { sink.add(chunk.positions, std::span<const float>(chunk.rows)); });
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
                       operation("propagate " + shell_word(store.path().string()) + ' ' + option("rows", "all")) +
                       " for rows of all nodes");
  }
  exported.rows = nodes->size();
  RowSink sink(exported.rows, reader.width(), target, ids, order.names());
  RowChunk chunk;
  const WatchedStep watched("embeddings", nodes->size(), "rows");
  for (std::size_t first = 0; first < nodes->size(); first += reader.chunk()) {
    const auto some = std::span(*nodes).subspan(first, std::min(reader.chunk(), nodes->size() - first));
    chunk.positions.clear();
    for (const NodeId node : some) chunk.positions.push_back(order.position(node));
    reader.read(chunk);
    sink.add(some, std::span<const float>(chunk.rows));
    watched.advance(some.size());
  }
  sink.finish();
  return exported;
}

void export_relation(const LiveStore& store, const NpyTarget& target, const std::optional<NpyTarget>& weights,
                     const Relation& relation) {
  EdgeSink sink(store, count_edges(store, relation.name), target, weights, std::nullopt);
  if (relation.ends) sink.count_within_types(*relation.ends);
  write_sorted_edges(store, folder_beside(store, target), relation_of(store, relation.name), sink);
  sink.finish();
}

std::uint64_t count_edges(const LiveStore& store, const std::string& relation) {
  const std::optional<std::uint32_t> wanted = relation_of(store, relation);
  const Graph& graph = store.contents().graph();
  const Graph* const held = store.contents().held();
  if (!wanted) return graph.num_edges() + (held != nullptr ? held->num_edges() : 0);
  const NodeOrder& order = store.contents().order();
  std::uint64_t edges = 0;
  for_all_edges(graph, [&](const EdgePiece& piece) {
    edges += static_cast<std::uint64_t>(std::count_if(piece.edges.begin(), piece.edges.end(), [&](const Edge& edge) {
      return order.layers().layer_of(order.copy(edge.u)) == *wanted;
    }));
  });
  return edges;
}

void export_edges(const LiveStore& store, const std::optional<NpyTarget>& target,
                  const std::optional<NpyTarget>& weights, const std::string& relation,
                  const std::optional<NpyTarget>& roles) {
  if (roles && !store.contents().rules().pairs)
    throw UsageError(option("roles") + ": " + store.path().string() + " predicts no links; an import with " +
                     option("pairs") + " gives pairs their roles");
  EdgeSink sink(store, count_edges(store, relation), target, weights, roles);
  if (store.contents().order().is_identity() && store.contents().held() == nullptr)
    for_all_edges(store.contents().graph(), [&](const EdgePiece& piece) { sink.add(piece.edges, piece.weights); });
  else
    write_sorted_edges(store, folder_beside(store, target ? *target : weights.value()), relation_of(store, relation),
                       sink);
  sink.finish();
}

void export_labels(const LiveStore& store, const NpyTarget& target) {
  const Contents& contents = store.contents();
  const std::array<std::uint64_t, 1> shape{contents.order().users()};
  NpyWriter writer(target, "<i8", sizeof(std::int64_t), shape);
  std::vector<std::int64_t> labels;
  for (NodeId user = 0; user < contents.order().users(); ++user) {
    labels.push_back(contents.label(contents.order().position(user)));
    if (labels.size() < kChunkRows) continue;
    writer.append(std::span<const std::int64_t>(labels));
    labels.clear();
  }
  writer.append(std::span<const std::int64_t>(labels));
  writer.finish();
}

std::vector<std::string> class_names(const LiveStore& store) {
  const Manifest& manifest = store.manifest();
  if (manifest.graphs && manifest.graphs->labels) return store.contents().graphs().class_names();
  if (!manifest.labels) return {};
  return read_class_names(store.path(), *manifest.labels, manifest.nodes, manifest.classes);
}

void export_label_names(const LiveStore& store, const NpyTarget& target) {
  const Contents& contents = store.contents();
  std::vector<std::string> lines;  // as an import reads them
  for (const std::string& name : class_names(store)) lines.push_back(class_list({name}));
  TextWriter writer(target);
  for (NodeId user = 0; user < contents.order().users(); ++user) {
    const std::int32_t label = contents.label(contents.order().position(user));
    writer.add(label == kNoLabel ? "-1" : lines.at(static_cast<std::size_t>(label)));
  }
  writer.finish();
}

void export_graphs(const LiveStore& store, const NpyTarget& target) {
  const Contents& contents = store.contents();
  if (!contents.graphs().any())
    throw UsageError(store.path().string() + ": its nodes belong to no whole graphs; an import gives them some, " +
                     option("graphs"));
  const std::array<std::uint64_t, 1> shape{contents.order().users()};
  NpyWriter writer(target, "<i8", sizeof(std::int64_t), shape);
  std::vector<std::int64_t> numbers;
  for (NodeId user = 0; user < contents.order().users(); ++user) {
    numbers.push_back(contents.graphs().of(contents.order().position(user)));
    if (numbers.size() < kChunkRows) continue;
    writer.append(std::span<const std::int64_t>(numbers));
    numbers.clear();
  }
  writer.append(std::span<const std::int64_t>(numbers));
  writer.finish();
}

void export_graph_labels(const LiveStore& store, const NpyTarget& target, bool by_name) {
  const WholeGraphs& graphs = store.contents().graphs();
  if (!graphs.has_labels())
    throw UsageError(store.path().string() + ": has no labels of graphs; an import gives them, " +
                     option("graph-labels"));
  if (by_name) {
    TextWriter writer(target);
    for (std::uint32_t graph = 0; graph < graphs.count(); ++graph) {
      const std::int32_t label = graphs.label(graph);
      writer.add(label == kNoLabel ? "-1" : class_list({graphs.class_names().at(static_cast<std::size_t>(label))}));
    }
    return writer.finish();
  }
  const std::array<std::uint64_t, 1> shape{graphs.count()};
  NpyWriter writer(target, "<i8", sizeof(std::int64_t), shape);
  std::vector<std::int64_t> labels(graphs.count());
  for (std::uint32_t graph = 0; graph < graphs.count(); ++graph) labels[graph] = graphs.label(graph);
  writer.append(std::span<const std::int64_t>(labels));
  writer.finish();
}

void export_names(const LiveStore& store, const NpyTarget& target) {
  const Contents& contents = store.contents();
  if (!contents.order().names().given())
    throw UsageError(store.path().string() + ": its nodes have numbers alone; an import gives them names, " +
                     option("ids"));
  TextWriter writer(target);
  const WatchedStep watched("names", contents.order().users(), "nodes");
  for (NodeId user = 0; user < contents.order().users(); ++user) {
    const std::string name = printable(contents.name(contents.order().position(user)));
    // As import --ids reads it: a line is a name, blanks and all.
    writer.add(name.starts_with('"') || name.find_first_of(",\t") != std::string::npos ? in_quotes(name) : name);
    if (user % kChunkRows == kChunkRows - 1) watched.advance(kChunkRows);
  }
  writer.finish();
}

void export_expiries(const LiveStore& store, const NpyTarget& target) {
  const NodeOrder& order = store.contents().order();
  TextWriter writer(target);
  for (const Expiry& one : store.contents().expiries().sorted())
    writer.add(order.names().text_of(note_request(one, order.layers(), order.users())));
  writer.finish();
}

std::vector<NodeId> training_ids(const LiveStore& store) {
  const Contents& contents = store.contents();
  std::vector<NodeId> nodes;
  for (const NodeId node : contents.train())
    if (contents.label(node) != kNoLabel) nodes.push_back(contents.order().user(node));
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

void export_train(const LiveStore& store, const NpyTarget& target) {
  const std::vector<NodeId> nodes = training_ids(store);
  write_array(target, {nodes.begin(), nodes.end()});
}

}  // namespace unweave
