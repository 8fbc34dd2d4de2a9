// algorithms/live/live_store.cpp - opens a store, and replays its journal.
#include "algorithms/live/live_store.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>
#include <string>
#include <utility>

#include "algorithms/live/model_text.h"
#include "algorithms/live/rank_orders.h"
#include "algorithms/live/stepwise_fold.h"
#include "algorithms/live/tile_jobs.h"
#include "engine/generations/store_purge.h"
#include "engine/generations/store_watch.h"
#include "engine/resources/clock.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/temporary_folder.h"
#include "engine/sweep/sum_check.h"
#include "storage/input/request_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/map_guard.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

constexpr const char* kChangedLists = "changed lists of the graph, rows and labels that were set";

}  // namespace

LiveStore::LiveStore(std::filesystem::path store, Access access, std::optional<WriterLock> lock, Ranks* ranks,
                     MemoryBudget& budget)
    : path_(std::move(store)),
      access_(access),
      budget_(budget),
      ranks_(ranks),
      lock_(std::move(lock)),
      changed_rows_(budget, temporary_folder(), [this](StateLevel& level) { write_anew(level); }) {
  if (ranks != nullptr && !ranks->first()) ranks->barrier();  // until rank 0 has put the store in order
  open();
  if (ranks == nullptr) return;
  require_same(path_, "requests", std::to_string(sequence_), *ranks);
  meet_after_work();
}

void LiveStore::open() {
  // A writer reads the manifest under its lock alone; but where there is none, nobody leaves a lock
  // behind.
  if (access_ == Access::read || !has_entry(path_ / kManifestName)) manifest_ = read_manifest(path_);
  if (access_ == Access::write) {
    if (!lock_) lock_.emplace(path_);
    manifest_ = read_manifest(path_);
    // A killed writer may not have come to this. Nothing of an old generation goes before the new
    // one has come to stay.
    sync_directory(path_);
    if (purge_state(path_) == PurgeState::decided) finish_purge(path_, manifest_);
    remove_strays(path_, manifest_);
    manifest_ = end_stepwise_fold(path_, std::move(manifest_), budget_);  // requests need lists of one kind
    if (leads()) ranks_->barrier();
    open_generation();
    remove_stale_tiles(path_, manifest_, sequence_);
    return;
  }
  // A writer may replace the generation between the reading of its manifest and the opening of its
  // files.
  for (int attempt = 1;; ++attempt) {
    const StoreWatch watch(path_);
    const std::vector<FileEntry> files = manifest_.files();
    const std::optional<FileEntry> journal = manifest_.journal;
    try {
      open_generation();
      const Manifest now = read_manifest(path_);  // a purge may have come between, and a new journal of the same name
      if (!journal || !now.journal || now.journal->path != journal->path || now.files() == files ||
          attempt == StoreWatch::kAttempts)
        return;
      manifest_ = now;
    } catch (const DataError&) {
      manifest_ = read_manifest(path_);
      if (manifest_.files() == files && manifest_.journal == journal) throw;
      if (attempt == StoreWatch::kAttempts) watch.refuse();
    }
  }
}

void LiveStore::open_embedding() {
  if (!manifest_.propagation) return;
  embedding_memory_ = budget_.reserve(Embedding::map_bytes(manifest_), "maps of changed rows");
  {
    const Reservation rows =
        budget_.reserve(Embedding::run_bytes(path_, manifest_), "rows that checkpoints have added");
    if (ranks_ == nullptr) {
      embedding_ = std::make_unique<Embedding>(path_, manifest_, *contents_);
    } else {
      require_ranks();
      if (!own_folder_) own_folder_.emplace(temporary_path(), "unweave-rank-");
      const TileColumns columns =
          job_columns(manifest_.features, ranks_->rank(), ranks_->size(), manifest_.propagation->scale_bits);
      const ColumnRange part{static_cast<std::uint32_t>(columns.first), static_cast<std::uint32_t>(columns.count)};
      embedding_ = std::make_unique<Embedding>(path_, manifest_, *contents_, part);
    }
  }
  changed_rows_.charge(*embedding_);
}

void LiveStore::open_generation() {
  forget_embedding();
  contents_.reset();
  contents_memory_.release();
  changes_memory_.release();
  changes_memory_ = budget_.reserve(Contents::change_bytes(path_, manifest_), kChangedLists);
  contents_memory_ = budget_.reserve(Contents::bytes(manifest_), "values of nodes");
  contents_ = std::make_unique<Contents>(path_, manifest_);
  open_embedding();
  sequence_ = manifest_.sequence;
  lazy_ = manifest_.lazy;
  replay();
}

