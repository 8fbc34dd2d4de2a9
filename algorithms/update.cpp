#include "algorithms/update.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "algorithms/cone_update.h"
#include "algorithms/planner.h"
#include "algorithms/state_builder.h"
#include "engine/gather.h"
#include "engine/parallel.h"

namespace unweave {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 20;  // of differences held before rows are settled
constexpr std::size_t kRowGrain = 64;
constexpr std::size_t kAhead = 4;  // rows fetched before their turn

bool holds(const std::vector<NodeId>& sorted, NodeId node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

}  // namespace

/// Rows to push at one level: what their neighbours have not been told yet.
struct Update::Sources {
  std::vector<NodeId> nodes;
  std::vector<std::int32_t> deltas;  ///< nodes x columns, and kTilePadding zeros while it is read as a tile

  void add(NodeId node, const std::int32_t* delta, std::uint32_t columns) {
    nodes.push_back(node);
    deltas.insert(deltas.end(), delta, delta + columns);
  }
};

/// The changed nodes of a batch and what they had published before it.
struct Update::Repair {
  const BatchChanges* changes = nullptr;
  std::vector<NodeId> nodes;                        ///< of changes->nodes
  std::vector<std::vector<std::int32_t>> captured;  ///< [level 0..L-1], nodes x columns
  ConeChange cone;

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  [[nodiscard]] std::size_t index(NodeId node) const {
    const auto it = std::lower_bound(nodes.begin(), nodes.end(), node);
    return it != nodes.end() && *it == node ? static_cast<std::size_t>(it - nodes.begin()) : kNone;
  }
};

/// The rows of one level that a batch writes, with the sources of each.
struct Update::Touched {
  std::vector<NodeId> rows;            ///< sorted
  std::vector<std::size_t> first;      ///< rows + 1 positions in `sources`
  std::vector<std::uint32_t> sources;  ///< indices of Sources
};

/// Space of one task for the row at hand.
struct Update::Scratch {
  explicit Scratch(std::uint32_t columns) : row(columns), published(columns), other(columns) {}
  std::vector<std::int64_t> row;
  std::vector<std::int32_t> published, other;
};

Update::Update(Contents& contents, Embedding& embedding, MemoryBudget& budget, UpdateOptions options)
    : contents_(contents), embedding_(embedding), budget_(budget), options_(std::move(options)) {}

UpdateReport Update::apply(const BatchChanges& changes, const Threshold& threshold) {
  UpdateReport report;
  Repair repair;
  repair.changes = &changes;
  std::uint64_t arcs = 0;
  for (const NodeChange& change : changes.nodes) {
    repair.nodes.push_back(change.node);
    arcs += contents_.graph().degree(change.node);
  }
  if (changes.nodes.empty()) return report;
  const std::uint32_t levels = embedding_.levels();
  const bool exact = std::all_of(threshold.begin(), threshold.end(), [](std::int64_t t) { return t == 0; });
  // Nothing needs to be captured when everything is computed anew.
  const bool anew = exact && levels > 0 && recompute_pays(1, arcs, report);
  if (!anew) capture(repair);

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
    }
  }
  report.changed = repair.nodes;
  Sources sources;
  if (levels > 0) {
    const std::uint32_t columns = embedding_.columns();
    std::vector<std::int32_t> deltas(repair.nodes.size() * columns);
    parallel_ranges(0, repair.nodes.size(), kRowGrain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        std::int32_t* delta = &deltas[i * columns];
        embedding_.density(0, repair.nodes[i], delta);
        for (std::uint32_t c = 0; c < columns; ++c) delta[c] -= repair.captured[0][i * columns + c];
      }
    });
    settle(0, repair.nodes, deltas, repair, threshold, sources);
  }
  run_levels(repair, threshold, sources, report);
  return report;
}

UpdateReport Update::flush(const Threshold& threshold) {
  UpdateReport report;
  const BatchChanges nothing;
  Repair repair;
  repair.changes = &nothing;
  repair.captured.resize(embedding_.levels());
  repair.cone.left.resize(embedding_.levels() + std::size_t{1});
  repair.cone.entered.resize(embedding_.levels() + std::size_t{1});
  Sources sources;
  run_levels(repair, threshold, sources, report);
  return report;
}

