// algorithms/live/store_writer.cpp - journals and applies batches, and makes generations.
#include "algorithms/live/store_writer.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "algorithms/live/joined_level.h"
#include "algorithms/live/rank_orders.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/propagation/recompute.h"
#include "algorithms/updates/repair.h"
#include "engine/generations/store_purge.h"
#include "engine/generations/store_watch.h"
#include "engine/ingest/compaction.h"
#include "engine/ingest/shard_builder.h"
#include "engine/resources/clock.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/temporary_folder.h"
#include "engine/sweep/sum_check.h"
#include "storage/formats/level_files.h"
#include "storage/formats/recorded_file.h"
#include "storage/formats/request_log.h"
#include "storage/input/request_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/readable_bytes.h"
#include "storage/io/shell_word.h"

namespace unweave {

void StoreWriter::watch_appends(std::function<void()> before, std::function<void()> after) {
  before_append_ = std::move(before);
  after_append_ = std::move(after);
}

UpdateReport StoreWriter::settle() {
  if (leads()) tell({RankOrder::Step::deliver});
  return deliver_here();
}

BatchReport StoreWriter::apply(std::span<const Request> requests, BatchChanges changes, const StreamMode& mode,
                               LastLevel last) {
  require_sums();
  require_mode(mode);  // a bad threshold must fail before anything is acknowledged
  require_exact(mode.r_max);
  if (changes.conflict) throw IdConflictError({*changes.conflict});
  if (waiting() > 0) throw UsageError("acknowledged requests wait; apply them first");
  const Change change(*this);
  BatchReport report;
  const Clock::time_point start = Clock::now();
  prepare(changes);
  if (!changes.nodes.empty()) require_recomputation();
  require_room_for_notes(note_bytes(requests), contents_->expiries().bytes(), budget_);
  std::uint64_t fresh = 0;
  for (std::size_t i = 0; i < requests.size(); ++i)
    fresh += keeps_id(requests[i]) && changes.statuses[i] != RequestStatus::known_id ? 1U : 0U;
  {
    const std::scoped_lock lock(journal_mutex_);
    if (register_) register_->make_room(fresh);
  }
  open_journal();
  remove_tiles(path_);
  if (leads()) {
    RankOrder order{RankOrder::Step::batch, last == LastLevel::deferred};
    order.requests.assign(requests.begin(), requests.end());
    for (const RequestStatus status : changes.statuses) order.known.push_back(status == RequestStatus::known_id);
    tell(std::move(order));
    ranks_->barrier();  // every rank can apply it
  }
  if (before_append_) before_append_();
  report.time = present_time();
  journal_->append(mode.r_max, mode.scale, requests, report.time);
  const std::uint64_t before = std::exchange(sequence_, journal_->sequence());
  if (after_append_) after_append_();
  note_ids(requests, changes.statuses, before, report.time);
  note_new_statuses(changes.statuses, before);
  report.seconds_journal = seconds_since(start);
  carry_out(std::move(changes), mode, last, report);
  return report;
}

bool StoreWriter::take_work_room() {
  if (work_room_.bytes() > 0) return true;
  has_work_room_ = true;
  constexpr std::uint64_t kFewChanges = std::uint64_t{16} << 10;
  const std::uint64_t bytes = memory_shares::kWork.of(budget_);
  if (embedding_) changed_rows_.make_room(*embedding_, bytes);
  if (budget_.available() < bytes && embedding_ && embedding_->has_resident_levels()) save(Fold::rows);
  if (budget_.available() < bytes && changes_memory_.bytes() > contents_->expiries().bytes() + kFewChanges) fold();
  try {
    work_room_ = budget_.reserve(bytes, "work on a batch");
    return true;
  } catch (const ResourceError&) {
    return false;
  }
}

UpdateReport StoreWriter::publish_stale() {
  const Change change(*this);
  UpdateReport report = settle();
  if (!embedding_ || embedding_->stale_rows() == 0) return report;
  Update update(*contents_, *embedding_, changed_rows_, update_options(LastLevel::at_once));
  flushed_ = true;
  report.add(naming_store(path_, [&] { return update.flush(Threshold(embedding_->columns(), 0)); }));
  if (report.all_rows) drop_superseded();
  return report;
}

void StoreWriter::checkpoint() {
  const Change change(*this);
  if (pending_requests() > 0 || flushed_) save(Fold::nothing);
}

void StoreWriter::checkpoint_if_worth(std::uint64_t least) {
  // Rows, or requests, that take some 0.2 s to be applied again.
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
  std::uint64_t written = manifest_.changes ? manifest_.changes->bytes : 0;  // and would be again
  for (const LevelFiles& level : manifest_.levels) written += level.run ? level.run->bytes : 0;
  const std::uint64_t columns = embedding_ ? embedding_->columns() : 0;
  const auto journal_bytes = [this]() -> std::uint64_t {
    const std::scoped_lock lock(journal_mutex_);
    return journal_ ? journal_->bytes() : 0;
  };
  if (!embedding_ || flushed_ || !unsaved_.empty() || written < least || journal_bytes() > kMostBytes ||
      rows_unsaved_ * columns * sizeof(std::int32_t) > kMostBytes)
    checkpoint();
}

void StoreWriter::forget_release(const ReleasedFiles& files) {
  const Change change(*this);
  released_.erase(files.model);
  const std::scoped_lock lock(journal_mutex_);  // ids of requests are read by what the manifest says
  Manifest next = manifest_;
  if (!unweave::forget_release(files, next)) return;
  write_manifest(path_, next);
  manifest_ = std::move(next);
}

void StoreWriter::record() {
  const Change change(*this);
  const std::scoped_lock lock(journal_mutex_);
  Manifest next = manifest_;
  record_in(next);
  if (next.journal == manifest_.journal && next.releases == manifest_.releases) return;
  write_manifest(path_, next);
  manifest_ = std::move(next);
}

void StoreWriter::fold() {
  // One after the other.
  std::uint64_t bytes = fold_bytes(contents_->graph());
  if (contents_->held() != nullptr) bytes = std::max(bytes, fold_bytes(*contents_->held()));
  if (contents_->features().set_nodes().size() > 0 || contents_->has_set_values())
    bytes = std::max(bytes, fold_data_bytes(*contents_));
  if (embedding_) changed_rows_.make_room(*embedding_, bytes);
  if (bytes <= budget_.available()) save(Fold::rows_and_graph);
}

WriterLock StoreWriter::give_lock() && {
  forget_embedding();
  contents_.reset();
  journal_.reset();
  contents_memory_.release();
  changes_memory_.release();
  WriterLock lock = std::move(*lock_);
  lock_.reset();
  return lock;
}

void StoreWriter::begin_propagation() {
  if (ranks_ != nullptr) throw UsageError(path_.string() + ": opened for a stream of several ranks");
  const Change change(*this);
  forget_embedding();
  propagating_ = true;
}

void StoreWriter::commit_propagation(const PropagationSpec& spec, std::vector<LevelFiles> levels) {
  propagating_ = false;
  const Change change(*this);
  forget_embedding();
  lazy_ = false;
  Manifest next = present_manifest(Fold::nothing);
  next.propagation = spec;
  next.levels = std::move(levels);
  swap_manifest(std::move(next));
  contents_->take_scale(spec.scale_bits);
  open_embedding();
}

void StoreWriter::dismiss_ranks() {
  if (leads()) tell({RankOrder::Step::end});
}

/// Whoever asks for levels anew is refused while that does no harm.
void StoreWriter::require_recomputation() {
  if (plan_ != Plan::recompute || !embedding_ || embedding_->levels() == 0) return;
  changed_rows_.make_room(*embedding_, memory_shares::kRecomputeRoom.of(budget_));
  const RecomputePlan plan = plan_recompute(*contents_, *embedding_, budget_, 1, embedding_->levels());
  if (!plan.fits())
    throw ResourceError(path_.string() + ": " + plan.lack + ", or have changes pushed (" + option("plan", "push") +
                        ")");
}

/// Before anything is acknowledged, or applied that was. Shards are written anew, as a purge does,
/// before their changes fill the memory.
void StoreWriter::prepare(const BatchChanges& changes) {
  lock_->require_held();
  // Notes of what expires stay in memory whatever is written.
  if (lists_full_ || changes_memory_.bytes() > memory_shares::kChangedLists.of(budget_) + contents_->expiries().bytes())
    fold();
  try {
    charge_changes(changes);
  } catch (const ResourceError&) {
    {
      const std::scoped_lock lock(journal_mutex_);
      if (!room_ || room_->is_lent()) throw;
      room_->lend();
    }
    fold();
    charge_changes(changes);
  }
  require_work_beside(changes);
}

void StoreWriter::carry_out(BatchChanges changes, const StreamMode& mode, LastLevel last, BatchReport& report) {
  const Clock::time_point applied = Clock::now();
  report.update = propagate_batch(changes, mode, last);
  report.changes = std::move(changes);
  report.last_request = sequence_;

  if (ranks_ != nullptr) meet_after_work();  // every rank has applied it
  if (!embedding_) return;
  report.seconds_propagate = seconds_since(applied);
  changed_rows_.charge(*embedding_);
  if (rows_full_ || changed_rows_.bytes() > ChangedRows::most_bytes(budget_)) save(Fold::rows);
}

void StoreWriter::open_journal() {
  const std::scoped_lock lock(journal_mutex_);
  if (journal_) return;
  // The manifest names the journal before anything in it is acknowledged.
  Manifest next = manifest_;
  journal_ = Journal::create(path_, journal_name(next), manifest_.sequence);
  next.journal = journal_->entry();
  write_manifest(path_, next);
  manifest_ = next;
}

}  // namespace unweave
