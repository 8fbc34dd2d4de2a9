// algorithms/synthetic/generate.cpp - builds a synthetic store: edges, features, labels and splits.
#include "algorithms/synthetic/generate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/random/counter_random.h"
#include "algorithms/synthetic/citation.h"
#include "algorithms/synthetic/class_features.h"
#include "algorithms/synthetic/rmat.h"
#include "algorithms/synthetic/sbm.h"
#include "engine/ingest/arc_sort.h"
#include "engine/ingest/feature_builder.h"
#include "engine/ingest/graph_order.h"
#include "engine/ingest/shard_builder.h"
#include "engine/ingest/store_builder.h"
#include "engine/resources/clock.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "storage/formats/manifest.h"
#include "storage/formats/node_file.h"
#include "storage/formats/order_file.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr int kMaxScale = 31;
constexpr std::uint64_t kMostEdges = std::uint64_t{1} << 44;
constexpr std::uint64_t kEdgesAtOnce = std::uint64_t{1} << 16;  // about
constexpr std::size_t kNodesATask = std::size_t{1} << 13;

NodeId node_count(const GenerateOptions& options) {
  if (options.nodes) {
    if (options.model == GraphModel::kRmat)
      throw UsageError(option("nodes") + ": an R-MAT graph has 2^scale nodes; give " + option("scale") + ", or take " +
                       option("model", "sbm"));
    if (*options.nodes < 1 || *options.nodes > std::uint64_t{kMaxNodeId} + 1)
      throw UsageError(option("nodes", std::to_string(*options.nodes)) + ": a graph has 1 to 4294967295 nodes");
    return static_cast<NodeId>(*options.nodes);
  }
  if (options.scale < 0 || options.scale > kMaxScale)
    throw UsageError(option("scale", std::to_string(options.scale)) + " is outside 0.." + std::to_string(kMaxScale));
  return NodeId{1} << options.scale;
}

std::uint64_t edge_count(const GenerateOptions& options, NodeId nodes) {
  if (!options.edges && options.edge_factor > kMostEdges / nodes)
    throw UsageError(option("edge-factor", std::to_string(options.edge_factor)) + " gives more than 2^44 edges");
  const std::uint64_t edges = options.edges.value_or(options.edge_factor * nodes);
  if (edges > kMostEdges) throw UsageError(option("edges", std::to_string(edges)) + ": at most 2^44");
  return edges;
}

/// Which order "auto" took, and why, a report of a synthetic store does not say.
void require_order(const std::string& order) {
  if (order == "auto" || !is_order(order))
    throw UsageError(option("order", order) + ": there are none, degree, bfs and community");
}

class Generator {
 public:
  Generator(const std::filesystem::path& store, const GenerateOptions& options, MemoryBudget& budget, WorkMeter& meter)
      : options_(options),
        budget_(budget),
        meter_(meter),
        nodes_(node_count(options)),
        edges_(edge_count(options, nodes_)),
        blocks_(nodes_, std::max(options.classes, 1U), options.seed),
        label_key_(random_key(options.seed, 5)),
        builder_(store) {
    if (options.model == GraphModel::kCitation)
      citations_.emplace(nodes_, edges_, options.classes > 0 ? options.classes : CitationModel::kSubjects,
                         options.seed);
  }

  BuildReport run() {
    Manifest& manifest = builder_.manifest();
    manifest.nodes = nodes_;
    manifest.features = options_.features;
    if (options_.features > 0) manifest.feature_layout.type = options_.feature_type;
    manifest.classes = options_.classes;
    const ArcCounts counts = make_graph();
    if (options_.classes > 0) make_labels();
    if (options_.features > 0) make_features();
    builder_.commit();
    BuildReport report = build_report(manifest, counts);
    report.seconds_order = seconds_order_;
    return report;
  }

 private:
  /// Where a node stands in the store, and who stands there.
  [[nodiscard]] NodeId position(NodeId node) const noexcept { return positions_.empty() ? node : positions_[node]; }
  [[nodiscard]] NodeId node_at(NodeId position) const { return order_ ? order_->user(position) : position; }