void Update::capture(Repair& repair) const {
  const std::uint32_t columns = embedding_.columns();
  for (std::uint32_t level = 0; level < embedding_.levels(); ++level) {
    auto& rows = repair.captured.emplace_back(repair.nodes.size() * columns);
    parallel_ranges(0, repair.nodes.size(), kRowGrain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        if (embedding_.cone().contains(level, repair.nodes[i]))
          embedding_.published(level, repair.nodes[i], &rows[i * columns]);
    });
  }
}

bool Update::recompute_pays(std::uint32_t level, std::uint64_t arcs, UpdateReport& report) const {
  const LevelCost cost =
      predict_level(contents_.graph().num_arcs() + contents_.num_nodes(), embedding_.cone().rows(level),
                    contents_.num_nodes(), arcs, embedding_.columns(), active_threads());
  const bool pays = options_.plan == Plan::recompute ||
                    (options_.plan == Plan::automatic && cost.recompute_seconds < cost.push_seconds);
  if (pays)
    report.seconds_predicted += cost.recompute_seconds * (embedding_.levels() - level + 1);
  else
    report.seconds_predicted += cost.push_seconds;
  report.plan.emplace_back(pays ? "recompute" : "push");
  return pays;
}

void Update::recompute(std::uint32_t level, UpdateReport& report) {
  const std::uint32_t levels = embedding_.levels();
  SweepJob job;
  job.first_level = level;
  job.last_level = levels;
  job.columns = embedding_.columns();
  job.scale_bits = embedding_.spec().scale_bits;
  job.fill = [&](TileColumns columns, NodeRange rows, std::int32_t* out) {
    embedding_.density_tile(level - 1, columns, rows, out);
  };
  if (!embedding_.cone().all_rows()) {
    for (std::uint32_t l = level; l <= levels; ++l) {
      RowMask& mask = job.wanted.emplace_back(contents_.num_nodes());
      for (NodeId node = 0; node < contents_.num_nodes(); ++node)
        if (embedding_.cone().contains(l, node)) mask.insert(node);
    }
  }
  std::vector<ResidentRows*> rows;
  for (std::uint32_t l = level; l <= levels; ++l)
    if (ResidentRows* one = embedding_.level(l).recompute_in_memory(budget_)) rows.push_back(one);
  std::uint64_t summed = 0;
  if (rows.size() == job.last_level - job.first_level + 1) {
    summed = build_state_in_memory(contents_, job, rows, budget_).rows;
  } else {
    const SweepResult result = build_state(options_.store, contents_, job, budget_);
    for (std::uint32_t l = level; l <= levels; ++l)
      embedding_.level(l).replace(options_.store, result.partitions[l - level]);
    summed = result.rows;
  }
  for (std::uint32_t l = level - 1; l < levels; ++l) embedding_.stale(l).clear();
  report.rows_touched += summed;
  report.arcs_visited += (contents_.graph().num_arcs() + contents_.num_nodes()) * (levels - level + 1);
  report.plan.resize(levels, "recompute");
  report.all_rows = true;
}

void Update::run_levels(Repair& repair, const Threshold& threshold, Sources& sources, UpdateReport& report) {
  const bool exact = std::all_of(threshold.begin(), threshold.end(), [](std::int64_t t) { return t == 0; });
  for (std::uint32_t level = 1; level <= embedding_.levels(); ++level) {
    if (repair.nodes.empty()) {
      // A flush: the candidates of the level below are its stale rows, besides those that the level before made hot.
      StaleRows& stale = embedding_.stale(level - 1);
      std::vector<std::int32_t> delta(embedding_.columns());
      for (const NodeId node : stale.nodes()) {
        std::fill(delta.begin(), delta.end(), 0);
        stale.add_to(node, 1, delta.data());
        settle(level - 1, std::span(&node, 1), delta, repair, threshold, sources);
      }
    }
    std::uint64_t arcs = 0;
    for (const NodeId node : sources.nodes) arcs += contents_.graph().degree(node);
    const bool capture_only = level == 1 && !report.plan.empty();  // decided before the capture
    if (!capture_only && exact && arcs > 0) {
      if (recompute_pays(level, arcs, report)) {
        recompute(level, report);
        return;
      }
    } else if (!capture_only) {
      report.seconds_predicted +=
          predict_push(arcs, embedding_.cone().rows(level), embedding_.columns(), active_threads());
      report.plan.emplace_back("push");
    }
    Sources next;
    run_level(level, sources, repair, threshold, next, report);
    sources = std::move(next);
  }
  std::sort(report.changed.begin(), report.changed.end());
  report.changed.erase(std::unique(report.changed.begin(), report.changed.end()), report.changed.end());
}

