// algorithms/live/rank_propagation.cpp - the steps of both parts, which meet at the same verbs.
#include "algorithms/live/rank_propagation.h"

#include <string>

#include "algorithms/live/live_store.h"
#include "algorithms/live/tile_jobs.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// All ranks see the same store, or none goes on.
void require_same_contents(const LiveStore& store, Ranks& job) {
  const std::string mine = contents_word(store.manifest(), store.sequence());
  if (from_first(mine, job) != mine)
    throw DataError(
        store.path().string() + ": rank " + std::to_string(job.rank()) +
        " finds other contents there than rank 0; all ranks must see one store, on storage that they share");
}

}  // namespace

void propagate_part(const LiveStore& store, const PropagationSpec& spec, MemoryBudget& budget, Ranks& job) {
  require_same_contents(store, job);
  job.barrier();  // rank 0 drops what is not to be gone on with
  static_cast<void>(propagate_tiles(store, spec, {job.rank(), job.size()}, budget, {}, &job));
}

PropagateReport propagate_over_ranks(LiveStore& store, const PropagationSpec& spec, MemoryBudget& budget,
                                     const PropagateMeter& progress, const PropagateHow& how, Ranks& job) {
  require_same_contents(store, job);
  if (how.restart) remove_tiles(store.path());
  job.barrier();
  const TileReport tiles = propagate_tiles(store, spec, {job.rank(), job.size()}, budget, progress, &job);
  PropagateReport report = propagate(store, spec, budget, {}, nullptr, {.assemble = true});
  report.sweep_seconds += tiles.sweep_seconds;
  report.fill_seconds += tiles.fill_seconds;
  report.cone_seconds += tiles.cone_seconds;
  if (report.sweep_seconds > 0)
    report.arc_features_per_second = static_cast<double>(store.contents().graph().num_terms()) *
                                     store.contents().features().columns() * spec.levels / report.sweep_seconds;
  return report;
}

}  // namespace unweave
