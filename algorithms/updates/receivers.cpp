// algorithms/updates/receivers.cpp - gathers the receivers of a push, sorts them by row, and finds
// sources of a row.
#include "algorithms/updates/receivers.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <numeric>
#include <utility>

#include "engine/resources/look_ahead.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// Lists a task takes: many to read ahead, few where there are few, since some are long.
std::size_t list_grain(std::size_t lists) {
  return std::clamp<std::size_t>(lists / (16 * active_threads()), 1, 256);
}

ArcKeys sent_keys(const Graph& graph) noexcept {
  return ArcKeys(graph.list_form().multiplied ? graph.max_weight() : 1);
}

/// How many tasks visit_receivers() runs side by side.
std::size_t visiting_tasks(std::size_t sources) {
  const std::size_t grain = list_grain(sources);
  return std::min((sources + grain - 1) / grain, active_threads());
}

/// Calls use(task, receivers, key_of) for every source: its neighbours and itself, sorted, and what
/// gives the key of receiver k. Where weights are real the key of the source itself says 1,
/// whatever its self loop weighs.
template <class Use>
void visit_receivers(const Graph& graph, std::span<const NodeId> sources, const Use& use) {
  const std::size_t grain = list_grain(sources.size());
  const ArcKeys of_pair = sent_keys(graph);
  run_items((sources.size() + grain - 1) / grain, visiting_tasks(sources.size()),
            [&](std::size_t item, std::size_t task) {
              const std::size_t begin = item * grain, end = std::min(sources.size(), begin + grain);
              NeighbourList list;
              NodesAhead ahead(sources.subspan(begin, end - begin), Graph::kNearNodes,
                               [&](NodeRange nodes) { graph.read_ahead(nodes); });
              for (std::size_t i = begin; i < end; ++i) {
                ahead.at(i - begin);
                graph.neighbours(sources[i], list);
                const auto self = std::lower_bound(list.ids.begin(), list.ids.end(), sources[i]) - list.ids.begin();
                list.ids.insert(list.ids.begin() + self, sources[i]);
                if (of_pair.weighted()) list.weights.insert(list.weights.begin() + self, 1);
                use(task, std::span<const NodeId>(list.ids), [&](std::size_t k) {
                  return of_pair.key(list.ids[k], static_cast<NodeId>(i), of_pair.weighted() ? list.weights[k] : 1);
                });
              }
            });
}

}  // namespace

std::uint64_t receiver_slices(std::uint64_t arcs, const MemoryBudget& budget) {
  return 1 +
         arcs * kReceiverBytes / std::max<std::uint64_t>(memory_shares::kReceivers.of(budget), std::uint64_t{1} << 20);
}

std::vector<SentKeys> receivers_of(const Graph& graph, std::span<const NodeId> sources, NodeRange slice,
                                   NodeId part_nodes) {
  const std::size_t parts = (slice.size() + std::size_t{part_nodes} - 1) / part_nodes;
  std::vector<SentKeys> sent(visiting_tasks(sources.size()), SentKeys(parts));
  visit_receivers(graph, sources, [&](std::size_t task, std::span<const NodeId> list, const auto& key_of) {
    const auto first = std::lower_bound(list.begin(), list.end(), slice.first) - list.begin();
    for (auto k = static_cast<std::size_t>(first); k < list.size() && list[k] < slice.last; ++k)
      sent[task][(list[k] - slice.first) / part_nodes].push_back(key_of(k));
  });
  return sent;
}