void Update::collect(std::uint32_t level, const Sources& sources, const Repair& repair, NodeRange slice,
                     Touched& touched) const {
  const Cone& cone = embedding_.cone();
  const auto& entered = repair.cone.entered[level];
  const auto stays = [&](NodeId node) {
    return cone.all_rows() || (cone.contains(level, node) && !holds(entered, node));
  };
  // Receivers and sources as 64-bit keys, sorted by receiver: every row is then written by one task, in node order.
  std::vector<std::uint64_t> pairs;
  std::vector<NodeId> list;
  for (std::size_t i = 0; i < sources.nodes.size(); ++i) {
    const NodeId node = sources.nodes[i];
    contents_.graph().neighbours(node, list);
    list.insert(std::lower_bound(list.begin(), list.end(), node), node);
    const auto first = std::lower_bound(list.begin(), list.end(), slice.first);
    const auto last = std::lower_bound(first, list.end(), slice.last);
    for (auto it = first; it != last; ++it)
      if (stays(*it)) pairs.push_back((std::uint64_t{*it} << 32U) | i);
  }
  parallel_sort(pairs.begin(), pairs.end(), std::less<>());

  touched = Touched();
  touched.sources.reserve(pairs.size());
  std::size_t at = 0;
  auto repaired = std::lower_bound(repair.nodes.begin(), repair.nodes.end(), slice.first);
  const auto end = std::lower_bound(repair.nodes.begin(), repair.nodes.end(), slice.last);
  while (at < pairs.size() || repaired != end) {
    const NodeId next_pair = at < pairs.size() ? static_cast<NodeId>(pairs[at] >> 32U) : kNoNode;
    const NodeId row = repaired != end ? std::min(next_pair, *repaired) : next_pair;
    if (repaired != end && *repaired == row) {
      ++repaired;
      if (next_pair != row && !stays(row)) continue;
    }
    touched.rows.push_back(row);
    touched.first.push_back(touched.sources.size());
    for (; at < pairs.size() && static_cast<NodeId>(pairs[at] >> 32U) == row; ++at)
      touched.sources.push_back(static_cast<std::uint32_t>(pairs[at]));
  }
  touched.first.push_back(touched.sources.size());
}

void Update::sum_row(std::uint32_t level, const Sources& sources, const Repair& repair, const Touched& touched,
                     std::size_t index, Scratch& scratch, std::int32_t* delta) {
  const std::uint32_t columns = embedding_.columns();
  const NodeId node = touched.rows[index];
  const std::size_t changed = repair.index(node);
  const bool last_level = level == embedding_.levels();
  StateLevel& sums = embedding_.level(level);
  auto& [row, published, other] = scratch;
  if (!last_level) {
    if (changed == Repair::kNone)
      embedding_.published(level, node, published.data());
    else
      std::copy_n(&repair.captured[level][changed * columns], columns, published.data());
  }
  sums.load(node, row.data());
  // A difference of two densities needs one bit more than a density.
  const Tile tile{sources.deltas.data(), columns, static_cast<int>(embedding_.spec().scale_bits) + 1};
  gather_rows(tile, {touched.sources.data() + touched.first[index], touched.first[index + 1] - touched.first[index]},
              row.data());
  if (changed != Repair::kNone) {
    const auto add = [&, &sum = row, &one = other](NodeId neighbour, std::int64_t sign) {
      const std::size_t at = repair.index(neighbour);
      if (holds(repair.cone.entered[level - 1], neighbour))
        embedding_.published(level - 1, neighbour, one.data());
      else
        std::copy_n(&repair.captured[level - 1][at * columns], columns, one.data());
      for (std::uint32_t c = 0; c < columns; ++c) sum[c] += sign * one[c];
    };
    for (const NodeId neighbour : repair.changes->nodes[changed].removed) add(neighbour, -1);
    for (const NodeId neighbour : repair.changes->nodes[changed].inserted) add(neighbour, 1);
  }
  sums.store(node, row.data());
  if (last_level) return;
  round_quotients(std::span<const std::int64_t>(row), contents_.graph().degree(node), delta);
  for (std::uint32_t c = 0; c < columns; ++c) delta[c] -= published[c];
}

