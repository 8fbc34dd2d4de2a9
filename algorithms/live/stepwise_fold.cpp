// algorithms/live/stepwise_fold.cpp - folds shards, features, reference counts and partitions of
// sums, some files a step.
#include "algorithms/live/stepwise_fold.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "engine/graph/contents.h"
#include "engine/graph/features.h"
#include "engine/graph/graph.h"
#include "engine/graph/node_set.h"
#include "engine/graph/store.h"
#include "engine/ingest/feature_builder.h"
#include "engine/ingest/shard_builder.h"
#include "engine/state/cone.h"
#include "engine/state/state_level.h"
#include "storage/formats/level_files.h"
#include "storage/formats/run_file.h"
#include "storage/formats/store_layout.h"
#include "storage/formats/value_file.h"
#include "storage/io/waiting_items.h"

namespace unweave {
namespace {

class StepwiseFold {
 public:
  StepwiseFold(const std::filesystem::path& store, Manifest manifest, std::uint64_t step, MemoryBudget& budget,
               WorkMeter& meter)
      : store_(store), manifest_(std::move(manifest)), step_(step), budget_(budget), meter_(meter) {}

  void fold_graph() {
    if (!manifest_.changes) return;
    const ChangesCounts counts = count_changes(store_, *manifest_.changes, manifest_.graphs.has_value());
    if (counts.edges == 0 && manifest_.folded_spans == 0) return;
    std::uint64_t bytes = Graph::map_bytes(manifest_.nodes) +
                          Graph::change_bytes(counts.edges, manifest_.nodes, manifest_.max_weight > 1);
    for (std::size_t span = 0; span < num_spans(manifest_.nodes); ++span)
      bytes += Shard::memory_bytes(span_range(manifest_.nodes, span).size(), manifest_.weight_unit.has_value());
    const Reservation memory = budget_.reserve(bytes, "lists of the graph that changed");
    Changes changes = read_changes(store_, *manifest_.changes, changes_scope(manifest_));
    meter_.start("graph", manifest_.nodes - span_range(manifest_.nodes, manifest_.folded_spans).first, "nodes");
    do {
      Manifest next = manifest_;
      next.folded_spans = fold_some_shards(changes, next.shards);
      if (next.folded_spans == 0) {
        changes.removed.clear();
        changes.inserted.clear();
        next.changes.reset();
        if (changes != Changes()) next.changes = write_changes(store_, changes, next.graphs.has_value());
      }
      for (LevelFiles& level : next.levels) drop_files(level, FileRole::index);  // views of the shards as they were
      commit(std::move(next));
    } while (manifest_.folded_spans > 0);
  }

  /// `signed_zeros`: spans that are written in any case.
  void fold_features(const std::vector<bool>& signed_zeros) {
    if (manifest_.features == 0) return;
    Changes changes;
    std::uint64_t row_bytes = std::uint64_t{manifest_.nodes} / 8 * 2;  // which are cleared, which are set
    if (manifest_.changes) {
      const ChangesCounts counts = count_changes(store_, *manifest_.changes, manifest_.graphs.has_value());
      row_bytes += Features::set_bytes(counts.rows, counts.row_bytes);
    }
    const Reservation memory = budget_.reserve(row_bytes, "rows of features that were set");
    if (manifest_.changes) changes = read_changes(store_, *manifest_.changes, changes_scope(manifest_));
    NodeSet cleared(manifest_.nodes);
    for (const NodeId node : changes.cleared) cleared.insert(node);
    std::vector<bool> wanted = signed_zeros;
    wanted.resize(manifest_.feature_files.size());
    const NodeId file_rows = manifest_.feature_rows();
    const auto want = [&](NodeId node) { wanted[node % file_rows / span_nodes(file_rows)] = true; };
    for (const NodeId node : changes.cleared) want(node);
    for (const SetRow& row : changes.rows) want(row.node);
    std::vector<std::size_t> spans;
    std::uint64_t rows = 0;
    for (std::size_t span = 0; span < wanted.size(); ++span) {
      if (!wanted[span]) continue;
      spans.push_back(span);
      rows += span_range(file_rows, span).size();
    }
    if (spans.empty()) return;
    meter_.start("features", rows, "rows");
    for (std::size_t first = 0; first < spans.size();) {
      Manifest next = manifest_;
      const std::size_t last = end_of_step(spans, first, manifest_.feature_files);
      std::vector<bool> some(wanted.size());
      for (std::size_t i = first; i < last; ++i) some[spans[i]] = true;
      {
        Features features(store_, manifest_, cleared);
        for (const SetRow& row : changes.rows) features.set(row);
        const std::vector<FileEntry> written =
            rebuild_features(store_, features, file_rows, manifest_.feature_layout, some, {}, budget_, meter_);
        for (std::size_t i = first; i < last; ++i) next.feature_files[spans[i]] = written[i - first];
      }
      first = last;
      commit(std::move(next));
    }
  }

  void fold_levels() {
    if (!manifest_.propagation || !manifest_.propagation->kept.has_sums()) return;
    for (std::uint32_t level = 1; level <= manifest_.propagation->levels; ++level)
      if (manifest_.levels[level].run) fold_level(level);
  }

