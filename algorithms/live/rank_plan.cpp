// algorithms/live/rank_plan.cpp - counts verbs and bytes as the code that calls them does.
#include "algorithms/live/rank_plan.h"

#include <algorithm>
#include <string>

#include "algorithms/live/live_store.h"
#include "algorithms/live/rank_orders.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/propagation/plan.h"
#include "algorithms/propagation/row_share.h"
#include "algorithms/propagation/sum_form.h"
#include "engine/graph/span_share.h"
#include "engine/sweep/gather.h"
#include "storage/formats/store_layout.h"
#include "storage/formats/tile_file.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// What ranks tell each other that share rows, tile by tile and level by level.
void count_rows(const RowShare& share, const PropagationSpec& spec, std::uint32_t columns, const TilePlan& tiles,
                PlannedRanks& job) {
  static_cast<void>(share.least(tiles.width));
  const NodeId nodes = share.mask().rows();
  job.count_broadcast(sizeof(std::uint64_t));  // the key of the check: its size, then its bytes
  job.count_broadcast(FingerprintKey::written_bytes(nodes, columns));
  for (std::uint64_t first = 0; first < columns; first += tiles.width) {
    const std::uint64_t row_bytes =
        std::min<std::uint64_t>(tiles.width, columns - first) * value_bytes(spec.scale_bits);
    for (std::uint32_t level = 0; level < spec.levels; ++level) {
      for (std::size_t rank = 0; rank < job.size(); ++rank)
        job.count_broadcast(row_bytes * nodes_of(share_of(num_spans(nodes), rank, job.size()), nodes).size());
      job.count_gather(2 * sizeof(std::uint64_t));  // whether the sums prove themselves
      job.count_broadcast(sizeof(bool));
    }
  }
  job.count_gather(told_file_bytes(spec.levels, num_spans(nodes), job.size()));
  job.count_gather(kTileNormBytes * columns);
}

}  // namespace

RankPlan plan_ranks(const LiveStore& store, const PropagationSpec& spec, std::size_t ranks, RankCut cut,
                    MemoryBudget& budget) {
  const Contents& contents = store.contents();
  const NodeId nodes = contents.num_nodes();
  PlannedRanks job(ranks, ranks - 1);  // no other has more rows
  check_propagation_spec(store, spec);
  require_to_share(store, spec, cut, job);
  RankPlan plan;
  const std::uint64_t levels = spec.levels;
  job.barrier();  // rank 0 has opened the store
  require_same(store.path(), "contents or options", what_is_shared(store, spec, cut), job);
  job.barrier();  // rank 0 has dropped what is not to be gone on with
  if (cut == RankCut::columns) {
    const PropagationPlan whole = plan_propagation(contents, spec, budget);
    SweepSpec sweep = sweep_of(contents, spec, whole.wanted);
    const std::uint32_t columns = contents.features().columns();
    plan.disk_bytes = shared_bytes(*form_of(contents, spec, sweep), spec, columns, ranks, whole.state);
    std::size_t widest = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      widest = std::max(widest, job_columns(columns, rank, ranks, spec.scale_bits).count);
    sweep.columns.count = widest;
    const StatePlan state = SumForm(contents, sweep).plan(budget.available()).require();
    plan.tiles = state.tiles.tiles;
    plan.tile_columns = state.tiles.width;
    plan.memory_bytes = state.memory_bytes();
    plan.graph_bytes = plan.tiles * levels * contents.graph().file_bytes();
    job.barrier();  // when all have found the folder
    job.barrier();  // when all have looked whether the disk has the room
    job.barrier();  // when all have their tiles
    if (spec.kept.has_sums()) job.count_gather(told_file_bytes(levels, num_spans(nodes), ranks));
    job.barrier();  // when all are joined
    plan.calls = job.calls();
    return plan;
  }
  const RowShare share(nodes, job, budget);
  SweepSpec sweep = sweep_of(contents, spec);
  sweep.share = &share;
  const StatePlan state = SumForm(contents, sweep).plan(budget.available()).require();
  plan.tiles = state.tiles.tiles;
  plan.tile_columns = state.tiles.width;
  plan.memory_bytes = state.memory_bytes();
  plan.graph_bytes = plan.tiles * levels * contents.graph().file_bytes() / ranks;
  plan.disk_bytes = state.disk_bytes * nodes / share.own().size();
  count_rows(share, spec, contents.features().columns(), state.tiles, job);
  plan.calls = job.calls();
  return plan;
}

RankCalls plan_batch(const LiveStore& store, std::span<const Request> requests, std::size_t ranks) {
  require_to_stream(store.path(), store.manifest(), ranks);
  PlannedRanks job(ranks, 0);
  RankOrder order{.step = RankOrder::Step::batch};
  order.requests.assign(requests.begin(), requests.end());
  order.known.resize(requests.size());
  tell_order(job, order);
  job.barrier();  // every rank has room for it
  static_cast<void>(gather_values(RankWord{}, job));
  return job.calls();
}

}  // namespace unweave
