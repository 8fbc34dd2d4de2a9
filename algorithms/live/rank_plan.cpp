// algorithms/live/rank_plan.cpp - counts verbs and bytes as the code that calls them does.
#include "algorithms/live/rank_plan.h"

#include <string>

#include "algorithms/live/live_store.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/propagation/propagation_plan.h"
#include "algorithms/propagation/row_share.h"
#include "algorithms/propagation/sweep_job.h"
#include "engine/sweep/gather.h"
#include "storage/formats/store_layout.h"
#include "storage/formats/tile_file.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// Stands for a job of so many ranks, of which it is the last one: no other has more rows.
class PlannedRanks final : public Ranks {
 public:
  explicit PlannedRanks(std::size_t size) : size_(size) {}
  [[nodiscard]] std::size_t rank() const noexcept override { return size_ - 1; }
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }

 private:
  std::size_t size_;
};

// A barrier when rank 0 has opened the store, what is shared in two broadcasts and a barrier, and one behind that.
constexpr std::uint64_t kVerbsOfAll = 5;
constexpr std::uint64_t kNameBytes = 100;  // the name of a file, about

}  // namespace

RankPlan plan_ranks(const LiveStore& store, const PropagationSpec& spec, std::size_t ranks, RankCut cut,
                    MemoryBudget& budget) {
  const Contents& contents = store.contents();
  const NodeId nodes = contents.num_nodes();
  PlannedRanks job(ranks);
  check_propagation_spec(store, spec);
  require_to_share(store, spec, cut, job);
  RankPlan plan;
  const std::uint64_t others = ranks - 1, levels = spec.levels;
  plan.verbs = kVerbsOfAll;
  plan.received_bytes = others * (sizeof(std::uint64_t) + what_is_shared(store, spec, cut).size());
  if (cut == RankCut::columns) {
    PropagationPlan whole = plan_propagation(contents, spec, budget);
    SweepJob sweep = sweep_job(contents, spec, std::move(whole.wanted));
    std::size_t widest = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      widest = std::max(widest, job_columns(sweep.columns, rank, ranks, spec.scale_bits).count);
    sweep.columns = static_cast<std::uint32_t>(widest);
    const StatePlan state = plan_state(contents, sweep, budget.available());
    plan.tiles = state.tiles.tiles;
    plan.tile_columns = state.tiles.width;
    plan.memory_bytes = state.memory_bytes();
    plan.graph_bytes = plan.tiles * levels * contents.graph().file_bytes();
    plan.disk_bytes = 2 * whole.state.state_bytes;  // tiles, and the partitions that are joined of them
    plan.verbs += 2;                                // when all have their tiles, and when all are joined
    return plan;
  }
  const RowShare share(nodes, job, budget);
  SweepJob sweep = sweep_job(contents, spec, {});
  sweep.share = &share;
  const StatePlan state = plan_state(contents, sweep, budget.available());
  plan.tiles = state.tiles.tiles;
  plan.tile_columns = state.tiles.width;
  plan.memory_bytes = state.memory_bytes();
  plan.graph_bytes = plan.tiles * levels * contents.graph().file_bytes() / ranks;
  plan.disk_bytes = state.disk_bytes * nodes / share.own().size();
  // The least width, the key in two broadcasts, names and norms of what is done; for each tile and level the rows of every
  // rank, and two verbs of the check.
  plan.verbs += 5 + plan.tiles * levels * (ranks + 2);
  const std::uint64_t value_bytes = spec.scale_bits <= kMaxShortScaleBits ? sizeof(std::int16_t) : sizeof(std::int32_t);
  const std::uint64_t key_bytes = 8 + FingerprintKey::written_bytes(nodes, sweep.columns);
  const std::uint64_t ends = (kTileNormBytes * sweep.columns + levels * num_spans(nodes) * kNameBytes / ranks);
  plan.received_bytes += others * (levels * nodes * std::uint64_t{sweep.columns} * value_bytes + key_bytes + ends +
                                   plan.tiles * levels * 4 * 8);
  return plan;
}

}  // namespace unweave
