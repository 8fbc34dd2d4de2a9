// algorithms/live/live_store.h - an open store at its present moment: the generation of its
// manifest and every acknowledged request after it.
//
// A store is opened as one of three: a StoreReader replays the journal in memory and writes
// nothing; a StoreWriter journals a batch before it applies it, and swaps the manifest at a
// checkpoint; a RankedStore holds some columns behind the writer of rank 0. What all have alike,
// and whoever only looks may ask for, is here. A change that fails leaves the object between two
// states: what is on the disk is right, and a new object goes on from there; this one changes
// nothing any more.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "algorithms/live/batch_report.h"
#include "algorithms/live/released_files.h"
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

struct AbsorbedRequest;
struct RankOrder;

class LiveStore {
 public:
  LiveStore(const LiveStore&) = delete;  // what makes room calls back
  LiveStore& operator=(const LiveStore&) = delete;
  virtual ~LiveStore() = default;

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
  /// Whether the last batch had a threshold: rows may be stale then. What it left does not matter,
  /// so that nothing but the choice of modes is told. Exact batches and propagate() end it, a flush
  /// does not, since its reason may lie in the data.
  [[nodiscard]] bool lazy() const noexcept { return lazy_; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }  ///< requests acknowledged
  /// What became of a request that the journal held when this object opened the store, or, once
  /// receipts are expected, has got since; none of others.
  [[nodiscard]] std::optional<RequestStatus> journal_status(std::uint64_t sequence) const;
  /// Calls `use` for all requests that have an id, those of earlier lives of the store first.
  /// Throws RecordError.
  void visit_requests(const std::function<void(const LoggedRequest&)>& use) const;
  /// Bytes behind the last whole record of the journal when this object read it: an append that was
  /// ended, or that another process had under way. No request in them was acknowledged by then. A
  /// writer has cut them off.
  [[nodiscard]] std::uint64_t unfinished_bytes() const noexcept { return unfinished_bytes_; }
  /// Requests that no checkpoint holds yet.
  [[nodiscard]] std::uint64_t pending_requests() const noexcept { return sequence_ - manifest_.sequence; }

  /// What a batch would change, deciding each of its requests, which speak of users' ids. A request
  /// whose id stands for another one is a conflict, with which apply() takes nothing of the batch.
  /// A request whose id had another one, of which nothing is kept, is a conflict as well, unless it
  /// would change nothing at present: what it asks for is so already, and it counts as known.
  /// Throws ResourceError where the edges of nodes that are removed do not fit the memory.
  [[nodiscard]] BatchChanges resolve(std::span<const Request> requests);
  /// What `batches` batches like these changes are going to take. Changes no file, but this object,
  /// whose sums stay behind. A reader has pushed what the journal holds; a writer that computes it
  /// anew may go on to choose otherwise. Throws ResourceError, FormatError.
  [[nodiscard]] StreamPlan forecast(const BatchChanges& changes, std::uint64_t batches) &&;
  /// Room for a batch of so many requests, with so many bytes of words: for themselves, what they
  /// are resolved to, and what an update makes of that. Throws ResourceError.
  [[nodiscard]] Reservation reserve_batch(std::size_t requests, std::uint64_t text = 0);
  /// What is held while others divide the memory in the midst of a batch, so that the room can be
  /// taken afterwards; nothing where it is not lent. Throws ResourceError.
  [[nodiscard]] Reservation hold_work_room() const;
  /// Throws TooLargeError where one of these removes a node, or says when it is to go, that has
  /// more edges than the work on a batch has memory for. May run while another thread changes the
  /// store.
  void require_removable(std::span<const Request> requests) const;
  /// Requests that are acknowledged and not applied. May run at any time.
  [[nodiscard]] std::uint64_t waiting() const;
  /// For each of these, whether an earlier request, of these or before them, has its id, and asked
  /// for the same; nothing where none has an id. May run while another thread changes the store.
  /// Throws RecordError.
  [[nodiscard]] std::vector<IdUse> id_uses(std::span<const Request> requests,
                                           const std::optional<AcknowledgedAfter>& acknowledged = {}) const;
  /// What the id of a request of these stands for, where it is another one. As id_uses().
  [[nodiscard]] IdConflict conflict(std::span<const Request> requests, std::size_t index) const;
  /// From now on the planner knows what reads from the disk cost. The bits are the same.
  void set_rates(MachineProfile machine) { cold_.emplace(std::move(machine)); }
  /// The rates that were set; null where none were.
  [[nodiscard]] const MachineProfile* rates() const noexcept { return cold_ ? &cold_->machine() : nullptr; }

  /// What the store holds, in words by which ranks know that they have opened one store at one
  /// moment.
  [[nodiscard]] std::string moment() const { return std::to_string(sequence_) + " " + manifest_text(manifest_); }
  /// The job whose columns this object holds some of; null: it holds all columns.
  [[nodiscard]] const Ranks* ranks() const noexcept { return ranks_; }
  /// What the ranks together had said when rank 0 last heard of all, and the most that one of them
  /// had waited.
  [[nodiscard]] const RankTraffic& traffic() const noexcept { return traffic_; }

  /// Thresholds of a mode for this store's constants, in integer units. Throws UsageError for a bad
  /// r_max.
  [[nodiscard]] Threshold threshold(const StreamMode& mode) const;

 protected:
  /// `lock`: the right to write, where somebody gave it already; else a writer takes it. `ranks`:
  /// null alone. Opens the store.
  LiveStore(std::filesystem::path store, Access access, std::optional<WriterLock> lock, Ranks* ranks,
            MemoryBudget& budget);

  /// Lives as long as a change of the store and notices whether it fails. Throws DataError after an
  /// earlier one has.
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
  void write_anew(StateLevel& level);
  void drop_superseded();
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
  [[nodiscard]] std::uint64_t removal_room() const;
  [[nodiscard]] bool are_too_many(std::uint64_t edges) const;
  [[nodiscard]] BatchChanges resolve_after(std::span<const Request> requests,
                                           const std::optional<AcknowledgedAfter>& acknowledged);
  void note_ids(std::span<const Request> requests, std::span<const RequestStatus> statuses, std::uint64_t after,
                Millis time);
  void require_work_beside(const BatchChanges& changes);
  void replay();
  /// Room for a record that is replayed.
  [[nodiscard]] Reservation reserve_record(const RecordPart& record, const StreamMode& mode);
  /// Applies requests of one record that are durable, all together where they fit the memory, else
  /// in parts where that is the same. Throws ResourceError.
  void replay_batch(std::span<const Request> requests, const StreamMode& mode, Millis time);
  /// The journal is synced before a model learns of a request: throws FormatError, DataError where
  /// one knows of more than the store and its journal up to byte `end`.
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
  /// Users' ids of nodes with more edges than can be removed at once. It is read by senders while a
  /// batch changes the store.
  std::set<std::uint64_t> hubs_;
  std::set<std::uint64_t> large_graphs_;  ///< whole graphs that are likewise, by their numbers
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
  std::vector<std::string> unsaved_;               ///< partitions of recomputations that no manifest names yet
  std::uint64_t rows_unsaved_ = 0;                 ///< rows of sums written since the last checkpoint, some twice
  bool rows_full_ = false, lists_full_ = false;    ///< changed rows, or lists, fill the memory of some rank
  bool flushed_ = false;                           ///< stale rows were published since the last checkpoint
  bool half_way_ = false;                          ///< a change failed
  bool propagating_ = false;                       ///< a propagation has begun, and is not committed
  std::map<std::string, ReleasedFiles> released_;  ///< by the path of the model, which is not that of the manifest
};

}  // namespace unweave
