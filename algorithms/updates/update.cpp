// algorithms/updates/update.cpp - runs the levels of an update by pushes or sweeps, and delivers a
// deferred last level.
#include "algorithms/updates/update.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "algorithms/propagation/recompute.h"
#include "algorithms/updates/cone_update.h"
#include "algorithms/updates/level_work.h"
#include "algorithms/updates/planner.h"
#include "algorithms/updates/receivers.h"
#include "algorithms/updates/repair.h"
#include "engine/graph/node_map.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"

namespace unweave {

Update::Limits::Limits(const Threshold& threshold)
    : columns(threshold),
      lowest(threshold.empty() ? 0 : *std::min_element(threshold.begin(), threshold.end())),
      exact(std::all_of(threshold.begin(), threshold.end(), [](std::int64_t t) { return t == 0; })) {}

Update::Update(Contents& contents, Embedding& embedding, ChangedRows& memory, UpdateOptions options)
    : contents_(contents),
      embedding_(embedding),
      memory_(memory),
      budget_(memory.budget()),
      options_(std::move(options)),
      key_(1, embedding.columns()) {}

std::shared_ptr<PushSpool> Update::make_spool() const {
  return std::make_shared<PushSpool>(memory_.spools(), embedding_.columns(), contents_.num_nodes(), budget_);
}

UpdateReport Update::apply(const BatchChanges& changes, const Threshold& threshold) {
  UpdateReport report;
  if (changes.nodes.empty()) {  // no row differs, but when an edge is to go may
    apply_changes(contents_, changes);
    return report;
  }
  const std::uint32_t levels = embedding_.levels();
  Repair repair(changes, levels);
  const Limits limits(threshold);
  // Nothing needs to be captured when everything is computed anew.
  const bool anew = limits.exact && levels > (options_.defer ? 1 : 0) &&
                    recompute_pays(options_.plan, 1, repair.nodes(), repair.nodes().size(), report);
  if (!anew) repair.capture(embedding_, key_.columns(0), budget_, memory_.spools());

  MovedTargets targets = moved_targets(contents_, changes);
  if (!embedding_.cone().all_rows()) embedding_.add_targets(targets.gained);
  apply_changes(contents_, changes);
  repair.cone = update_cone(embedding_.cone(), contents_, changes, std::move(targets), levels);
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
  if (!options_.defer) report.changed = repair.nodes();
  std::vector<PushedRows> pushed;
  if (levels > 0) pushed = settle_level0(repair, limits);
  run_levels(repair, limits, std::move(pushed), report);
  return report;
}

std::vector<PushedRows> Update::settle_level0(const Repair& repair, const Limits& limits) {
  constexpr std::size_t kPartNodes = 256;
  constexpr NodeId kPage = NodeMap<NodeId>::kPageNodes;
  const std::uint32_t columns = embedding_.columns();
  const std::vector<NodeId>& nodes = repair.nodes();
  // Nodes of one page of a NodeMap are for one task.
  std::vector<std::size_t> bounds{0};
  for (std::size_t i = kPartNodes; i < nodes.size(); ++i) {
    if (nodes[i] / kPage == nodes[i - 1] / kPage) continue;
    bounds.push_back(i);
    i += kPartNodes - 1;
  }
  bounds.push_back(nodes.size());
  const std::shared_ptr<PushSpool> spool = make_spool();
  std::vector<PushedRows> parts;
  parts.reserve(bounds.size() - 1);
  while (parts.size() + 1 < bounds.size()) parts.emplace_back(columns, budget_, spool);
  parallel_ranges(0, parts.size(), 1, [&](std::size_t first, std::size_t last) {
    std::vector<std::int32_t> delta(columns);
    for (std::size_t i = bounds[first]; i < bounds[last]; ++i) {
      if (i == bounds[first + 1]) ++first;
      const std::int32_t* const captured = repair.captured(0, i);
      embedding_.normalised_sums(0, nodes[i], delta.data());
      RowDifference difference;
      difference.fingerprint = key_.modulus().subtract(
          fingerprint_of(std::span<const std::int32_t>(delta), key_.columns(0)), repair.captured_fingerprint(0, i));
      for (std::uint32_t c = 0; c < columns; ++c) {
        delta[c] -= captured[c];
        difference.largest = std::max(difference.largest, static_cast<std::uint32_t>(std::abs(delta[c])));
      }
      settle(0, nodes[i], captured, delta.data(), difference, repair, limits, parts[first]);
    }
  });
  for (PushedRows& one : parts) one.follow();
  return parts;
}

UpdateReport Update::flush(const Threshold& threshold) {
  UpdateReport report;
  const BatchChanges nothing;
  Repair repair(nothing, embedding_.levels());
  run_levels(repair, Limits(threshold), {}, report);
  return report;
}

bool Update::recompute_pays(Plan plan, std::uint32_t level, std::span<const NodeId> sources, std::uint64_t changed,
                            UpdateReport& report) const {
  const LevelWork work = level_work(contents_, embedding_, level, sources, changed, budget_, options_.cold);
  const bool is_void = level == embedding_.levels() && embedding_.deferred().is_void;  // nobody knows what to push
  LevelChoice choice;
  if (is_void || plan == Plan::recompute)
    choice = {true, forecast_recompute(work)};
  else if (plan == Plan::push)
    choice = {false, forecast_push(work, scattered_receivers(work))};
  else
    choice = choose(work, [&] { return count_receivers(contents_, embedding_, level, sources, work); });
  if (choice.recompute && !is_void && plan == Plan::automatic && !recompute_fits(level))
    choice = {false, forecast_push(work, scattered_receivers(work))};
  const std::uint32_t levels_anew = embedding_.levels() - level + (options_.defer ? 0 : 1);
  report.seconds_predicted += choice.recompute ? choice.seconds * levels_anew : choice.seconds;
  report.plan.emplace_back(choice.recompute ? "recompute" : "push");
  return choice.recompute;
}

bool Update::recompute_fits(std::uint32_t level) const {
  const std::uint32_t last = std::max(level, embedding_.levels() - (options_.defer ? 1 : 0));
  const auto fits = [&] { return plan_recompute(contents_, embedding_, budget_, level, last).fits(); };
  if (fits()) return true;
  memory_.make_room(embedding_, memory_shares::kRecomputeRoom.of(budget_));
  return fits();
}

/// Levels from `level` on, from everything that the level below has to tell.
void Update::recompute(std::uint32_t level, UpdateReport& report) {
  const std::uint32_t levels = embedding_.levels();
  const std::uint32_t last = options_.defer ? levels - 1 : levels;
  embedding_.stale(level - 1).clear();
  if (options_.defer) {
    embedding_.stale(last).clear();
    embedding_.deferred().rows.clear();
    embedding_.deferred().is_void = true;
  }
  if (level <= last) sweep_levels(level, last, report);
  report.plan.resize(last, "recompute");
  if (!options_.defer) return;
  report.plan.emplace_back("defer");
}

void Update::sweep_levels(std::uint32_t first, std::uint32_t last, UpdateReport& report) {
  // What is going to be replaced need not wait for it.
  for (std::uint32_t level = first; level <= last; ++level) embedding_.level(level).forget_overlay();
  memory_.charge(embedding_);
  memory_.make_room(embedding_, memory_shares::kRecomputeRoom.of(budget_));
  report.rows_touched += recompute_levels(contents_, embedding_, budget_, options_.store, first, last);
  const Graph& graph = contents_.graph();
  const Cone& cone = embedding_.cone();
  report.arcs_visited += graph.num_terms() * (last - first + 1);
  for (std::uint32_t level = first; level <= last; ++level) {
    if (cone.all_rows()) report.arcs_summed += graph.num_terms();
    for (NodeId node = 0; !cone.all_rows() && node < graph.num_nodes(); ++node)
      if (cone.contains(level, node)) report.arcs_summed += graph.num_terms(node);
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
  std::vector<NodeId> nodes = deferred.rows.nodes();
  if (recompute_pays(options_.plan, level, nodes, 0, report)) {
    nodes = {};
    deferred.rows.clear();
    sweep_levels(level, level, report);
  } else {
    const std::uint32_t columns = embedding_.columns();
    PushSources sources = PushedRows::joined(differences_from_received(nodes), columns, budget_);
    nodes = {};
    deferred.rows.clear();
    memory_.charge(embedding_);
    const BatchChanges nothing;
    const Threshold zero(columns, 0);
    run_level(level, std::move(sources), Repair(nothing, level), Limits(zero), report);
  }
  deferred.is_void = false;
  return report;
}

std::uint64_t Update::near_nodes(std::uint32_t level) const {
  return std::uint64_t{contents_.num_nodes()} * 4096 / embedding_.columns() /
         std::max<std::uint64_t>(1, embedding_.cone().rows(level));
}

std::vector<PushedRows> Update::differences_from_received(std::span<const NodeId> nodes) {
  constexpr std::size_t kPartNodes = 1024;
  const std::uint32_t columns = embedding_.columns(), level = embedding_.levels() - 1;
  const std::uint64_t near = near_nodes(level);
  const std::shared_ptr<PushSpool> spool = make_spool();
  std::vector<PushedRows> parts;
  parts.reserve(nodes.size() / kPartNodes + 1);
  while (parts.size() <= nodes.size() / kPartNodes) parts.emplace_back(columns, budget_, spool);
  parallel_ranges(0, parts.size(), 1, [&](std::size_t first, std::size_t last) {
    std::vector<std::int32_t> delta(columns), before(columns);
    for (std::size_t p = first; p < last; ++p) {
      const std::size_t begin = p * kPartNodes, end = std::min(nodes.size(), begin + kPartNodes);
      const std::span<const NodeId> own = nodes.subspan(begin, end - begin);
      NodesAhead present(
          own, near, [&](NodeRange range) { embedding_.read_ahead(level, range); },
          [&](NodeId node) { return level > 0 && embedding_.level(level).is_at_hand(node); });
      NodesAhead received(own, near, [&](NodeRange range) { embedding_.deferred().rows.read_ahead(range); });
      for (std::size_t i = begin; i < end; ++i) {
        present.at(i - begin);
        received.at(i - begin);
        embedding_.published(level, nodes[i], delta.data());
        static_cast<void>(embedding_.received(nodes[i], before.data()));
        std::int32_t any = 0;
        for (std::uint32_t c = 0; c < columns; ++c) any |= delta[c] -= before[c];
        if (any == 0) continue;
        parts[p].add(nodes[i], delta.data(), fingerprint_of(std::span<const std::int32_t>(delta), key_.columns(0)));
      }
      parts[p].follow();
    }
  });
  for (PushedRows& one : parts) one.follow();
  return parts;
}

void Update::run_levels(Repair& repair, const Limits& limits, std::vector<PushedRows> pushed, UpdateReport& report) {
  const std::uint32_t columns = embedding_.columns();
  for (std::uint32_t level = 1; level <= embedding_.levels(); ++level) {
    if (repair.nodes().empty()) {
      // A flush: the candidates of the level below are its stale rows, besides those that the level
      // before made hot.
      StaleRows& stale = embedding_.stale(level - 1);
      PushedRows& rows = pushed.emplace_back(columns, budget_, pushed.empty() ? make_spool() : pushed.front().spool());
      std::vector<std::int32_t> delta(columns), published(columns);
      for (const NodeId node : stale.nodes()) {
        std::fill(delta.begin(), delta.end(), 0);
        stale.add_to(node, 1, delta.data());
        if (defers(level)) embedding_.published(level - 1, node, published.data());
        RowDifference difference;
        for (const std::int32_t value : delta)
          difference.largest = std::max(difference.largest, static_cast<std::uint32_t>(std::abs(value)));
        difference.fingerprint = fingerprint_of(std::span<const std::int32_t>(delta), key_.columns(0));
        settle(level - 1, node, published.data(), delta.data(), difference, repair, limits, rows);
      }
    }
    PushSources sources = PushedRows::joined(std::move(pushed), columns, budget_);
    const bool capture_only = level == 1 && !report.plan.empty();  // decided before the capture
    if (defers(level)) {
      report.plan.emplace_back("defer");
      if (embedding_.deferred().is_void) return;
    } else if (!capture_only && limits.exact && !sources.nodes().empty()) {
      if (recompute_pays(options_.plan, level, sources.nodes(), repair.nodes().size(), report)) {
        sources = {};
        recompute(level, report);
        return;
      }
    } else if (!capture_only) {
      const LevelWork work =
          level_work(contents_, embedding_, level, sources.nodes(), repair.nodes().size(), budget_, options_.cold);
      report.seconds_predicted += forecast_push(work, scattered_receivers(work));
      report.plan.emplace_back("push");
    }
    pushed = run_level(level, std::move(sources), repair, limits, report);
  }
}

}  // namespace unweave
