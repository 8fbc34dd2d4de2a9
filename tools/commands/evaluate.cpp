// tools/commands/evaluate.cpp - `unweave evaluate`: accuracy of the published weights of every model, and what they still show of
// forgotten rows.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/evaluation/efficacy.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/model_comparison.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/registry/registry.h"
#include "engine/resources/watcher.h"
#include "storage/input/label_reader.h"
#include "storage/io/error.h"
#include "tools/cli/output.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/metrics_output.h"
#include "tools/commands/model_choice.h"
#include "tools/commands/model_output.h"

namespace unweave {
namespace {

/// What the model is compared with: one that has never seen anything but the present data. A run over slots is made again
/// over those that are left. None where the embedding is too far from the exact one.
std::optional<ModelRecord> retrained_of(const ModelRecord& record, const LiveStore& store, MemoryBudget& budget) {
  const TrainingRows rows(store, record.weights, form_of(record), budget);
  const ApproximationError lazy = lazy_error(store.embedding(), store.contents(), record.weights, rows.set().nodes());
  ModelRecord retrained = record;
  if (kind_of(record.model).follows_run) {
    const auto solver = make_solver(record.model.solver, record.options);
    return solver->catch_up(retrained.model, rows.set(), lazy).flush_needed ? std::nullopt : std::optional(retrained);
  }
  const SolverEntry& reference = retraining_solver();
  SolverOptions& options = retrained.options;
  options.bound = BoundRule::kCorrected;  // a model trained again has no other
  std::erase_if(options.parameters, [&](const auto& given) {
    const auto known = reference.parameters().listed();
    return options.hidden.empty() ||
           std::none_of(known.begin(), known.end(), [&](const Parameter& own) { return own.name == given.first; });
  });
  Fit fresh = make_solver(reference.name, options)->fit(rows.set(), lazy);
  if (fresh.report.flush_needed) return std::nullopt;
  retrained.model = std::move(fresh.model);
  return retrained;
}

struct Shown {
  ModelRecord record;
  std::optional<double> seconds;  ///< that making it took, of what was made to be shown
};

/// A model, and after it the weights that its solver wants to be seen beside it, as models of other names.
std::vector<Shown> with_references(const ModelRecord& record, const LiveStore& store, MemoryBudget& budget) {
  std::vector<Shown> shown{{record, {}}};
  const SolverEntry& entry = solver_entry(record.model.solver);
  if (entry.references == nullptr) return shown;
  const TrainingRows rows(store, record.weights, form_of(record), budget);
  const Reservation memory = reserve_working_memory(rows.set().rows(), rows.set().classes(), budget);
  for (NamedWeights& reference :
       entry.references(record.model, record.options, rows.set(), static_cast<std::size_t>(memory.bytes()))) {
    shown.push_back({record, reference.seconds});
    shown.back().record.model.solver += ", " + reference.name;
    if (!record.name.empty()) shown.back().record.name += ", " + reference.name;
    shown.back().record.model.published = std::move(reference.weights);
  }
  return shown;
}

nlohmann::ordered_json value_of(const std::optional<double>& x) {
  return x ? nlohmann::ordered_json(*x) : nlohmann::ordered_json();
}

std::vector<NodeId> labelled(const LiveStore& store, std::vector<NodeId> nodes) {
  std::erase_if(nodes, [&](NodeId node) { return store.contents().label(node) == kNoLabel; });
  return nodes;
}

/// How near the published weights are to the retrained model's; with an original model also in units of how far they have come.
void add_weight_distances(nlohmann::ordered_json& json, const Model& model, const Model* retrained,
                          const Model* original) {
  const Matrix& mine = model.published;
  json["retrained_distance"] = nullptr;
  json["retrained_cosine"] = nullptr;
  if (retrained != nullptr) {
    json["retrained_distance"] = (mine - retrained->published).norm();
    json["retrained_cosine"] = value_of(cosine(mine, retrained->published));
  }
  if (original == nullptr) return;
  const Matrix step = mine - original->published;
  json["original_distance"] = step.norm();
  json["distance_ratio"] = nullptr;
  json["step_cosine"] = nullptr;
  if (retrained == nullptr) return;
  const Matrix whole = retrained->published - original->published;
  if (whole.norm() > 0) json["distance_ratio"] = (mine - retrained->published).norm() / whole.norm();
  json["step_cosine"] = value_of(cosine(step, whole));
}

/// How near the predictions are to the retrained model's. Returns what is said of the test rows.
std::optional<Likeness> add_likeness(nlohmann::ordered_json& json, const LiveStore& store, const LiveStore* before,
                                     const EfficacyTests* tests, const ModelRecord& model,
                                     const ModelRecord* retrained) {
  const auto add = [&](const std::string& rows, const LiveStore& of, const std::vector<NodeId>& nodes) {
    const auto found = retrained == nullptr ? std::nullopt : likeness(of, model, *retrained, nodes);
    json["kl_" + rows] = found ? value_of(found->divergence) : value_of({});
    json["agreement_" + rows] = found ? value_of(found->agreement) : value_of({});
    return found;
  };
  add("train", store, labelled(store, store.contents().train()));
  const std::optional<Likeness> of_test = add("test", store, labelled(store, store.contents().test()));
  if (tests != nullptr) add("forgotten", *before, tests->forgotten());
  return of_test;
}

/// Of the forgotten rows: whether their losses moved from the original model's as retraining moves them.
void add_loss_changes(nlohmann::ordered_json& json, const LiveStore& before, const EfficacyTests& tests,
                      const ModelRecord& model, const ModelRecord& retrained, const ModelRecord& original) {
  std::vector<double> mine = losses_of(before, model, tests.forgotten());
  std::vector<double> theirs = losses_of(before, retrained, tests.forgotten());
  const std::vector<double> old = losses_of(before, original, tests.forgotten());
  for (std::size_t i = 0; i < old.size(); ++i) {
    mine[i] -= old[i];
    theirs[i] -= old[i];
  }
  json["loss_change_pearson"] = value_of(pearson(mine, theirs));
  json["loss_change_spearman"] = value_of(spearman(mine, theirs));
}

const std::vector<std::string> kForgettingColumns{"forgotten",      "replayed",     "of all",     "of present",
                                                  "called members", "by threshold", "attack AUC", "presence ratio"};

void print_legend(std::ostream& out) {
  out << "\nforgotten       accuracy on forgotten training rows, as they were in the copy\n"
         "replayed        of those of vanished classes: share said to be of such a class\n"
         "of all          the same share of all rows of the copy\n"
         "of present      the same share of all rows of the store\n"
         "called members  share of the forgotten that an attack takes for training rows\n"
         "by threshold    the same by one threshold of the confidence\n"
         "attack AUC      forgotten against test rows by confidence; 0.5: not told apart\n"
         "presence ratio  presence in the original model over that here; 1: as before\n";
}

/// The fields of one model, and its cells of kForgettingColumns.
void add_forgetting(nlohmann::ordered_json& json, std::vector<std::string>& cells, const EfficacyTests& tests,
                    const Efficacy& of) {
  json["forgotten_rows"] = tests.forgotten().size();
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
      const Contents& contents = store_of_nodes().contents();
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
    if (retrains()) header.insert(header.end(), {"from retrained", "KL, test", "agreement, test"});
    header.insert(header.end(), {"requests absorbed", "state"});
    table_.emplace(std::move(header));
  }