  /// The class that a node's features carry, and its label if it has one.
  [[nodiscard]] std::int32_t class_of(NodeId node) const noexcept {
    if (options_.classes == 0) return kNoLabel;
    if (citations_) return static_cast<std::int32_t>(citations_->paper(node).subject);
    if (options_.model == GraphModel::kSbm) return static_cast<std::int32_t>(blocks_.block(node));
    return static_cast<std::int32_t>(bits_below(random_bits(label_key_, node), options_.classes));
  }

  void make_labels() {
    meter_.start("labels", nodes_, "nodes");
    const Reservation memory = budget_.reserve(2 * std::uint64_t{nodes_} * sizeof(NodeId), "labels and splits");
    if (citations_) return make_citation_labels();
    Manifest& manifest = builder_.manifest();
    {
      std::vector<std::int32_t> labels(nodes_);
      parallel_ranges(0, nodes_, kNodesATask, [&](std::size_t first, std::size_t last) {
        for (std::size_t u = first; u < last; ++u)
          labels[position(static_cast<NodeId>(u))] = class_of(static_cast<NodeId>(u));
        meter_.advance(last - first);
      });
      manifest.labels = write_labels(builder_.path(), labels);
    }
    manifest.train = make_split("train", 0, 60);
    manifest.valid = make_split("valid", 60, 80);
    manifest.test = make_split("test", 80, 100);
  }

  /// Nodes whose percentile by hash lies in [from, to).
  FileEntry make_split(const char* name, std::uint64_t from, std::uint64_t to) {
    const std::uint64_t key = random_key(options_.seed, 6);
    std::vector<NodeId> ids;
    for (std::uint64_t u = 0; u < nodes_; ++u) {
      const std::uint64_t percentile = bits_below(random_bits(key, u), 100);
      if (percentile >= from && percentile < to) ids.push_back(position(static_cast<NodeId>(u)));
    }
    std::sort(ids.begin(), ids.end());
    return write_ids(builder_.path(), name, ids);
  }

  void make_citation_labels() {
    Manifest& manifest = builder_.manifest();
    const std::vector<LabelledPaper> labelled = citations_->labelled();
    {
      std::vector<std::int32_t> labels(nodes_, kNoLabel);
      for (const LabelledPaper& one : labelled) labels[position(one.node)] = static_cast<std::int32_t>(one.subject);
      manifest.labels = write_labels(builder_.path(), labels);
    }
    meter_.advance(nodes_);
    const auto part = [&](std::uint64_t papers) {
      return static_cast<std::size_t>(UInt128{labelled.size()} * papers / CitationModel::kLabelled);
    };
    const auto split = [&](const char* name, std::size_t first, std::size_t last) {
      std::vector<NodeId> ids;
      for (std::size_t i = first; i < last; ++i) ids.push_back(position(labelled[i].node));
      std::sort(ids.begin(), ids.end());
      return write_ids(builder_.path(), name, ids);
    };
    const std::size_t train = part(CitationModel::kTrain);
    const std::size_t valid = part(CitationModel::kTrain + CitationModel::kValid);
    manifest.train = split("train", 0, train);
    manifest.valid = split("valid", train, valid);
    manifest.test = split("test", valid, labelled.size());
  }

  /// Appends the edges of items [first, last): citing papers, or edges themselves.
  void append_edges(std::uint64_t first, std::uint64_t last, std::vector<Edge>& edges) const {
    if (citations_) return citations_->append_edges(first, last, edges);
    for (std::uint64_t i = first; i < last; ++i)
      edges.push_back(options_.model == GraphModel::kSbm ? blocks_.edge(i)
                                                         : rmat_edge(options_.seed, i, options_.scale));
  }

  ArcCounts make_graph() {
    if (options_.order == "none") return build_by_ids(builder_.path(), builder_.manifest());
    const std::filesystem::path folder = builder_.path() / "graph/by-ids";
    make_folders(folder);
    Manifest given;
    const ArcCounts counts = build_by_ids(folder, given);
    reorder(folder, given);
    remove_tree(folder);
    return counts;
  }

