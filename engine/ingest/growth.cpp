// engine/ingest/growth.cpp - extends the last span of each kind of file, and adds those behind it.
#include "engine/ingest/growth.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/features.h"
#include "engine/graph/node_set.h"
#include "engine/ingest/feature_builder.h"
#include "engine/ingest/name_import.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "storage/formats/class_names.h"
#include "storage/formats/node_file.h"
#include "storage/formats/order_file.h"
#include "storage/formats/rows_file.h"
#include "storage/formats/rows_image.h"
#include "storage/formats/run_file.h"
#include "storage/formats/shard.h"
#include "storage/formats/state_file.h"
#include "storage/formats/store_layout.h"
#include "storage/formats/whole_graph_file.h"

namespace unweave {
namespace {

constexpr std::uint64_t kGrownPieceBytes = std::uint64_t{1} << 20;  // bytes of rows that are written at a time

class Growth {
 public:
  Growth(const std::filesystem::path& store, const Manifest& before, NodeId nodes, MemoryBudget& budget,
         WorkMeter& meter)
      : store_(store), before_(before), nodes_(nodes), budget_(budget), meter_(meter), after_(before) {
    after_.take_users(nodes);
  }

  Manifest run(const NameList* added) {
    meter_.start("graph", before_.shards.size(), "files");
    grow_shards(before_.shards, after_.shards, before_.list_form(), ShardOf::nodes);
    if (before_.pairs)
      grow_shards(before_.pairs->shards, after_.pairs->shards, before_.of_held().list_form(), ShardOf::held);
    if (before_.features > 0) grow_features();
    grow_values();
    if (before_.order_file) grow_order();
    if (before_.names) grow_names(added);
    for (std::uint32_t level = 0; level < before_.levels.size(); ++level) grow_level(level);
    return std::move(after_);
  }

 private:
  /// The first span that is another one afterwards, unless it is whole.
  [[nodiscard]] std::size_t first_changed() const noexcept { return before_.nodes / span_nodes(before_.nodes); }
  /// Calls body(span) for each span that is another one afterwards, on all threads.
  template <class Body>
  void for_changed(const Body& body) const {
    parallel_ranges(first_changed(), num_spans(nodes_), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t span = first; span < last; ++span) body(span);
    });
  }
  /// The nodes of a span that there were before.
  [[nodiscard]] NodeRange old_range(std::size_t span) const noexcept {
    return span < num_spans(before_.nodes) ? span_range(before_.nodes, span) : NodeRange{0, 0};
  }

