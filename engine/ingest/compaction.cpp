// engine/ingest/compaction.cpp - writes the present contents as new files and keeps those that
// would not change.
#include "engine/ingest/compaction.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/graph/node_set.h"
#include "engine/ingest/feature_builder.h"
#include "engine/ingest/graph_order.h"
#include "engine/ingest/name_import.h"
#include "engine/ingest/shard_builder.h"
#include "engine/resources/parallel.h"
#include "storage/formats/class_names.h"
#include "storage/formats/expiry_file.h"
#include "storage/formats/name_file.h"
#include "storage/formats/node_file.h"
#include "storage/formats/order_file.h"
#include "storage/formats/store_layout.h"
#include "storage/formats/whole_graph_file.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"

namespace unweave {
namespace {

class Compaction {
 public:
  Compaction(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents,
             MemoryBudget& budget, WorkMeter& meter)
      : store_(store), before_(manifest), contents_(contents), budget_(budget), meter_(meter), after_(manifest) {
    after_.changes.reset();
    after_.folded_spans = 0;
    after_.forget_history();
    after_.edges = contents.graph().num_edges();
    if (after_.max_weight > 1) after_.weight_sum = contents.graph().num_arcs() / 2;
    if (after_.pairs) after_.pairs->changes.reset();
    if (after_.pairs) after_.pairs->edges = contents.held()->num_edges();
    if (after_.pairs && after_.weight_unit) after_.pairs->weight_sum = contents.held()->num_arcs() / 2;
  }

  /// The manifest with the data that were set in files, and shards and changes as they are.
  Manifest fold() && {
    after_ = before_;
    if (before_.features > 0) write_features({});
    write_labels_and_splits();
    return std::move(after_);
  }

  Manifest run(NodeId nodes, const NameList* added, bool keep_order, std::string* reason,
               const FindSignedZeros& signed_zeros) {
    after_.take_users(nodes / after_.layers.copies());
    if (before_.order_file && !keep_order)
      reorder(reason);
    else if (grows())
      append_nodes();
    if (moved_.empty()) {
      after_.shards = fold_shards(store_, contents_.graph(), before_.shards, budget_, meter_);
    } else {
      meter_.start("ordered graph", 2 * std::uint64_t{after_.nodes}, "nodes");
      after_.shards = build_reordered_shards(store_, contents_.graph(), moved_, budget_, meter_);
    }
    if (after_.pairs) write_held();
    if (before_.features > 0) write_features(signed_zeros);
    if (!moved_.empty() || contents_.cleared().size() > 0 || contents_.has_set_values()) write_labels_and_splits();
    if (before_.names) write_names(added);
    after_.expiries.reset();
    if (contents_.expiries().size() > 0) after_.expiries = write_expiries(store_, grown_expiries());
    return std::move(after_);
  }

 private:
  [[nodiscard]] bool grows() const noexcept { return after_.nodes > before_.nodes; }

  /// The edges that are held out of the graph.
  void write_held() {
    const Graph& held = *contents_.held();
    std::vector<FileEntry>& shards = after_.pairs->shards;
    if (moved_.empty()) {
      shards = fold_shards(store_, held, before_.pairs->shards, budget_, meter_, ShardOf::held);
    } else {
      meter_.start("ordered graph", 2 * std::uint64_t{after_.nodes}, "nodes");
      shards = build_reordered_shards(store_, held, moved_, budget_, meter_, ShardOf::held);
    }
  }

  /// A number among as many nodes as there are afterwards: those of later copies grow.
  [[nodiscard]] NodeId grown(NodeId number) const {
    const NodeId users = before_.user_nodes();
    return number / users * after_.user_nodes() + number % users;
  }
  /// The numbers of the nodes by their positions, and those of new nodes as if they stood behind.
  [[nodiscard]] std::vector<NodeId> grown_numbers() const {
    std::vector<NodeId> numbers;
    numbers.reserve(after_.nodes);
    for (NodeId position = 0; position < before_.nodes; ++position)
      numbers.push_back(grown(contents_.order().number(position)));
    for (std::uint32_t copy = 0; copy < after_.layers.copies(); ++copy)
      for (NodeId user = before_.user_nodes(); user < after_.user_nodes(); ++user)
        numbers.push_back(copy * after_.user_nodes() + user);
    return numbers;
  }