  /// Shards by id in a folder, named by a manifest.
  ArcCounts build_by_ids(const std::filesystem::path& folder, Manifest& manifest) {
    const Reservation memory = budget_.reserve(memory_shares::kEdgeSort.of(budget_), "sorting of edges");
    ArcSorter sorter(folder, static_cast<std::size_t>(memory.bytes()), nodes_);
    meter_.start("edges", edges_, "edges");
    const std::uint64_t items = citations_ ? std::uint64_t{nodes_} : edges_;
    const auto step = static_cast<std::uint64_t>(
        std::clamp<UInt128>(UInt128{items} * kEdgesAtOnce / std::max<std::uint64_t>(1, edges_), 1, kEdgesAtOnce));
    parallel_ranges(0, static_cast<std::size_t>((items + step - 1) / step), 1, [&](std::size_t begin, std::size_t end) {
      std::vector<Edge> edges;
      for (std::size_t i = begin; i < end; ++i) {
        edges.clear();
        append_edges(i * step, std::min((i + 1) * step, items), edges);
        sorter.add(edges);
        meter_.advance(edges.size());
      }
    });
    const auto arcs = sorter.finish();
    meter_.start("graph", nodes_, "nodes");
    BuiltShards built = build_shards(folder, nodes_, 1, *arcs, budget_, meter_);
    manifest.nodes = nodes_;
    manifest.shards = std::move(built.files);
    manifest.edges = built.arcs / 2;
    return with_arcs(arcs->counts(), built.arcs);
  }

  /// The shards of `given`, which lie in a folder, once more in the order that was asked for.
  void reorder(const std::filesystem::path& folder, const Manifest& given) {
    Manifest& manifest = builder_.manifest();
    manifest.edges = given.edges;
    manifest.order = options_.order;
    const Clock::time_point start = Clock::now();
    positions_memory_ = budget_.reserve(std::uint64_t{nodes_} * sizeof(NodeId), "positions of nodes");
    const Reservation degrees = budget_.reserve(std::uint64_t{nodes_} * sizeof(std::uint32_t), "degrees");
    const Graph graph(folder, given, Changes());
    positions_ = compute_order(options_.order, graph, budget_, meter_, nullptr);
    seconds_order_ = seconds_since(start);
    {
      const Reservation inverse = budget_.reserve(std::uint64_t{nodes_} * sizeof(NodeId), "ids of positions");
      manifest.order_file = write_order(builder_.path(), positions_);
    }
    order_.emplace(builder_.path(), *manifest.order_file, nodes_);
    meter_.start("ordered graph", 2 * std::uint64_t{nodes_}, "nodes");
    manifest.shards = build_reordered_shards(builder_.path(), graph, positions_, budget_, meter_);
  }

  void make_features() {
    meter_.start("features", nodes_, "nodes");
    const Reservation memory =
        budget_.reserve(sizeof(double) * std::uint64_t{options_.features} * options_.classes, "class centroids");
    const ClassFeatures features(options_.features, options_.classes, options_.seed);
    builder_.manifest().feature_files = build_computed_features(
        builder_.path(), nodes_, options_.features, options_.feature_type,
        [&](NodeId at, std::span<double> row) {
          const NodeId node = node_at(at);
          features.fill(node, class_of(node), row);
        },
        budget_, meter_);
  }

  const GenerateOptions& options_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
  NodeId nodes_;
  std::uint64_t edges_;
  BlockModel blocks_;
  std::uint64_t label_key_;
  StoreBuilder builder_;
  std::optional<CitationModel> citations_;
  Reservation positions_memory_;
  std::vector<NodeId> positions_;   // where nodes stand; empty where they stand by id
  std::optional<OrderFile> order_;  // which tells the nodes of positions
  double seconds_order_ = 0;
};

}  // namespace

GenerateOptions citation_options(std::optional<std::uint64_t> nodes) {
  GenerateOptions options;
  options.model = GraphModel::kCitation;
  options.nodes = nodes.value_or(CitationModel::kPapers);
  options.edges =
      static_cast<std::uint64_t>(UInt128{*options.nodes} * CitationModel::kCitations / CitationModel::kPapers);
  options.classes = CitationModel::kSubjects;
  return options;
}

BuildReport generate_store(const std::filesystem::path& store, const GenerateOptions& options, MemoryBudget& budget,
                           WorkMeter& meter) {
  require_order(options.order);  // before anything is made
  return Generator(store, options, budget, meter).run();
}

}  // namespace unweave
