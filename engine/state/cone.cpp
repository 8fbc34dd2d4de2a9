// engine/state/cone.cpp - opens, changes and writes the reference counts of the levels' rows.
#include "engine/state/cone.h"

#include <algorithm>
#include <atomic>
#include <span>

#include "engine/graph/contents.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/parallel.h"

namespace unweave {

Cone::Cone(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents,
           const std::vector<StoredRun>& runs)
    : all_rows_(manifest.propagation->all_rows),
      top_(manifest.propagation->levels),
      nodes_(manifest.nodes),
      counted_(manifest.propagation->kept.has_sums()),
      contents_(contents) {
  if (all_rows_ || !counted_) return;
  for (std::uint32_t level = 1; level < top_; ++level) {
    Level& one = levels_.emplace_back(nodes_);
    one.base =
        std::make_unique<ValueFile<std::uint32_t>>(store, manifest.levels[level].counts.value(), "counts", nodes_);
    const SealedFile& file = one.base->file();
    if (file.size() != std::uint64_t{nodes_} * 4 || file.parameters()[0] != level)
      file.fail(0, "not one count a node of this level");
    const StoredRun& run = runs[level];
    for (std::size_t i = 0; i < run.count_nodes.size(); ++i) one.changed.at(run.count_nodes[i]) = run.count_values[i];
  }
}

bool Cone::contains(std::uint32_t level, NodeId node) const {
  if (all_rows_ || level == 0) return true;
  if (level == top_ || !counted_) return contents_.label(node) != kNoLabel;
  return count(level, node) > 0;
}

std::uint32_t Cone::count(std::uint32_t level, NodeId node) const {
  const Level& one = levels_[level - 1];
  const std::uint32_t* const changed = one.changed.find(node);
  return changed != nullptr ? *changed : (*one.base)[node];
}

void Cone::add(std::uint32_t level, NodeId node, std::int64_t step) {
  Level& one = levels_[level - 1];
  const std::uint32_t before = count(level, node);
  const auto after = static_cast<std::uint32_t>(before + step);
  one.changed.at(node) = after;
  if (before == 0 && after > 0) ++one.rows;
  if (before > 0 && after == 0) --one.rows;
}

std::uint64_t Cone::rows(std::uint32_t level) const {
  if (all_rows_ || level == 0) return nodes_;
  if (level < top_ && counted_) return levels_[level - 1].rows;
  if (!targets_in_file_) return contents_.num_labelled();
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(*targets_in_file_) + contents_.more_labelled());
}

void Cone::know_rows(std::uint32_t level, std::uint64_t rows) {
  if (all_rows_ || !counted_) return;
  if (level < top_)
    levels_[level - 1].rows = rows;
  else
    targets_in_file_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(rows) - contents_.more_labelled());
}

std::uint64_t Cone::bytes() const noexcept {
  std::uint64_t changed = 0;
  for (const Level& one : levels_) changed += one.changed.size();
  return bytes(changed);
}

void Cone::checkpoint(const std::filesystem::path& store, bool fold, std::vector<LevelFiles>& files,
                      std::vector<Run>& runs) const {
  if (all_rows_ || !counted_) return;
  for (std::uint32_t level = 1; level < top_; ++level) {
    const Level& one = levels_[level - 1];
    if (one.changed.size() * 16 > nodes_ || (fold && one.changed.size() > 0)) {
      const std::span<const std::uint32_t> base = one.base->values({0, nodes_});
      std::vector<std::uint32_t> counts(base.begin(), base.end());
      one.changed.for_each({0, nodes_}, [&](NodeId node, std::uint32_t count) { counts[node] = count; });
      files[level].counts = write_counts(store, level, counts);
      continue;
    }
    one.changed.for_each({0, nodes_}, [&](NodeId node, std::uint32_t count) {
      if (count == (*one.base)[node]) return;
      runs[level].count_nodes.push_back(node);
      runs[level].count_values.push_back(count);
    });
  }
}

std::vector<std::uint32_t> count_readers(const Contents& contents, const std::vector<bool>& readers) {
  const Graph& graph = contents.graph();
  std::vector<std::uint32_t> counts(graph.num_nodes());
  constexpr std::size_t kTask = 32;  // blocks
  // The graph is symmetric: the readers of v are those of its neighbours, and itself, that are rows
  // above.
  parallel_ranges(0, graph.num_blocks(), kTask, [&](std::size_t first, std::size_t last) {
    Graph::BlockBuffer buffer;
    DecodedBlock block;
    read_ahead_of(graph, first);
    for (std::size_t b = first; b < last; ++b) {
      graph.decode(b, buffer, block);
      for (std::uint32_t i = 0; i < block.nodes; ++i) counts[block.first + i] = readers[block.first + i] ? 1 : 0;
      for_arcs(block, [&](NodeId node, NodeId reader, std::uint32_t weight) {
        if (readers[reader]) counts[node] += weight;
      });
    }
  });
  return counts;
}

std::vector<std::uint32_t> count_readers(const TargetGraph& targets) {
  std::vector<std::uint32_t> counts(targets.num_nodes());
  targets.for_each([&](NodeId node, const ListView& list) {
    ++counts[node];
    for_neighbours(list, [&](NodeId neighbour, std::uint32_t weight) { counts[neighbour] += weight; });
  });
  return counts;
}

}  // namespace unweave