  /// Without an order everybody goes where his number says. Under one that is kept everybody stays
  /// where he is, and new nodes come behind.
  void append_nodes() {
    const std::uint64_t bytes = std::uint64_t{after_.nodes} * sizeof(NodeId);
    memory_of_moves_ = budget_.reserve(bytes, "positions of nodes");
    moved_ = grown_numbers();
    if (!before_.order_file) return;
    const Reservation memory = budget_.reserve(2 * bytes, "positions of nodes");
    std::vector<NodeId> positions(after_.nodes);
    for (NodeId position = 0; position < after_.nodes; ++position) positions[moved_[position]] = position;
    std::iota(moved_.begin(), moved_.end(), NodeId{0});
    after_.order_file = write_order(store_, positions);
  }

  /// Computes the order of the present graph, as an import does from shards by the user's ids.
  /// Where it is another one than that of the store, moved_ leads to it.
  void reorder(std::string* reason) {
    const NodeId nodes = after_.nodes;
    const std::uint64_t bytes = std::uint64_t{nodes} * sizeof(NodeId);
    memory_of_moves_ = budget_.reserve(bytes, "positions of nodes");
    std::vector<NodeId> users = grown_numbers();
    const std::filesystem::path by_ids = store_ / "graph" / "by-ids";
    Manifest given;
    given.nodes = nodes;
    given.edges = after_.edges;
    given.max_weight = after_.max_weight;
    given.weight_unit = after_.weight_unit;
    given.weight_sum = after_.weight_sum;
    meter_.start("graph by ids", 2 * std::uint64_t{nodes}, "nodes");
    make_folders(by_ids);
    given.shards = build_reordered_shards(by_ids, contents_.graph(), users, budget_, meter_);
    const Reservation memory = budget_.reserve(bytes, "positions of nodes");
    std::vector<NodeId> positions;
    {
      const Reservation degrees = budget_.reserve(sizeof(std::uint32_t) * std::uint64_t{nodes}, "degrees");
      positions = compute_order(before_.order, Graph(by_ids, given, Changes()), budget_, meter_, reason);
    }
    remove_tree(by_ids);
    bool same = !grows();
    for (NodeId position = 0; position < nodes; ++position) {
      users[position] = positions[users[position]];
      same &= users[position] == position;
    }
    if (same) return;
    const Reservation inverse = budget_.reserve(bytes, "ids of positions");
    after_.order_file = write_order(store_, positions);
    moved_ = std::move(users);
  }

  [[nodiscard]] std::vector<Expiry> grown_expiries() const {
    std::vector<Expiry> all = contents_.expiries().sorted();
    for (Expiry& one : all)
      if (!is_node_item(one.item) && !is_feature_item(one.item) && !is_graph_item(one.item))
        one.item = {grown(one.item.u), grown(one.item.v)};
    return all;
  }

