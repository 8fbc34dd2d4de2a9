// algorithms/updates/stream_plan.cpp - follows one batch from level to level, and multiplies by the
// number of batches.
#include "algorithms/updates/stream_plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "algorithms/propagation/embedding.h"
#include "algorithms/propagation/recompute.h"
#include "algorithms/random/permutation.h"
#include "algorithms/updates/batch_changes.h"
#include "algorithms/updates/changed_rows.h"
#include "algorithms/updates/cold_files.h"
#include "algorithms/updates/cone_update.h"
#include "algorithms/updates/level_work.h"
#include "algorithms/updates/planner.h"
#include "engine/graph/contents.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/memory.h"
#include "engine/resources/parallel.h"
#include "storage/formats/journal.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kSampleNodes = std::uint64_t{1} << 14;
constexpr std::uint64_t kSampleUse = 41;  // use of seed 0

/// Rows to push: as a set or, past many arcs, only how many.
struct Frontier {
  std::optional<std::vector<NodeId>> nodes;  ///< sorted
  std::uint64_t rows = 0, arcs = 0;
};

using Keeps = std::function<bool(NodeId)>;  ///< whether a level has a row of a node, since before the batch

/// The rows of a level that a push writes.
Frontier follow(const Contents& contents, std::span<const NodeId> sources, std::span<const NodeId> repaired,
                const Keeps& keeps) {
  const Graph& graph = contents.graph();
  RowMask reached(graph.num_nodes());
  std::vector<NodeId> list;
  NodesAhead ahead(sources, Graph::kNearNodes, [&](NodeRange nodes) { graph.read_ahead(nodes); });
  for (std::size_t i = 0; i < sources.size(); ++i) {
    ahead.at(i);
    graph.neighbours(sources[i], list);
    for (const NodeId node : list) reached.insert(node);
    reached.insert(sources[i]);
  }
  for (const NodeId node : repaired) reached.insert(node);
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < graph.num_nodes(); ++node)
    if (reached.contains(node) && keeps(node)) nodes.push_back(node);
  const std::uint64_t rows = nodes.size(), arcs = arcs_of(contents, nodes);
  return {std::move(nodes), rows, arcs};
}

/// Estimates the rows that a push writes from a sample of all nodes; the level keeps `rows`.
Frontier estimate(const Graph& graph, const Frontier& frontier, std::uint64_t rows, const Keeps& keeps) {
  const NodeId nodes = graph.num_nodes();
  const Permutation order(nodes, random_key(0, kSampleUse));
  std::vector<NodeId> sample(std::min<std::uint64_t>(nodes, kSampleNodes));
  for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = static_cast<NodeId>(order.at(i));
  std::sort(sample.begin(), sample.end());
  std::optional<RowMask> sources;
  if (frontier.nodes) {
    sources.emplace(nodes);
    for (const NodeId node : *frontier.nodes) sources->insert(node);
  }
  // Else as if the rows to push lay anywhere, and so did the ends of their arcs: all but the self
  // loop and the arc by which each was reached.
  const auto rows_pushed = static_cast<double>(frontier.rows), arcs_pushed = static_cast<double>(frontier.arcs);
  const double is_none = 1 - std::min(1.0, rows_pushed / nodes);
  const double is_no_end =
      1 - std::clamp((arcs_pushed - 2 * rows_pushed) / static_cast<double>(graph.num_terms()), 0.0, 1.0);

  double kept = 0, written = 0, arcs = 0, written_arcs = 0;
  std::vector<NodeId> list;
  NodesAhead ahead(sample, Graph::kNearNodes, [&](NodeRange range) {
    if (sources) graph.read_ahead(range);
  });
  for (std::size_t i = 0; i < sample.size(); ++i) {
    ahead.at(i);
    const NodeId node = sample[i];
    const double terms = graph.num_terms(node);
    double chance = 1 - is_none * std::pow(is_no_end, terms);
    if (sources) {
      graph.neighbours(node, list);
      list.push_back(node);
      chance = std::any_of(list.begin(), list.end(), [&](NodeId v) { return sources->contains(v); }) ? 1 : 0;
    }
    arcs += terms;
    if (!keeps(node)) continue;
    kept += 1;
    written += chance;
    written_arcs += chance * terms;
  }
  // Shares of known totals: hubs, of which a sample has too many or too few, then do little harm.
  const auto share_of = [](std::uint64_t total, double part, double whole) {
    return whole > 0 ? static_cast<std::uint64_t>(std::llround(static_cast<double>(total) * part / whole)) : 0;
  };
  return {std::nullopt, share_of(rows, written, kept), share_of(graph.num_terms(), written_arcs, arcs)};
}

/// One number for the features of each node as its neighbours read them.
std::vector<std::uint64_t> fingerprints(const Embedding& embedding, const std::vector<NodeId>& nodes) {
  std::vector<std::uint64_t> sums;
  std::vector<std::int32_t> row(embedding.columns());
  LookAhead ahead(0, nodes.size(), [&](std::size_t i) { embedding.read_ahead(0, {nodes[i], nodes[i] + 1}); });
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ahead.at(i);
    embedding.normalised_sums(0, nodes[i], row.data());
    sums.push_back(checksum64(std::as_bytes(std::span(row))));
  }
  return sums;
}

