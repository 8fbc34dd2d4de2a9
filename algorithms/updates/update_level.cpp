// algorithms/updates/update_level.cpp - one level of an update: rows that receive something, in
// parts for tasks.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "algorithms/propagation/expected_row.h"
#include "algorithms/propagation/recompute.h"
#include "algorithms/updates/level_work.h"
#include "algorithms/updates/receivers.h"
#include "algorithms/updates/repair.h"
#include "algorithms/updates/update.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/memory_peak.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "engine/sweep/gather.h"
#include "engine/sweep/sum_check.h"

namespace unweave {
namespace {

constexpr std::size_t kAhead = 12;             // rows fetched before their turn
constexpr std::uint64_t kPartArcs = 256;       // the least work of a task
constexpr std::uint64_t kRepairArcs = 16;      // that take as long as a row to repair
constexpr std::uint64_t kPartsPerThread = 16;  // to even out parts of unequal work

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

/// Bounds of about `slices` ranges of nodes with as many arcs each, whatever the order of the
/// nodes.
std::vector<NodeId> cut_by_degree(const Graph& graph, std::uint64_t slices) {
  std::vector<NodeId> bounds{0};
  const std::uint64_t most = graph.num_terms() / slices + 1;
  std::uint64_t arcs = 0;
  for (NodeId node = 0; slices > 1 && node < graph.num_nodes(); ++node) {
    arcs += graph.num_terms(node);
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
  Part(std::uint32_t columns, MemoryBudget& budget, std::shared_ptr<PushSpool> spool)
      : next(columns, budget, std::move(spool)), wide(columns), narrow(columns), published(columns), delta(columns) {}
  PushedRows next;
  std::vector<NodeId> changed;
  std::uint64_t arcs = 0;  // summed
  std::vector<std::int64_t> wide;
  std::vector<std::int32_t> narrow, published, delta;
};

/// Nodes whose rows are brought up to date together, in parts for tasks.
struct Update::Slice {
  NodeRange nodes;
  std::uint64_t part_nodes = 0;
  std::vector<SentKeys> sent;  ///< to each part; none where lists of the targets tell it

  [[nodiscard]] std::size_t parts() const noexcept { return (nodes.size() + part_nodes - 1) / part_nodes; }
  [[nodiscard]] NodeRange part(std::size_t at) const noexcept {
    const std::uint64_t first = nodes.first + at * part_nodes;
    return {static_cast<NodeId>(first), static_cast<NodeId>(std::min<std::uint64_t>(nodes.last, first + part_nodes))};
  }
  /// Rows that a part writes at most, beside `repaired` ones.
  [[nodiscard]] std::uint64_t most_rows(std::size_t at, std::uint64_t repaired) const noexcept {
    std::uint64_t keys = repaired;
    for (const SentKeys& one : sent) keys += one[at].size();
    return sent.empty() ? part(at).size() : std::min<std::uint64_t>(keys, part(at).size());
  }
};

void Update::update_row(std::uint32_t level, const PushSources& sources, const Repair& repair,
                        const TouchedRows& touched, std::size_t index, const Limits& limits, Part& part) {
  const std::uint32_t columns = embedding_.columns();
  const NodeId node = touched.rows[index];
  const std::size_t changed = repair.index(node);
  const bool last_level = level == embedding_.levels();
  // While the last level is put off, nobody reads the normalised sums of the level before it: they
  // are formed on delivery.
  const bool put_off = defers(level + 1) && limits.exact && !embedding_.stale(level).contains(node);
  const bool settles = !last_level && !put_off;
  const std::uint32_t degree = settles ? contents_.graph().degree(node) : 0;
  StateLevel& sums = embedding_.level(level);
  const StateRow before = expected_row(sums, node);
  const ColumnFactors factors = key_.columns(0);
  const Modulus& modulus = factors.modulus;
  if (put_off && changed == Repair::kNone)
    note_received(level, node, before, part.published.data());
  else if (put_off)
    note_received(node, repair.captured(level, changed));
  if (settles) {
    if (changed == Repair::kNone) {
      density_from_sums(before, columns, degree, part.published.data());
      embedding_.stale(level).add_to(node, -1, part.published.data());
    } else {
      std::copy_n(repair.captured(level, changed), columns, part.published.data());
    }
  }
  // A difference of two normalised sums needs one bit more than one of them.
  const Tile tile{sources.deltas(), columns, static_cast<int>(embedding_.spec().scale_bits) + 1};
  const std::span all(touched.sources);
  const std::size_t begin = touched.first[index], end = touched.first[index + 1];
  const ListedRows list{all.subspan(begin, end - begin), all.subspan(end),
                        touched.weights.empty() ? nullptr : touched.weights.data() + begin};
  std::uint64_t sent = 0;
  for (std::size_t i = 0; i < list.neighbours.size(); ++i) {
    const std::uint64_t one = sources.fingerprints()[list.neighbours[i]];
    sent = modulus.add(
        sent, list.weights == nullptr ? one : modulus.multiply(static_cast<std::int32_t>(list.weights[i]), one));
  }
  RowDifference difference;
  // Differences that are deferred are read from elsewhere when they are pushed.
  const ColumnFactors* const pushed = defers(level + 1) ? nullptr : &factors;
  std::optional<std::uint64_t> added;
  if (changed == Repair::kNone && before.narrow != nullptr)
    added = add_rows(tile, list, before.narrow, factors, part.narrow.data());
  if (added) {
    const std::span<const std::int32_t> after = part.narrow;
    if (*added != sent) throw_wrong_sums(level, contents_.num_nodes(), node);
    if (settles) difference = round_differences(after, degree, part.published.data(), pushed, part.delta.data());
    sums.store(node, after.data());
  } else {
    sums.load(node, part.wide.data());
    std::uint64_t expected = modulus.add(sent, fingerprint_of(before, columns, factors));
    gather_rows(tile, list, part.wide.data());
    if (changed != Repair::kNone)
      expected = modulus.add(expected, repair.mend(level, embedding_, changed, factors, part.wide.data()));
    const std::span<const std::int64_t> after = part.wide;
    if (fingerprint_of(after, factors) != expected) throw_wrong_sums(level, contents_.num_nodes(), node);
    if (settles) difference = round_differences(after, degree, part.published.data(), pushed, part.delta.data());
    sums.store(node, after.data());
  }
  if (settles) settle(level, node, part.published.data(), part.delta.data(), difference, repair, limits, part.next);
}

/// Memory that a row of the level may keep when it is written: its sums, and what it does not push
/// at once.
std::uint64_t Update::kept_row_bytes(std::uint32_t level, const Limits& limits) const noexcept {
  const std::uint32_t columns = embedding_.columns();
  std::uint64_t bytes = embedding_.level(level).is_resident() ? 0 : StateLevel::overlay_bytes(1, columns);
  if (level < embedding_.levels() && !limits.exact) bytes += StaleRows::most_bytes(1, columns);
  if (defers(level + 1)) bytes += ReceivedRows::most_bytes(1, columns);
  return bytes;
}

std::vector<PushedRows> Update::run_level(std::uint32_t level, PushSources sources, const Repair& repair,
                                          const Limits& limits, UpdateReport& report) {
  const std::uint32_t columns = embedding_.columns();
  const std::uint64_t own_arcs = arcs_of(contents_, sources.nodes());
  const TargetLists* const targets = lists_to_scan(embedding_, level, sources.nodes().size(), own_arcs);
  const std::uint64_t arcs = targets != nullptr ? targets->arcs() : own_arcs;
  report.pushes += sources.nodes().size();
  report.arcs_visited += arcs;

  // Receivers are cut into slices where they would take too much memory, slices into one part a
  // task.
  memory_.make_room(embedding_, std::clamp(2 * arcs * kReceiverBytes, memory_shares::kLeastUpdateRoom.of(budget_),
                                           memory_shares::kMostUpdateRoom.of(budget_)));
  const std::uint64_t slices = targets != nullptr ? 1 : receiver_slices(arcs, budget_);
  const std::uint64_t key_bytes = targets != nullptr ? 0 : arcs * kReceiverBytes / slices;
  const Reservation keys = budget_.reserve(std::min(key_bytes, budget_.available()), "receivers");
  const std::vector<NodeId> bounds = cut_by_degree(contents_.graph(), slices);
  const std::uint64_t effort = arcs + kRepairArcs * repair.nodes().size();
  const std::uint64_t num_parts =
      std::clamp<std::uint64_t>(effort / slices / kPartArcs, 1, kPartsPerThread * active_threads());
  // A part leaves little enough in memory that as many parts as fit may go side by side.
  const std::uint64_t most_rows = own_arcs + repair.nodes().size();
  const std::uint64_t row_bytes = kept_row_bytes(level, limits);
  const std::uint64_t few_nodes = memory_shares::kPartRows.of(budget_) / std::max<std::uint64_t>(1, row_bytes) + 1;
  const Cone& cone = embedding_.cone();
  const auto& entered = repair.cone.entered[level];
  const auto stays = [&](NodeId node) {
    return cone.all_rows() || (cone.contains(level, node) && !holds(entered, node));
  };
  std::optional<SourceIndex> index;
  if (targets != nullptr) index.emplace(sources.nodes());
  std::optional<SpooledReceivers> spooled;
  if (bounds.size() > 2)
    spooled.emplace(contents_.graph(), sources.nodes(), own_arcs, bounds, memory_.spools(), key_bytes);
  const std::uint64_t near = near_nodes(level);
  const std::shared_ptr<PushSpool> spool = make_spool();
  if (defers(level + 1)) embedding_.deferred().rows.begin(embedding_.level(level));
  std::vector<NodeId> changed;
  std::vector<PushedRows> pushed;
  for (std::size_t s = 0; s + 1 < bounds.size(); ++s) {
    if (slices > 1) trim_memory(budget_);
    Slice slice{{bounds[s], bounds[s + 1]}, 0, {}};
    slice.part_nodes = whole_pages(slice.nodes.size() / num_parts + 1);
    if (std::min<std::uint64_t>(most_rows, slice.nodes.size()) * row_bytes > memory_shares::kUpdatedRows.of(budget_))
      slice.part_nodes = std::min(slice.part_nodes, whole_pages(few_nodes));
    const auto part_nodes = static_cast<NodeId>(slice.part_nodes);
    if (spooled)
      slice.sent = spooled->of(s, part_nodes);
    else if (targets == nullptr)
      slice.sent = receivers_of(contents_.graph(), sources.nodes(), slice.nodes, part_nodes);
    for (std::size_t first = 0, last = 0; first < slice.parts(); first = last) {
      std::uint64_t rows = 0;
      do {
        rows = std::min(most_rows, rows + slice.most_rows(last++, repair.nodes().size()));
      } while (last < slice.parts() && rows * row_bytes < memory_shares::kUpdatedRows.of(budget_));
      memory_.make_room(embedding_, rows * row_bytes);
      Reservation growth = budget_.reserve(std::min(rows * row_bytes, budget_.available()), "changed rows");
      std::vector<Part> parts;
      for (std::size_t p = first; p < last; ++p) parts.emplace_back(columns, budget_, spool);
      parallel_ranges(first, last, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p) {
          Part& part = parts[p - first];
          TouchedRows touched = targets == nullptr ? touched_rows(contents_.graph(), sources.nodes(), slice.sent, p,
                                                                  slice.part(p), repair.nodes(), stays)
                                                   : touched_targets(*targets, contents_.graph(), *index,
                                                                     repair.nodes(), slice.part(p), stays);
          const StateLevel& sums = embedding_.level(level);
          NodesAhead ahead(
              touched.rows, near, [&](NodeRange range) { sums.read_ahead(range); },
              [&](NodeId node) { return sums.is_at_hand(node); });
          for (std::size_t i = 0; i < touched.rows.size(); ++i) {
            ahead.at(i);
            if (i + kAhead < touched.rows.size()) {
              embedding_.level(level).prefetch(touched.rows[i + kAhead]);
              if (level < embedding_.levels()) embedding_.stale(level).prefetch(touched.rows[i + kAhead]);
            }
            update_row(level, sources, repair, touched, i, limits, part);
          }
          part.arcs = touched.sources.size();
          part.changed = std::move(touched.rows);
        }
      });
      growth.release();
      memory_.charge(embedding_);
      for (Part& part : parts) {
        report.arcs_summed += part.arcs;
        report.rows_touched += part.changed.size();
        if (!options_.defer) changed.insert(changed.end(), part.changed.begin(), part.changed.end());
        if (part.next.size() > 0) pushed.push_back(std::move(part.next));
      }
      for (PushedRows& one : pushed) one.follow();
    }
  }
  unite(report.changed, changed);
  enter_rows(level, entered, report);
  return pushed;
}

/// Queues a row for its push, keeps it as stale, or neither when there is nothing to tell.
void Update::settle(std::uint32_t level, NodeId node, const std::int32_t* published, const std::int32_t* delta,
                    const RowDifference& difference, const Repair& repair, const Limits& limits, PushedRows& next) {
  const std::uint32_t largest = difference.largest;
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
    next.add(node, delta, difference.fingerprint);
  else
    note_received(node, published);
}

void Update::note_received(std::uint32_t level, NodeId node, const StateRow& before, std::int32_t* space) {
  Embedding::Deferred& deferred = embedding_.deferred();
  if (deferred.is_void || deferred.rows.contains(node)) return;
  const std::uint32_t degree = contents_.graph().degree(node);
  if (deferred.rows.note_sums(node, embedding_.level(level), degree)) return;
  density_from_sums(before, embedding_.columns(), degree, space);
  deferred.rows.note(node, space);
}

void Update::note_received(NodeId node, const std::int32_t* published) {
  Embedding::Deferred& deferred = embedding_.deferred();
  if (!deferred.is_void && !deferred.rows.contains(node)) deferred.rows.note(node, published);
}

/// Sums rows that enter the receptive field. There are none at the last level, whose targets only
/// become fewer.
void Update::enter_rows(std::uint32_t level, const std::vector<NodeId>& rows, UpdateReport& report) {
  const std::uint64_t arcs = recompute_rows(contents_, embedding_, level, rows);
  report.arcs_visited += arcs;
  report.arcs_summed += arcs;
  report.rows_touched += rows.size();
  if (!options_.defer) unite(report.changed, rows);
}

}  // namespace unweave
