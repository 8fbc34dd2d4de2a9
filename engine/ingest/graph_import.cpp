// engine/ingest/graph_import.cpp - reads edges, sorts their arcs into shards, and builds these again in an order.
#include "engine/ingest/graph_import.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "engine/graph/arc_chunks.h"
#include "engine/ingest/graph_order.h"
#include "engine/ingest/import_ranks.h"
#include "engine/ingest/shard_builder.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/pipeline.h"
#include "storage/formats/order_file.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"

namespace unweave {
namespace {

constexpr std::size_t kReadEdges = std::size_t{1} << 16;

}  // namespace

GraphImport::GraphImport(const ImportContext& context)
    : options_(context.options),
      budget_(context.budget),
      meter_(context.meter),
      job_(context.job),
      nodes_(context.nodes),
      builder_(context.builder),
      keeper_(context.keeper),
      report_(context.report),
      names_(context.names) {}

/// Reads the edges for their largest id alone, where the file does not declare a number of nodes.
void GraphImport::count_nodes() {
  const std::unique_ptr<EdgeReader> reader = open_edges(*options_.edges, edge_options());
  if (const auto declared = reader->declared_nodes()) return nodes_.agree(*declared, *options_.edges, "declared size");
  GraphKeeper keeper(keeper_, &ImportRecord::given, "given");
  const Reservation memory = budget_.reserve(ArcSorter::kMinBudget, "reading of edges");
  ArcSorter counter(builder_.path(), static_cast<std::size_t>(memory.bytes()), std::nullopt, options_.max_weight, {},
                    NodeRange());
  collect_numbers(*reader, counter, keeper, {});
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
  manifest.order = options_.order;
  memory_of_positions_ = budget_.reserve(std::uint64_t{given.nodes} * sizeof(NodeId), "positions of nodes");
  if (const KeptGraph& ordered = keeper_.record().ordered; ordered.whole && keeper_.record().order) {
    read_order(given.nodes);
    take_shards(ordered.shards, manifest);
  } else {
    manifest.edges = given.edges;
    manifest.weight_sum = given.weight_sum;
    const Reservation degrees = budget_.reserve(sizeof(std::uint32_t) * std::uint64_t{given.nodes}, "degrees");
    reorder(Graph(by_ids, given, Changes()));
  }
  // Only once no record names its files: that of the ordered graph could be one that nobody could write.
  if (!keeper_.is_written() || keeper_.record().given.shards.empty()) remove_tree(by_ids);
  return counts;
}

/// Shards by the user's ids in a folder, named by a manifest.
ArcCounts GraphImport::build_by_ids(const std::filesystem::path& folder, Manifest& manifest) {
  GraphKeeper keeper(keeper_, &ImportRecord::given, "given");
  const KeptGraph kept = keeper.kept();
  if (kept.whole) {
    report_.left_out = kept.counts.place.left_out;
    report_.resumed->edges = kept.counts.edges_read;
    const ArcCounts counts = counts_of(kept.counts);
    settle_nodes(counts);
    manifest.nodes = nodes_.value();
    take_shards(kept.shards, manifest);
    std::uint64_t unique = 0;
    for (const CountedShard& shard : kept.shards.empty() ? keeper_.record().ordered.shards : kept.shards)
      unique += shard.unique;
    return with_arcs(counts, unique);
  }
  if (names_ != nullptr && options_.edges && NameTable::bytes(names_->list()) <= memory_shares::kNameTable.of(budget_))
    name_table_.emplace(names_->list(), budget_);
  const Reservation memory = budget_.reserve(memory_shares::kEdgeSort.of(budget_), "sorting of edges");
  ArcSorter sorter(folder, static_cast<std::size_t>(memory.bytes()), nodes_.known(), options_.max_weight, keeper.arcs(),
                   own_sources(nodes_, job_));
  const std::unique_ptr<SortedArcs> arcs = collect_arcs(sorter, keeper, kept.arcs);
  name_table_.reset();
  require_ids(arcs->counts());
  remark_on_header(arcs->counts());
  settle_nodes(arcs->counts());
  require_room_for_weights(nodes_.value(), options_.max_weight);
  manifest.nodes = nodes_.value();
  meter_.start("graph", own_sources(nodes_, job_).value_or(NodeRange{0, nodes_.value()}).size(), "nodes");
  arcs->refuse_weights_by([this](Edge edge, std::uint32_t one, std::uint32_t other) {
    throw InputError(display_name(*options_.edges), "edge " + text_of(edge.u, names_) + " " + text_of(edge.v, names_),
                     "has the weight " + std::to_string(one) + " in one place and " + std::to_string(other) +
                         " in another; an edge has one weight, the same in both directions",
                     "correct the weights, or add up those of repeated edges before");
  });
  if (report_.resumed) report_.resumed->shards += kept.shards.size();
  BuiltShards built = build_shards(
      folder, nodes_.value(), options_.max_weight, *arcs, budget_, meter_, kept.shards,
      [&](std::span<const CountedShard> finished) { keeper.keep_shards(finished); }, own_spans(nodes_, job_));
  ArcCounts counts = arcs->counts();
  join_shards(builder_.path(), built, counts.spooled_bytes, job_);
  counts = with_arcs(counts, built.unique);
  keeper.finish(std::move(built.counted), nodes_.value(), counts);
  manifest.shards = std::move(built.files);
  manifest.edges = built.unique / 2;
  manifest.max_weight = options_.max_weight;
  if (manifest.max_weight > 1) manifest.weight_sum = built.arcs / 2;
  return counts;
}

/// A whole graph that was kept.
void GraphImport::take_shards(const std::vector<CountedShard>& shards, Manifest& manifest) {
  std::uint64_t arcs = 0, unique = 0;
  for (const CountedShard& shard : shards) {
    manifest.shards.push_back(shard.file);
    arcs += shard.arcs;
    unique += shard.unique;
  }
  manifest.edges = unique / 2;
  manifest.max_weight = options_.max_weight;
  if (manifest.max_weight > 1) manifest.weight_sum = arcs / 2;
  report_.resumed->shards += shards.size();
}

/// Many edges between nodes 0 and 1 alone are no edges: a mask, or two columns of an adjacency matrix.
void GraphImport::require_ids(const ArcCounts& counts) const {
  constexpr std::uint64_t kMostEdges = 4;
  if (names_ != nullptr || counts.largest_node.value_or(NodeId{2}) > 1 || counts.edges_read <= kMostEdges) return;
  throw InputError(display_name(*options_.edges), "whole file",
                   std::to_string(counts.edges_read) +
                       " edges whose ends are all 0 or 1 seem to be a mask, or a part of an adjacency matrix",
                   "write the ids of two nodes for each edge; numpy.argwhere(a) has those of an adjacency matrix");
}

/// The first line of a file of names may be the name of a column, which no edge speaks of.
void GraphImport::remark_on_header(const ArcCounts& counts) const {
  if (names_ == nullptr || !options_.ids || options_.ids->memory != nullptr || options_.ids->header != Header::ask)
    return;
  if (counts.smallest_node != NodeId{1}) return;
  report_.remark(display_name(*options_.ids).string() + ": no edge speaks of node 0, " +
                 quote_for_message(names_->name(0)) +
                 ", the first line; where that is the name of the column, import with " + option("header", "ids=yes") +
                 ", else " + option("header", "ids=no") + " says that it is a node");
}

/// Where nothing else tells the number of nodes, the largest id does.
void GraphImport::settle_nodes(const ArcCounts& counts) {
  const auto remark_first_id = [&] {
    if (counts.smallest_node == NodeId{1} && !options_.nodes && !options_.stated_nodes && names_ == nullptr &&
        !edges_tell_nodes_)
      report_.remark(
          display_name(*options_.edges).string() +
          ": no edge has node 0, the smallest id is 1; ids that count from 1 should have 1 subtracted, else node 0 "
          "is a node without edges (" +
          option("nodes", "N") + " says that it is meant)");
  };
  if (nodes_.known()) return remark_first_id();
  const auto largest = counts.largest_node;
  if (!largest) throw_no_edge(*options_.edges);
  require_plain_id(*largest, counts.edges_read, *options_.edges, edge_options());
  nodes_.agree(std::uint64_t{*largest} + 1, *options_.edges, "largest id + 1");
  remark_first_id();
  constexpr std::uint64_t kManyNodes = 1000, kMostWithout = 4;
  const std::uint64_t with_edges = std::min<std::uint64_t>(std::uint64_t{*largest} + 1, 2 * counts.edges_read);
  if (*largest >= kManyNodes && *largest / kMostWithout > with_edges)
    report_.remark(display_name(*options_.edges).string() + ": the largest id, " + std::to_string(*largest) +
                   ", makes " + std::to_string(std::uint64_t{*largest} + 1) + " nodes, of which " +
                   std::to_string(with_edges) +
                   " at most have an edge; where ids are those of another system, give them as names with " +
                   option("ids", "FILE") + ", else " + option("nodes", "N") + " says that it is meant");
}

void GraphImport::reorder(const Graph& graph) {
  Manifest& manifest = builder_.manifest();
  if (keeper_.record().order) {
    read_order(graph.num_nodes());
  } else {
    const auto start = std::chrono::steady_clock::now();
    positions_ = compute_order(options_.order, graph, budget_, meter_, &report_.order_reason);
    seconds_order_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Reservation inverse = budget_.reserve(std::uint64_t{graph.num_nodes()} * sizeof(NodeId), "ids of positions");
    manifest.order_file = write_order(builder_.path(), positions_);
    keeper_.settle([&](ImportRecord& record) {
      record.order = manifest.order_file;
      record.seconds_order = seconds_order_;
    });
  }
  meter_.start("ordered graph", 2 * std::uint64_t{graph.num_nodes()}, "nodes");
  GraphKeeper keeper(keeper_, &ImportRecord::ordered, "ordered");
  if (report_.resumed) report_.resumed->shards += keeper.kept().shards.size();
  manifest.shards = build_reordered_shards(builder_.path(), graph, positions_, budget_, meter_, &keeper);
  keeper_.settle([](ImportRecord& record) { record.given.shards.clear(); });
}

/// Positions that another process has computed.
void GraphImport::read_order(NodeId nodes) {
  const ImportRecord& record = keeper_.record();
  builder_.manifest().order_file = record.order;
  seconds_order_ = record.seconds_order;
  if (options_.order == "auto") report_.order_reason = "the order is the one that the import before it had chosen";
  const OrderFile file(builder_.path(), *record.order, nodes);
  positions_.resize(nodes);
  for (NodeId id = 0; id < nodes; ++id) positions_[id] = file.position(id);
}

EdgeOptions GraphImport::edge_options() const {
  return {nodes_.known(),      builder_.path(),       options_.two_row_edges, options_.ignore_weights,
          options_.max_weight, options_.edge_weights, options_.ids_are};
}

/// Reading and distribution overlap. `kept`: arcs that the sorter has already.
std::unique_ptr<SortedArcs> GraphImport::collect_arcs(ArcSorter& sorter, GraphKeeper& keeper,
                                                      const std::optional<KeptArcs>& kept) {
  const EdgePlace place = kept ? kept->place : EdgePlace();
  report_.left_out = place.left_out;
  if (kept) report_.resumed->edges = place.edges;
  if ((kept && kept->whole) || !options_.edges) return sorter.finish();
  if (names_ == nullptr) {
    collect_numbers(*open_edges(*options_.edges, edge_options()), sorter, keeper, place);
    return sorter.finish();
  }
  OpenedEdges opened = open_named_edges(
      *options_.edges, edge_options(),
      [this](std::span<const std::string_view> names, NodeId* nodes) {
        name_table_ ? name_table_->find(names, nodes) : names_->index().find(names, nodes);
      },
      display_name(*options_.ids).string());
  if (opened.numbers)
    collect_numbers(*opened.numbers, sorter, keeper, place);
  else
    collect_names(*opened.names, sorter, keeper, place);
  return sorter.finish();
}

/// Names are found on all threads.
void GraphImport::collect_names(NamedEdges& reader, ArcSorter& sorter, GraphKeeper& keeper, const EdgePlace& begin) {
  meter_.start("edges", options_.stated_edges ? options_.stated_edges->count : 0, "edges");
  reader.go_on(begin);
  meter_.advance(begin.edges);
  std::uint64_t edges_read = begin.edges;
  const auto place = [&] {
    EdgePlace at = reader.place();
    at.edges = edges_read;
    at.left_out = report_.left_out;
    return at;
  };
  for (bool is_end = false; !is_end;) {
    bool is_first = true;
    run_pipeline<NamedEdgeChunk>(
        [&](NamedEdgeChunk& chunk) {
          if (!std::exchange(is_first, false) && keeper.is_due()) return false;
          is_end = !reader.next(chunk);
          return !is_end;
        },
        [&](NamedEdgeChunk& chunk) {
          reader.resolve(chunk);
          sorter.add(chunk.edges, chunk.weights);
        },
        [&](const NamedEdgeChunk& chunk) {
          edges_read += chunk.edges.size();
          report_.left_out.ignored += chunk.left_out.ignored;
          report_.left_out.zeros += chunk.left_out.zeros;
          meter_.advance(chunk.edges.size());
        });
    if (!is_end) keeper.keep_arcs(sorter, place());
  }
  require_stated_edges(place().entries(), "whole file");
  keeper.keep_all_arcs(sorter, place());
}

void GraphImport::collect_numbers(EdgeReader& reader, ArcSorter& sorter, GraphKeeper& keeper, const EdgePlace& begin) {
  if (const auto known = reader.count()) require_stated_edges(*known, ".npy header");
  if (const auto declared = reader.declared_nodes()) {
    nodes_.agree(*declared, *options_.edges, "declared size");
    edges_tell_nodes_ = true;
  }
  meter_.start("edges", reader.count().value_or(options_.stated_edges ? options_.stated_edges->count : 0), "edges");
  reader.go_on(begin);
  meter_.advance(begin.edges);
  struct ReadEdges {
    std::vector<Edge> edges;
    std::vector<std::uint32_t> weights;
  };
  for (bool is_end = false; !is_end;) {
    bool is_first = true;
    run_pipeline<ReadEdges>(
        [&](ReadEdges& piece) {
          if (!std::exchange(is_first, false) && keeper.is_due()) return false;
          piece.edges.resize(kReadEdges);
          if (options_.max_weight > 1) piece.weights.resize(kReadEdges);
          piece.edges.resize(reader.read(piece.edges, piece.weights));
          is_end = piece.edges.empty();
          return !is_end;
        },
        [&](const ReadEdges& piece) { sorter.add(piece.edges, piece.weights); },
        [&](const ReadEdges& piece) { meter_.advance(piece.edges.size()); });
    if (!is_end) keeper.keep_arcs(sorter, reader.place());
  }
  require_stated_edges(reader.place().entries(), "whole file");
  report_.left_out = reader.left_out();
  keeper.keep_all_arcs(sorter, reader.place());
}

void GraphImport::require_stated_edges(std::uint64_t count, const std::string& place) const {
  const auto& stated = options_.stated_edges;
  if (!stated || stated->count == count) return;
  throw InputError(display_name(*options_.edges), place,
                   std::to_string(count) + " edges, but " + display_name(stated->file).string() + " (" + stated->place +
                       ") says " + std::to_string(stated->count),
                   "fetch the files again");
}

}  // namespace unweave