std::uint64_t bytes_of(const Changes& changes, const ListForm& form) {
  std::uint64_t bytes = (changes.cleared.size() + changes.lost_names.size()) * sizeof(NodeId) +
                        changes.labels.size() * sizeof(SetLabel) + changes.splits.size() * sizeof(SetSplit) +
                        changes.graphs.size() * sizeof(SetGraph);
  for (const auto* const edges : {&changes.removed, &changes.inserted})
    for (const ChangedEdge& edge : *edges)
      bytes += form.multiplied ? sizeof(Edge) + sizeof edge.units : sizeof(Edge) * edge.units;
  for (const SetRow& row : changes.rows) bytes += sizeof(NodeId) + row.words->size() * sizeof(std::uint32_t);
  return bytes;
}

/// One batch on its way through the levels.
class Walk {
 public:
  Walk(Contents& contents, Embedding& embedding, const BatchChanges& changes, const MemoryBudget& budget,
       std::uint64_t exact_arcs, const ColdFiles* cold)
      : contents_(contents), embedding_(embedding), budget_(budget), exact_arcs_(exact_arcs), cold_(cold) {
    for (const NodeChange& change : changes.nodes) changed_.push_back(change.node);
    const std::vector<std::uint64_t> before = fingerprints(embedding, changed_);
    frontier_ = of(changed_);
    if (embedding.levels() > 0) first_ = choice(1, {});  // which is made before anything changes
    MovedTargets targets = moved_targets(contents, changes);
    if (!embedding.cone().all_rows()) embedding.add_targets(targets.gained);
    apply_changes(contents, changes);
    cone_ = update_cone(embedding.cone(), contents, changes, std::move(targets), embedding.levels());
    for (std::uint32_t level = 1; level <= embedding.levels(); ++level)
      for (const NodeId node : cone_.left[level]) embedding.level(level).drop(node);
    const std::vector<std::uint64_t> after = fingerprints(embedding, changed_);
    std::vector<NodeId> moved;
    for (std::size_t i = 0; i < changed_.size(); ++i)
      if (before[i] != after[i]) moved.push_back(changed_[i]);
    frontier_ = of(std::move(moved));
  }

  /// The levels 1 .. L in turn; adds what a push of it takes to pushed_bytes().
  LevelForecast next() {
    ++level_;
    if (anew_seconds_) return anew(std::numeric_limits<double>::quiet_NaN());
    const Graph& graph = contents_.graph();
    const Cone& cone = embedding_.cone();
    const std::vector<NodeId>& entered = cone_.entered[level_];
    const Keeps keeps = [&](NodeId node) {
      return cone.contains(level_, node) && !std::binary_search(entered.begin(), entered.end(), node);
    };
    Frontier written = frontier_.nodes && frontier_.arcs <= exact_arcs_
                           ? follow(contents_, *frontier_.nodes, changed_, keeps)
                           : estimate(graph, frontier_, cone.rows(level_), keeps);
    LevelForecast forecast = level_ == 1 ? first_ : choice(level_, written);
    if (forecast.recompute) {
      anew_seconds_ = forecast.recompute_seconds;
      return anew(forecast.push_seconds);
    }
    const TargetLists* lists = lists_to_scan(embedding_, level_, frontier_.rows, frontier_.arcs);
    forecast.rows = written.rows + entered.size();
    forecast.arcs = (lists != nullptr ? lists->arcs() : frontier_.arcs) + arcs_of(contents_, entered);
    const std::uint64_t pushed = frontier_.rows + (level_ < embedding_.levels() ? written.rows : 0);
    most_pushed_ = std::max(most_pushed_, pushed);
    frontier_ = std::move(written);
    return forecast;
  }

  /// Bytes that pushes keep beside the rows that they write: of the changed rows, which are
  /// captured, and of the rows of two levels to push.
  [[nodiscard]] std::uint64_t pushed_bytes() const {
    const std::uint64_t row = embedding_.columns() * sizeof(std::int32_t);
    const std::uint64_t captured = first_.recompute ? 0 : changed_.size() * (embedding_.levels() + 1) * row;
    return captured + most_pushed_ * (row + sizeof(NodeId));
  }

 private:
  [[nodiscard]] Frontier of(std::vector<NodeId> nodes) const {
    const std::uint64_t rows = nodes.size(), arcs = arcs_of(contents_, nodes);
    return {std::move(nodes), rows, arcs};
  }

