// algorithms/updates/level_work.cpp - counts rows, arcs and receivers of one level, some of them
// from samples.
#include "algorithms/updates/level_work.h"

#include <algorithm>
#include <vector>

#include "algorithms/updates/receivers.h"
#include "engine/resources/parallel.h"

namespace unweave {

LevelWork level_work(const Contents& contents, const Embedding& embedding, std::uint32_t level,
                     std::span<const NodeId> sources, std::uint64_t changed, const MemoryBudget& budget,
                     const ColdFiles* cold) {
  LevelWork work =
      level_work(contents, embedding, level, sources.size(), arcs_of(contents, sources), changed, budget, cold);
  for (const NodeId node : sources)
    if (embedding.cone().contains(level, node)) ++work.least_receivers;  // through its self loop
  return work;
}

LevelWork level_work(const Contents& contents, const Embedding& embedding, std::uint32_t level, std::uint64_t sources,
                     std::uint64_t arcs, std::uint64_t changed, const MemoryBudget& budget, const ColdFiles* cold) {
  const Graph& graph = contents.graph();
  LevelWork work;
  work.changed = changed;
  work.arcs = arcs;
  if (const TargetLists* lists = lists_to_scan(embedding, level, sources, arcs))
    work.scan_arcs = lists->arcs();
  else
    work.slices = receiver_slices(arcs, budget);
  work.rows = embedding.cone().rows(level);
  work.rows_in_memory = embedding.level(level).rows_at_hand();
  work.is_resident = embedding.level(level).is_resident();
  work.is_below_resident = level > 1 && embedding.level(level - 1).is_resident();
  work.nodes = graph.num_nodes();
  work.graph_arcs = graph.num_terms();
  work.changed_arcs = graph.num_changed_arcs();
  work.columns = embedding.columns();
  work.threads = active_threads();
  work.sources = sources;
  if (cold != nullptr) work.cold = cold->reads(level);
  return work;
}

Receivers count_receivers(const Contents& contents, const Embedding& embedding, std::uint32_t level,
                          std::span<const NodeId> sources, const LevelWork& work) {
  if (work.scan_arcs > 0) return most_receivers(work);
  std::vector<NodeId> some;
  const std::size_t stride = count_stride(work, sources.size());
  for (std::size_t i = 0; i < sources.size(); i += stride) some.push_back(sources[i]);
  const std::uint64_t arcs = arcs_of(contents, some);
  const ReceiverSample sample = sample_receivers(contents.graph(), some, arcs);
  if (sample.nodes.empty()) return {};
  const auto seen = static_cast<double>(sample.nodes.size());
  const double each =
      extrapolate_receivers(work, seen * static_cast<double>(sample.each), static_cast<double>(arcs)) / seen;
  Receivers receivers;
  for (const NodeId node : sample.nodes) {
    if (!embedding.cone().contains(level, node)) continue;
    (embedding.level(level).is_at_hand(node) ? receivers.in_memory : receivers.in_files) += each;
  }
  return receivers;
}

std::uint64_t arcs_of(const Contents& contents, std::span<const NodeId> nodes) {
  std::uint64_t arcs = 0;
  for (const NodeId node : nodes) arcs += contents.graph().num_terms(node);
  return arcs;
}

const TargetLists* lists_to_scan(const Embedding& embedding, std::uint32_t level, std::size_t sources,
                                 std::uint64_t arcs) {
  const TargetLists* lists = level == embedding.levels() ? embedding.indexes().target_lists() : nullptr;
  return lists != nullptr && list_scan_pays(lists->arcs(), sources, arcs) ? lists : nullptr;
}

}  // namespace unweave
