// tools/evaluate.cpp - `unweave evaluate`: accuracy of the published weights of every model, and what they still show of
// forgotten rows.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/efficacy.h"
#include "algorithms/evaluation.h"
#include "algorithms/lazy_error.h"
#include "algorithms/model_record.h"
#include "algorithms/streaming_solver.h"
#include "algorithms/training_rows.h"
#include "storage/error.h"
#include "storage/input/label_reader.h"
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

/// What the model is compared with: one that has never seen anything but the present data. `hessian-free` stops where its
/// run ends, which need not be near the minimiser: its run is made again over the slots that are left. None where the
/// embedding is too far from the exact one.
std::optional<ModelRecord> trained_again(const ModelRecord& record, const LiveStore& store, MemoryBudget& budget) {
  const TrainingRows rows(store, record.weights, record.clip, budget);
  const ApproximationError lazy = lazy_error(store.embedding(), store.contents(), record.weights, rows.set().nodes());
  ModelRecord again = record;
  if (record.model.solver == "hessian-free") {
    if (make_solver("hessian-free", record.options)->catch_up(again.model, rows.set(), lazy).flush_needed) return {};
    return again;
  }
  SolverOptions options = record.options;
  std::erase_if(options.parameters, [&](const auto& given) {
    const auto known = solver_parameters("retrain");
    return options.hidden.empty() ||
           std::none_of(known.begin(), known.end(), [&](const Parameter& own) { return own.name == given.first; });
  });
  Fit fresh = make_solver("retrain", options)->fit(rows.set(), lazy);
  if (fresh.report.flush_needed) return {};
  again.model = std::move(fresh.model);
  return again;
}

/// How far the published weights are from those of a model trained again.
void compare(nlohmann::ordered_json& json, const ModelRecord& record, const std::optional<ModelRecord>& again) {
  json["retrained_distance"] = nullptr;
  json["retrained_cosine"] = nullptr;
  if (!again) return;
  const Matrix& mine = record.model.published;
  const Matrix& other = again->model.published;
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

nlohmann::ordered_json value_of(const std::optional<double>& x) {
  return x ? nlohmann::ordered_json(*x) : nlohmann::ordered_json();
}

const std::vector<std::string> kForgettingColumns{"forgotten",      "replayed",     "of all",     "of present",
                                                  "called members", "by threshold", "attack AUC", "presence ratio"};

/// The fields of one model, and its cells of kForgettingColumns.
void add_forgetting(nlohmann::ordered_json& json, std::vector<std::string>& cells, const EfficacyTests& tests,
                    const Efficacy& of) {
  json["forgotten_rows"] = tests.forgotten();
  json["accuracy_forgotten"] = value_of(of.accuracy_forgotten);
  json["vanished_classes"] = tests.vanished_classes();
  json["replay_forgotten"] = value_of(of.replay_forgotten);
  json["replay_all"] = value_of(of.replay_all);
  json["replay_present"] = value_of(of.replay_present);
  json["attack_rows"] = tests.attack_rows();
  json["attack_seed"] = tests.seed();
  json["mia_member_rate"] = value_of(of.svm_member_rate);
  json["mia_nonmember_rate"] = of.svm_member_rate ? value_of(1 - *of.svm_member_rate) : value_of({});
  json["mia_threshold_member_rate"] = value_of(of.threshold_member_rate);
  json["mia_auc"] = value_of(of.attack_auc);
  json["presence"] = value_of(of.presence);
  json["presence_ratio"] = value_of(of.presence_ratio);
  for (const auto& value : {of.accuracy_forgotten, of.replay_forgotten, of.replay_all, of.replay_present,
                            of.svm_member_rate, of.threshold_member_rate, of.attack_auc, of.presence_ratio})
    cells.push_back(accuracy_text(value));
}

/// One line a model: the present one of each solver and, of a copy, the one from before the removals.
class Evaluation {
 public:
  Evaluation(CommandLine& line, const LiveStore& store, const LiveStore* before, MemoryBudget& budget)
      : line_(line), store_(store), before_(before), budget_(budget) {
    if (line.has("nodes")) {
      const Contents& contents = store.contents();
      nodes_.emplace();
      for (const NodeId node : read_node_ids({line.get<std::string>("nodes"), {}}, contents.num_nodes())) {
        const NodeId position = contents.order().position(node);
        if (contents.label(position) != kNoLabel) nodes_->push_back(position);
      }
    }
    std::vector<std::string> header{"solver", "training", "validation", "test"};
    if (nodes_) header.emplace_back("nodes");
    if (before_ != nullptr) {
      tests_.emplace(*before_, store, static_cast<std::size_t>(line.get<Count>("attack-rows").value),
                     line.common().seed.value_or(kSeed));
      header.insert(header.end(), kForgettingColumns.begin(), kForgettingColumns.end());
    }
    header.insert(header.end(), {"requests absorbed", "state"});
    table_.emplace(std::move(header));
  }

  void run(const std::string& solver) {
    const ModelRecord record = load_model(store_.path(), solver);
    check_propagation(record, store_.manifest(), store_.path());
    std::optional<ModelRecord> original;
    if (before_ != nullptr && has_model(before_->path(), solver)) original = load_model(before_->path(), solver);
    if (tests_) tests_->set_original(original ? &*original : nullptr);
    if (original) {
      check_propagation(*original, store_.manifest(), store_.path());
      add(*original, false);
    }
    for (const ModelRecord& one : with_references(record, store_, budget_, line_.get<bool>("retrain"))) add(one, true);
  }

  void finish() {
    if (!line_.common().json) table_->print(line_.out());
  }

 private:
  static constexpr std::uint64_t kSeed = 1;

  static bool has_model(const std::filesystem::path& store, const std::string& solver) {
    const std::vector<ModelSummary> models = list_models(store);
    return std::any_of(models.begin(), models.end(), [&](const ModelSummary& model) { return model.solver == solver; });
  }

  void add(const ModelRecord& record, bool present) {
    const std::string& solver = record.model.solver;
    const bool outdated = record.model.sequence != store_.sequence();
    const Accuracies accuracies = evaluate_model(store_, record);
    nlohmann::ordered_json json = {{"solver", solver}, {"sequence", record.model.sequence}, {"outdated", outdated}};
    if (before_ != nullptr) json["model"] = present ? "present" : "before";
    add_accuracies(json, accuracies);
    std::vector<std::string> cells{solver, accuracy_text(accuracies.train), accuracy_text(accuracies.valid),
                                   accuracy_text(accuracies.test)};
    if (nodes_) {
      const std::optional<double> accuracy = accuracy_of(store_, *nodes_, predict(store_, record, *nodes_));
      json["accuracy_nodes"] = value_of(accuracy);
      cells.push_back(accuracy_text(accuracy));
    }
    if (tests_) add_forgetting(json, cells, *tests_, tests_->of(record));
    std::string state = !present ? "before the removals" : outdated ? "outdated" : "up to date";
    if (line_.get<bool>("retrain")) {
      const std::optional<ModelRecord> again = trained_again(record, store_, budget_);
      compare(json, record, again);
      if (!json["retrained_distance"].is_null())
        state += ", " + number_text(json["retrained_distance"].get<double>()) + " from a retrained model";
      if (tests_) json["retrained_correlation"] = again ? value_of(tests_->correlation(record, *again)) : value_of({});
    }
    if (line_.common().json) return write_json_line(line_.out(), json);
    cells.insert(cells.end(), {count_text(record.model.sequence) + " of " + count_text(store_.sequence()), state});
    table_->add_row(std::move(cells));
  }

  CommandLine& line_;
  const LiveStore& store_;
  const LiveStore* before_;
  MemoryBudget& budget_;
  std::optional<std::vector<NodeId>> nodes_;
  std::optional<EfficacyTests> tests_;
  std::optional<Table> table_;
};

}  // namespace

