// algorithms/api/internals.h - what the files of this folder see of each other's objects, and nobody else does.
#pragma once

#include "algorithms/live/live_store.h"
#include "algorithms/models/model_record.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

struct Writer::State {
  State(const std::filesystem::path& path, Resources& of);

  Resources& resources;
  LiveStore store;
  bool in_session = false;  ///< a StreamSession is open, which alone may change the store
};

struct Internals {
  using WriterState = Writer::State;
  [[nodiscard]] static LiveStore& store(const Reader& reader) noexcept { return *reader.store_; }
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

[[nodiscard]] ModelFacts facts_of(const ModelRecord& record);

}  // namespace v0
}  // namespace unweave