  void write_features(const FindSignedZeros& signed_zeros) {
    const NodeId rows_after = after_.feature_rows();
    std::vector<bool> wanted(num_spans(rows_after), !moved_.empty());
    if (moved_.empty()) {
      if (signed_zeros) {
        std::optional<std::vector<bool>> found = signed_zeros();
        if (!found) return;
        wanted = std::move(*found);
      }
      for (const NodeSet* const nodes : {&contents_.cleared(), &contents_.features().set_nodes()})
        for (const NodeId node : nodes->sorted()) wanted[node % rows_after / span_nodes(rows_after)] = true;
    }
    std::uint64_t rows = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) rows += wanted[i] ? span_range(rows_after, i).size() : 0;
    if (rows == 0) return;
    meter_.start("features", rows, "rows");
    // Rows that copies share lie by the nodes' numbers, which stay.
    const std::span<const NodeId> positions = after_.shares_features() ? std::span<const NodeId>() : moved_;
    const std::vector<FileEntry> written = rebuild_features(store_, contents_.features(), rows_after,
                                                            before_.feature_layout, wanted, positions, budget_, meter_);
    after_.feature_files.resize(wanted.size());
    auto next = written.begin();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i]) after_.feature_files[i] = *next++;
  }

  /// Removed nodes leave theirs, and slots without a name.
  void write_names(const NameList* added) {
    const NodeNames& names = contents_.order().names();
    if (!grows() && names.lost().size() == 0) return;
    after_.names = rewrite_names(
        store_, names.list(), after_.user_nodes(), [&](NodeId user) { return !names.has_lost(user); }, added,
        before_.ids_are, budget_, meter_);
  }

  [[nodiscard]] NodeId place(NodeId node) const { return moved_.empty() ? node : moved_[node]; }

  void write_labels_and_splits() {
    if (before_.labels) {
      const Reservation memory = budget_.reserve(std::uint64_t{after_.nodes} * sizeof(std::int32_t), "labels");
      std::vector<std::int32_t> labels(after_.nodes, kNoLabel);
      for (NodeId node = 0; node < before_.nodes; ++node) labels[place(node)] = contents_.label(node);
      after_.labels =
          write_named_labels(store_, labels, read_class_names(store_, *before_.labels, before_.nodes, before_.classes));
    }
    const auto write_split = [&](const char* name, const std::vector<NodeId>& nodes, std::optional<FileEntry>& entry) {
      if (!entry) return;
      std::vector<NodeId> ids(nodes.size());
      std::transform(nodes.begin(), nodes.end(), ids.begin(), [&](NodeId node) { return place(node); });
      std::sort(ids.begin(), ids.end());
      entry = write_ids(store_, name, ids);
    };
    write_split("train", contents_.train(), after_.train);
    write_split("valid", contents_.valid(), after_.valid);
    write_split("test", contents_.test(), after_.test);
    if (before_.graphs) write_graphs();
  }

  /// Whole graphs keep their numbers; nodes that are new belong to none.
  void write_graphs() {
    const WholeGraphs& graphs = contents_.graphs();
    GraphFiles& files = *after_.graphs;
    const Reservation memory = budget_.reserve(
        std::max<std::uint64_t>(after_.nodes, graphs.count()) * sizeof(std::int32_t), "graphs of nodes");
    std::vector<std::int32_t> numbers(after_.nodes, kNoGraph);
    for (NodeId node = 0; node < before_.nodes; ++node) numbers[place(node)] = graphs.of(node);
    files.of_nodes = write_graphs_of_nodes(store_, numbers);
    if (files.labels) {
      numbers.resize(graphs.count());
      for (std::uint32_t graph = 0; graph < graphs.count(); ++graph) numbers[graph] = graphs.label(graph);
      files.labels = write_graph_labels(store_, numbers, graphs.class_names());
    }
    if (files.train) files.train = write_graph_split(store_, "train", graphs.members(SplitName::train));
    if (files.valid) files.valid = write_graph_split(store_, "valid", graphs.members(SplitName::valid));
    if (files.test) files.test = write_graph_split(store_, "test", graphs.members(SplitName::test));
  }

  const std::filesystem::path& store_;
  const Manifest& before_;
  const Contents& contents_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
  Manifest after_;
  std::vector<NodeId> moved_;  ///< new position of each position; empty where the order stays
  Reservation memory_of_moves_;
};

}  // namespace

Manifest compact_contents(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents,
                          NodeId nodes, const NameList* added, bool keep_order, std::string* reason,
                          const FindSignedZeros& signed_zeros, MemoryBudget& budget, WorkMeter& meter) {
  return Compaction(store, manifest, contents, budget, meter).run(nodes, added, keep_order, reason, signed_zeros);
}

Manifest fold_data(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents,
                   MemoryBudget& budget, WorkMeter& meter) {
  return Compaction(store, manifest, contents, budget, meter).fold();
}

std::uint64_t fold_data_bytes(const Contents& contents) {
  return std::max<std::uint64_t>(
      rebuild_bytes(contents.features().columns()),
      std::max<std::uint64_t>(contents.num_nodes(), contents.graphs().count()) * sizeof(std::int32_t));
}

}  // namespace unweave
