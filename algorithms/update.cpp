#include "algorithms/update.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "algorithms/cone_update.h"
#include "algorithms/level_work.h"
#include "algorithms/planner.h"
#include "algorithms/receivers.h"
#include "algorithms/recompute.h"
#include "algorithms/repair.h"
#include "engine/gather.h"
#include "engine/look_ahead.h"
#include "engine/parallel.h"

namespace unweave {
namespace {

constexpr std::size_t kAhead = 12;                 // rows fetched before their turn
constexpr std::uint64_t kPartArcs = 256;           // the least work of a task
constexpr std::uint64_t kRepairArcs = 16;          // that take as long as a row to repair
constexpr std::uint64_t kPartsPerThread = 16;      // to even out parts of unequal work
constexpr std::uint64_t kBytesPerArc = 2 * 8 + 8;  // a key, room to grow, and the key in its part

bool holds(const std::vector<NodeId>& sorted, NodeId node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

/// Adds sorted ids to sorted ids.
void unite(std::vector<NodeId>& ids, const std::vector<NodeId>& more) {
  std::vector<NodeId> both;
  both.reserve(ids.size() + more.size());
  std::set_union(ids.begin(), ids.end(), more.begin(), more.end(), std::back_inserter(both));
  ids = std::move(both);
}

/// A number of nodes rounded up to what tasks may share: whole pages of a NodeMap.
std::uint64_t whole_pages(std::uint64_t nodes) {
  constexpr std::uint64_t kPage = NodeMap<NodeId>::kPageNodes;
  return (nodes + kPage - 1) / kPage * kPage;
}

/// Bounds of about `slices` ranges of nodes with as many arcs each, whatever the order of the nodes.
std::vector<NodeId> cut_by_degree(const Graph& graph, std::uint64_t slices) {
  std::vector<NodeId> bounds{0};
  const std::uint64_t most = graph.num_terms() / slices + 1;
  std::uint64_t arcs = 0;
  for (NodeId node = 0; slices > 1 && node < graph.num_nodes(); ++node) {
    arcs += graph.degree(node);
    if (arcs <= most || whole_pages(node) != node || node == bounds.back()) continue;
    bounds.push_back(node);
    arcs = 0;
  }
  if (graph.num_nodes() > 0) bounds.push_back(graph.num_nodes());
  return bounds;
}

}  // namespace

/// What one task hands on, and its space for the row at hand.
struct Update::Part {
  Part(std::uint32_t columns, MemoryBudget& budget)
      : next(columns, budget), wide(columns), narrow(columns), published(columns), delta(columns) {}
  PushedRows next;
  std::vector<NodeId> changed;
  std::uint64_t arcs = 0;  // summed
  std::vector<std::int64_t> wide;
  std::vector<std::int32_t> narrow, published, delta;
};

/// Residues that may stay unpublished.
struct Update::Limits {
  explicit Limits(const Threshold& threshold)
      : columns(threshold),
        lowest(threshold.empty() ? 0 : *std::min_element(threshold.begin(), threshold.end())),
        exact(std::all_of(threshold.begin(), threshold.end(), [](std::int64_t t) { return t == 0; })) {}
  const Threshold& columns;
  std::int64_t lowest;
  bool exact;
};

Update::Update(Contents& contents, Embedding& embedding, MemoryBudget& budget, UpdateOptions options)
    : contents_(contents), embedding_(embedding), budget_(budget), options_(std::move(options)) {}

UpdateReport Update::apply(const BatchChanges& changes, const Threshold& threshold) {
  UpdateReport report;
  if (changes.nodes.empty()) return report;
  const std::uint32_t levels = embedding_.levels();
  Repair repair(changes, levels);
  const Limits limits(threshold);
  // Nothing needs to be captured when everything is computed anew.
  const bool anew = limits.exact && levels > (options_.defer ? 1 : 0) &&
                    recompute_pays(1, repair.nodes(), repair.nodes().size(), report);
  if (!anew) repair.capture(embedding_, budget_);

  std::vector<NodeId> lost = lost_targets(contents_, changes);
  apply_changes(contents_, changes);
  repair.cone = update_cone(embedding_.cone(), contents_, changes, std::move(lost), levels);
  if (anew) {
    recompute(1, report);
    return report;
  }
  for (std::uint32_t level = 1; level <= levels; ++level) {
    for (const NodeId node : repair.cone.left[level]) {
      embedding_.level(level).drop(node);
      if (level < levels) embedding_.stale(level).erase(node);
      if (level + 1 == levels) embedding_.deferred().rows.erase(node);
    }
  }
  report.changed = repair.nodes();
  const std::uint32_t columns = embedding_.columns();
  std::vector<PushedRows> pushed;
  if (levels > 0) {
    PushedRows& rows = pushed.emplace_back(columns, budget_);
    std::vector<std::int32_t> delta(columns);
    for (std::size_t i = 0; i < repair.nodes().size(); ++i) {
      const NodeId node = repair.nodes()[i];
      embedding_.density(0, node, delta.data());
      std::uint32_t largest = 0;
      for (std::uint32_t c = 0; c < columns; ++c) {
        delta[c] -= repair.captured(0, i)[c];
        largest = std::max(largest, static_cast<std::uint32_t>(std::abs(delta[c])));
      }
      settle(0, node, delta.data(), largest, repair, limits, rows);
    }
  }
  run_levels(repair, limits, std::move(pushed), report);
  return report;
}

UpdateReport Update::flush(const Threshold& threshold) {
  UpdateReport report;
  const BatchChanges nothing;
  Repair repair(nothing, embedding_.levels());
  run_levels(repair, Limits(threshold), {}, report);
  return report;
}

bool Update::recompute_pays(std::uint32_t level, const std::vector<NodeId>& sources, std::uint64_t changed,
                            UpdateReport& report) const {
  const LevelWork work = level_work(contents_, embedding_, level, sources, changed);
  const bool is_void = level == embedding_.levels() && embedding_.deferred().is_void;  // nobody knows what to push
  LevelChoice choice;
  if (is_void || options_.plan == Plan::recompute)
    choice = {true, predict_recompute(work)};
  else if (options_.plan == Plan::push)
    choice = {false, predict_push(work, scattered_receivers(work))};
  else
    choice = choose(work, [&] { return count_receivers(contents_, embedding_, level, sources, work); });
  const std::uint32_t levels_anew = embedding_.levels() - level + (options_.defer ? 0 : 1);
  report.seconds_predicted += choice.recompute ? choice.seconds * levels_anew : choice.seconds;
  report.plan.emplace_back(choice.recompute ? "recompute" : "push");
  return choice.recompute;
}

/// Levels from `level` on, from everything that the level below has to tell.
void Update::recompute(std::uint32_t level, UpdateReport& report) {
  const std::uint32_t levels = embedding_.levels();
  const std::uint32_t last = options_.defer ? levels - 1 : levels;
  embedding_.stale(level - 1).clear();
  sweep_levels(level, last, report);
  report.plan.resize(last, "recompute");
  if (!options_.defer) return;
  embedding_.stale(last).clear();
  embedding_.deferred().rows.clear();
  embedding_.deferred().is_void = true;
  report.plan.emplace_back("defer");
}

void Update::sweep_levels(std::uint32_t first, std::uint32_t last, UpdateReport& report) {
  report.rows_touched += recompute_levels(contents_, embedding_, budget_, options_.store, first, last);
  const Graph& graph = contents_.graph();
  const Cone& cone = embedding_.cone();
  report.arcs_visited += graph.num_terms() * (last - first + 1);
  for (std::uint32_t level = first; level <= last; ++level) {
    if (cone.all_rows()) report.arcs_summed += graph.num_terms();
    for (NodeId node = 0; !cone.all_rows() && node < graph.num_nodes(); ++node)
      if (cone.contains(level, node)) report.arcs_summed += graph.degree(node);
  }
  report.all_rows = true;
}

bool Update::defers(std::uint32_t level) const noexcept {
  return options_.defer && level == embedding_.levels();
}

UpdateReport Update::deliver() {
  UpdateReport report;
  Embedding::Deferred& deferred = embedding_.deferred();
  const std::uint32_t level = embedding_.levels();
  if (deferred.empty()) return report;
  const std::vector<NodeId> nodes = deferred.rows.nodes();
  if (recompute_pays(level, nodes, 0, report)) {
    sweep_levels(level, level, report);
  } else {
    const std::uint32_t columns = embedding_.columns();
    std::vector<PushedRows> pushed;
    PushedRows& rows = pushed.emplace_back(columns, budget_);
    std::vector<std::int32_t> delta(columns);
    for (const NodeId node : nodes) {
      std::fill(delta.begin(), delta.end(), 0);
      deferred.rows.add_to(node, 1, delta.data());
      rows.add(node, delta.data());
    }
    const BatchChanges nothing;
    const Threshold zero(columns, 0);
    PushSources sources = PushedRows::joined(std::move(pushed), columns, budget_);
    run_level(level, std::move(sources), Repair(nothing, level), Limits(zero), report);
  }
  deferred.rows.clear();
  deferred.is_void = false;
  return report;
}

void Update::run_levels(Repair& repair, const Limits& limits, std::vector<PushedRows> pushed, UpdateReport& report) {
  const std::uint32_t columns = embedding_.columns();
  for (std::uint32_t level = 1; level <= embedding_.levels(); ++level) {
    if (repair.nodes().empty()) {
      // A flush: the candidates of the level below are its stale rows, besides those that the level before made hot.
      StaleRows& stale = embedding_.stale(level - 1);
      PushedRows& rows = pushed.emplace_back(columns, budget_);
      std::vector<std::int32_t> delta(columns);
      for (const NodeId node : stale.nodes()) {
        std::fill(delta.begin(), delta.end(), 0);
        stale.add_to(node, 1, delta.data());
        std::uint32_t largest = 0;
        for (const std::int32_t value : delta) largest = std::max(largest, static_cast<std::uint32_t>(std::abs(value)));
        settle(level - 1, node, delta.data(), largest, repair, limits, rows);
      }
    }
    PushSources sources = PushedRows::joined(std::move(pushed), columns, budget_);
    const bool capture_only = level == 1 && !report.plan.empty();  // decided before the capture
    if (defers(level)) {
      report.plan.emplace_back("defer");
      if (embedding_.deferred().is_void) return;
    } else if (!capture_only && limits.exact && !sources.nodes.empty()) {
      if (recompute_pays(level, sources.nodes, repair.nodes().size(), report)) {
        sources = {};
        recompute(level, report);
        return;
      }
    } else if (!capture_only) {
      const LevelWork work = level_work(contents_, embedding_, level, sources.nodes, repair.nodes().size());
      report.seconds_predicted += predict_push(work, scattered_receivers(work));
      report.plan.emplace_back("push");
    }
    pushed = run_level(level, std::move(sources), repair, limits, report);
  }
}

void Update::update_row(std::uint32_t level, const PushSources& sources, const Repair& repair,
                        const TouchedRows& touched, std::size_t index, const Limits& limits, Part& part) {
  const std::uint32_t columns = embedding_.columns();
  const NodeId node = touched.rows[index];
  const std::size_t changed = repair.index(node);
  const bool last_level = level == embedding_.levels();
  const std::uint32_t degree = last_level ? 0 : contents_.graph().degree(node);  // nobody divides the last level here
  StateLevel& sums = embedding_.level(level);
  const StateRow before = sums.row(node);
  if (!last_level) {
    if (changed == Repair::kNone) {
      density_from_sums(before, columns, degree, part.published.data());
      embedding_.stale(level).add_to(node, -1, part.published.data());
    } else {
      std::copy_n(repair.captured(level, changed), columns, part.published.data());
    }
  }
  // A difference of two densities needs one bit more than a density.
  const Tile tile{sources.deltas.data(), columns, static_cast<int>(embedding_.spec().scale_bits) + 1};
  const std::span list(touched.sources.data() + touched.first[index], touched.first[index + 1] - touched.first[index]);
  std::uint32_t largest = 0;
  if (changed == Repair::kNone && before.narrow != nullptr && add_rows(tile, list, before.narrow, part.narrow.data())) {
    sums.store(node, part.narrow.data());
    if (!last_level)
      largest = round_differences(std::span<const std::int32_t>(part.narrow), degree, part.published.data(),
                                  part.delta.data());
  } else {
    sums.load(node, part.wide.data());
    gather_rows(tile, list, part.wide.data());
    if (changed != Repair::kNone) repair.mend(level, embedding_, changed, part.wide.data());
    sums.store(node, part.wide.data());
    if (!last_level)
      largest =
          round_differences(std::span<const std::int64_t>(part.wide), degree, part.published.data(), part.delta.data());
  }
  if (!last_level) settle(level, node, part.delta.data(), largest, repair, limits, part.next);
}

std::vector<PushedRows> Update::run_level(std::uint32_t level, PushSources sources, const Repair& repair,
                                          const Limits& limits, UpdateReport& report) {
  const std::uint32_t columns = embedding_.columns();
  const std::uint64_t own_arcs = arcs_of(contents_, sources.nodes);
  const TargetLists* const targets = lists_to_scan(embedding_, level, sources.nodes.size(), own_arcs);
  const std::uint64_t arcs = targets != nullptr ? targets->arcs() : own_arcs;
  report.pushes += sources.nodes.size();
  report.arcs_visited += arcs;

  // Receivers are cut into slices where they would take too much memory, slices into one part a task.
  const std::uint64_t nodes = contents_.num_nodes();
  const std::uint64_t room = std::max<std::uint64_t>(budget_.available() / 4, std::uint64_t{1} << 20);
  const std::uint64_t slices = targets != nullptr ? 1 : 1 + arcs * kBytesPerArc / room;
  const std::vector<NodeId> bounds = cut_by_degree(contents_.graph(), slices);
  const std::uint64_t effort = arcs + kRepairArcs * repair.nodes().size();
  const std::uint64_t num_parts =
      std::clamp<std::uint64_t>(effort / slices / kPartArcs, 1, kPartsPerThread * active_threads());
  const Cone& cone = embedding_.cone();
  const auto& entered = repair.cone.entered[level];
  const auto stays = [&](NodeId node) {
    return cone.all_rows() || (cone.contains(level, node) && !holds(entered, node));
  };
  std::optional<SourceIndex> index;
  if (targets != nullptr) index.emplace(sources.nodes);
  // Nodes whose rows lie within some 16 KiB, if those of the cone lie anywhere.
  const std::uint64_t near = nodes * 4096 / columns / std::max<std::uint64_t>(1, cone.rows(level));
  std::vector<NodeId> changed;
  std::vector<PushedRows> pushed;
  for (std::size_t s = 0; s + 1 < bounds.size(); ++s) {
    const NodeRange slice{bounds[s], bounds[s + 1]};
    const std::uint64_t from = slice.first, part_nodes = whole_pages(slice.size() / num_parts + 1);
    std::vector<SentKeys> sent;
    if (targets == nullptr)
      sent = receivers_of(contents_.graph(), sources.nodes, slice, static_cast<NodeId>(part_nodes));
    std::vector<Part> parts;
    for (std::uint64_t p = 0; p * part_nodes < slice.size(); ++p) parts.emplace_back(columns, budget_);
    parallel_ranges(0, parts.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        const auto first = static_cast<NodeId>(from + p * part_nodes);
        const auto last = static_cast<NodeId>(std::min<std::uint64_t>(slice.last, first + part_nodes));
        TouchedRows touched = targets == nullptr ? touched_rows(sent, p, {first, last}, repair.nodes(), stays)
                                                 : touched_targets(*targets, contents_.graph(), *index, repair.nodes(),
                                                                   {first, last}, stays);
        NodesAhead ahead(touched.rows, near, [&](NodeRange rows) { embedding_.level(level).read_ahead(rows); });
        for (std::size_t i = 0; i < touched.rows.size(); ++i) {
          ahead.at(i);
          if (i + kAhead < touched.rows.size()) {
            embedding_.level(level).prefetch(touched.rows[i + kAhead]);
            if (level < embedding_.levels()) embedding_.stale(level).prefetch(touched.rows[i + kAhead]);
          }
          update_row(level, sources, repair, touched, i, limits, parts[p]);
        }
        parts[p].arcs = touched.sources.size();
        parts[p].changed = std::move(touched.rows);
      }
    });
    for (Part& part : parts) {
      report.arcs_summed += part.arcs;
      changed.insert(changed.end(), part.changed.begin(), part.changed.end());
      if (part.next.size() > 0) pushed.push_back(std::move(part.next));
    }
  }
  report.rows_touched += changed.size();
  unite(report.changed, changed);
  enter_rows(level, entered, report);
  return pushed;
}

