// engine/ingest/graph_import.cpp - reads edges, sorts their arcs into shards, and builds these
// again in an order.
#include "engine/ingest/graph_import.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/graph/arc_chunks.h"
#include "engine/ingest/graph_order.h"
#include "engine/ingest/import_identity.h"
#include "engine/ingest/import_ranks.h"
#include "engine/ingest/relation_subsets.h"
#include "engine/ingest/shard_builder.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/pipeline.h"
#include "storage/formats/name_file.h"
#include "storage/formats/order_file.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/number_text.h"

namespace unweave {
namespace {

constexpr std::size_t kReadEdges = std::size_t{1} << 16;
/// The files of the graph before it is ordered, in the store.
constexpr const char* kByIds = "graph/by-ids";
/// Those of the graph of relations, before sets of them are added.
constexpr const char* kOfRelations = "graph/of-relations";

struct ReadEdges : NamedEdgeChunk {
  std::vector<Edge> held;                   ///< out of the graph
  std::vector<std::uint32_t> held_weights;  ///< where they have some
};

/// Moves the edges that are held out of the graph from the others. `shift`: by which their ends are
/// above the ids of users; `keep_weights`: they keep what they weigh, and else weigh 1.
void take_held(const PairRules& rules, Edge shift, bool keep_weights, ReadEdges& chunk) {
  std::size_t stay = 0;
  for (std::size_t i = 0; i < chunk.edges.size(); ++i) {
    const Edge edge = chunk.edges[i];
    if (edge.u != edge.v && rules.holds(edge.u - shift.u, edge.v - shift.v)) {
      chunk.held.push_back(edge);
      if (keep_weights) chunk.held_weights.push_back(chunk.weights[i]);
      continue;
    }
    chunk.edges[stay] = edge;
    if (!chunk.weights.empty()) chunk.weights[stay] = chunk.weights[i];
    ++stay;
  }
  chunk.edges.resize(stay);
  if (!chunk.weights.empty()) chunk.weights.resize(stay);
}

/// What an import declares of pairs, which edges of its graph have directions or not.
PairRules pairs_of(const ImportOptions& options) {
  PairRules rules = options.pairs.value();
  rules.directed = options.layers.directed;
  return rules;
}

/// The names of the relations of a set, by its layer.
std::string names_of_subset(const Layers& layers, std::uint32_t layer) {
  std::string names;
  for (const std::uint32_t relation : layers.subsets[layer - layers.relations.size()])
    names += (names.empty() ? "" : ",") + layers.relations[relation].name;
  return names;
}

/// What was counted of both parts of the edges together.
ArcCounts sum_of(ArcCounts counts, const ArcCounts& more) {
  counts.edges_read += more.edges_read;
  counts.self_loops += more.self_loops;
  counts.upward += more.upward;
  counts.arcs += more.arcs;
  counts.spooled_bytes += more.spooled_bytes;
  for (const auto& [mine, other, least] : {std::tuple(&counts.smallest_node, more.smallest_node, true),
                                           std::tuple(&counts.largest_node, more.largest_node, false)})
    if (other && (!*mine || (least ? *other < **mine : *other > **mine))) *mine = other;
  return counts;
}

}  // namespace

GraphImport::GraphImport(const ImportContext& context)
    : options_(context.options),
      budget_(context.budget),
      meter_(context.meter),
      job_(context.job),
      nodes_(context.nodes),
      builder_(context.builder),
      report_(context.report),
      names_(context.names) {
  if (options_.edges) files_.push_back(&*options_.edges);
  for (const RelationEdges& relation : options_.relations) files_.push_back(&relation.file);
}

/// Reads the edges for their largest id alone, where the file does not declare a number of nodes.
void GraphImport::count_nodes() {
  if (const auto declared = opened_edges(0).numbers->declared_nodes())
    return nodes_.agree(*declared, edges(), "declared size");
  const Reservation memory = budget_.reserve(ArcSorter::kMinBudget, "reading of edges");
  ArcSorter counter(builder_.path(), static_cast<std::size_t>(memory.bytes()), std::nullopt, options_.max_weight,
                    NodeRange());
  collect_arcs(counter);
  settle_nodes(counter.counts());
}

ArcCounts GraphImport::build() {
  Manifest& manifest = builder_.manifest();
  if (options_.order == "none") return build_by_ids(builder_.path(), manifest);
  const std::filesystem::path by_ids = builder_.path() / kByIds;
  make_folders(by_ids);  // arcs that do not fit the memory go there before the first shard
  Manifest given;
  const ArcCounts counts = build_by_ids(by_ids, given);
  manifest.max_weight = given.max_weight;
  manifest.weight_unit = given.weight_unit;
  manifest.order = options_.order;
  memory_of_positions_ = budget_.reserve(std::uint64_t{given.nodes} * sizeof(NodeId), "positions of nodes");
  manifest.edges = given.edges;
  manifest.weight_sum = given.weight_sum;
  manifest.pairs = given.pairs;
  {
    const Reservation degrees = budget_.reserve(sizeof(std::uint32_t) * std::uint64_t{given.nodes}, "degrees");
    const std::optional<Graph> held =
        given.pairs ? std::optional<Graph>(std::in_place, by_ids, given.of_held(), Changes()) : std::nullopt;
    reorder(Graph(by_ids, given, Changes()), held ? &*held : nullptr);
  }
  remove_tree(by_ids);
  return counts;
}

/// Shards by the user's ids in a folder, named by a manifest.
ArcCounts GraphImport::build_by_ids(const std::filesystem::path& folder, Manifest& manifest) {
  if (names_ != nullptr && !files_.empty() && NameTable::bytes(names_->list()) <= memory_shares::kNameTable.of(budget_))
    name_table_.emplace(names_->list(), budget_);
  if (options_.layers.any()) require_known_nodes();
  if (!options_.layers.subsets.empty()) return build_subsets(folder, manifest);
  const Reservation memory = budget_.reserve(memory_shares::kEdgeSort.of(budget_), "sorting of edges");
  const auto known = options_.layers.any() ? std::optional<std::uint64_t>(graph_nodes()) : nodes_.known();
  if (known) require_room_for_weights(*known, options_.max_weight);  // before hours of reading
  ArcSorter sorter(folder, static_cast<std::size_t>(memory.bytes()), known, options_.max_weight,
                   own_sources(known, job_));
  if (options_.pairs) {
    memory_of_held_ = budget_.reserve(memory_shares::kEdgeSort.of(budget_), "sorting of edges that are held");
    held_ = std::make_unique<ArcSorter>(folder, static_cast<std::size_t>(memory_of_held_.bytes()), known,
                                        options_.weight_unit ? options_.max_weight : 1);
  }
  collect_arcs(sorter);
  const std::unique_ptr<SortedArcs> arcs = sorter.finish();
  const std::unique_ptr<SortedArcs> held = held_ ? held_->finish() : nullptr;
  held_.reset();
  name_table_.reset();
  const ArcCounts found = by_users(held ? sum_of(arcs->counts(), held->counts()) : arcs->counts());
  require_ids(found);
  remark_on_header(found);
  settle_nodes(found);
  const NodeId nodes = graph_nodes();
  require_room_for_weights(nodes, options_.max_weight);
  manifest.nodes = nodes;
  meter_.start("graph", own_sources(nodes, job_).value_or(NodeRange{0, nodes}).size(), "nodes");
  arcs->refuse_weights_by(two_weights());
  if (held) held->refuse_weights_by(two_weights());
  const ListForm form(options_.max_weight, options_.weight_unit.has_value());
  BuiltShards built =
      build_shards(folder, nodes, form, *arcs, budget_, meter_, own_spans(nodes, job_), ShardOf::nodes, weight_limit());
  ArcCounts counts = held ? found : arcs->counts();
  join_shards(builder_.path(), built, counts.spooled_bytes, job_);
  ArcIndex unique = built.unique;
  if (held) {
    BuiltShards apart = build_shards(folder, nodes, options_.weight_unit ? form : ListForm(1), *held, budget_, meter_,
                                     std::nullopt, ShardOf::held, weight_limit());
    unique += apart.unique;
    manifest.pairs = PairFiles{
        pairs_of(options_), apart.unique / 2, options_.weight_unit ? apart.arcs / 2 : 0, std::move(apart.files), {}};
  }
  memory_of_held_.release();
  counts = with_arcs(counts, unique);
  manifest.shards = std::move(built.files);
  manifest.edges = built.unique / 2;
  manifest.max_weight = options_.max_weight;
  manifest.weight_unit = options_.weight_unit;
  if (manifest.max_weight > 1) manifest.weight_sum = built.arcs / 2;
  return counts;
}

/// The file whose edges a copy has, by its number; of a set of relations that of the first one.
const InputFile& GraphImport::file_of(NodeId copy) const {
  const Layers& layers = options_.layers;
  if (layers.relations.empty()) return edges();
  const std::uint32_t layer = layers.layer_of(copy / nodes_.value());
  return *files_[layer < layers.relations.size() ? layer : layers.subsets[layer - layers.relations.size()].front()];
}

/// The node that a copy is of, by its number, for messages.
std::string GraphImport::text_of_copy(NodeId copy) const {
  const Layers& layers = options_.layers;
  const std::string text = text_of(copy % nodes_.value(), names_);
  const std::uint32_t layer = layers.layer_of(copy / nodes_.value());
  return layers.is_given(copy / nodes_.value()) ? text : text + " in the set " + names_of_subset(layers, layer);
}

/// What helps where weights add up to too many units, besides `otherwise`.
std::string GraphImport::lighter(const std::string& otherwise) const {
  if (options_.weight_unit && options_.weight_unit->exponent == 0) return otherwise;  // no unit is larger than 1
  return "take a larger unit by " + option("weights", "unit=U") + ", or " + otherwise;
}

/// Refuses edges that have two weights.
RefuseWeights GraphImport::two_weights() const {
  return [this](Edge edge, std::uint32_t one, std::uint32_t other) {
    if (options_.layers.has_ends(edge.u / nodes_.value())) std::swap(edge.u, edge.v);
    NodeId u = edge.u % nodes_.value(), v = edge.v % nodes_.value();
    if (const EndTypes* const ends = ends_of(options_.layers.layer_of(edge.u / nodes_.value()))) {
      u -= static_cast<NodeId>(first_id(options_.types, ends->u));  // ids as the file has them
      v -= static_cast<NodeId>(first_id(options_.types, ends->v));
    }
    const auto weight = [this](std::uint32_t units) {
      return options_.weight_unit ? shortest_text(options_.weight_unit->weight(units)) : std::to_string(units);
    };
    throw InputError(display_name(file_of(edge.u)), "edge " + text_of(u, names_) + " " + text_of(v, names_),
                     "has the weight " + weight(one) + " in one place and " + weight(other) +
                         " in another; an edge has one weight, the same in both directions",
                     "correct the weights, or add up those of repeated edges before");
  };
}

/// Refuses nodes whose weights are more than sums hold; empty where weights are no real numbers.
CheckLength GraphImport::weight_limit() const {
  if (!options_.weight_unit) return {};
  return [this](NodeId node, std::uint64_t units) {
    const std::uint64_t degree = units + options_.weight_unit->self, most = most_degree(kDefaultScaleBits);
    if (degree <= most) return;
    throw InputError(display_name(file_of(node)), "node " + text_of_copy(node),
                     "its weights and its self loop add up to " + std::to_string(degree) + " units of " +
                         unit_text(options_.weight_unit->exponent) + ", the limit at " +
                         std::to_string(kDefaultScaleBits) + " bits is " + std::to_string(most),
                     lighter("leave out some of its edges"));
  };
}

NodeId GraphImport::graph_nodes() const {
  const std::uint64_t copies = options_.layers.copies(), nodes = std::uint64_t{nodes_.value()} * copies;
  if (nodes > kMostNodes)
    throw UsageError(option(options_.layers.directed ? "directed" : "relation") + ": the graph has " +
                     std::to_string(copies) + " copies of each of " + std::to_string(nodes_.value()) + " nodes, and " +
                     std::to_string(kMostNodes) + " nodes at most");
  return static_cast<NodeId>(nodes);
}

/// By which the ids of an edge of a file grow in the graph: an edge of relation r joins copies of
/// layer r, an arc also from a node to itself.
Edge GraphImport::shift(std::size_t file) const {
  if (!options_.layers.any() || !nodes_.known()) return {0, 0};  // else ids are only counted
  const auto [from, to] = options_.layers.copies_of(static_cast<std::uint32_t>(file));
  Edge shift{from * nodes_.value(), to * nodes_.value()};
  if (const EndTypes* const ends = ends_of(file)) {
    shift.u += static_cast<NodeId>(first_id(options_.types, ends->u));
    shift.v += static_cast<NodeId>(first_id(options_.types, ends->v));
  }
  return shift;
}

const EndTypes* GraphImport::ends_of(std::size_t file) const {
  const auto& relations = options_.layers.relations;
  return file < relations.size() && relations[file].ends ? &*relations[file].ends : nullptr;
}

/// Throws InputError for an id that its type does not have.
void GraphImport::require_ids_of_types(std::span<const Edge> edges, std::size_t file) const {
  const EndTypes* const ends = ends_of(file);
  if (ends == nullptr) return;
  const NodeType &of_u = options_.types[ends->u], &of_v = options_.types[ends->v];
  for (const Edge& edge : edges) {
    if (edge.u < of_u.nodes && edge.v < of_v.nodes) continue;
    const bool is_first = edge.u >= of_u.nodes;
    const NodeType& type = is_first ? of_u : of_v;
    throw InputError(display_name(*files_[file]), "edge " + std::to_string(edge.u) + " " + std::to_string(edge.v),
                     std::string(is_first ? "its first" : "its second") + " node is none of the " +
                         std::to_string(type.nodes) + " of type " + type.name,
                     "correct the id, which counts from 0 within its type, or what " + option("ends") + " says");
  }
}

void GraphImport::look_at_ids(std::span<const Edge> edges, Edge shift) {
  for (const Edge& edge : edges) {
    const auto [least, most] = std::minmax<NodeId>({edge.u - shift.u, edge.v - shift.v});
    smallest_user_ = std::min(smallest_user_.value_or(least), least);
    largest_user_ = std::max(largest_user_.value_or(most), most);
  }
}

/// Counts whose ids are those of users.
ArcCounts GraphImport::by_users(ArcCounts counts) const {
  if (!options_.layers.any()) return counts;
  counts.smallest_node = smallest_user_;
  counts.largest_node = largest_user_;
  return counts;
}

/// The number of a copy depends on how many nodes there are.
void GraphImport::require_known_nodes() {
  if (nodes_.known() || files_.empty()) return;
  if (std::any_of(files_.begin(), files_.end(), [](const InputFile* file) { return is_pipe(*file); }))
    throw UsageError(display_name(edges()).string() + ": with " +
                     option(options_.layers.directed ? "directed" : "relation") +
                     " the number of nodes has to be known before the edges are read, and a pipe is read once; give " +
                     option("nodes", "N"));
  count_nodes();
}

/// Shards of relations, then of these and of sets of them, whose edges weigh what they weigh in all
/// relations of the set together: a sort drops what is repeated, and does not add it.
ArcCounts GraphImport::build_subsets(const std::filesystem::path& folder, Manifest& manifest) {
  const NodeId users = nodes_.value();
  const auto relations = static_cast<NodeId>(options_.layers.relations.size());
  const NodeId ends = options_.layers.directed ? 2 : 1;
  const std::filesystem::path of_relations = folder / kOfRelations;
  make_folders(of_relations);
  manifest.nodes = graph_nodes();
  manifest.weight_unit = options_.weight_unit;
  manifest.max_weight = options_.weight_unit ? options_.max_weight : options_.layers.max_weight();
  require_room_for_weights(manifest.nodes, manifest.max_weight);
  Manifest apart;
  apart.nodes = users * relations * ends;
  apart.weight_unit = options_.weight_unit;
  apart.max_weight = options_.max_weight;
  ArcCounts counts;
  {
    const Reservation memory = budget_.reserve(memory_shares::kEdgeSort.of(budget_), "sorting of edges");
    ArcSorter sorter(of_relations, static_cast<std::size_t>(memory.bytes()), apart.nodes, apart.max_weight,
                     own_sources(apart.nodes, job_));
    collect_arcs(sorter);
    const std::unique_ptr<SortedArcs> arcs = sorter.finish();
    arcs->refuse_weights_by(two_weights());
    name_table_.reset();
    counts = by_users(arcs->counts());
    require_ids(counts);
    remark_on_header(counts);
    settle_nodes(counts);
    meter_.start("relations", apart.nodes, "nodes");
    BuiltShards built = build_shards(of_relations, apart.nodes, apart.list_form(), *arcs, budget_, meter_,
                                     own_spans(apart.nodes, job_), ShardOf::nodes, weight_limit());
    join_shards(of_relations, built, counts.spooled_bytes, job_);
    share_shards(built, job_);  // an edge of a set may come from any of them
    counts = with_arcs(counts, built.unique);
    apart.shards = std::move(built.files);
    apart.edges = built.unique / 2;
    apart.weight_sum = built.arcs / 2;
  }
  const Reservation memory = budget_.reserve(memory_shares::kEdgeSort.of(budget_), "sorting of edges");
  ArcSorter sorter(folder, static_cast<std::size_t>(memory.bytes()), manifest.nodes, manifest.max_weight,
                   own_sources(manifest.nodes, job_));
  meter_.start("sets of relations", users, "nodes");
  add_with_subsets(Graph(of_relations, apart, Changes()), options_.layers, users, sorter, meter_,
                   [&](std::uint32_t layer, Edge edge, std::uint64_t units) {
                     const std::string unit = unit_text(options_.weight_unit.value().exponent);
                     throw InputError(display_name(file_of(options_.layers.copies_of(layer).first * users)),
                                      "edge " + text_of(edge.u, names_) + " " + text_of(edge.v, names_),
                                      "its weights in the relations of the set " +
                                          names_of_subset(options_.layers, layer) + " add up to " +
                                          std::to_string(units) + " units of " + unit + ", the limit is " +
                                          std::to_string(kMostWeight),
                                      lighter("leave out the set"));
                   });
  const std::unique_ptr<SortedArcs> arcs = sorter.finish();
  meter_.start("graph", manifest.nodes, "nodes");
  BuiltShards built = build_shards(folder, manifest.nodes, manifest.list_form(), *arcs, budget_, meter_,
                                   own_spans(manifest.nodes, job_), ShardOf::nodes, weight_limit());
  std::uint64_t not_counted = 0;
  join_shards(builder_.path(), built, not_counted, job_);
  manifest.shards = std::move(built.files);
  manifest.edges = built.unique / 2;
  manifest.weight_sum = built.arcs / 2;
  if (job_.first()) remove_tree(of_relations);  // all ranks have read it
  return counts;
}

/// Many edges between nodes 0 and 1 alone are no edges: a mask, or two columns of an adjacency
/// matrix.
void GraphImport::require_ids(const ArcCounts& counts) const {
  constexpr std::uint64_t kMostEdges = 4;
  if (names_ != nullptr || counts.largest_node.value_or(NodeId{2}) > 1 || counts.edges_read <= kMostEdges) return;
  throw InputError(display_name(edges()), "whole file",
                   std::to_string(counts.edges_read) +
                       " edges whose ends are all 0 or 1 seem to be a mask, or a part of an adjacency matrix",
                   "write the ids of two nodes for each edge; numpy.argwhere(a) has those of an adjacency matrix");
}

/// The first line of a file of names may be the name of a column, which no edge speaks of.
void GraphImport::remark_on_header(const ArcCounts& counts) const {
  if (names_ == nullptr || !options_.ids || options_.ids->memory != nullptr || options_.ids->header != Header::ask)
    return;
  if (counts.smallest_node != NodeId{1} || report_.left_out.zeros > 0) return;
  report_.remark(display_name(*options_.ids).string() + ": no edge speaks of node 0, " +
                 quote_for_message(names_->name(0)) +
                 ", the first line; where that is the name of the column, import with " + option("header", "ids=yes") +
                 ", else " + option("header", "ids=no") + " says that it is a node");
}

/// Where nothing else tells the number of nodes, the largest id does.
void GraphImport::settle_nodes(const ArcCounts& counts) {
  const auto remark_first_id = [&] {
    if (counts.smallest_node == NodeId{1} && !options_.nodes && !options_.stated_nodes && names_ == nullptr &&
        !edges_tell_nodes_ && report_.left_out.zeros == 0)
      report_.remark(
          display_name(edges()).string() +
          ": no edge has node 0, the smallest id is 1; ids that count from 1 should have 1 subtracted, else node 0 "
          "is a node without edges (" +
          option("nodes", "N") + " says that it is meant)");
  };
  if (nodes_.known()) return remark_first_id();
  const auto largest = counts.largest_node;
  if (!largest) throw_no_edge(edges());
  require_plain_id(*largest, counts.edges_read, edges(), edge_options(0));
  nodes_.agree(std::uint64_t{*largest} + 1, edges(), "largest id + 1");
  remark_first_id();
  constexpr std::uint64_t kManyNodes = 1000, kMostWithout = 4;
  const std::uint64_t with_edges = std::min<std::uint64_t>(std::uint64_t{*largest} + 1, 2 * counts.edges_read);
  if (*largest >= kManyNodes && *largest / kMostWithout > with_edges)
    report_.remark(display_name(edges()).string() + ": the largest id, " + std::to_string(*largest) + ", makes " +
                   std::to_string(std::uint64_t{*largest} + 1) + " nodes, of which " + std::to_string(with_edges) +
                   " at most have an edge; where ids are those of another system, give them as names with " +
                   option("ids", "FILE") + ", else " + option("nodes", "N") + " says that it is meant");
}

void GraphImport::reorder(const Graph& graph, const Graph* held) {
  Manifest& manifest = builder_.manifest();
  const auto start = std::chrono::steady_clock::now();
  positions_ = compute_order(options_.order, graph, budget_, meter_, &report_.order_reason);
  seconds_order_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  {
    const Reservation inverse = budget_.reserve(std::uint64_t{graph.num_nodes()} * sizeof(NodeId), "ids of positions");
    manifest.order_file = write_order(builder_.path(), positions_);
  }
  meter_.start("ordered graph", (held != nullptr ? 4 : 2) * std::uint64_t{graph.num_nodes()}, "nodes");
  if (held != nullptr)
    manifest.pairs->shards = build_reordered_shards(builder_.path(), *held, positions_, budget_, meter_, ShardOf::held);
  manifest.shards = build_reordered_shards(builder_.path(), graph, positions_, budget_, meter_);
}

EdgeOptions GraphImport::edge_options(std::size_t file) const {
  const bool of_relation = file < options_.relations.size();
  return {nodes_.known(),         builder_.path(),
          options_.two_row_edges, options_.ignore_weights,
          options_.max_weight,    of_relation ? options_.relations[file].weights : options_.edge_weights,
          options_.ids_are,       options_.ids_from_one,
          options_.weight_unit,   of_relation ? options_.layers.relations[file].name : std::string()};
}

OpenedEdges GraphImport::opened_edges(std::size_t of) const {
  const InputFile& file = *files_[of];
  if (names_ == nullptr) return {open_edges(file, edge_options(of)), nullptr};
  return open_named_edges(
      file, edge_options(of),
      [this](std::span<const std::string_view> names, NodeId* nodes) {
        name_table_ ? name_table_->find(names, nodes) : names_->index().find(names, nodes);
      },
      display_name(*options_.ids).string());
}

void GraphImport::collect_arcs(ArcSorter& sorter) {
  report_.left_out = {};
  for (std::size_t file = 0; file < files_.size(); ++file) collect_arcs(file, sorter);
}

/// One thread reads; names are found, and arcs distributed, on all others meanwhile.
void GraphImport::collect_arcs(std::size_t of, ArcSorter& sorter) {
  const InputFile& file = *files_[of];
  const Edge by = shift(of);
  const OpenedEdges edges = opened_edges(of);
  const bool is_shifted = by.u > 0 || by.v > 0;
  EdgeReader* const numbers = edges.numbers.get();
  std::uint64_t expected = stated_edges(of) ? stated_edges(of)->count : 0;
  if (numbers != nullptr) {
    if (options_.layers.directed && numbers->is_undirected())
      throw InputError(display_name(file), "its form",
                       "a format whose edges have no direction, METIS or a symmetric Matrix Market file",
                       "leave out " + option("directed") + ", or give the arcs as two ids a line");
    if (const auto known = numbers->count()) require_stated_edges(of, expected = *known, ".npy header");
    if (const auto declared = numbers->declared_nodes(); declared && ends_of(of) == nullptr) {
      nodes_.agree(*declared, file, "declared size");
      edges_tell_nodes_ = true;
    }
  }
  meter_.start("edges", expected, "edges");
  std::uint64_t edges_read = 0;
  const std::uint64_t zeros_before = report_.left_out.zeros;
  run_pipeline<ReadEdges>(
      [&](ReadEdges& chunk) {
        if (edges.names) return edges.names->next(chunk);
        chunk.edges.resize(kReadEdges);
        if (options_.max_weight > 1) chunk.weights.resize(kReadEdges);
        chunk.edges.resize(numbers->read(chunk.edges, chunk.weights));
        return !chunk.edges.empty();
      },
      [&](ReadEdges& chunk) {
        if (edges.names) edges.names->resolve(chunk);
        require_ids_of_types(chunk.edges, of);
        for (std::size_t i = 0; is_shifted && i < chunk.edges.size(); ++i)
          chunk.edges[i] = {chunk.edges[i].u + by.u, chunk.edges[i].v + by.v};
        chunk.held.clear();
        chunk.held_weights.clear();
        if (held_) take_held(pairs_of(options_), by, options_.weight_unit.has_value(), chunk);
        if (!chunk.held.empty()) held_->add(chunk.held, chunk.held_weights);
        sorter.add(chunk.edges, chunk.weights);
      },
      [&](const ReadEdges& chunk) {
        for (const std::vector<Edge>* const some : {&chunk.edges, &chunk.held})
          if (options_.layers.any() && nodes_.known()) look_at_ids(*some, by);
        const std::size_t count = chunk.edges.size() + chunk.held.size();
        edges_read += count;
        report_.left_out.ignored += chunk.left_out.ignored;
        report_.left_out.zeros += chunk.left_out.zeros;
        meter_.advance(count);
      });
  if (numbers != nullptr) {
    report_.left_out.ignored += numbers->left_out().ignored;
    report_.left_out.zeros += numbers->left_out().zeros;
  }
  require_stated_edges(of, edges_read + report_.left_out.zeros - zeros_before, "whole file");
}

const std::optional<StatedCount>& GraphImport::stated_edges(std::size_t file) const {
  return file < options_.relations.size() ? options_.relations[file].stated : options_.stated_edges;
}

void GraphImport::require_stated_edges(std::size_t file, std::uint64_t count, const std::string& place) const {
  const auto& stated = stated_edges(file);
  if (!stated || stated->count == count) return;
  throw InputError(display_name(*files_[file]), place,
                   std::to_string(count) + " edges, but " + display_name(stated->file).string() + " (" + stated->place +
                       ") says " + std::to_string(stated->count),
                   "fetch the files again");
}

}  // namespace unweave
