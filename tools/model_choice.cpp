// tools/model_choice.cpp - which of a store's models a command speaks of.
#include "tools/model_choice.h"

#include "algorithms/solver.h"
#include "storage/error.h"
#include "tools/output.h"

namespace unweave {

void add_model_choice(CommandLine& line, const std::string& text) {
  line.options().add_options()("solver", po::value<std::string>()->value_name("NAME"), text.c_str());
}

std::vector<ModelRecord> chosen_models(const CommandLine& line, const std::filesystem::path& store) {
  if (line.has("solver")) {
    const auto& solver = line.get<std::string>("solver");
    static_cast<void>(solver_parameters(solver));  // an unknown name is told before a missing model
    return {load_model(store, solver)};
  }
  std::vector<ModelRecord> models;
  for (const ModelSummary& model : list_models(store)) models.push_back(load_model(store, model.solver));
  if (models.empty())
    throw DataError(store.string() + ": holds no model; run `unweave train " + store.string() + "` first");
  return models;
}

ModelRecord chosen_model(const CommandLine& line, const std::filesystem::path& store) {
  std::vector<ModelRecord> models = chosen_models(line, store);
  if (models.size() == 1) return std::move(models.front());
  std::string names;
  for (const ModelRecord& model : models) names += (names.empty() ? "" : ", ") + model.model.solver;
  throw UsageError(store.string() + ": holds several models; choose one with --solver: " + names);
}

void note_state(const CommandLine& line, const ModelRecord& record, const LiveStore& store) {
  const std::string& solver = record.model.solver;
  if (record.model.sequence != store.sequence())
    line.note("the model of " + solver + " is outdated: it has absorbed " + count_text(record.model.sequence) + " of " +
              count_text(store.sequence()) + " requests; `unweave stream " + store.path().string() +
              " --requests F --solver " + solver + "` brings it up to date, so does `unweave train`");
  try {
    check_propagation(record, store.manifest(), store.path());
  } catch (const DataError& error) {
    line.note(error.what());
  }
}

}  // namespace unweave