SpooledReceivers::SpooledReceivers(const Graph& graph, std::span<const NodeId> sources, std::uint64_t arcs,
                                   std::span<const NodeId> bounds, const std::filesystem::path& folder,
                                   std::uint64_t room)
    : of_pair_(sent_keys(graph)), bounds_(bounds.begin(), bounds.end()) {
  constexpr std::uint64_t kLeastKeys = 16, kMostKeys = 8192;
  constexpr std::uint64_t kMostWrittenWords = std::uint64_t{32} << 10;
  const std::size_t slices = bounds.size() - 1, tasks = visiting_tasks(sources.size());
  // Pieces may be short where there are many slices: those that are full go to the file together.
  const std::uint64_t words = room / sizeof(std::uint64_t) / std::max<std::size_t>(1, tasks);
  const std::uint64_t written_words = std::min(kMostWrittenWords, words / 4);
  const std::uint64_t most = std::clamp((words - written_words) / (slices + 1), kLeastKeys, kMostKeys);
  /// What a task has on its way: a piece of each slice, room for its head and then keys, and pieces
  /// that are full.
  struct Task {
    std::vector<std::vector<std::uint64_t>> pieces;
    std::vector<std::uint64_t> full;
    std::uint64_t written = 0;  ///< words that are in the file
  };
  std::vector<Task> all(tasks, Task{std::vector<std::vector<std::uint64_t>>(slices), {}});
  // A task may get nearly all keys; address space costs nothing.
  const std::uint64_t most_words = arcs + (arcs / most + slices) * kHeadWords;
  while (files_.size() < tasks) files_.emplace_back(folder, most_words * sizeof(std::uint64_t));
  newest_.assign(tasks, std::vector<Piece>(slices));
  const auto write = [&](std::size_t task) {
    std::vector<std::uint64_t>& full = all[task].full;
    files_[task].write(all[task].written * sizeof(std::uint64_t), std::as_bytes(std::span(full)));
    all[task].written += full.size();
    full.clear();
  };
  const auto close = [&](std::size_t task, std::size_t slice) {
    std::vector<std::uint64_t>& piece = all[task].pieces[slice];
    std::vector<std::uint64_t>& full = all[task].full;
    if (full.size() + piece.size() > written_words && !full.empty()) write(task);
    full.reserve(written_words);
    piece[1] = newest_[task][slice].at;
    piece[2] = newest_[task][slice].keys;
    piece[0] = checksum64(std::as_bytes(std::span(piece).subspan(1)));
    newest_[task][slice] = {all[task].written + full.size(), piece.size() - kHeadWords};
    full.insert(full.end(), piece.begin(), piece.end());
    piece.resize(kHeadWords);
  };
  // Where there are many slices, a search among those of a cell of nodes alone is short.
  constexpr int kCellBits = 12;
  const int shift = std::max(0, static_cast<int>(std::bit_width(bounds_.back())) - kCellBits);
  const auto slice_in = [&](NodeId node, std::size_t first, std::size_t last) {
    const auto at = std::upper_bound(bounds_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                                     bounds_.begin() + static_cast<std::ptrdiff_t>(last) + 1, node);
    return static_cast<std::size_t>(at - bounds_.begin()) - 1;
  };
  std::vector<std::size_t> cells((bounds_.back() >> shift) + 2, slices - 1);  // the slice that each begins in
  for (std::size_t cell = 0; std::uint64_t{cell} << shift < bounds_.back(); ++cell)
    cells[cell] = slice_in(static_cast<NodeId>(cell << shift), 0, slices - 1);
  visit_receivers(graph, sources, [&](std::size_t task, std::span<const NodeId> list, const auto& key_of) {
    for (std::size_t k = 0; k < list.size(); ++k) {
      const std::size_t cell = list[k] >> shift;
      const std::size_t slice = slice_in(list[k], cells[cell], cells[cell + 1]);
      std::vector<std::uint64_t>& piece = all[task].pieces[slice];
      if (piece.empty()) {
        piece.reserve(kHeadWords + most);
        piece.resize(kHeadWords);
      }
      piece.push_back(key_of(k));
      if (piece.size() == kHeadWords + most) close(task, slice);
    }
  });
  parallel_ranges(0, tasks, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t task = first; task < last; ++task) {
      for (std::size_t slice = 0; slice < slices; ++slice)
        if (all[task].pieces[slice].size() > kHeadWords) close(task, slice);
      write(task);
    }
  });
}

std::vector<SentKeys> SpooledReceivers::of(std::size_t slice, NodeId part_nodes) const {
  const NodeRange nodes{bounds_[slice], bounds_[slice + 1]};
  const std::size_t parts = (nodes.size() + std::size_t{part_nodes} - 1) / part_nodes;
  std::vector<SentKeys> sent(newest_.size(), SentKeys(parts));
  parallel_ranges(0, sent.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t task = first; task < last; ++task) {
      for (Piece piece = newest_[task][slice]; piece.at != kNone;) {
        const std::span<const std::uint64_t> words(files_[task].as<std::uint64_t>() + piece.at,
                                                   kHeadWords + piece.keys);
        if (checksum64(std::as_bytes(words.subspan(1))) != words[0])
          throw DataError(
              "receivers of a push, which lay in a temporary file, are not what was written there; look after the disk "
              "and run the command again");
        piece = {words[1], words[2]};
        for (const std::uint64_t key : words.subspan(kHeadWords))
          sent[task][(of_pair_.source(key) - nodes.first) / part_nodes].push_back(key);
      }
    }
  });
  return sent;
}

ReceiverSample sample_receivers(const Graph& graph, std::span<const NodeId> sources, std::uint64_t arcs) {
  constexpr std::uint64_t kMostCountedArcs = std::uint64_t{1} << 14;
  const bool is_exact = arcs <= kMostCountedArcs;
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
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return {std::move(found), std::uint64_t{is_exact ? 1U : 16U}};
}