  Manifest take() && { return std::move(manifest_); }

 private:
  void commit(Manifest next) {
    commit_generation(store_, manifest_, next);
    manifest_ = std::move(next);
  }

  /// The end of the files, whose indexes are `items`, that go into one step with the first one.
  [[nodiscard]] std::size_t end_of_step(const std::vector<std::size_t>& items, std::size_t first,
                                        const std::vector<FileEntry>& files) const {
    std::uint64_t bytes = files[items[first]].bytes;
    std::size_t last = first + 1;
    while (last < items.size() && bytes + files[items[last]].bytes <= step_) bytes += files[items[last++]].bytes;
    return last;
  }

  /// Writes the next shards; returns how many spans have the changes in theirs then, 0 for all.
  std::size_t fold_some_shards(const Changes& changes, std::vector<FileEntry>& shards) {
    const Graph graph(store_, manifest_, changes);
    std::vector<std::size_t> changed;
    for (std::size_t span = manifest_.folded_spans; span < shards.size(); ++span)
      if (graph.has_changes(span_range(manifest_.nodes, span))) changed.push_back(span);
    const std::size_t items = changed.empty() ? 0 : end_of_step(changed, 0, shards);
    const std::size_t end = items < changed.size() ? changed[items] : shards.size();
    fold_shards(store_, graph, shards, {manifest_.folded_spans, end}, budget_, meter_);
    return end < shards.size() ? end : 0;
  }

  void fold_level(std::uint32_t index) {
    const SealedParameters header = SealedFile(store_, *manifest_.levels[index].run, "run").parameters();
    const auto rows = [&](std::uint64_t number) { return std::min<std::uint64_t>(number, manifest_.nodes); };
    const Reservation memory = budget_.reserve(
        StateLevel::map_bytes(manifest_.nodes) +
            StateLevel::run_bytes(rows(header[2]), rows(header[3]), rows(header[4]), manifest_.features),
        "rows that checkpoints have added");
    const StoredRun run = read_run(store_, *manifest_.levels[index].run, index, manifest_.features, manifest_.nodes);
    fold_counts(index, run);
    StateLevel level(store_, manifest_, index, run);
    const PartitionWriters writers(budget_);
    std::vector<std::size_t> changed;
    for (std::size_t i = 0; i < level.partitions().size(); ++i)
      if (level.has_changes(span_range(manifest_.nodes, i))) changed.push_back(i);
    meter_.start("sums of level " + std::to_string(index), changed.size(), "files");
    std::size_t first = 0;
    do {  // at least once, since the run goes
      Manifest next = manifest_;
      const std::size_t last = changed.empty() ? 0 : end_of_step(changed, first, level.entries());
      std::vector<FileEntry>& partitions = next.levels[index].partitions;
      run_waiting_items(last - first, writers.count(), [&](auto&& next_item) {
        for (std::size_t item = next_item(); item < last - first; item = next_item()) {
          const std::size_t partition = changed[first + item];
          partitions[partition] = level.rewrite(store_, partition);
          meter_.advance(1);
        }
      });
      first = last;
      if (first == changed.size()) next.levels[index].run.reset();
      commit(std::move(next));
      level.renew(store_, manifest_.levels[index].partitions);
    } while (first < changed.size());
  }

  void fold_counts(std::uint32_t index, const StoredRun& run) {
    if (run.count_nodes.empty()) return;
    const Reservation memory =
        budget_.reserve(std::uint64_t{manifest_.nodes} * sizeof(std::uint32_t), "reference counts");
    Manifest next = manifest_;
    {
      const ValueFile<std::uint32_t> file(store_, manifest_.levels[index].counts.value(), "counts", manifest_.nodes);
      const std::span<const std::uint32_t> base = file.values({0, manifest_.nodes});
      std::vector<std::uint32_t> counts(base.begin(), base.end());
      for (std::size_t i = 0; i < run.count_nodes.size(); ++i) counts[run.count_nodes[i]] = run.count_values[i];
      next.levels[index].counts = write_counts(store_, index, counts);
    }
    commit(std::move(next));
  }

  const std::filesystem::path& store_;
  Manifest manifest_;
  std::uint64_t step_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
};

}  // namespace

Manifest fold_stepwise(const std::filesystem::path& store, Manifest manifest, const std::vector<bool>& signed_zeros,
                       std::uint64_t step, MemoryBudget& budget, WorkMeter& meter) {
  StepwiseFold fold(store, std::move(manifest), step, budget, meter);
  fold.fold_graph();
  fold.fold_features(signed_zeros);
  fold.fold_levels();
  return std::move(fold).take();
}

Manifest end_stepwise_fold(const std::filesystem::path& store, Manifest manifest, MemoryBudget& budget) {
  if (manifest.folded_spans == 0) return manifest;
  WorkMeter nobody;
  StepwiseFold fold(store, std::move(manifest), kFoldStep, budget, nobody);
  fold.fold_graph();
  return std::move(fold).take();
}

}  // namespace unweave
