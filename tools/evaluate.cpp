// tools/evaluate.cpp - `unweave evaluate`: accuracy of the published weights of every model.
#include <algorithm>
#include <cmath>
#include <string>

#include "algorithms/evaluation.h"
#include "algorithms/lazy_error.h"
#include "algorithms/model_record.h"
#include "algorithms/streaming_solver.h"
#include "algorithms/training_rows.h"
#include "storage/error.h"
#include "tools/commands.h"
#include "tools/model_output.h"
#include "tools/output.h"

namespace unweave {
namespace {

std::vector<std::string> chosen_solvers(const CommandLine& line, const LiveStore& store) {
  if (line.has("solver")) return {line.get<std::string>("solver")};
  std::vector<std::string> names;
  for (const ModelSummary& model : list_models(store.path())) names.push_back(model.solver);
  if (names.empty())
    throw DataError(store.path().string() + ": holds no model; run `unweave train " + store.path().string() +
                    "` first");
  return names;
}

/// How far the published weights are from those of a model that has never seen anything but the present data.
void compare_with_retrained(nlohmann::ordered_json& json, const ModelRecord& record, const LiveStore& store,
                            MemoryBudget& budget) {
  json["retrained_distance"] = nullptr;
  json["retrained_cosine"] = nullptr;
  const TrainingRows rows(store, record.weights, record.clip, budget);
  const ApproximationError lazy = lazy_error(store.embedding(), store.contents(), record.weights, rows.set().nodes());
  SolverOptions options = record.options;
  std::erase_if(options.parameters, [&](const auto& given) {
    const auto known = solver_parameters("retrain");
    return options.hidden.empty() ||
           std::none_of(known.begin(), known.end(), [&](const Parameter& own) { return own.name == given.first; });
  });
  const Fit fresh = make_solver("retrain", options)->fit(rows.set(), lazy);
  if (fresh.report.flush_needed) return;
  const Matrix& mine = record.model.published;
  const Matrix& other = fresh.model.published;
  json["retrained_distance"] = (mine - other).norm();
  const double norms = mine.norm() * other.norm();
  if (norms > 0) json["retrained_cosine"] = mine.cwiseProduct(other).sum() / norms;
}

/// A model, and after one of `streaming` the weights that it is to be seen beside, as models of other names.
std::vector<ModelRecord> with_references(const ModelRecord& record, const LiveStore& store, MemoryBudget& budget,
                                         bool retrained) {
  std::vector<ModelRecord> records{record};
  if (record.model.solver != "streaming") return records;
  const TrainingRows rows(store, record.weights, record.clip, budget);
  for (NamedWeights& reference : streaming_references(record.model, record.options, rows.set(), retrained)) {
    records.push_back(record);
    records.back().model.solver += ", " + reference.name;
    records.back().model.published = std::move(reference.weights);
  }
  return records;
}

}  // namespace

void run_evaluate(CommandLine& line) {
  line.describe("Accuracy of the published weights on every split of the present data, one line a model.", {"STORE"},
                "unweave evaluate demo/debian.store");
  auto add = line.options().add_options();
  add("solver", po::value<std::string>()->value_name("NAME"), "this model alone");
  add("retrain", po::bool_switch(), "also train from nothing and print distance and cosine of the weights");
  if (!line.parse()) return;

  if (line.has("solver")) static_cast<void>(make_solver(line.get<std::string>("solver"), {}));
  MemoryBudget budget(line.budget_bytes());
  const LiveStore store(line.positional(0), Access::read, budget);
  Table table({"solver", "training", "validation", "test", "requests absorbed", "state"});
  std::vector<ModelRecord> records;
  for (const std::string& solver : chosen_solvers(line, store)) {
    const ModelRecord trained = load_model(store.path(), solver);
    check_propagation(trained, store.manifest(), store.path());
    for (ModelRecord& record : with_references(trained, store, budget, line.get<bool>("retrain")))
      records.push_back(std::move(record));
  }
  for (const ModelRecord& record : records) {
    const std::string& solver = record.model.solver;
    const bool outdated = record.model.sequence != store.sequence();
    const Accuracies accuracies = evaluate_model(store, record);
    nlohmann::ordered_json json = {{"solver", solver}, {"sequence", record.model.sequence}, {"outdated", outdated}};
    add_accuracies(json, accuracies);
    if (line.get<bool>("retrain")) compare_with_retrained(json, record, store, budget);
    if (line.common().json) {
      write_json_line(line.out(), json);
      continue;
    }
    std::string state = outdated ? "outdated" : "up to date";
    if (json.contains("retrained_distance") && !json["retrained_distance"].is_null())
      state += ", " + number_text(json["retrained_distance"].get<double>()) + " from a retrained model";
    table.add_row({solver, accuracy_text(accuracies.train), accuracy_text(accuracies.valid),
                   accuracy_text(accuracies.test),
                   count_text(record.model.sequence) + " of " + count_text(store.sequence()), state});
  }
  if (!line.common().json) table.print(line.out());
}

}  // namespace unweave
