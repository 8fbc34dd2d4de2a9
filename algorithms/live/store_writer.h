// algorithms/live/store_writer.h - an open store that takes requests: the only one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/live/live_store.h"

namespace unweave {

/// Four verbs make things final: apply() a batch, settle() what was put off, checkpoint() the
/// present moment, record() how far journal and models go.
class StoreWriter final : public LiveStore {
 public:
  /// Finishes a purge that a crash interrupted after it was decided
  /// (engine/generations/store_purge.h). Throws DataError, FormatError; ResourceError when another
  /// process writes the store.
  StoreWriter(std::filesystem::path store, MemoryBudget& budget)
      : StoreWriter(std::move(store), std::nullopt, budget) {}
  /// Goes on with the right of another writer, which gave it; with none it takes the right.
  StoreWriter(std::filesystem::path store, std::optional<WriterLock> lock, MemoryBudget& budget)
      : LiveStore(std::move(store), Access::write, std::move(lock), nullptr, budget) {}
  /// Rank 0 of a job whose ranks hold some columns of the embedding each: what it is called for
  /// from then on the others do in RankedStore::follow(). Batches are exact, nobody reads rows. A
  /// job of one rank is a writer as above. Throws UsageError for more ranks than columns and for
  /// stale rows.
  StoreWriter(std::filesystem::path store, Ranks& ranks, MemoryBudget& budget)
      : LiveStore(std::move(store), Access::write, std::nullopt, ranks.alone() ? nullptr : &ranks, budget) {}

  /// Forgets the ids of requests that became durable before this moment, after a checkpoint: a
  /// request that has one of them is a new one then. Durable on return; tells how many there were.
  std::uint64_t forget_requests(Millis before);
  /// apply() calls `before` right before a batch becomes durable, which acknowledges it, and
  /// `after` when it is.
  void watch_appends(std::function<void()> before, std::function<void()> after);
  /// Writes to files what batches have changed in memory: rows, lists, features and labels. Where
  /// there is room for it; else they go on to grow while they fit. Throws DataError.
  void fold();
  /// Sets the memory for the work on a batch aside (memory_shares::kWork) until lend_work_room().
  /// False where what the store keeps in memory has grown into it, also when all that can be
  /// written to files is. Throws DataError.
  bool take_work_room();
  void lend_work_room() noexcept { work_room_.release(); }
  /// From now on a model writes receipts for requests, which take room as well.
  void expect_receipts() noexcept { receipts_ = true; }
  /// Makes the requests durable, then applies them. Throws IdConflictError before anything is done.
  /// While nobody reads rows between batches, `last` may put the work on the last level off.
  BatchReport apply(std::span<const Request> requests, BatchChanges changes, const StreamMode& mode,
                    LastLevel last = LastLevel::at_once);
  /// Sets memory aside for requests that are going to be acknowledged before they are applied,
  /// where that was not done yet. Throws ResourceError.
  void open_room();
  /// Room for these requests while they wait, from what open_room() has set aside. May run while
  /// another thread changes the store, which outlives it. Throws NoRoomError, TooLargeError; else
  /// as open_room().
  [[nodiscard]] Reservation reserve_waiting(std::span<const Request> requests);
  /// Makes requests durable now, to be applied later, in exact mode and in this order; returns the
  /// number of the last one. No record of the journal has more of them than one batch may take. May
  /// run while another thread changes the store. Throws NoRoomError and IdConflictError, where
  /// nothing was written, or what the journal throws: nothing was acknowledged then, and records
  /// that were durable by then are applied like others. `rooms`: what reserve_waiting() has given
  /// for them.
  std::uint64_t acknowledge(std::vector<Request>&& requests, std::vector<Reservation> rooms);
  /// Likewise, with room of its own.
  std::uint64_t acknowledge(std::span<const Request> requests);
  /// Throws FullError where so many ids more, or notes of so many bytes (note_bytes()), are beyond
  /// what memory is for. May run while another thread changes the store.
  void require_share(std::uint64_t ids, std::uint64_t note_bytes);
  /// Applies the oldest ones that wait as one batch, which `requests` gets: `most` at most, and no
  /// more than there is room for; those of one call of acknowledge() together where they are not
  /// more. Until none waits, apply() throws UsageError.
  BatchReport apply_acknowledged(std::size_t most, LastLevel last, std::vector<Request>& requests);
  /// How levels are brought up to date from now on; by the planner until then. The bits are the
  /// same.
  void set_plan(Plan plan) noexcept { plan_ = plan; }
  /// Does the work that was put off, as apply() at once and checkpoint() do too.
  UpdateReport settle();
  /// Publishes every stale row.
  UpdateReport publish_stale();
  /// Makes a generation of the present moment and empties the journal; nothing when there is
  /// nothing new.
  void checkpoint();
  /// Likewise, unless that would write `least` bytes or more for what is applied sooner than
  /// written: as after a crash, whoever opens the store next applies these requests again.
  void checkpoint_if_worth(std::uint64_t least = std::uint64_t{64} << 20);
  /// Hands over what a release has left: the manifest says it next of model and certificates.
  void note_release(const ReleasedFiles& files) { released_.insert_or_assign(files.model, files); }
  /// The next release of this model begins other logs: the manifest says nothing of those that were
  /// recorded any more.
  void forget_release(const ReleasedFiles& files);
  /// A clean close, the last act of a writer: the manifest records how far journal, models and
  /// certificates go. Writes nothing where it says so already.
  void record();
  /// Frees the memory of the embedding, which commit_propagation() will replace. Until it does,
  /// nothing can be changed: a batch would change the graph below sums that nobody holds.
  void begin_propagation();
  /// Replaces the embedding: the writer has built files for `spec` from the present contents.
  void commit_propagation(const PropagationSpec& spec, std::vector<LevelFiles> levels);
  /// Lets the other ranks go. Rank 0 only; the last act but record().
  void dismiss_ranks();
  /// The right to write, held once more: between this object and another one nobody else has it.
  [[nodiscard]] WriterLock share_lock() const { return lock_.value().share(); }
  /// Gives everything back but the right to write. The object is of no further use.
  [[nodiscard]] WriterLock give_lock() &&;

 private:
  /// What a batch needs before it is acknowledged, or taken from those that wait.
  void prepare(const BatchChanges& changes);
  void require_recomputation();
  /// What follows when a batch is acknowledged: the store and its sums.
  void carry_out(BatchChanges changes, const StreamMode& mode, LastLevel last, BatchReport& report);
  void open_journal();
  /// The oldest that wait, as apply_acknowledged() takes them, with their times.
  void collect_waiting(std::size_t most, std::vector<Request>& taken, std::vector<Millis>& times) const;
  void drop_waiting(std::size_t count);
  /// Decides requests, which are acknowledged or not yet.
  void require_space(std::uint64_t ids, std::uint64_t bytes) const;
  void find_hubs();
  void update_hubs(const BatchChanges& changes);
};

}  // namespace unweave
