#include "algorithms/receivers.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <utility>

#include "engine/look_ahead.h"
#include "engine/parallel.h"

namespace unweave {
namespace {

/// Lists a task takes: many to read ahead, few where there are few, since some are long.
std::size_t list_grain(std::size_t lists) {
  return std::clamp<std::size_t>(lists / (16 * active_threads()), 1, 256);
}

/// Merges sorted runs, which end at the positions `ends`, into one.
void merge_runs(std::vector<std::uint64_t>& keys, std::vector<std::size_t> ends) {
  std::vector<std::uint64_t> merged(keys.size());
  while (ends.size() > 1) {
    std::vector<std::size_t> longer;
    std::size_t first = 0;
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      const std::size_t last = run + 1 < ends.size() ? ends[run + 1] : ends[run];
      const auto at = [&](std::size_t i) { return keys.begin() + static_cast<std::ptrdiff_t>(i); };
      std::merge(at(first), at(ends[run]), at(ends[run]), at(last),
                 merged.begin() + static_cast<std::ptrdiff_t>(first));
      longer.push_back(last);
      first = last;
    }
    std::swap(keys, merged);
    ends = std::move(longer);
  }
}

}  // namespace

std::vector<std::vector<NodeId>> receivers_of(const Graph& graph, std::span<const NodeId> sources, NodeRange slice) {
  std::vector<std::vector<NodeId>> lists(sources.size());
  parallel_ranges(0, lists.size(), list_grain(lists.size()), [&](std::size_t begin, std::size_t end) {
    NodesAhead ahead(sources.subspan(begin, end - begin), Graph::kNearNodes,
                     [&](NodeRange nodes) { graph.read_ahead(nodes); });
    std::vector<NodeId> list;
    for (std::size_t i = begin; i < end; ++i) {
      ahead.at(i - begin);
      graph.neighbours(sources[i], list);
      list.insert(std::lower_bound(list.begin(), list.end(), sources[i]), sources[i]);
      const auto first = std::lower_bound(list.begin(), list.end(), slice.first);
      lists[i].assign(first, std::lower_bound(first, list.end(), slice.last));  // no larger than it has to be
    }
  });
  return lists;
}

std::uint64_t estimate_receivers(const Graph& graph, std::span<const NodeId> sources, std::uint64_t arcs) {
  constexpr std::uint64_t kExactArcs = std::uint64_t{1} << 14;
  const bool is_exact = arcs <= kExactArcs;
  // Multiplying by an odd number spreads ids that lie at regular distances.
  const auto counts = [&](NodeId node) { return is_exact || (node * 0x9E3779B1U) >> 28 == 0; };
  std::vector<NodeId> found;
  std::mutex mutex;
  parallel_ranges(0, sources.size(), list_grain(sources.size()), [&](std::size_t begin, std::size_t end) {
    std::vector<NodeId> list, some;
    NodesAhead ahead(sources.subspan(begin, end - begin), Graph::kNearNodes,
                     [&](NodeRange nodes) { graph.read_ahead(nodes); });
    for (std::size_t i = begin; i < end; ++i) {
      ahead.at(i - begin);
      graph.neighbours(sources[i], list);
      list.push_back(sources[i]);
      std::copy_if(list.begin(), list.end(), std::back_inserter(some), counts);
    }
    const std::scoped_lock lock(mutex);
    found.insert(found.end(), some.begin(), some.end());
  });
  std::sort(found.begin(), found.end());
  const auto distinct = static_cast<std::uint64_t>(std::unique(found.begin(), found.end()) - found.begin());
  return is_exact ? distinct : 16 * distinct;
}

TouchedRows touched_rows(std::span<const std::vector<NodeId>> receivers, std::span<const NodeId> repaired,
                         NodeRange nodes, const std::function<bool(NodeId)>& stays) {
  // Receivers and sources as 64-bit keys, ordered by receiver: every row is then written once.
  std::vector<std::uint64_t> pairs;
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    const auto first = std::lower_bound(receivers[i].begin(), receivers[i].end(), nodes.first);
    const auto last = std::lower_bound(first, receivers[i].end(), nodes.last);
    const std::size_t before = pairs.size();
    for (auto it = first; it != last; ++it)
      if (stays(*it)) pairs.push_back((std::uint64_t{*it} << 32U) | i);
    if (pairs.size() > before) ends.push_back(pairs.size());
  }
  merge_runs(pairs, std::move(ends));

  TouchedRows touched;
  touched.sources.reserve(pairs.size());
  std::size_t at = 0;
  auto next_repaired = std::lower_bound(repaired.begin(), repaired.end(), nodes.first);
  const auto end = std::lower_bound(repaired.begin(), repaired.end(), nodes.last);
  while (at < pairs.size() || next_repaired != end) {
    const NodeId next_pair = at < pairs.size() ? static_cast<NodeId>(pairs[at] >> 32U) : kNoNode;
    const NodeId row = next_repaired != end ? std::min(next_pair, *next_repaired) : next_pair;
    if (next_repaired != end && *next_repaired == row) {
      ++next_repaired;
      if (next_pair != row && !stays(row)) continue;
    }
    touched.rows.push_back(row);
    touched.first.push_back(touched.sources.size());
    for (; at < pairs.size() && static_cast<NodeId>(pairs[at] >> 32U) == row; ++at)
      touched.sources.push_back(static_cast<std::uint32_t>(pairs[at]));
  }
  touched.first.push_back(touched.sources.size());
  return touched;
}

SourceIndex::SourceIndex(std::span<const NodeId> sources) {
  constexpr std::size_t kBitsASource = 32;
  const std::size_t bits = std::bit_ceil(std::max<std::size_t>(64, kBitsASource * sources.size()));
  shift_ = 32 - std::min(32U, static_cast<unsigned>(std::countr_zero(bits)));
  some_.resize((std::size_t{1} << (32 - shift_)) / 64);
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    sources_.emplace_back(sources[i], i);
    some_[bit_of(sources[i]) / 64] |= std::uint64_t{1} << bit_of(sources[i]) % 64;
  }
  if (!std::is_sorted(sources_.begin(), sources_.end())) parallel_sort(sources_.begin(), sources_.end(), std::less<>());
}

std::uint32_t SourceIndex::find(NodeId node) const noexcept {
  if ((some_[bit_of(node) / 64] >> bit_of(node) % 64 & 1U) == 0) return kNone;
  const auto it = std::lower_bound(sources_.begin(), sources_.end(), std::pair(node, std::uint32_t{0}));
  return it != sources_.end() && it->first == node ? it->second : kNone;
}

TouchedRows touched_targets(const TargetLists& targets, const Graph& graph, const SourceIndex& sources,
                            std::span<const NodeId> repaired, NodeRange nodes,
                            const std::function<bool(NodeId)>& stays) {
  TouchedRows touched;
  std::vector<NodeId> changed;
  const auto add = [&](NodeId node) {
    const std::uint32_t source = sources.find(node);
    if (source != SourceIndex::kNone) touched.sources.push_back(source);
  };
  touched.first.push_back(0);
  targets.for_each(nodes, [&](NodeId node, std::span<const NodeId> list) {
    if (!stays(node)) return;
    for (const NodeId neighbour : graph.with_changes(node, list, changed)) add(neighbour);
    add(node);
    const bool receives = touched.sources.size() > touched.first.back();
    if (!receives && !std::binary_search(repaired.begin(), repaired.end(), node)) return;
    touched.rows.push_back(node);
    touched.first.push_back(touched.sources.size());
  });
  return touched;
}

}  // namespace unweave
