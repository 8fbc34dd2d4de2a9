// tools/commands/evaluate.cpp - `unweave evaluate`: accuracy of the published weights of every
// model, and what they still show of forgotten rows.
#include "unweave/fields/evaluate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "storage/input/nodes/label_reader.h"
#include "storage/io/error.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/metrics_output.h"
#include "tools/commands/model_choice.h"
#include "tools/commands/model_notes.h"
#include "tools/commands/model_output.h"
#include "unweave/links.h"

namespace unweave {
namespace {

/// What people call the classes of pairs.
const std::vector<std::string> kPairClassNames{"edge", "none"};
const std::vector<std::string> kForgettingColumns{"forgotten",  "replayed",       "of all",
                                                  "of present", "called members", "by threshold",
                                                  "attack AUC", "presence ratio", "edge AUC"};

void print_legend(std::ostream& out) {
  out << "\nforgotten       accuracy on forgotten training rows, as they were in the copy\n"
         "replayed        of those of vanished classes: share said to be of such a class\n"
         "of all          the same share of all rows of the copy\n"
         "of present      the same share of all rows of the store\n"
         "called members  share of the forgotten that an attack takes for training rows\n"
         "by threshold    the same by one threshold of the confidence\n"
         "attack AUC      forgotten against test rows by confidence; 0.5: not told apart\n"
         "presence ratio  presence in the original model over that here; 1: as before\n"
         "edge AUC        removed edges against pairs never connected, by predictions on\n"
         "                their ends; compare it with the retrained model's (--retrain)\n";
}

/// A model's cells of kForgettingColumns.
void add_forgetting(std::vector<std::string>& cells, const Forgetting& forgetting) {
  const Efficacy& of = forgetting.figures;
  for (const auto& value :
       {of.accuracy_forgotten, of.replay_forgotten, of.replay_all, of.replay_present, of.svm_member_rate,
        of.threshold_member_rate, of.attack_auc, of.presence_ratio, forgetting.edges.auc})
    cells.push_back(accuracy_text(value));
}

/// `nodes`, `negatives`: what is listed by options, whose memory stays with the caller.
EvaluateOptions evaluate_options(const CommandLine& line, NodeList& nodes, PairListing& negatives) {
  EvaluateOptions options;
  options.retrain = line.get<bool>("retrain");
  options.by_class = line.get<bool>("by-class");
  if (line.has("nodes")) options.nodes = std::move(nodes.nodes);
  if (line.has("negatives")) options.negatives = std::move(negatives.pairs);
  options.attack_rows = static_cast<std::size_t>(line.get<Count>("attack-rows").value);
  options.seed = line.common().seed.value_or(options.seed);
  return options;
}

/// One line a model: the present one of each solver and, of a copy, the one from before the
/// removals.
class Printer {
 public:
  Printer(CommandLine& line, const Reader& store, const EvaluateOptions& options)
      : line_(line),
        acknowledged_(store.acknowledged()),
        scope_{store.class_names(), line.has("before"), options.nodes.has_value()},
        table_(header(options)) {}

  void print(const ModelEvaluation& of) {
    EvaluationScope scope = scope_;
    if (of.links) scope.class_names = kPairClassNames;
    if (line_.common().json) return write_json_line(line_.out(), json_fields(of, scope));
    if (of.links) links_.push_back({model_text(of.name, of.solver), *of.links});
    const Accuracies accuracies = of.metrics.accuracies();
    const std::string name = model_text(of.name, of.solver);
    metrics_.push_back({name + (of.present ? "" : " before"), of.metrics});
    std::vector<std::string> cells{name, accuracy_text(accuracies.train), accuracy_text(accuracies.valid),
                                   accuracy_text(accuracies.test)};
    if (scope_.with_nodes) cells.push_back(accuracy_text(of.accuracy_nodes));
    if (of.forgetting) add_forgetting(cells, *of.forgetting);
    if (of.comparison) {
      const std::optional<Likeness>& of_test = of.comparison->test;
      cells.push_back(accuracy_text(of.comparison->retrained_distance));
      cells.push_back(of_test ? number_text(of_test->divergence) : "-");
      cells.push_back(of_test ? number_text(of_test->agreement) : "-");
      if (of.forgetting)
        cells.push_back(of.forgetting->edges_retrained ? accuracy_text(of.forgetting->edges_retrained->auc) : "-");
    }
    const std::string state = !of.present ? "before the removals" : of.outdated ? "outdated" : "up to date";
    cells.insert(cells.end(), {count_text(of.sequence) + " of " + count_text(acknowledged_), state});
    table_.add_row(std::move(cells));
  }

