// algorithms/api/internals.h - what the files of this folder see of each other's objects, and
// nobody else does.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/grow.h"
#include "algorithms/maintenance/purge.h"
#include "algorithms/models/model_record.h"
#include "algorithms/unlearning/solver.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

struct Writer::State {
  State(const std::filesystem::path& path, Resources& of);
  State(const std::filesystem::path& path, Resources& of, Ranks& ranks);

  /// Throws DataError where a purge could not open it again.
  [[nodiscard]] StoreWriter& store();
  /// Closes the store, purges it and opens it again, whatever became of the purge. No session may
  /// be open. Throws what a purge throws.
  PurgeReport purge(const PurgeOptions& options);
  /// Likewise, makes room for more nodes.
  GrowReport grow(const GrowOptions& options);
  /// Closes the store for change(lock) and opens it again, whatever became of that.
  template <class Change>
  auto reopen_after(const Change& change);

  Resources& resources;
  const std::filesystem::path path;
  std::optional<StoreWriter> held;
  bool in_session = false;  ///< a StreamSession is open, which alone may change the store
  const std::string remark_on_ids;
};

struct Internals {
  using WriterState = Writer::State;
  [[nodiscard]] static StoreReader& store(const Reader& reader) noexcept { return *reader.store_; }
  [[nodiscard]] static Resources& resources(const Reader& reader) noexcept { return *reader.resources_; }
  [[nodiscard]] static WriterState& state(const Writer& writer) noexcept { return *writer.state_; }
  [[nodiscard]] static const ModelRecord& record(const StoredModel& model) noexcept { return *model.record_; }
  [[nodiscard]] static StoredModel model(ModelRecord record) {
    return StoredModel(std::make_shared<const ModelRecord>(std::move(record)));
  }
};

/// Throws UsageError for an id that the store has not.
void require_ids(const Reader& reader, std::span<const NodeId> nodes);

/// Throws UsageError where a selection names another solver than that of the model.
void require_solver(const ModelSelection& selection, const ModelRecord& record);

/// Throws UsageError while a stream session is open.
void require_no_session(const LiveStore& store, bool in_session);

/// What the rows of a model are made of; of a program that is to be chosen, what is declared.
/// Throws UsageError for a wrong number of weights and for words that are no program, DataError
/// before a propagation.
[[nodiscard]] RowProgram row_program(const LiveStore& store, const TrainOptions& how);

/// Whether the validation split is to choose it.
[[nodiscard]] bool chooses_rows(const RowChoice& rows);
/// Whether more than weighted levels is asked for.
[[nodiscard]] bool is_given(const RowChoice& rows);

/// Gives the weights that a training goes on from, once options and weights of the levels are known
/// and rows are read.
using StartFrom =
    std::function<GivenWeights(const SolverOptions& options, const RowProgram& program, const TrainingSet& rows)>;
/// What Writer::train() does; with a `start` the solver goes on from there. Throws what either
/// throws.
[[nodiscard]] TrainedModel train_model(Internals::WriterState& writer, const TrainOptions& how, const StartFrom& start);

[[nodiscard]] ModelFacts facts_of(const ModelRecord& record);

}  // namespace v0
}  // namespace unweave
