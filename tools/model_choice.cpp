// tools/model_choice.cpp - which of a store's models a command speaks of.
#include "tools/model_choice.h"

#include "algorithms/model_name.h"
#include "algorithms/solver.h"
#include "storage/error.h"
#include "tools/output.h"

namespace unweave {

void add_name_option(CommandLine& line, const char* text) {
  line.options().add_options()("name", po::value<std::string>()->value_name("NAME"), text);
}

void add_model_choice(CommandLine& line, const std::string& text) {
  line.options().add_options()("solver", po::value<std::string>()->value_name("NAME"), text.c_str());
  add_name_option(line);
}

std::optional<std::string> selected_model(const CommandLine& line) {
  if (line.has("solver"))
    static_cast<void>(solver_parameters(line.get<std::string>("solver")));  // an unknown one is told before all else
  if (line.has("name")) return line.get<std::string>("name");
  return line.has("solver") ? std::optional(line.get<std::string>("solver")) : std::nullopt;
}

void require_selected_solver(const CommandLine& line, const ModelRecord& record) {
  if (line.has("solver") && line.get<std::string>("solver") != record.model.solver)
    throw UsageError("the model " + name_of(record) + " is one of " + record.model.solver + ", not of " +
                     line.get<std::string>("solver") + "; leave out --solver");
}

std::vector<ModelRecord> chosen_models(const CommandLine& line, const std::filesystem::path& store) {
  std::vector<ModelRecord> models;
  if (const std::optional<std::string> model = selected_model(line)) {
    models.push_back(load_model(store, *model));
    require_selected_solver(line, models.back());
    return models;
  }
  for (const ModelSummary& model : list_models(store)) models.push_back(load_model(store, model.name));
  if (models.empty())
    throw DataError(store.string() + ": holds no model; run `unweave train " + store.string() + "` first");
  return models;
}

ModelRecord chosen_model(const CommandLine& line, const std::filesystem::path& store) {
  std::vector<ModelRecord> models = chosen_models(line, store);
  if (models.size() == 1) return std::move(models.front());
  std::string names;
  for (const ModelRecord& model : models) names += (names.empty() ? "" : ", ") + name_of(model);
  throw UsageError(store.string() + ": holds several models; choose one with --name: " + names);
}

void note_state(const CommandLine& line, const ModelRecord& record, const LiveStore& store) {
  const std::string name = name_of(record);
  if (record.model.sequence != store.sequence())
    line.note("the model " + name + " is outdated: it has absorbed " + count_text(record.model.sequence) + " of " +
              count_text(store.sequence()) + " requests; `unweave stream " + store.path().string() + " --requests F " +
              selecting(name) + "` brings it up to date, so does `unweave train`");
  try {
    check_propagation(record, store.manifest(), store.path());
  } catch (const DataError& error) {
    line.note(error.what());
  }
}

}  // namespace unweave