  void finish() {
    if (line_.common().json) return;
    table_.print(line_.out());
    if (scope_.with_copy) print_legend(line_.out());
    print_metrics(line_.out(), metrics_);
    print_links(line_.out(), links_);
    for (const NamedMetrics& metrics : metrics_) {
      const bool alone = metrics_.size() == 1 && metrics.splits.test.classes.size() <= kFewClasses;
      if (alone || line_.get<bool>("by-class"))
        print_by_class(line_.out(), metrics, links_.empty() ? scope_.class_names : kPairClassNames);
    }
  }

 private:
  [[nodiscard]] std::vector<std::string> header(const EvaluateOptions& options) const {
    std::vector<std::string> names{"solver", "training", "validation", "test"};
    if (scope_.with_nodes) names.emplace_back("nodes");
    if (scope_.with_copy) names.insert(names.end(), kForgettingColumns.begin(), kForgettingColumns.end());
    if (options.retrain) {
      names.insert(names.end(), {"from retrained", "KL, test", "agreement, test"});
      if (scope_.with_copy) names.emplace_back("edge AUC, retrained");
    }
    names.insert(names.end(), {"requests absorbed", "state"});
    return names;
  }

  CommandLine& line_;
  std::uint64_t acknowledged_;
  EvaluationScope scope_;
  Table table_;
  std::vector<NamedLinks> links_;      ///< figures of models whose rows are of pairs
  std::vector<NamedMetrics> metrics_;  ///< metrics of the lines of table_
};

}  // namespace

void run_evaluate(CommandLine& line) {
  line.describe(
      "Accuracy, F1 and AUC of the published weights on every split of the present data, one line a model. With a copy\n"
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
  add("negatives", po::value<std::string>()->value_name("F"),
      "of models of train --pair: these pairs of nodes, in any form of import --edges, in the place of the pairs of no edge "
      "that the store draws");
  add("before", po::value<std::string>()->value_name("COPY"),
      "a copy from before the removals: accuracy on the forgotten rows as they were, deleted data replay, membership "
      "inference, and whether removed edges show");
  add("by-class", po::bool_switch(),
      "precision, recall, F1 and AUC of every class, and the confusion matrix, of any number of models and classes; "
      "without it of a single model of at most 20 classes, with --json of every such model");
  add("attack-rows", po::value<Count>()->value_name("K")->default_value({10000}),
      "with --before: most training and most test rows that an attack learns from, and most removed edges that one looks "
      "for, drawn by --seed (1); 0: no attack");
  if (!line.parse()) return;

  if (line.given("attack-rows") && !line.has("before")) throw UsageError("--attack-rows needs --before");
  StepProgress progress(line.error(), line.shows_progress());
  Resources resources({line.common().memory_bytes}, &progress);
  const std::vector<StoredModel> models = read_models(line.positional(0), model_selection(line));
  const Reader store(line.positional(0), resources);
  std::optional<Reader> before;
  if (line.has("before")) before.emplace(line.get<std::string>("before"), resources);
  NodeList nodes;
  if (line.has("nodes")) nodes = listed_nodes(line, before ? *before : store);
  PairListing negatives;
  if (line.has("negatives"))
    negatives = read_pairs(store, line.get<std::string>("negatives"),
                           [&](const std::string& remark) { line.note(command_text(remark)); });
  if (line.has("negatives"))
    note_remark(line, remark_on_present_edges(store, line.get<std::string>("negatives"), negatives.pairs));
  const EvaluateOptions options = evaluate_options(line, nodes, negatives);
  Evaluator evaluator(store, before ? &*before : nullptr, options);
  Printer printer(line, store, options);
  for (const StoredModel& model : models) {
    const std::vector<ModelEvaluation> evaluations = evaluator.evaluate(model);
    progress.finish();
    for (const ModelEvaluation& one : evaluations) printer.print(one);
  }
  printer.finish();
}

}  // namespace unweave
