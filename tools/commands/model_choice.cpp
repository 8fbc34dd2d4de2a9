// tools/commands/model_choice.cpp - which of a store's models a command speaks of.
#include "tools/commands/model_choice.h"

#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/commands/model_output.h"

namespace unweave {

void add_model_choice(CommandLine& line, const std::string& text) {
  line.options().add_options()("solver", po::value<std::string>()->value_name("NAME"), text.c_str());
  add_name_option(line);
}

std::vector<ModelRecord> chosen_models(const CommandLine& line, const std::filesystem::path& store) {
  if (const std::optional<std::string> model = selected_model(line)) {
    ModelRecord record = load_model(store, *model);
    require_selected_solver(line, record);
    return {std::move(record)};
  }
  std::vector<ModelRecord> models;
  for (const ModelSummary& model : list_models(store)) models.push_back(load_model(store, model.name));
  if (models.empty())
    throw UsageError(store.string() + ": holds no model; run `unweave train " + store.string() + "` first");
  return models;
}

ModelRecord chosen_model(const CommandLine& line, const std::filesystem::path& store) {
  std::vector<ModelRecord> models = chosen_models(line, store);
  if (models.size() == 1) return std::move(models.front());
  std::string names;
  for (const ModelRecord& model : models)
    names += (names.empty() ? "" : ", ") + model_text(name_of(model), model.model.solver);
  throw UsageError(store.string() + ": holds several models; choose one with --solver or --name: " + names);
}

void note_state(const CommandLine& line, const ModelRecord& record, const LiveStore& store) {
  const std::string name = name_of(record), solver = record.model.solver;
  if (record.model.sequence != store.sequence())
    line.note("the model " + model_text(name, solver) + " is outdated: it has absorbed " +
              count_text(record.model.sequence) + " of " + count_text(store.sequence()) +
              " requests; `unweave stream " + store.path().string() + " --requests /dev/null " +
              (name == solver ? "--solver " : "--name ") + name + "` brings it up to date, so does `unweave train`");
  try {
    check_propagation(record, store.manifest(), store.path());
  } catch (const DataError& error) {
    line.note(command_text(error.message()));
  }
}

}  // namespace unweave
