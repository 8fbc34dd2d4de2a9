// tools/commands/model_output.cpp - options that choose models and nodes, and what people read of a
// model.
#include "tools/commands/model_output.h"

#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "unweave/solvers.h"

namespace unweave {

void add_key_option(CommandLine& line) {
  line.options().add_options()(
      "key", po::value<std::string>()->value_name("FILE"),
      "key that signs certificates (openssl rand -hex 32), kept outside the store; default: the store's own");
}

void add_name_option(CommandLine& line, const char* text) {
  line.options().add_options()("name", po::value<std::string>()->value_name("NAME"), text);
}

ModelSelection model_selection(const CommandLine& line) {
  ModelSelection selection;
  if (line.has("name")) selection.name = line.get<std::string>("name");
  if (line.has("solver")) selection.solver = solver_info(line.get<std::string>("solver")).name;
  return selection;
}

NodeList listed_nodes(const CommandLine& line, const Reader& reader, const char* option) {
  return read_nodes(reader, line.get<std::string>(option),
                    [&](const std::string& remark) { line.note(command_text(remark)); });
}

void add_follow_options(CommandLine& line) {
  std::vector<std::string> solvers;
  for (const SolverInfo& solver : all_solver_infos()) solvers.emplace_back(solver.name);
  line.set_choices("solver", std::move(solvers));
  line.options().add_options()("solver", po::value<std::vector<std::string>>()->value_name("NAME")->composing(),
                               "unlearn every batch from this trained model; given again, from another one, too");
  line.options().add_options()("name", po::value<std::vector<std::string>>()->value_name("NAME")->composing(),
                               "unlearn every batch from the model of this name; given again, from another one, too (a "
                               "model is called like its solver unless it was given a name)");
}

std::vector<ModelSelection> followed_models(const CommandLine& line) {
  const auto words = [&](const char* option) {
    return line.has(option) ? line.get<std::vector<std::string>>(option) : std::vector<std::string>();
  };
  const std::vector<std::string> solvers = words("solver"), names = words("name");
  std::vector<ModelSelection> models;
  if (!solvers.empty() && !names.empty()) {
    if (solvers.size() > 1 || names.size() > 1)
      throw UsageError(
          "--solver and --name: it is not clear which belong together; name all models by --name, where a model is "
          "called like its solver unless it was given a name");
    models.push_back({names.front(), std::string(solver_info(solvers.front()).name)});
    return models;
  }
  for (const std::string& solver : solvers) models.push_back({{}, std::string(solver_info(solver).name)});
  for (const std::string& name : names) models.push_back({name, {}});
  return models;
}

void let_follow(const std::vector<ModelSelection>& models, StreamOptions& options) {
  if (models.empty()) return;
  options.model = models.front();
  options.more_models.assign(models.begin() + 1, models.end());
}

std::string model_text(const std::string& name, const std::string& solver) {
  return solver.empty() || name == solver ? name : name + " (" + solver + ")";
}

std::filesystem::path key_file(const CommandLine& line) {
  return line.has("key") ? line.get<std::string>("key") : std::string();
}

std::string accuracy_text(const std::optional<double>& accuracy) {
  return accuracy ? number_text(*accuracy) : "-";
}

std::string missed_text(const ModelStep& step) {
  if (step.without_receipts == 0) return {};
  return ", no receipts for " + counted(step.without_receipts, "request") + " that it had missed";
}

std::string certified_text(const StepReport& report) {
  if (report.for_tests) return "no (noise from a seed: for tests)";
  if (report.certified) return "yes, by " + *report.claim;
  return report.claim ? "no (" + *report.claim + ")" : "no";
}

}  // namespace unweave