  void run(const ModelRecord& record) {
    const std::string& name = name_of(record);
    check_propagation(record, store_.manifest(), store_.path());
    original_.reset();
    retrained_.reset();
    if (before_ != nullptr && has_model(before_->path(), name)) original_ = load_model(before_->path(), name);
    if (original_) check_propagation(*original_, store_.manifest(), store_.path());
    if (tests_) tests_->set_original(original_ ? &*original_ : nullptr);
    if (retrains()) {
      StepProgress progress(line_.error(), line_.shows_progress());
      const WatchedBy watched(progress);
      retrained_ = retrained_of(record, store_, budget_);
    }
    if (original_) add({*original_, {}}, false);
    for (const Shown& one : with_references(record, store_, budget_)) add(one, true);
  }

  void finish() {
    if (line_.common().json) return;
    table_->print(line_.out());
    if (before_ != nullptr) print_legend(line_.out());
    print_metrics(line_.out(), metrics_);
    for (const SplitMetrics& metrics : metrics_) {
      const bool alone = metrics_.size() == 1 && metrics.test.classes.size() <= kFewClasses;
      if (alone || line_.get<bool>("by-class")) print_by_class(line_.out(), metrics);
    }
  }

 private:
  static constexpr std::uint64_t kSeed = 1;

  static bool has_model(const std::filesystem::path& store, const std::string& name) {
    const std::vector<ModelSummary> models = list_models(store);
    return std::any_of(models.begin(), models.end(), [&](const ModelSummary& model) { return model.name == name; });
  }

  [[nodiscard]] bool retrains() const { return line_.get<bool>("retrain"); }
  [[nodiscard]] const LiveStore& store_of_nodes() const { return before_ != nullptr ? *before_ : store_; }