TouchedRows touched_rows(const Graph& graph, std::span<const NodeId> sources, std::span<const SentKeys> sent,
                         std::size_t part, NodeRange nodes, std::span<const NodeId> repaired,
                         const std::function<bool(NodeId)>& stays) {
  const ArcKeys of_pair = sent_keys(graph);
  std::size_t keys = 0;
  for (const SentKeys& one : sent) keys += one[part].size();
  std::vector<std::uint64_t> pairs;
  pairs.reserve(keys);
  for (const SentKeys& one : sent) pairs.insert(pairs.end(), one[part].begin(), one[part].end());
  // Ordered by receiver: every row is then written once, and asked only once whether it stays.
  hwy::Sorter()(pairs.data(), pairs.size(), hwy::SortAscending());

  TouchedRows touched;
  touched.sources.reserve(pairs.size());
  if (of_pair.weighted()) touched.weights.reserve(pairs.size());
  std::size_t at = 0;
  auto next_repaired = std::lower_bound(repaired.begin(), repaired.end(), nodes.first);
  const auto end = std::lower_bound(repaired.begin(), repaired.end(), nodes.last);
  while (at < pairs.size() || next_repaired != end) {
    const NodeId next_pair = at < pairs.size() ? of_pair.source(pairs[at]) : kNoNode;
    const NodeId row = next_repaired != end ? std::min(next_pair, *next_repaired) : next_pair;
    if (next_repaired != end && *next_repaired == row) ++next_repaired;
    const bool is_kept = stays(row);
    if (is_kept) {
      touched.rows.push_back(row);
      touched.first.push_back(touched.sources.size());
    }
    for (; at < pairs.size() && of_pair.source(pairs[at]) == row; ++at) {
      if (!is_kept) continue;
      const std::uint32_t source = of_pair.target(pairs[at]);
      touched.sources.push_back(source);
      if (of_pair.weighted())
        touched.weights.push_back(sources[source] == row ? graph.self_weight() : of_pair.weight(pairs[at]));
    }
  }
  touched.first.push_back(touched.sources.size());
  return touched;
}

SourceIndex::SourceIndex(std::span<const NodeId> sources) : sources_(sources.size()) {
  constexpr std::size_t kBitsASource = 32;
  const std::size_t bits = std::bit_ceil(std::max<std::size_t>(64, kBitsASource * sources.size()));
  shift_ = 32 - std::min(32U, static_cast<unsigned>(std::countr_zero(bits)));
  some_.resize((std::size_t{1} << (32 - shift_)) / 64);
  begins_.resize(some_.size() + 1);
  for (const NodeId node : sources) {
    some_[bit_of(node) / 64] |= std::uint64_t{1} << bit_of(node) % 64;
    ++begins_[bit_of(node) / 64];
  }
  std::exclusive_scan(begins_.begin(), begins_.end(), begins_.begin(), std::uint32_t{0});
  for (std::uint32_t i = 0; i < sources.size(); ++i) sources_[begins_[bit_of(sources[i]) / 64]++] = {sources[i], i};
  // Each beginning has moved to its end, which is where the next one was.
  std::copy_backward(begins_.begin(), begins_.end() - 1, begins_.end());
  begins_.front() = 0;
}

std::uint32_t SourceIndex::find(NodeId node) const noexcept {
  const std::size_t word = bit_of(node) / 64;
  if ((some_[word] >> bit_of(node) % 64 & 1U) == 0) return kNone;
  for (std::uint32_t i = begins_[word]; i < begins_[word + 1]; ++i)
    if (sources_[i].first == node) return sources_[i].second;
  return kNone;
}

TouchedRows touched_targets(const TargetLists& targets, const Graph& graph, const SourceIndex& sources,
                            std::span<const NodeId> repaired, NodeRange nodes,
                            const std::function<bool(NodeId)>& stays) {
  TouchedRows touched;
  NeighbourList changed;
  const bool weighted = graph.list_form().multiplied;
  const auto add = [&](NodeId node, std::uint32_t weight) {
    const std::uint32_t source = sources.find(node);
    if (source == SourceIndex::kNone) return;
    touched.sources.push_back(source);
    if (weighted) touched.weights.push_back(weight);
  };
  touched.first.push_back(0);
  targets.for_each(nodes, [&](NodeId node, const ListView& base) {
    if (!stays(node)) return;
    const ListView list = graph.with_changes(node, base, changed);
    for (std::size_t i = 0; i < list.ids.size(); ++i) add(list.ids[i], weighted ? list.weights[i] : 1);
    add(node, graph.self_weight());
    const bool receives = touched.sources.size() > touched.first.back();
    if (!receives && !std::binary_search(repaired.begin(), repaired.end(), node)) return;
    touched.rows.push_back(node);
    touched.first.push_back(touched.sources.size());
  });
  return touched;
}

}  // namespace unweave