const Embedding& LiveStore::embedding() const {
  if (!embedding_)
    throw UsageError(path_.string() + ": not propagated yet; run " +
                     operation("propagate " + shell_word(path_.string())) + " first");
  return *embedding_;
}

/// Room for the lists that a batch is going to change, and for what it sets; they stay in memory
/// until shards, features and labels are written anew.
void LiveStore::charge_changes(const BatchChanges& changes) {
  const std::uint64_t edges = changed_edges(changes, contents_->graph().list_form());
  const std::uint64_t bytes = contents_->change_bytes() +
                              Graph::change_bytes(edges, manifest_.nodes, manifest_.max_weight > 1) +
                              set_bytes(changes);
  if (bytes <= changes_memory_.bytes()) return;
  const std::uint64_t more = bytes - changes_memory_.bytes();
  if (embedding_) changed_rows_.make_room(*embedding_, more);
  static_cast<void>(budget_.reserve(more, kChangedLists));
  changes_memory_.release();
  changes_memory_ = budget_.reserve(bytes, kChangedLists);
}

/// Gives back what was charged for changes that are not made after all.
void LiveStore::drop_charge() {
  changes_memory_.release();
  changes_memory_ = budget_.reserve(contents_->change_bytes(), kChangedLists);
}

/// Keeps what became of a journal's requests, for the receipts of a model that has missed them.
void LiveStore::note_statuses(std::span<const RequestStatus> statuses) {
  const std::size_t size = statuses_.size() + statuses.size();
  if (size > statuses_.capacity()) {
    const std::size_t capacity = std::max(size, 2 * statuses_.capacity());
    Reservation more = budget_.reserve(capacity, "statuses of requests");
    statuses_.reserve(capacity);
    statuses_memory_ = std::move(more);
  }
  statuses_.insert(statuses_.end(), statuses.begin(), statuses.end());
}

/// Those of a batch that came after the store was opened. It is acknowledged, and goes on without
/// them where they have no room: a model that misses it gets no receipts then.
void LiveStore::note_new_statuses(std::span<const RequestStatus> statuses, std::uint64_t after) noexcept {
  if (!receipts_ || statuses_after_ + statuses_.size() != after) return;
  try {
    note_statuses(statuses);
  } catch (...) {  // no memory; from here on none follows the last one that is known
  }
}

/// The journal has gone into a generation.
void LiveStore::forget_statuses() noexcept {
  statuses_ = {};
  statuses_memory_.release();
  statuses_after_ = manifest_.sequence;
}

std::optional<RequestStatus> LiveStore::journal_status(std::uint64_t sequence) const {
  if (sequence <= statuses_after_ || sequence - statuses_after_ > statuses_.size()) return std::nullopt;
  return statuses_[sequence - statuses_after_ - 1];
}

void LiveStore::replay() {
  if (ranks_ != nullptr) require_same(path_, "contents", manifest_text(manifest_), *ranks_);
  register_.reset();
  forget_statuses();
  const AbsorbedRequest absorbed = furthest_absorbed(path_);  // before the journal, which a writer may add to
  JournalEnd end;
  if (manifest_.journal) {
    std::vector<Request> record;  // as far as it was read
    Reservation room;
    bool in_record = false, as_whole = true;
    const auto take = [&](const JournalBatch& batch, const RecordPart& part) {
      const StreamMode mode{batch.r_max, batch.scale};
      if (!std::exchange(in_record, !part.last) && !part.last) {
        try {
          room = reserve_record(part, mode);
          as_whole = true;
        } catch (const ResourceError&) {
          if (mode.r_max > 0) throw;
          as_whole = false;
        }
      }
      if (!as_whole || (part.last && record.empty())) {
        replay_batch(batch.requests, mode, batch.time);
      } else {
        record.insert(record.end(), batch.requests.begin(), batch.requests.end());
        if (!part.last) return;
        room.release();
        replay_batch(std::exchange(record, {}), mode, batch.time);
      }
      if (part.last) as_whole = true;
    };
    replayed_ = open_journal_file(path_, *manifest_.journal);
    end = read_journal_parts(replayed_, path_, *manifest_.journal, manifest_.sequence, take);
  }
  // An interrupted append lacks some of its bytes. This record lacks none and may have been
  // acknowledged: nobody cuts it off.
  if (end.damaged) require_whole_end(path_, *manifest_.journal, end);
  if (end.tail > 0) unfinished_bytes_ = end.tail;  // a generation that this object makes itself has none
  require_absorbed(absorbed, end.bytes);
  if (!manifest_.journal) return;
  if (ranks_ != nullptr) ranks_->barrier();  // rank 0 may cut off what an append that was ended has left there
  static_cast<void>(deliver_here());
  if (access_ == Access::write) {
    replayed_ = {};
    journal_ = Journal::open(path_, *manifest_.journal, manifest_.sequence);
  } else {  // what a reader tells of, it tells of as durable; a killed writer may not have come to the sync
    replayed_.sync();
  }
}

