// algorithms/live/live_store_generation.cpp - makes durable what a live store holds: journal,
// checkpoint, clean close.
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/joined_level.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/rank_orders.h"
#include "algorithms/live/tile_jobs.h"
#include "engine/ingest/compaction.h"
#include "engine/ingest/shard_builder.h"
#include "storage/formats/level_files.h"
#include "storage/formats/recorded_file.h"

namespace unweave {

Manifest LiveStore::present_manifest(Fold fold) const {
  Manifest next = manifest_;
  next.edges = contents_->graph().num_edges();
  if (next.max_weight > 1) next.weight_sum = contents_->graph().num_arcs() / 2;
  Changes changes = contents_->changes(), held_changes = contents_->held_changes();
  if (next.pairs) next.pairs->edges = contents_->held()->num_edges();
  if (next.pairs && next.weight_unit) next.pairs->weight_sum = contents_->held()->num_arcs() / 2;
  if (fold == Fold::rows_and_graph) {
    WorkMeter nobody;
    if (contents_->features().set_nodes().size() > 0 || contents_->has_set_values()) {  // as StoreWriter::fold() asks
      next = fold_data(path_, next, *contents_, budget_, nobody);
      Changes left;
      left.lost_names = std::move(changes.lost_names);  // the files of names stay
      changes = std::move(left);
    }
    next.shards = fold_shards(path_, contents_->graph(), next.shards, budget_, nobody);
    changes.removed.clear();
    changes.inserted.clear();
    if (next.pairs)
      next.pairs->shards = fold_shards(path_, *contents_->held(), next.pairs->shards, budget_, nobody, ShardOf::held);
    held_changes = {};
    for (LevelFiles& files : next.levels) drop_files(files, FileRole::index);  // views of the shards as they were
  }
  next.changes.reset();
  if (changes != Changes())
    next.changes = write_changes(path_, changes, next.graphs.has_value(), next.weight_unit.has_value());
  if (next.pairs) next.pairs->changes.reset();
  if (held_changes != Changes())
    next.pairs->changes = write_held_changes(path_, held_changes, next.weight_unit.has_value());
  next.expiries.reset();
  if (contents_->expiries().size() > 0) next.expiries = write_expiries(path_, contents_->expiries().sorted());
  next.sequence = sequence_;
  next.lazy = lazy_;
  if (next.sequence != manifest_.sequence || (next.sequence == 0 && waiting() == 0))
    next.journal.reset();  // named by what replaces the manifest
  return next;
}

void LiveStore::swap_manifest(Manifest next) {
  lock_->require_held();
  const std::scoped_lock lock(journal_mutex_);
  if (register_) register_->sync();  // before the journal goes, which has the same requests
  record_in(next);
  const bool same_journal = next.journal.has_value();
  std::optional<Journal> journal;
  if (!same_journal && (next.sequence > 0 || !waiting_.empty())) {
    journal = Journal::create(path_, journal_name(next), next.sequence);
    for (const Waiting& one : waiting_) journal->append(0, ThresholdScale::absolute, one.left(), one.time);
    next.journal = journal->entry();
  }
  commit_generation(path_, manifest_, next);
  manifest_ = std::move(next);
  if (!same_journal) forget_statuses();
  remove_tiles(path_);  // those are sums of earlier contents
  if (!same_journal) journal_ = std::move(journal);
  flushed_ = false;
  rows_unsaved_ = 0;
  unsaved_.clear();
}

void LiveStore::record_in(Manifest& next) const {
  if (next.journal && journal_ && journal_->bytes() > next.journal->bytes) next.journal = journal_->entry();
  for (const auto& [model, files] : released_) record_release(path_, files, next);
  if (!register_ || register_->log_bytes() == 0 || (next.sequence == 0 && !next.journal)) return;
  register_->sync();
  put_record(record_file(path_, kRequestLog, register_->log_bytes()), next.releases);
}

void LiveStore::save(Fold fold) {
  using Step = RankOrder::Step;
  if (leads())
    tell({fold == Fold::nothing ? Step::save : fold == Fold::rows ? Step::save_rows : Step::save_rows_and_graph});
  save_here(fold);
  if (ranks_ != nullptr) meet_after_work();
}

void LiveStore::save_here(Fold fold) {
  static_cast<void>(deliver_here());
  const bool fold_rows = fold != Fold::nothing;
  const auto join = [&](std::uint32_t level) {
    return join_level(*ranks_, embedding_->level(level), level, path_, manifest_, budget_);
  };
  if (access_ == Access::write) {
    Manifest next = present_manifest(fold);
    if (embedding_)
      embedding_->checkpoint(path_, fold_rows, next.levels, budget_, {},
                             leads() ? Embedding::WholeLevel(join) : nullptr);
    swap_manifest(std::move(next));
    if (leads()) ranks_->barrier();
  } else {
    for (std::uint32_t level = 1; embedding_ && level <= embedding_->levels(); ++level) static_cast<void>(join(level));
    ranks_->barrier();
    manifest_ = read_manifest(path_);
  }
  if (ranks_ != nullptr)
    require_same(path_, "contents", manifest_text(manifest_), *ranks_);  // what others read may lag behind
  if (!fold_rows) return;
  forget_embedding();
  if (fold == Fold::rows_and_graph) {
    contents_.reset();
    changes_memory_.release();
    contents_ = std::make_unique<Contents>(path_, manifest_);
  }
  open_embedding();
}

}  // namespace unweave