  void grow_shards(const std::vector<FileEntry>& from, std::vector<FileEntry>& to, const ListForm& form, ShardOf of) {
    to.resize(num_spans(nodes_));
    parallel_ranges(0, first_changed(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t span = first; span < last; ++span) {
        to[span] = copy_shard(store_, from[span], span_range(before_.nodes, span), before_.nodes, nodes_, of);
        meter_.advance(1);
      }
    });
    const Reservation memory = budget_.reserve(memory_shares::kShard.of(budget_), "the shards being written");
    const Reservation counts = budget_.reserve(
        active_threads() * Shard::memory_bytes(span_nodes(nodes_), form.multiplied) * 2, "numbers of neighbours");
    for_changed([&](std::size_t span) {
      const NodeRange range = span_range(nodes_, span), old = old_range(span);
      ShardWriter writer(store_, range, nodes_, form, memory.bytes() / active_threads(), of);
      std::optional<Shard> shard;
      if (old.size() > 0) shard.emplace(store_, from[span], old, before_.nodes, form, of);
      add_blocks(shard ? &*shard : nullptr, form, range.size(), writer);
      to[span] = writer.finish();
    });
  }

  /// Blocks as they are, and lists without neighbours behind them: those that a block gets have no
  /// bytes in it.
  static void add_blocks(const Shard* shard, const ListForm& form, NodeId nodes, ShardWriter& writer) {
    constexpr NodeId kAtOnce = 64 * kBlockNodes;
    const NodeId old = shard == nullptr ? 0 : shard->range().size();
    EncodedLists lists;
    for (NodeId first = 0; first < nodes; first += kAtOnce) {
      lists = {};
      const NodeId last = std::min(nodes, first + kAtOnce);
      for (NodeId node = first; node < last; ++node) {
        lists.counts.push_back(node < old ? shard->counts()[node] : 0);
        if (form.multiplied) lists.neighbours.push_back(node < old ? shard->id_counts()[node] : 0);
        if (node % kBlockNodes != 0) continue;
        std::span<const std::byte> bytes;
        if (node < old) bytes = shard->block_bytes(node / kBlockNodes);
        lists.block_bytes.push_back(static_cast<std::uint32_t>(bytes.size()));
        lists.bytes.insert(lists.bytes.end(), bytes.begin(), bytes.end());
      }
      writer.append(lists);
    }
  }

  void grow_features() {
    const NodeSet nobody(before_.nodes);
    const Features features(store_, before_, nobody);
    std::vector<bool> wanted(num_spans(nodes_), true);
    std::fill_n(wanted.begin(), first_changed(), false);
    after_.feature_files.resize(first_changed());
    meter_.start("features", nodes_ - std::uint64_t{first_changed()} * span_nodes(nodes_), "rows");
    for (FileEntry& entry :
         rebuild_features(store_, features, nodes_, before_.feature_layout, wanted, {}, budget_, meter_))
      after_.feature_files.push_back(std::move(entry));
  }

  /// What has a value for each node.
  void grow_values() {
    if (!before_.labels && !before_.graphs) return;
    const Reservation memory = budget_.reserve(std::uint64_t{nodes_} * sizeof(std::int32_t), "labels");
    std::vector<std::int32_t> values;
    if (before_.labels) {
      std::vector<std::string> names;
      values = read_labels(store_, *before_.labels, before_.nodes, before_.classes, &names);
      values.resize(nodes_, kNoLabel);
      after_.labels = write_named_labels(store_, values, names);
    }
    if (before_.graphs) {
      values = read_graphs_of_nodes(store_, before_.graphs->of_nodes, before_.nodes, before_.graphs->count);
      values.resize(nodes_, kNoGraph);
      after_.graphs->of_nodes = write_graphs_of_nodes(store_, values);
    }
  }

  void grow_order() {
    const OrderFile order(store_, *before_.order_file, before_.nodes);
    const Reservation memory = budget_.reserve(2 * std::uint64_t{nodes_} * sizeof(NodeId), "positions of nodes");
    std::vector<NodeId> positions(nodes_);
    std::iota(positions.begin(), positions.end(), NodeId{0});
    for (NodeId number = 0; number < before_.nodes; ++number) positions[number] = order.position(number);
    after_.order_file = write_order(store_, positions);
  }

  /// Names that nodes have lost stay in the file, where the changes say that they are lost.
  void grow_names(const NameList* added) {
    const NameList names(store_, before_.names->names, before_.nodes);
    after_.names = rewrite_names(
        store_, names, nodes_, [](NodeId) { return true; }, added, before_.ids_are, budget_, meter_);
  }

  void grow_level(std::uint32_t level) {
    const LevelFiles& from = before_.levels[level];
    LevelFiles& to = after_.levels[level];
    meter_.start("levels", num_spans(nodes_) - first_changed(), "files");
    if (!from.partitions.empty()) {
      to.partitions.resize(num_spans(nodes_));
      for_changed([&](std::size_t span) { to.partitions[span] = grow_partition(level, span); });
    }
    if (!from.rows.empty()) {
      to.rows.resize(num_spans(nodes_));
      for_changed([&](std::size_t span) { to.rows[span] = grow_rows(level, span); });
    }
    if (from.counts) {
      const Reservation memory = budget_.reserve(std::uint64_t{nodes_} * sizeof(std::uint32_t), "counts of readers");
      const SealedFile file(store_, *from.counts, "counts");
      const auto old = file.values<std::uint32_t>(0, before_.nodes);
      std::vector<std::uint32_t> counts(old.begin(), old.end());
      counts.resize(nodes_, 0);
      to.counts = write_counts(store_, level, counts);
    }
    if (!from.targets) return;
    const auto targets = static_cast<NodeId>(read_ids(store_, *from.targets, before_.nodes).size());
    for (std::size_t i = 0; i < from.lists.size(); ++i)
      to.lists[i] = copy_shard(store_, from.lists[i], span_range(targets, i), before_.nodes, nodes_, ShardOf::targets);
  }

  /// One bit for each node of a span, set for those that have a row afterwards; nothing where all
  /// have one.
  template <class Had>
  [[nodiscard]] std::vector<std::uint64_t> grown_members(NodeRange range, NodeRange old, const Had& had) const {
    if (before_.propagation->all_rows) return {};
    std::vector<std::uint64_t> members((std::size_t{range.size()} + 63) / 64);
    std::uint64_t rows = 0;
    for (NodeId i = 0; i < old.size(); ++i) {
      if (!had(old.first + i)) continue;
      members[i / 64] |= std::uint64_t{1} << (i % 64);
      ++rows;
    }
    return rows == range.size() ? std::vector<std::uint64_t>{} : members;
  }

  [[nodiscard]] FileEntry grow_partition(std::uint32_t level, std::size_t span) const {
    const NodeRange range = span_range(nodes_, span), old = old_range(span);
    const std::uint32_t columns = before_.features;
    std::optional<StatePartition> rows;
    if (old.size() > 0) rows.emplace(store_, before_.levels[level].partitions[span], level, old, columns);
    const auto members = grown_members(range, old, [&](NodeId node) { return rows->contains(node); });
    StatePartitionWriter writer(store_, level, range, columns, members);
    const std::vector<std::int32_t> zeros(columns);
    for (NodeId node = old.first; node < old.last; ++node) {
      const StateRow row = rows->row(node);
      if (row.wide != nullptr)
        writer.add_wide(node, {row.wide, columns});
      else if (row.narrow != nullptr)
        writer.add({row.narrow, columns});
    }
    if (before_.propagation->all_rows)
      for (NodeId i = old.size(); i < range.size(); ++i) writer.add(zeros);
    meter_.advance(1);
    return writer.finish();
  }

  [[nodiscard]] FileEntry grow_rows(std::uint32_t level, std::size_t span) const {
    const NodeRange range = span_range(nodes_, span), old = old_range(span);
    const std::uint32_t columns = before_.row_width();
    const KeptForm& kept = before_.propagation->kept;
    std::optional<RowsFile> rows;
    if (old.size() > 0) rows.emplace(store_, before_.levels[level].rows[span], level, old, columns, kept);
    RowsImage image(store_, level, range, columns, kept,
                    grown_members(range, old, [&](NodeId node) { return rows->contains(node); }), nullptr);
    const std::uint64_t bytes = columns * value_bytes(kept.type);
    const NodeId most = static_cast<NodeId>(std::max<std::uint64_t>(1, kGrownPieceBytes / bytes));
    std::vector<NodeId> nodes;
    std::vector<std::uint32_t> bits(columns);
    std::vector<std::byte> values;
    const auto flush = [&] {
      if (!nodes.empty()) image.put(nodes, 0, columns, values.data());
      nodes.clear();
      values.clear();
    };
    for (NodeId node = range.first; node < range.last; ++node) {
      const bool is_new = node - range.first >= old.size();
      if (is_new && !before_.propagation->all_rows) break;
      if (is_new)
        std::fill(bits.begin(), bits.end(), 0U);
      else if (!rows->read_bits(node, bits.data()))
        continue;
      nodes.push_back(node);
      append_values(bits, kept.type, values);
      if (nodes.size() == most) flush();
    }
    flush();
    meter_.advance(1);
    return image.publish();
  }

  static void append_values(std::span<const std::uint32_t> bits, FeatureType type, std::vector<std::byte>& out) {
    for (const std::uint32_t word : bits)
      for (std::uint64_t byte = 0; byte < value_bytes(type); ++byte)
        out.push_back(static_cast<std::byte>((word >> (8 * byte)) & 0xFF));
  }

  const std::filesystem::path& store_;
  const Manifest& before_;
  NodeId nodes_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
  Manifest after_;
};

}  // namespace

bool spans_stay(NodeId before, NodeId after) noexcept {
  return span_nodes(before) == span_nodes(after);
}

Manifest grow_generation(const std::filesystem::path& store, const Manifest& before, NodeId nodes,
                         const NameList* added, MemoryBudget& budget, WorkMeter& meter) {
  return Growth(store, before, nodes, budget, meter).run(added);
}

}  // namespace unweave