Reservation LiveStore::reserve_record(const RecordPart& record, const StreamMode& mode) {
  std::string what = (path_ / manifest_.journal->path).string() + ": a batch of " + std::to_string(record.requests) +
                     " requests that are acknowledged";
  if (mode.r_max > 0) what += ", which was streamed with " + option("r-max") + " and is applied whole";
  return reserve_for(request_bytes().in_batch(record.requests, record.text_bytes), what);
}

void LiveStore::replay_batch(std::span<const Request> requests, const StreamMode& mode, Millis time) {
  require_exact(mode.r_max);
  Reservation room;
  BatchChanges changes;
  bool fits = false;
  try {
    room = reserve_record({requests.size(), text_bytes(requests)}, mode);
    changes = resolve_after(requests, AcknowledgedAfter{sequence_, time});
    charge_changes(changes);
    require_work_beside(changes);
    note_statuses(changes.statuses);
    fits = true;
  } catch (const ResourceError&) {
    if (mode.r_max > 0 || requests.size() < 2) throw;
  }
  if (!fits) {  // in exact mode requests that are applied one after the other lead to what they lead to together
    room.release();
    changes = {};
    drop_charge();
    replay_batch(requests.first(requests.size() / 2), mode, time);
    return replay_batch(requests.subspan(requests.size() / 2), mode, time);
  }
  note_ids(requests, changes.statuses, sequence_, time);
  propagate_batch(changes, mode, LastLevel::deferred);
  sequence_ += requests.size();
}

void LiveStore::require_absorbed(const AbsorbedRequest& absorbed, std::uint64_t end) const {
  if (absorbed.sequence <= sequence_) return;
  // A purge that was decided between two looks takes the models away.
  if (access_ == Access::read &&
      (purge_state(path_) == PurgeState::decided || furthest_absorbed(path_).sequence < absorbed.sequence))
    return;
  const std::string text = "it ends with request " + std::to_string(sequence_) + ", and the model of " +
                           absorbed.model + " has absorbed " + std::to_string(absorbed.sequence) +
                           ": acknowledged requests are missing; restore the file from a copy, or give them up with " +
                           operation("repair " + option("cut-journal"));
  if (manifest_.journal) throw FormatError(path_ / manifest_.journal->path, "byte " + std::to_string(end), text);
  throw DataError((path_ / kManifestName).string() + ": " + text);
}

StreamPlan LiveStore::forecast(const BatchChanges& changes, std::uint64_t batches) && {
  if (cold_) cold_->look(path_, manifest_);
  return plan_stream(*contents_, embedding_.get(), changes, batches, budget_, kExactArcs, cold_ ? &*cold_ : nullptr);
}

void require_mode(const StreamMode& mode) {
  if (!(mode.r_max >= 0) || !std::isfinite(mode.r_max))
    throw UsageError(option("r-max") + " must be a number of at least 0");
}

Threshold LiveStore::threshold(const StreamMode& mode) const {
  require_mode(mode);
  const PropagationSpec& spec = embedding().spec();
  const double unit = std::ldexp(mode.r_max, static_cast<int>(spec.scale_bits));
  Threshold limits(embedding().columns());
  for (std::size_t c = 0; c < limits.size(); ++c) {
    double limit = unit;
    if (mode.scale == ThresholdScale::paper) limit *= spec.column_norms[c];
    if (mode.scale == ThresholdScale::code) limit *= spec.code_norm;
    limits[c] = static_cast<std::int64_t>(std::min(limit, 9e18));
  }
  return limits;
}

