// algorithms/models/training_rows.h - the training rows of a store's present moment, kept right
// batch by batch.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/learning/training_set.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/row_units.h"
#include "engine/resources/memory.h"

namespace unweave {

/// One row of a program for each training unit with a label (row_units.h), by its key, in the form
/// that a model asks for.
/// Rows that would take more than half of what is left of the budget lie in an unlinked temporary
/// file (LiveStore::temporary_folder), beside 16 bytes a row in memory; so do those of a change.
class TrainingRows {
 public:
  /// Throws DataError naming the command to run when the store has no embedding, no labels or no
  /// training split; or for a value that is not finite; UsageError for a wrong number of weights;
  /// ResourceError when 16 bytes a row do not fit the budget. With `ranks`, which must outlive it,
  /// these share the rows (TrainingSet): all must call it, each reads its own rows, and follow()
  /// and append() are not for them.
  TrainingRows(const LiveStore& store, RowProgram program, const RowForm& form, MemoryBudget& budget,
               Ranks* ranks = nullptr);

  [[nodiscard]] const TrainingSet& set() const noexcept { return set_; }
  /// What they take of the budget.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return reservation_.bytes(); }
  /// Follows the store: `update` names the embedding rows that may have changed since the last
  /// call, `touched` the nodes, sorted, whose own edges, features, label or split have. Returns
  /// what did change, comparing bits; without `keep_moved` its moved rows stay empty, which spares
  /// two copies of them. Where rows came or have another label, all are read again, and the change
  /// begins anew; so it does always where units begin anew (RowUnits::begins_anew), of which those
  /// alone are read that may have changed, where the units know them. Throws DataError for a value
  /// that is not finite, ResourceError where 16 bytes a row of the change do not fit the budget.
  BatchChange follow(const UpdateReport& update, bool keep_moved, std::span<const NodeId> touched = {});

  /// Puts the rows into a file, and gives their memory back; so it stays. False where they are in
  /// one, and with ranks. Throws as follow() does.
  bool leave_memory();

  /// Two changes, one after the other, as one. The later one removes no rows. Throws ResourceError.
  void append(BatchChange& first, const BatchChange& later) const;

 private:
  /// Rows of `keys` as the store has them now, in their form, keys x features. Throws DataError for
  /// a value that is not finite.
  void read(const RowUnits& units, std::span<const NodeId> keys, float* out) const;
  void read_all();
  void read_all(const RowUnits& units);
  /// Whether every present row is held, with its label.
  [[nodiscard]] bool holds_all(const RowUnits& units, std::span<const NodeId> present) const;
  void drop_departed(std::span<const NodeId> present, BatchChange& change);
  /// How many nodes whole graphs have, where rows are of these: one that a node has left may have
  /// no other sign of it.
  void remember_sizes();
  void add_resized(std::optional<std::vector<NodeId>>& changed) const;
  /// Appends the rows that differ from those held, old and new, to the moved ones of a change.
  void keep_changed(std::span<const std::size_t> places, std::span<float> rows, BatchChange& change) const;
  [[nodiscard]] std::vector<std::size_t> places_of(const std::optional<std::vector<NodeId>>& changed) const;
  /// An empty set like the training rows with room for `most` of which `here` have values, and what
  /// it takes of the budget.
  struct Room {
    TrainingSet set;
    Reservation memory;
    bool is_in_memory;
  };
  [[nodiscard]] Room room_for(std::size_t most, std::size_t here, std::string_view what) const;
  [[nodiscard]] Room room_for(std::size_t most, std::string_view what) const { return room_for(most, most, what); }

  const LiveStore& store_;
  RowProgram program_;
  MemoryBudget& budget_;
  Ranks* ranks_;
  bool may_be_in_memory_ = true, is_in_memory_ = false;
  TrainingSet set_;
  Reservation reservation_;
  std::vector<std::uint32_t> sizes_;  ///< by graph, when its row was read
  Reservation sizes_memory_;
};

}  // namespace unweave