void run_evaluate(CommandLine& line) {
  line.describe(
      "Accuracy of the published weights on every split of the present data, one line a model. With a copy of the "
      "store\n"
      "from before the removals (a store is a folder: cp -r STORE COPY) also what the models still show of the "
      "training\n"
      "rows that were forgotten, and the same of the copy's models.",
      {"STORE"}, "unweave evaluate demo/debian.store --before demo/copy.store");
  auto add = line.options().add_options();
  add("solver", po::value<std::string>()->value_name("NAME"), "this model alone");
  add("retrain", po::bool_switch(),
      "also train from nothing and print distance and cosine of the weights; with --before also the correlation of "
      "what\n"
      "both make of the losses of the forgotten rows");
  add("nodes", po::value<std::string>()->value_name("F"), "also the accuracy on these nodes, ids as .npy or text");
  add("before", po::value<std::string>()->value_name("COPY"),
      "a copy from before the removals: accuracy on the forgotten rows as they were, deleted data replay, membership "
      "inference");
  add("attack-rows", po::value<Count>()->value_name("K")->default_value({10000}),
      "with --before: most training and most test rows that an attack learns from, drawn by --seed (1); 0: no attack");
  if (!line.parse()) return;

  if (line.has("solver")) static_cast<void>(make_solver(line.get<std::string>("solver"), {}));
  if (line.given("attack-rows") && !line.has("before")) throw UsageError("--attack-rows needs --before");
  MemoryBudget budget(line.budget_bytes());
  const LiveStore store(line.positional(0), Access::read, budget);
  std::optional<LiveStore> before;
  if (line.has("before")) before.emplace(line.get<std::string>("before"), Access::read, budget);
  Evaluation evaluation(line, store, before ? &*before : nullptr, budget);
  for (const std::string& solver : chosen_solvers(line, store)) evaluation.run(solver);
  evaluation.finish();
}

}  // namespace unweave