UpdateOptions LiveStore::update_options(LastLevel last) {
  if (cold_) cold_->look(path_, manifest_);
  const ColdFiles* const cold = cold_ ? &*cold_ : nullptr;
  const bool is_deferred = last == LastLevel::deferred;
  if (pushes_alone()) return {{}, Plan::push, is_deferred, cold};
  return {own_folder_ ? own_folder_->path() : path_, plan_, is_deferred, cold};
}

UpdateReport LiveStore::propagate_batch(const BatchChanges& changes, const StreamMode& mode, LastLevel last) {
  if (!embedding_) {
    apply_changes(*contents_, changes);
    require_whole_maps();  // before anybody hears of it
    return {};
  }
  // The sums of a row that enters the last level are those of all that was published.
  if (changes.gains_targets && !embedding_->cone().all_rows()) last = LastLevel::at_once;
  const Threshold limits = threshold(mode);
  UpdateReport before;
  if (last == LastLevel::at_once) before = deliver_here();
  Update update(*contents_, *embedding_, changed_rows_, update_options(last));
  // A smaller threshold than before finds stale rows above it; with the same one there are none.
  if (last_mode_ != mode && embedding_->stale_rows() > 0)
    before.add(naming_store(path_, [&] { return update.flush(limits); }));
  last_mode_ = mode;
  lazy_ = mode.r_max > 0;
  UpdateReport report = naming_store(path_, [&] { return update.apply(changes, limits); });
  require_whole_maps();  // temporary files have maps, too
  report.add(before);
  rows_unsaved_ += report.rows_touched;
  if (report.all_rows) drop_superseded();
  return report;
}

UpdateReport LiveStore::deliver_here() {
  const Change change(*this);
  if (!embedding_ || embedding_->deferred().empty()) return {};
  Update update(*contents_, *embedding_, changed_rows_, update_options(LastLevel::at_once));
  UpdateReport report = naming_store(path_, [&] { return update.deliver(); });
  require_whole_maps();
  rows_unsaved_ += report.rows_touched;
  if (report.all_rows) drop_superseded();
  return report;
}

/// A reader's files go where it may write, and lose their names at once.
void LiveStore::write_anew(StateLevel& level) {
  if (writes_levels() || own_folder_) {
    level.fold(own_folder_ ? own_folder_->path() : path_, budget_);
    drop_superseded();
  } else {
    const TemporaryFolder folder(temporary_folder(), "unweave-fold-");
    level.fold(folder.path(), budget_);
  }
}

/// A recomputation replaces the partitions of the one before it, which may not have been in any
/// manifest.
void LiveStore::drop_superseded() {
  if (!writes_levels()) return drop_own_files();
  std::set<std::string> present;
  for (std::uint32_t l = 1; l <= embedding_->levels(); ++l)
    for (const FileEntry& entry : embedding_->level(l).entries()) present.insert(entry.path);
  for (const std::string& path : unsaved_)
    if (!present.contains(path)) drop_entry(path_ / path);
  for (const FileEntry& entry : manifest_.files()) present.erase(entry.path);
  unsaved_.assign(present.begin(), present.end());
}

/// A batch that would leave little for the work on it is cut, or refused while that does no harm;
/// one request cannot be.
void LiveStore::require_work_beside(const BatchChanges& changes) {
  if (!embedding_ || changes.requests < 2) return;
  const std::uint64_t bytes = memory_shares::kWorkBesideBatch.of(budget_);
  changed_rows_.make_room(*embedding_, bytes);
  static_cast<void>(budget_.reserve(bytes, "work on a batch (a smaller " + option("batch") + " needs less)"));
}

Reservation LiveStore::reserve_batch(std::size_t requests, std::uint64_t text) {
  return reserve_for(request_bytes().in_batch(requests, text),
                     "requests of a batch (a smaller " + option("batch") + " has fewer)");
}

Reservation LiveStore::hold_work_room() const {
  if (!has_work_room_ || work_room_.bytes() > 0) return {};
  return budget_.reserve(std::min(memory_shares::kWork.of(budget_), memory_shares::kHeldWork.of(budget_)),
                         "work on a batch");
}

Reservation LiveStore::reserve_for(std::uint64_t bytes, const std::string& what) {
  if (embedding_) changed_rows_.make_room(*embedding_, bytes);
  return budget_.reserve(bytes, what);
}

}  // namespace unweave
