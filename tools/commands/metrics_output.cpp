// tools/commands/metrics_output.cpp - metrics of a model on every split: compact tables for people.
#include "tools/commands/metrics_output.h"

#include <algorithm>

#include "tools/cli/output.h"
#include "tools/commands/model_output.h"
#include "unweave/classes.h"

namespace unweave {
void print_metrics(std::ostream& out, const std::vector<NamedMetrics>& models) {
  Table table({"model", "split", "rows", "majority", "micro F1", "macro F1", "AUC"});
  std::size_t without = 0;
  for (const auto& [model, splits] : models)
    for (const auto& [name, metrics] : {std::pair("training", &splits.train), std::pair("validation", &splits.valid),
                                        std::pair("test", &splits.test)}) {
      if (metrics->rows == 0) continue;
      without = std::max(without, metrics->classes_without_auc());
      table.add_row({model, name, count_text(metrics->rows), accuracy_text(metrics->majority()),
                     accuracy_text(metrics->micro_f1()), accuracy_text(metrics->macro_f1()),
                     accuracy_text(metrics->macro_auc())});
    }
  out << '\n';
  table.print(out);
  out << "\nmajority  share of the most frequent class: what always saying it would reach\n"
         "micro F1  of one label a row the accuracy; macro F1: mean of the classes' F1\n"
         "AUC       mean over the classes of one against the rest\n";
  if (without > 0)
    out << "          (up to " << count_text(without) << " of "
        << count_text(models.front().splits.train.classes.size())
        << " classes have no rows in a split, or all of them, and are left out)\n";
}

void print_links(std::ostream& out, const std::vector<NamedLinks>& models) {
  if (models.empty()) return;
  std::vector<std::string> header{"model", "split", "edges", "other pairs", "AUC"};
  for (const std::size_t k : LinkFigures::kHits) header.push_back("Hits@" + std::to_string(k));
  header.insert(header.end(), {"MRR", "accuracy", "F1", "recall"});
  Table table(header);
  for (const auto& [model, splits] : models)
    for (const auto& [name, figures] : {std::pair("training", &splits.train), std::pair("validation", &splits.valid),
                                        std::pair("test", &splits.test)}) {
      if (figures->edges == 0) continue;
      std::vector<std::string> cells{model, name, count_text(figures->edges), count_text(figures->others),
                                     accuracy_text(figures->auc)};
      for (const auto& hits : figures->hits) cells.push_back(accuracy_text(hits));
      for (const auto& value : {figures->reciprocal_rank, figures->accuracy, figures->f1, figures->recall})
        cells.push_back(accuracy_text(value));
      table.add_row(std::move(cells));
    }
  out << '\n';
  table.print(out);
  out << "\nHits@K    share of edges with a higher score than the K-th best other pair\n"
         "MRR       mean of 1 / the rank of an edge among the pairs that it brings along\n"
         "accuracy, F1, recall: where a probability above 1/2 says that a pair is an edge\n";
}

void print_by_class(std::ostream& out, const NamedMetrics& named, const std::vector<std::string>& class_names) {
  const auto& [model, splits] = named;
  const bool has_test = splits.test.rows > 0, has_valid = splits.valid.rows > 0;
  const Metrics& metrics = has_test ? splits.test : has_valid ? splits.valid : splits.train;
  const std::string rows = has_test ? "test rows" : has_valid ? "validation rows" : "training rows";
  const std::size_t classes = metrics.classes.size();
  out << '\n' << model << ", " << rows << " by class\n";
  Table table({"class", "rows", "precision", "recall", "F1", "AUC"});
  for (std::size_t c = 0; c < classes; ++c) {
    const ClassMetrics& one = metrics.classes[c];
    table.add_row({class_text(class_names, c), count_text(one.support), accuracy_text(one.precision()),
                   accuracy_text(one.recall()), accuracy_text(one.f1()), accuracy_text(one.auc)});
  }
  table.print(out);
  out << '\n' << model << ", " << rows << ": class (down) and what is said (across)\n";
  std::vector<std::string> header{"class"};
  for (std::size_t c = 0; c < classes; ++c) header.push_back(class_text(class_names, c));
  Table confusion(header);
  for (std::size_t c = 0; c < classes; ++c) {
    std::vector<std::string> cells{class_text(class_names, c)};
    for (std::size_t k = 0; k < classes; ++k) cells.push_back(std::to_string(metrics.confusion[c * classes + k]));
    confusion.add_row(std::move(cells));
  }
  confusion.print(out);
}

}  // namespace unweave
