#include "algorithms/live_store.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>
#include <string>

#include "engine/clock.h"
#include "engine/store_purge.h"
#include "storage/error.h"

namespace unweave {
namespace {

std::string journal_name(std::uint64_t sequence) {
  const std::string digits = std::to_string(sequence);
  return "after-" + std::string(20 - digits.size(), '0') + digits + ".log";
}

/// Adds to a report what was done besides; the plan stays.
void merge(const UpdateReport& more, UpdateReport& report) {
  report.rows_touched += more.rows_touched;
  report.arcs_visited += more.arcs_visited;
  report.arcs_summed += more.arcs_summed;
  report.pushes += more.pushes;
  report.all_rows |= more.all_rows;
  if (more.changed.empty()) return;
  report.changed.insert(report.changed.end(), more.changed.begin(), more.changed.end());
  std::sort(report.changed.begin(), report.changed.end());
  report.changed.erase(std::unique(report.changed.begin(), report.changed.end()), report.changed.end());
}

}  // namespace

/// Lives as long as a change of the store and notices whether it fails. Throws DataError after an earlier one has.
class LiveStore::Change {
 public:
  explicit Change(LiveStore& store) : store_(store) {
    if (store.half_way_)
      throw DataError(store.path_.string() + ": an earlier change failed half-way; open the store again");
  }
  ~Change() { store_.half_way_ |= std::uncaught_exceptions() > exceptions_; }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  LiveStore& store_;
  int exceptions_ = std::uncaught_exceptions();
};

LiveStore::LiveStore(std::filesystem::path store, Access access, MemoryBudget& budget)
    : path_(std::move(store)), access_(access), budget_(budget) {
  manifest_ = read_manifest(path_);
  if (access == Access::write) {
    lock_.emplace(path_);
    manifest_ = read_manifest(path_);
    // A killed writer may not have come to this. Nothing of an old generation goes before the new one has come to stay.
    sync_directory(path_);
    if (purge_state(path_) == PurgeState::decided) finish_purge(path_, manifest_);
    remove_strays(path_, manifest_);
    open_generation();
    return;
  }
  // A writer may replace the generation between the reading of its manifest and the opening of its files.
  for (int attempt = 1;; ++attempt) {
    const std::vector<FileEntry> files = manifest_.files();
    const std::string journal = manifest_.journal;
    try {
      open_generation();
      return;
    } catch (const DataError&) {
      manifest_ = read_manifest(path_);
      if (attempt == 5 || (manifest_.files() == files && manifest_.journal == journal)) throw;
    }
  }
}

void LiveStore::open_generation() {
  embedding_.reset();
  contents_.reset();
  degrees_.release();
  degrees_ = budget_.reserve(sizeof(std::uint32_t) * std::uint64_t{manifest_.nodes}, "degrees");
  contents_ = std::make_unique<Contents>(path_, manifest_);
  if (manifest_.propagation) embedding_ = std::make_unique<Embedding>(path_, manifest_, *contents_);
  sequence_ = manifest_.sequence;
  replay();
}

const Embedding& LiveStore::embedding() const {
  if (!embedding_)
    throw DataError(path_.string() + ": not propagated yet; run `unweave propagate " + path_.string() + "` first");
  return *embedding_;
}

void LiveStore::replay() {
  if (manifest_.journal.empty()) return;
  read_journal(path_, manifest_.journal, manifest_.sequence, [&](const JournalBatch& batch) {
    propagate_batch(resolve(batch.requests), {batch.r_max, batch.scale}, LastLevel::deferred);
    sequence_ += batch.requests.size();
  });
  static_cast<void>(deliver());
  if (access_ == Access::write)
    journal_ = Journal::open(path_, manifest_.journal, manifest_.sequence);
  else  // what a reader tells of, it tells of as durable; a killed writer may not have come to the sync
    File::open_read(path_ / "journal" / manifest_.journal).sync();
}

void LiveStore::open_journal() {
  if (journal_) return;
  // The manifest names the journal before anything in it is acknowledged.
  Manifest next = manifest_;
  next.journal = journal_name(manifest_.sequence);
  journal_ = Journal::create(path_, next.journal, manifest_.sequence);
  write_manifest(path_, next);
  manifest_ = next;
}

BatchChanges LiveStore::resolve(std::span<const Request> requests) const {
  return resolve_batch(*contents_, requests);
}

StreamPlan LiveStore::foresee(const BatchChanges& changes, std::uint64_t batches) && {
  return plan_stream(*contents_, embedding_.get(), changes, batches, budget_);
}

Threshold LiveStore::threshold(const StreamMode& mode) const {
  if (!(mode.r_max >= 0) || !std::isfinite(mode.r_max)) throw UsageError("--r-max must be a number of at least 0");
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

UpdateOptions LiveStore::update_options(LastLevel last) const {
  return {path_, access_ == Access::write ? plan_ : Plan::push, last == LastLevel::deferred};
}

UpdateReport LiveStore::propagate_batch(const BatchChanges& changes, const StreamMode& mode, LastLevel last) {
  if (!embedding_) {
    apply_changes(*contents_, changes);
    return {};
  }
  const Threshold limits = threshold(mode);
  UpdateReport before;
  if (last == LastLevel::at_once) before = deliver();
  Update update(*contents_, *embedding_, budget_, update_options(last));
  // A smaller threshold than before finds stale rows above it; with the same one there are none.
  if (last_mode_ != mode && embedding_->stale_rows() > 0) merge(update.flush(limits), before);
  last_mode_ = mode;
  UpdateReport report = update.apply(changes, limits);
  merge(before, report);
  if (access_ == Access::write && report.all_rows) drop_superseded();
  return report;
}

UpdateReport LiveStore::deliver() {
  const Change change(*this);
  if (!embedding_ || embedding_->deferred().empty()) return {};
  Update update(*contents_, *embedding_, budget_, update_options(LastLevel::at_once));
  UpdateReport report = update.deliver();
  if (access_ == Access::write && report.all_rows) drop_superseded();
  return report;
}

/// A recomputation replaces the partitions of the one before it, which may not have been in any manifest.
void LiveStore::drop_superseded() {
  std::set<std::string> present;
  for (std::uint32_t l = 1; l <= embedding_->levels(); ++l)
    for (const FileEntry& entry : embedding_->level(l).entries()) present.insert(entry.path);
  std::error_code ignored;
  for (const std::string& path : unsaved_)
    if (!present.contains(path)) std::filesystem::remove(path_ / path, ignored);
  for (const FileEntry& entry : manifest_.files()) present.erase(entry.path);
  unsaved_.assign(present.begin(), present.end());
}

BatchReport LiveStore::apply(std::span<const Request> requests, BatchChanges changes, const StreamMode& mode,
                             LastLevel last) {
  if (embedding_) static_cast<void>(threshold(mode));  // a bad threshold must fail before anything is acknowledged
  const Change change(*this);
  BatchReport report;
  const Clock::time_point start = Clock::now();
  open_journal();
  journal_->append({mode.r_max, mode.scale, {requests.begin(), requests.end()}});
  sequence_ = journal_->sequence();
  report.seconds_journal = seconds_since(start);
  const Clock::time_point applied = Clock::now();
  report.update = propagate_batch(changes, mode, last);
  report.changes = std::move(changes);
  report.last_request = sequence_;

  std::uint64_t overlay = 0;
  if (embedding_) {
    report.seconds_propagate = seconds_since(applied);
    for (std::uint32_t l = 1; l <= embedding_->levels(); ++l) overlay += embedding_->level(l).overlay_bytes();
    for (std::uint32_t l = 0; l < embedding_->levels(); ++l) overlay += embedding_->stale(l).bytes();
    overlay += embedding_->deferred().rows.bytes();
  }
  overlay_ = {};
  if (overlay > most_overlay(budget_))
    save(true);
  else  // recomputations of later batches must not count on this memory
    overlay_ = budget_.reserve(std::min(overlay, budget_.available()), "changed rows");
  return report;
}

UpdateReport LiveStore::rehearse(std::span<const Request> requests) {
  return propagate_batch(resolve(requests), {}, LastLevel::at_once);
}

UpdateReport LiveStore::flush() {
  const Change change(*this);
  UpdateReport report = deliver();
  if (!embedding_ || embedding_->stale_rows() == 0) return report;
  Update update(*contents_, *embedding_, budget_, update_options(LastLevel::at_once));
  flushed_ = true;
  merge(update.flush(Threshold(embedding_->columns(), 0)), report);
  if (report.all_rows) drop_superseded();
  return report;
}

void LiveStore::checkpoint() {
  const Change change(*this);
  if (pending_requests() > 0 || flushed_) save(false);
}

Manifest LiveStore::present_manifest() const {
  Manifest next = manifest_;
  next.edges = contents_->graph().num_arcs() / 2;
  const Changes changes = contents_->changes();
  next.changes.reset();
  if (changes != Changes()) next.changes = write_changes(path_, changes);
  next.sequence = sequence_;
  next.journal = sequence_ > 0 ? journal_name(sequence_) : std::string();
  return next;
}

void LiveStore::swap_manifest(Manifest next) {
  std::optional<Journal> journal;
  const bool same_journal = next.journal == manifest_.journal;
  if (!next.journal.empty() && !same_journal) journal = Journal::create(path_, next.journal, next.sequence);
  commit_generation(path_, manifest_, next);
  manifest_ = std::move(next);
  if (!same_journal) journal_ = std::move(journal);
  flushed_ = false;
  unsaved_.clear();
}

void LiveStore::save(bool fold) {
  static_cast<void>(deliver());
  Manifest next = present_manifest();
  if (embedding_) {
    std::vector<Run> runs(next.levels.size());
    embedding_->cone().checkpoint(path_, fold, next.levels, runs);
    for (std::uint32_t l = 0; l < next.levels.size(); ++l) {
      LevelFiles& files = next.levels[l];
      if (l > 0) files.partitions = embedding_->level(l).checkpoint(path_, fold, runs[l]);
      files.run.reset();
      if (!runs[l].empty()) files.run = write_run(path_, l, manifest_.features, runs[l]);
      if (l + 1 < next.levels.size()) files.stale = embedding_->stale(l).checkpoint(path_, l);
    }
  }
  swap_manifest(std::move(next));
  if (fold && embedding_) embedding_ = std::make_unique<Embedding>(path_, manifest_, *contents_);
}

WriterLock LiveStore::close() && {
  embedding_.reset();
  contents_.reset();
  journal_.reset();
  overlay_.release();
  degrees_.release();
  WriterLock lock = std::move(*lock_);
  lock_.reset();
  return lock;
}

void LiveStore::commit_propagation(const PropagationSpec& spec, std::vector<LevelFiles> levels) {
  const Change change(*this);
  embedding_.reset();
  Manifest next = present_manifest();
  next.propagation = spec;
  next.levels = std::move(levels);
  swap_manifest(std::move(next));
  embedding_ = std::make_unique<Embedding>(path_, manifest_, *contents_);
}

}  // namespace unweave