/// Queues a row for its push, keeps it as stale, or neither when there is nothing to tell.
void Update::settle(std::uint32_t level, NodeId node, const std::int32_t* delta, std::uint32_t largest,
                    const Repair& repair, const Limits& limits, PushedRows& next) {
  StaleRows& stale = embedding_.stale(level);
  const std::int64_t degree = contents_.graph().degree(node);
  bool push = false;
  if (largest > 0) {
    push = holds(repair.changes().forced, node);
    if (!push && degree * largest > limits.lowest)
      for (std::uint32_t c = 0; c < embedding_.columns(); ++c)
        push |= degree * std::abs(std::int64_t{delta[c]}) > limits.columns[c];
  }
  if (largest == 0 || push)
    stale.erase(node);
  else
    stale.set(node, static_cast<std::uint32_t>(degree), delta);
  if (!push) return;
  if (!defers(level + 1))
    next.add(node, delta);
  else if (!embedding_.deferred().is_void)
    embedding_.deferred().rows.add(node, static_cast<std::uint32_t>(degree), delta);
}

/// Rows that the cone takes in; none at the last level, whose targets only become fewer.
void Update::enter_rows(std::uint32_t level, const std::vector<NodeId>& rows, UpdateReport& report) {
  const std::uint64_t arcs = recompute_rows(contents_, embedding_, level, rows);
  report.arcs_visited += arcs;
  report.arcs_summed += arcs;
  report.rows_touched += rows.size();
  unite(report.changed, rows);
}

}  // namespace unweave