  /// What the planner says of a push of `frontier_`, asked as Update asks it; `written` stands for
  /// the receivers of a frontier that is no set.
  [[nodiscard]] LevelForecast choice(std::uint32_t level, const Frontier& written) const {
    const LevelWork work =
        frontier_.nodes
            ? level_work(contents_, embedding_, level, *frontier_.nodes, changed_.size(), budget_, cold_)
            : level_work(contents_, embedding_, level, frontier_.rows, frontier_.arcs, changed_.size(), budget_, cold_);
    const auto receivers = [&]() -> Receivers {
      if (frontier_.nodes) return count_receivers(contents_, embedding_, level, *frontier_.nodes, work);
      if (work.scan_arcs > 0) return most_receivers(work);
      return any_receivers(work, static_cast<double>(written.rows));
    };
    LevelForecast forecast;
    forecast.recompute_seconds = forecast_recompute(work);
    if (frontier_.rows == 0) {
      forecast.push_seconds = forecast_push(work, scattered_receivers(work));
      return forecast;
    }
    const LevelChoice chosen = choose(work, receivers);
    forecast.recompute = chosen.recompute;
    forecast.push_seconds = chosen.recompute ? forecast_push(work, receivers()) : chosen.seconds;
    return forecast;
  }

  [[nodiscard]] LevelForecast anew(double push_seconds) const {
    return {embedding_.cone().rows(level_), contents_.graph().num_terms(), push_seconds, *anew_seconds_, true};
  }

  Contents& contents_;
  Embedding& embedding_;
  const MemoryBudget& budget_;
  std::uint64_t exact_arcs_;
  const ColdFiles* cold_;
  std::vector<NodeId> changed_;
  ConeChange cone_;
  LevelForecast first_;
  Frontier frontier_;
  std::uint32_t level_ = 0;
  std::optional<double> anew_seconds_;  ///< for each level from the first recomputed one, as its choice says
  std::uint64_t most_pushed_ = 0;
};

}  // namespace

StreamPlan plan_stream(Contents& contents, Embedding* embedding, const BatchChanges& changes, std::uint64_t batches,
                       const MemoryBudget& budget, std::uint64_t exact_arcs, const ColdFiles* cold) {
  StreamPlan plan;
  const ListForm& form = contents.graph().list_form();
  plan.disk_bytes = journal_bytes(batches * changes.requests, batches) + bytes_of(contents.changes(), form) +
                    batches * (changed_edges(changes, form) * sizeof(Edge) + changes.forced.size() * sizeof(NodeId) +
                               changes.text_bytes + set_bytes(changes));
  plan.written_bytes = plan.disk_bytes;
  if (embedding == nullptr) return plan;

  Walk walk(contents, *embedding, changes, budget, exact_arcs, cold);
  const std::uint32_t levels = embedding->levels(), columns = embedding->columns();
  const std::uint64_t row_bytes = columns * sizeof(std::int32_t) + sizeof(NodeId);
  std::uint64_t dirty_bytes = 0, written_bytes = 0;  // memory of rows changed by all batches, and by one
  std::uint32_t pushed = 0;                          // levels
  std::uint64_t pushed_state = 0;                    // bytes of their rows
  for (std::uint32_t level = 1; level <= levels; ++level) {
    const LevelForecast& forecast = plan.levels.emplace_back(walk.next());
    plan.seconds += forecast.recompute ? forecast.recompute_seconds : forecast.push_seconds;
    if (forecast.recompute) continue;
    ++pushed;
    const std::uint64_t rows = embedding->cone().rows(level);
    const StateLevel& sums = embedding->level(level);
    const std::uint64_t changed = batches * forecast.rows;
    const std::uint64_t dirty = std::min(rows, changed + (sums.is_resident() ? 0 : sums.overlay_rows()));
    const std::uint64_t in_memory = std::min(rows, changed + (sums.is_resident() ? 0 : sums.rows_at_hand()));
    dirty_bytes += StateLevel::overlay_bytes(in_memory, columns);
    written_bytes += StateLevel::overlay_bytes(forecast.rows, columns);
    plan.disk_bytes += (4 * dirty > rows ? rows : dirty) * row_bytes;  // many rows rewrite whole partitions
    pushed_state += rows * row_bytes;
  }
  plan.written_bytes = plan.disk_bytes;
  if (const std::uint64_t most = ChangedRows::most_bytes(budget); dirty_bytes > most) {
    // Each time that changed rows are too many for the memory, all partitions that hold one are
    // written anew.
    plan.disk_bytes += pushed_state;
    plan.written_bytes += (dirty_bytes + most - 1) / std::max<std::uint64_t>(1, most) * pushed_state;
  }
  plan.memory_bytes = std::min(dirty_bytes, ChangedRows::most_bytes(budget) + written_bytes) + walk.pushed_bytes();
  if (pushed == levels || plan.memory_bytes > budget.available()) return plan;
  MemoryBudget left(budget.available() - plan.memory_bytes);
  const RecomputePlan anew = plan_recompute(contents, *embedding, left, pushed + 1, levels);
  if (!anew.fits()) throw ResourceError(anew.lack);
  plan.memory_bytes += anew.memory_bytes;
  // The files of a batch go when the next has written its own.
  plan.disk_bytes += (batches > 1 && !anew.in_memory ? 2 : 1) * anew.disk_bytes;
  plan.written_bytes += (anew.in_memory ? 1 : batches) * anew.written_bytes;
  return plan;
}

}  // namespace unweave
