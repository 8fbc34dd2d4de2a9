// algorithms/live/live_store.h - an open store at its present moment: the generation of its manifest and every acknowledged
// request after it.
//
// A writer journals a batch before it applies it; a checkpoint writes what changed in absolute values and swaps the
// manifest. A reader replays the journal in memory and writes nothing. A change that fails leaves the object between two
// states: what is on the disk is right, and a new object goes on from there; this one changes nothing any more.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "algorithms/live/batch_report.h"
#include "algorithms/live/release_ledger.h"
#include "algorithms/live/request_register.h"
#include "algorithms/live/request_room.h"
#include "algorithms/propagation/embedding.h"
#include "algorithms/updates/changed_rows.h"
#include "algorithms/updates/cold_files.h"
#include "algorithms/updates/id_conflict.h"
#include "algorithms/updates/requests.h"
#include "algorithms/updates/stream_plan.h"
#include "algorithms/updates/update.h"
#include "engine/graph/contents.h"
#include "engine/graph/store.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "engine/resources/temporary_folder.h"
#include "storage/formats/journal.h"
#include "storage/formats/manifest.h"
#include "storage/io/error.h"

namespace unweave {

enum class Access { read, write };

/// When a batch brings the last level up to date: with the others, or when somebody reads it.
enum class LastLevel { at_once, deferred };

struct RankOrder;

class LiveStore {
 public:
  /// `ledger` must outlive this object. A writer finishes a purge that a crash interrupted after it was decided (engine/generations/store_purge.h). Throws DataError, FormatError; ResourceError when another process writes the store and `access` is write.
  LiveStore(std::filesystem::path store, Access access, MemoryBudget& budget, const ReleaseLedger& ledger);
  /// A writer that goes on with the right of another one, which was closed; with none it takes the right.
  LiveStore(std::filesystem::path store, std::optional<WriterLock> lock, MemoryBudget& budget,
            const ReleaseLedger& ledger);
  /// One rank of a job whose ranks hold some columns of the embedding each. Rank 0 opens the store as its writer;
  /// what it is called for from then on the others do in follow(), which they call next. Batches are exact, nobody reads
  /// rows. A job of one rank is a writer as above. Throws UsageError for more ranks than columns and for stale rows.
  LiveStore(std::filesystem::path store, Ranks& ranks, MemoryBudget& budget, const ReleaseLedger& ledger);
  LiveStore(const LiveStore&) = delete;  // what makes room calls back
  LiveStore& operator=(const LiveStore&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Where unlinked temporary files go: a reader writes nothing into the store's folder.
  [[nodiscard]] std::filesystem::path temporary_folder() const {
    return access_ == Access::write ? path() : temporary_path();
  }
  [[nodiscard]] const Manifest& manifest() const noexcept { return manifest_; }
  [[nodiscard]] const Contents& contents() const noexcept { return *contents_; }
  [[nodiscard]] MemoryBudget& budget() const noexcept { return budget_; }
  [[nodiscard]] bool propagated() const noexcept { return embedding_ != nullptr; }
  /// Throws UsageError naming `propagate` when there is none.
  [[nodiscard]] const Embedding& embedding() const;
  /// Throws UsageError where rows are kept in place of the sums that requests need.
  void require_sums() const {
    if (embedding_) embedding_->require_sums(path_);
  }
  /// Whether the last batch had a threshold: rows may be stale then. What it left does not matter, so that nothing but the
  /// choice of modes is told. Exact batches and propagate() end it, a flush does not, since its reason may lie in the data.
  [[nodiscard]] bool lazy() const noexcept { return lazy_; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }  ///< requests acknowledged
  /// What became of a request that the journal held when this object opened the store, or, once receipts are expected, has got since;
  /// none of others.
  [[nodiscard]] std::optional<RequestStatus> journal_status(std::uint64_t sequence) const;
  /// Calls `use` for all requests that have an id, those of earlier lives of the store first. Throws RecordError.
  void visit_requests(const std::function<void(const LoggedRequest&)>& use) const;
  /// Forgets the ids of requests that became durable before this moment, after a checkpoint: a request that has one of them
  /// is a new one then. Durable on return; tells how many there were. A writer only.
  std::uint64_t forget_requests(Millis before);
  /// apply() calls `before` right before a batch becomes durable, which acknowledges it, and `after` when it is.
  void watch_appends(std::function<void()> before, std::function<void()> after);
  /// Bytes behind the last whole record of the journal when this object read it: an append that was ended, or that
  /// another process had under way. No request in them was acknowledged by then. A writer has cut them off.
  [[nodiscard]] std::uint64_t unfinished_bytes() const noexcept { return unfinished_bytes_; }
  /// Requests that no checkpoint holds yet.
  [[nodiscard]] std::uint64_t pending_requests() const noexcept { return sequence_ - manifest_.sequence; }

  /// What a batch would change, deciding each of its requests, which speak of users' ids. A request whose id stands for another one is
  /// a conflict, with which apply() takes nothing of the batch. So is one whose id had a request of which nothing is kept, unless it
  /// would change nothing at present: what it asks for is so already, and it counts as known.
  /// Throws ResourceError where the edges of nodes that are removed do not fit the memory.
  [[nodiscard]] BatchChanges resolve(std::span<const Request> requests);
  /// What `batches` batches like these changes are going to take. Changes no file, but this object, whose sums stay behind.
  /// A reader has pushed what the journal holds; a writer that computes it anew may go on to choose otherwise.
  /// Throws ResourceError, FormatError.
  [[nodiscard]] StreamPlan forecast(const BatchChanges& changes, std::uint64_t batches) &&;
  /// Room for a batch of so many requests, with so many bytes of words: for themselves, what they are resolved to, and what
  /// an update makes of that. Throws ResourceError.
  [[nodiscard]] Reservation reserve_batch(std::size_t requests, std::uint64_t text = 0);
  /// Writes to files what batches have changed in memory: rows, lists, features and labels. Where there is room for it; else they go on
  /// to grow while they fit. A writer only. Throws DataError.
  void fold_graph();
  /// Sets the memory for the work on a batch aside (memory_shares::kWork) until lend_work_room(). False where what the store keeps in
  /// memory has grown into it, also when all that can be written to files is. A writer only. Throws DataError.
  bool take_work_room();
  void lend_work_room() noexcept { work_room_.release(); }
  /// What is held while others divide the memory in the midst of a batch, so that the room can be taken afterwards; nothing where it is
  /// not lent. Throws ResourceError.
  [[nodiscard]] Reservation hold_work_room() const;
  /// Throws TooLargeError where one of these removes a node, or says when it is to go, that has more edges than the work on a batch has
  /// memory for. May run while another thread changes the store.
  void require_removable(std::span<const Request> requests) const;
  /// From now on a model writes receipts for requests, which take room as well.
  void expect_receipts() noexcept { receipts_ = true; }
  /// Makes the requests durable, then applies them. A writer only. Throws IdConflictError before anything is done. While nobody reads rows between batches, `last` may put
  /// the work on the last level off.
  BatchReport apply(std::span<const Request> requests, BatchChanges changes, const StreamMode& mode,
                    LastLevel last = LastLevel::at_once);
  /// Sets memory aside for requests that are going to be acknowledged before they are applied, where that was not done yet.
  /// Throws ResourceError.
  void open_room();
  /// Room for these requests while they wait, from what open_room() has set aside. May run while another thread changes the
  /// store, which outlives it. Throws NoRoomError, TooLargeError; else as open_room().
  [[nodiscard]] Reservation reserve_waiting(std::span<const Request> requests);
  /// Makes requests durable now, to be applied later, in exact mode and in this order; returns the number of the last one. No
  /// record of the journal has more of them than one batch may take. May run while another thread changes the store. Throws
  /// NoRoomError and IdConflictError, where nothing was written, or what the journal throws: nothing was acknowledged then, and records that were
  /// durable by then are applied like others. `rooms`: what reserve_waiting() has given for them.
  std::uint64_t acknowledge(std::vector<Request>&& requests, std::vector<Reservation> rooms);
  /// Likewise, with room of its own.
  std::uint64_t acknowledge(std::span<const Request> requests);
  /// Throws FullError where so many ids more, or notes of so many bytes (note_bytes()), are beyond what memory is for. May run while
  /// another thread changes the store.
  void require_share(std::uint64_t ids, std::uint64_t note_bytes);
  /// Requests that are acknowledged and not applied. May run at any time.
  [[nodiscard]] std::uint64_t waiting() const;
  /// For each of these, whether an earlier request, of these or before them, has its id, and asked for the same; nothing where none
  /// has an id. May run while another thread changes the store. Throws RecordError.
  [[nodiscard]] std::vector<IdUse> id_uses(std::span<const Request> requests,
                                           const std::optional<AcknowledgedAfter>& acknowledged = {}) const;
  /// What the id of a request of these stands for, where it is another one. As id_uses().
  [[nodiscard]] IdConflict conflict(std::span<const Request> requests, std::size_t index) const;
  /// Applies the oldest ones that wait as one batch, which `requests` gets: `most` at most, and no more than there is room for;
  /// those of one call of acknowledge() together where they are not more. A writer only; until none waits, apply() throws
  /// UsageError.
  BatchReport apply_acknowledged(std::size_t most, LastLevel last, std::vector<Request>& requests);
  /// Applies requests in exact mode, stale rows published first, as a replay of the journal would: this object alone knows
  /// of it, no file does. A reader only.
  UpdateReport rehearse(std::span<const Request> requests);
  /// How levels are brought up to date from now on; by the planner until then. The bits are the same. A writer only, since
  /// readers push.
  void set_plan(Plan plan) noexcept { plan_ = plan; }
  /// From now on the planner knows what reads from the disk cost. The bits are the same.
  void set_rates(MachineProfile machine) { cold_.emplace(std::move(machine)); }
  /// The rates that were set; null where none were.
  [[nodiscard]] const MachineProfile* rates() const noexcept { return cold_ ? &cold_->machine() : nullptr; }
  /// Does the work that was put off, as apply() at once and save() do too.
  UpdateReport deliver();
  /// Publishes every stale row. A writer only.
  UpdateReport flush();
  /// Makes a generation of the present moment and empties the journal; nothing when there is nothing new. A writer only.
  void checkpoint();
  /// A learner has released this solver's model: what the manifest says next of model and certificates is what is there then.
  void note_release(std::string_view solver) { released_.emplace(solver); }
  /// The next release of this solver begins another log: the manifest says nothing of the one that was recorded any more.
  void forget_release(std::string_view solver);
  /// A clean close, the last act of a writer: the manifest records how far journal, models and certificates go. Writes nothing
  /// where it says so already.
  void record();

  /// Frees the memory of the embedding, which commit_propagation() will replace. Until it does, nothing can be changed: a
  /// batch would change the graph below sums that nobody holds.
  void begin_propagation();
  /// Replaces the embedding: the writer has built files for `spec` from the present contents.
  void commit_propagation(const PropagationSpec& spec, std::vector<LevelFiles> levels);

  /// What the store holds, in words by which ranks know that they have opened one store at one moment.
  [[nodiscard]] std::string moment() const { return std::to_string(sequence_) + " " + manifest_text(manifest_); }
  /// The job whose columns this object holds some of; null: it holds all columns.
  [[nodiscard]] const Ranks* ranks() const noexcept { return ranks_; }
  /// What the ranks together had said when rank 0 last heard of all, and the most that one of them had waited.
  [[nodiscard]] const RankTraffic& traffic() const noexcept { return traffic_; }
  /// Does what rank 0 does, until that calls dismiss_ranks(). A rank behind rank 0 only.
  void follow();
  /// Lets the other ranks go. Rank 0 only; the last act but record().
  void dismiss_ranks();

  /// The right to write, held once more: between this object and another one nobody else has it. A writer only.
  [[nodiscard]] WriterLock share_lock() const { return lock_.value().share(); }
  /// Gives everything back but the right to write. A writer only; the object is of no further use.
  [[nodiscard]] WriterLock close() &&;

  /// Thresholds of a mode for this store's constants, in integer units. Throws UsageError for a bad r_max.
  [[nodiscard]] Threshold threshold(const StreamMode& mode) const;

 private:
  /// Lives as long as a change of the store and notices whether it fails. Throws DataError after an earlier one has.
  class Change {
   public:
    explicit Change(LiveStore& store) : store_(store) {
      if (store.half_way_ || store.propagating_)
        throw DataError(store.path_.string() + ": an earlier change failed half-way; open the store again");
    }
    ~Change() { store_.half_way_ |= std::uncaught_exceptions() > exceptions_; }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    LiveStore& store_;
    int exceptions_ = std::uncaught_exceptions();
  };
  void forget_embedding() noexcept {
    embedding_.reset();
    changed_rows_.release();
    embedding_memory_.release();
  }
  UpdateReport propagate_batch(const BatchChanges& changes, const StreamMode& mode, LastLevel last);
  [[nodiscard]] UpdateOptions update_options(LastLevel last);
  /// Opens the store as `access_` says.
  void open();
  /// Whether this object writes generations, where others may hold the other columns of them.
  [[nodiscard]] bool leads() const noexcept { return ranks_ != nullptr && ranks_->first(); }
  void tell(RankOrder order);
  void follow_batch(const RankOrder& order);
  /// Throws UsageError for what ranks cannot do together.
  void require_exact(double r_max) const;
  void require_ranks() const;
  /// Whether batches are pushed whatever they cost, since no level can be written anew.
  [[nodiscard]] bool pushes_alone() const noexcept {
    return embedding_ && access_ == Access::read && ranks_ == nullptr;
  }
  [[nodiscard]] bool writes_levels() const noexcept { return access_ == Access::write && ranks_ == nullptr; }
  void drop_own_files() const;
  void meet_after_work();
  UpdateReport deliver_here();
  void fold(StateLevel& level);
  void drop_superseded();
  void open_journal();
  void open_generation();
  void open_embedding();
  void charge_changes(const BatchChanges& changes);
  void drop_charge();
  void note_statuses(std::span<const RequestStatus> statuses);
  void note_new_statuses(std::span<const RequestStatus> statuses, std::uint64_t after) noexcept;
  void forget_statuses() noexcept;
  [[nodiscard]] RequestBytes request_bytes() const noexcept { return {manifest_.features, receipts_}; }
  /// Room for requests in `what`.
  [[nodiscard]] Reservation reserve_for(std::uint64_t bytes, const std::string& what);
  /// The oldest that wait, as apply_acknowledged() takes them, with their times.
  void collect_waiting(std::size_t most, std::vector<Request>& taken, std::vector<Millis>& times) const;
  void drop_waiting(std::size_t count);
  [[nodiscard]] std::uint64_t removal_room() const;
  [[nodiscard]] bool are_too_many(std::uint64_t edges) const;
  void find_hubs();
  void update_hubs(const BatchChanges& changes);
  /// Decides requests, which are acknowledged or not yet.
  void require_space(std::uint64_t ids, std::uint64_t bytes) const;
  [[nodiscard]] BatchChanges resolve_after(std::span<const Request> requests,
                                           const std::optional<AcknowledgedAfter>& acknowledged);
  void note_ids(std::span<const Request> requests, std::span<const RequestStatus> statuses, std::uint64_t after,
                Millis time);
  /// What a batch needs before it is acknowledged, or taken from those that wait.
  void prepare(const BatchChanges& changes);
  void require_work_beside(const BatchChanges& changes);
  /// What follows when a batch is acknowledged: the store and its sums.
  void carry_out(BatchChanges changes, const StreamMode& mode, LastLevel last, BatchReport& report);
  void replay();
  /// Room for a record that is replayed.
  [[nodiscard]] Reservation reserve_record(const RecordPart& record, const StreamMode& mode);
  /// Applies requests of one record that are durable, all together where they fit the memory, else in parts where that is
  /// the same. Throws ResourceError.
  void replay_batch(std::span<const Request> requests, const StreamMode& mode, Millis time);
  /// The journal is synced before a model learns of a request: throws FormatError, DataError where one knows of more than
  /// the store and its journal up to byte `end`.
  void require_absorbed(const AbsorbedRequest& absorbed, std::uint64_t end) const;
  enum class Fold { nothing, rows, rows_and_graph };
  void save(Fold fold);
  void save_here(Fold fold);
  [[nodiscard]] Manifest present_manifest(Fold fold) const;
  void record_in(Manifest& next) const;
  void swap_manifest(Manifest next);

  std::filesystem::path path_;
  Access access_;
  MemoryBudget& budget_;
  const ReleaseLedger& ledger_;
  Ranks* ranks_ = nullptr;
  RankTraffic traffic_;
  std::optional<TemporaryFolder> own_folder_;  ///< for partitions of the columns of a rank
  std::optional<WriterLock> lock_;
  Manifest manifest_;
  Reservation contents_memory_, changes_memory_;  ///< charged for contents_: values of nodes; lists that differ
  Reservation embedding_memory_;                  ///< charged for maps without values
  ChangedRows changed_rows_;
  std::unique_ptr<Contents> contents_;
  std::unique_ptr<Embedding> embedding_;
  /// A record of the journal, of which some requests wait.
  struct Waiting {
    std::vector<Request> requests;
    Millis time = 0;
    std::size_t applied = 0;         ///< how many from the front do not
    std::vector<Reservation> rooms;  ///< those of calls that end with this record
    [[nodiscard]] std::span<const Request> left() const { return std::span(requests).subspan(applied); }
  };
  Reservation work_room_;       ///< memory that a service holds while it does no work
  bool has_work_room_ = false;  ///< it was taken once
  /// Users' ids of nodes with more edges than can be removed at once. It is read by senders while a batch changes the store.
  std::set<std::uint64_t> hubs_;
  mutable std::mutex hubs_mutex_;
  mutable std::mutex journal_mutex_;  ///< guards the next four, and the ids of requests
  std::optional<Journal> journal_;
  File replayed_;  ///< a reader's: the journal that it has replayed, which a purge may remove meanwhile
  std::optional<RequestRoom> room_;  ///< once requests are acknowledged before they are applied
  std::atomic<bool> has_room_ = false;
  std::deque<Waiting> waiting_;  ///< in the journal, behind the request sequence_
  std::uint64_t waiting_requests_ = 0;
  std::atomic<std::uint64_t> note_bytes_ =
      0;  ///< memory of notes of what expires, with those that the present batch may set
  std::uint64_t sequence_ = 0;
  mutable std::optional<RequestRegister> register_;  ///< ids of all requests, once one has an id
  std::vector<RequestStatus> statuses_;  ///< those of requests of the journal, the ones after statuses_after_
  std::uint64_t statuses_after_ = 0;
  Reservation statuses_memory_;
  std::uint64_t unfinished_bytes_ = 0;
  std::function<void()> before_append_, after_append_;
  std::optional<StreamMode> last_mode_;
  bool lazy_ = false;
  bool receipts_ = false;
  Plan plan_ = Plan::automatic;
  std::optional<ColdFiles> cold_;
  std::vector<std::string> unsaved_;             ///< partitions of recomputations that no manifest names yet
  bool rows_full_ = false, lists_full_ = false;  ///< changed rows, or lists, fill the memory of some rank
  bool flushed_ = false;                         ///< stale rows were published since the last checkpoint
  bool half_way_ = false;                        ///< a change failed
  bool propagating_ = false;                     ///< a propagation has begun, and is not committed
  std::set<std::string, std::less<>> released_;  ///< solvers whose models are not those of the manifest
};

}  // namespace unweave