void Update::run_level(std::uint32_t level, Sources& sources, const Repair& repair, const Threshold& threshold,
                       Sources& next, UpdateReport& report) {
  const std::uint32_t columns = embedding_.columns();
  const bool last_level = level == embedding_.levels();
  std::uint64_t arcs = 0;
  for (const NodeId node : sources.nodes) arcs += contents_.graph().degree(node);
  report.pushes += sources.nodes.size();
  report.arcs_visited += arcs;
  sources.deltas.resize(sources.nodes.size() * columns + kTilePadding);

  // Pairs of receiver and source take 12 bytes an arc: receivers are cut into slices where that is too much.
  const std::uint64_t room = std::max<std::uint64_t>(budget_.available() / 4, std::uint64_t{1} << 20);
  const std::uint64_t slices = 1 + arcs * 12 / room;
  const std::uint64_t slice = contents_.num_nodes() / slices + 1;
  const std::size_t chunk = std::max<std::size_t>(1, kChunkBytes / (columns * sizeof(std::int32_t)));
  Touched touched;
  std::vector<std::int32_t> deltas;
  for (std::uint64_t from = 0; from < contents_.num_nodes(); from += slice) {
    const std::uint64_t to = std::min<std::uint64_t>(from + slice, contents_.num_nodes());
    collect(level, sources, repair, {static_cast<NodeId>(from), static_cast<NodeId>(to)}, touched);
    report.rows_touched += touched.rows.size();
    report.changed.insert(report.changed.end(), touched.rows.begin(), touched.rows.end());
    for (const NodeId node : touched.rows) embedding_.level(level).prepare(node);
    for (std::size_t first = 0; first < touched.rows.size(); first += chunk) {
      const std::size_t last = std::min(touched.rows.size(), first + chunk);
      deltas.resize((last_level ? 1 : last - first) * columns);
      parallel_ranges(first, last, kRowGrain, [&](std::size_t begin, std::size_t end) {
        Scratch scratch(columns);
        for (std::size_t i = begin; i < end; ++i) {
          if (i + kAhead < end) embedding_.level(level).prefetch(touched.rows[i + kAhead]);
          sum_row(level, sources, repair, touched, i, scratch, last_level ? nullptr : &deltas[(i - first) * columns]);
        }
      });
      if (!last_level)
        settle(level, std::span(touched.rows).subspan(first, last - first), deltas, repair, threshold, next);
    }
  }
  enter_rows(level, repair.cone.entered[level], report);
}

void Update::settle(std::uint32_t level, std::span<const NodeId> rows, const std::vector<std::int32_t>& deltas,
                    const Repair& repair, const Threshold& threshold, Sources& next) {
  const std::uint32_t columns = embedding_.columns();
  StaleRows& stale = embedding_.stale(level);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int32_t* delta = &deltas[i * columns];
    const std::uint32_t degree = contents_.graph().degree(rows[i]);
    bool zero = true;
    bool hot = false;
    for (std::uint32_t c = 0; c < columns; ++c) {
      zero &= delta[c] == 0;
      const std::int64_t residue = std::int64_t{degree} * delta[c];
      hot |= residue > threshold[c] || -residue > threshold[c];
    }
    if (!zero && (hot || holds(repair.changes->forced, rows[i]))) {
      next.add(rows[i], delta, columns);
      zero = true;
    }
    if (zero)
      stale.erase(rows[i]);
    else
      stale.set(rows[i], degree, delta);
  }
}

void Update::enter_rows(std::uint32_t level, const std::vector<NodeId>& rows, UpdateReport& report) {
  const std::uint32_t columns = embedding_.columns();
  std::vector<NodeId> list;
  std::vector<std::int32_t> one(columns);
  std::vector<std::int64_t> sum(columns);
  for (const NodeId node : rows) {
    contents_.graph().neighbours(node, list);
    list.push_back(node);
    std::fill(sum.begin(), sum.end(), 0);
    for (const NodeId other : list) {
      embedding_.published(level - 1, other, one.data());
      for (std::uint32_t c = 0; c < columns; ++c) sum[c] += one[c];
    }
    embedding_.level(level).prepare(node);
    embedding_.level(level).store(node, sum.data());
    report.arcs_visited += list.size();
    report.changed.push_back(node);
  }
  report.rows_touched += rows.size();
}

}  // namespace unweave
