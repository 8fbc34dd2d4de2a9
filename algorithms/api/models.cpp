// algorithms/api/models.cpp - models of a store, read and told apart.
#include "unweave/models.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/models/model_name.h"
#include "algorithms/models/model_record.h"
#include "algorithms/registry/registry.h"
#include "engine/generations/store_purge.h"
#include "engine/graph/store.h"
#include "engine/resources/machine.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/message.h"
#include "storage/io/shell_word.h"
#include "storage/io/store_folders.h"

namespace unweave {
inline namespace v0 {

void require_solver(const ModelSelection& selection, const ModelRecord& record) {
  if (selection.solver && *selection.solver != record.model.solver)
    throw UsageError("the model " + name_of(record) + " is one of " + record.model.solver + ", not of " +
                     *selection.solver + "; leave out " + option("solver"));
}

ModelFacts facts_of(const ModelRecord& record) {
  return {name_of(record),
          record.model.solver,
          record.options,
          record.rows,
          record.model.sequence,
          row_width(record),
          shape_of(record.model).classes,
          record.model.head};
}

void check_model_name(std::string_view name, std::string_view solver) {
  require_model_name(name, solver);
}

const std::string& StoredModel::name() const noexcept {
  return name_of(*record_);
}
const std::string& StoredModel::solver() const noexcept {
  return record_->model.solver;
}
ModelFacts StoredModel::facts() const {
  return facts_of(*record_);
}
const std::string& StoredModel::certificate() const noexcept {
  return record_->certificate;
}

namespace {

/// A purge takes models away for a while, and a reader that finds none must not take that for an
/// answer.
void require_no_writer(const std::filesystem::path& store) {
  const std::optional<std::int64_t> writer = lock_holder(store / kLockName);
  if ((!writer || *writer == ::getpid()) && purge_state(store) == PurgeState::none) return;
  throw ResourceError(
      store.string() +
      ": there is no model or certificate of it at present, and another process writes the store or has "
      "purged a part of it; try again when it has ended, or end a purge that was interrupted by " +
      operation("purge " + shell_word(store.string())));
}

bool all_certified(const std::vector<StoredModel>& models) {
  return std::all_of(models.begin(), models.end(), [](const StoredModel& m) { return !m.certificate().empty(); });
}

/// What `read` gives. Where that is no model (UsageError), or one without a certificate, it is read
/// once more when there is no writer: one may have ended since, and have brought the model back.
template <class Read>
std::vector<StoredModel> read_at_rest(const std::filesystem::path& store, const Read& read) {
  try {
    std::vector<StoredModel> models = read();
    if (all_certified(models)) return models;
  } catch (const UsageError&) {  // the second reading tells it
  }
  require_no_writer(store);
  try {
    std::vector<StoredModel> models = read();
    if (!all_certified(models)) require_no_writer(store);
    return models;
  } catch (const UsageError&) {
    require_no_writer(store);
    throw;
  }
}

}  // namespace

std::vector<StoredModel> read_models(const std::filesystem::path& named, const ModelSelection& selection) {
  const std::filesystem::path store = resolved(named);
  if (selection.solver) static_cast<void>(solver_entry(*selection.solver));  // an unknown one is told before all else
  if (selection.name || selection.solver) {
    const std::string name = selection.name ? *selection.name : *selection.solver;
    std::vector<StoredModel> models =
        read_at_rest(store, [&] { return std::vector{Internals::model(load_model(store, name))}; });
    require_solver(selection, Internals::record(models.front()));
    return models;
  }
  return read_at_rest(store, [&] {
    std::vector<StoredModel> models;
    for (const ModelSummary& model : list_models(store))
      models.push_back(Internals::model(load_model(store, model.name)));
    if (models.empty())
      throw UsageError(store.string() + ": holds no model; run " + operation("train " + shell_word(store.string())) +
                       " first");
    return models;
  });
}

StoredModel read_model(const std::filesystem::path& store, const ModelSelection& selection) {
  std::vector<StoredModel> models = read_models(store, selection);
  if (models.size() == 1) return std::move(models.front());
  std::string names;
  for (const StoredModel& model : models) {
    names += (names.empty() ? "" : ", ") + model.name();
    if (model.name() != model.solver()) names += " (" + model.solver() + ")";
  }
  throw UsageError(store.string() + ": holds several models; choose one with " + option("solver") + " or " +
                   option("name") + ": " + names);
}

}  // namespace v0
}  // namespace unweave