  void compare(nlohmann::ordered_json& json, std::vector<std::string>& cells, const ModelRecord& record) const {
    // A copy's model may have been trained with other options.
    const auto fitting = [&](const std::optional<ModelRecord>& other) {
      return other && comparable(record.model, other->model) ? &*other : nullptr;
    };
    const ModelRecord *retrained = fitting(retrained_), *original = fitting(original_);
    add_weight_distances(json, record.model, retrained != nullptr ? &retrained->model : nullptr,
                         original != nullptr ? &original->model : nullptr);
    const auto of_test = add_likeness(json, store_, before_, tests_ ? &*tests_ : nullptr, record, retrained);
    if (retrained != nullptr && original != nullptr)
      add_loss_changes(json, *before_, *tests_, record, *retrained, *original);
    const auto& distance = json["retrained_distance"];
    cells.push_back(distance.is_null() ? "-" : number_text(distance.get<double>()));
    cells.push_back(of_test ? number_text(of_test->divergence) : "-");
    cells.push_back(of_test ? number_text(of_test->agreement) : "-");
  }

  void add(const Shown& shown, bool present) {
    const ModelRecord& record = shown.record;
    const std::string& solver = record.model.solver;
    const bool outdated = record.model.sequence != store_.sequence();
    const bool by_class = line_.get<bool>("by-class") || shape_of(record.model).classes <= kFewClasses;
    SplitMetrics metrics = split_metrics(store_, record, by_class);
    const Accuracies accuracies = metrics.accuracies();
    nlohmann::ordered_json json = {
        {"solver", solver}, {"name", name_of(record)}, {"sequence", record.model.sequence}, {"outdated", outdated}};
    if (before_ != nullptr) json["model"] = present ? "present" : "before";
    if (shown.seconds) json["seconds"] = *shown.seconds;
    add_accuracies(json, accuracies);
    json["metrics"] = to_json(metrics, by_class);
    metrics.model = model_text(name_of(record), solver) + (present ? "" : " before");
    metrics_.push_back(std::move(metrics));
    std::vector<std::string> cells{model_text(name_of(record), solver), accuracy_text(accuracies.train),
                                   accuracy_text(accuracies.valid), accuracy_text(accuracies.test)};
    if (nodes_) {
      const std::optional<double> accuracy =
          accuracy_of(store_of_nodes(), *nodes_, predict(store_of_nodes(), record, *nodes_));
      json["accuracy_nodes"] = value_of(accuracy);
      cells.push_back(accuracy_text(accuracy));
    }
    if (tests_) add_forgetting(json, cells, *tests_, tests_->of(record));
    const std::string state = !present ? "before the removals" : outdated ? "outdated" : "up to date";
    if (retrains()) compare(json, cells, record);
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
  std::optional<ModelRecord> original_, retrained_;  ///< of the model at hand
  std::optional<Table> table_;
  std::vector<SplitMetrics> metrics_;  ///< of the lines of table_
};

}  // namespace

void run_evaluate(CommandLine& line) {
  line.describe(
      "Accuracy, F1 and AUC of the published weights on every split of the present data, one line a model. With a "
      "copy\n"
      "of the store from before the removals (a store is a folder: cp -r STORE COPY) also what the models still show\n"
      "of the training rows that were forgotten, and the same of the copy's models.",
      {"STORE"},
      "unweave evaluate demo/debian.store\n"
      "  unweave evaluate demo/debian.store --before demo/copy.store");
  add_model_choice(line, "this model alone");
  auto add = line.options().add_options();
  add("retrain", po::bool_switch(),
      "also train from nothing, and print how far the weights and the predictions are from that model's");
  add("nodes", po::value<std::string>()->value_name("F"),
      "also the accuracy on these nodes, ids as .npy or text; with --before as they were in the copy");
  add("before", po::value<std::string>()->value_name("COPY"),
      "a copy from before the removals: accuracy on the forgotten rows as they were, deleted data replay, membership "
      "inference");
  add("by-class", po::bool_switch(),
      "precision, recall, F1 and AUC of every class, and the confusion matrix, of any number of models and classes; "
      "without it of a single model of at most 20 classes, with --json of every such model");
  add("attack-rows", po::value<Count>()->value_name("K")->default_value({10000}),
      "with --before: most training and most test rows that an attack learns from, drawn by --seed (1); 0: no attack");
  if (!line.parse()) return;

  if (line.given("attack-rows") && !line.has("before")) throw UsageError("--attack-rows needs --before");
  MemoryBudget budget(line.budget_bytes());
  const std::vector<ModelRecord> models = chosen_models(line, line.positional(0));
  const LiveStore store(line.positional(0), Access::read, budget, release_ledger());
  std::optional<LiveStore> before;
  if (line.has("before")) before.emplace(line.get<std::string>("before"), Access::read, budget, release_ledger());
  Evaluation evaluation(line, store, before ? &*before : nullptr, budget);
  for (const ModelRecord& model : models) evaluation.run(model);
  evaluation.finish();
}

}  // namespace unweave
