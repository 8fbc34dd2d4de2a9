// tools/commands/predict.cpp - `unweave predict`: what a model says of nodes, or of rows that are not in the store.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/scoring.h"
#include "algorithms/learning/head.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/recorded_release.h"
#include "engine/resources/memory.h"
#include "storage/input/feature_reader.h"
#include "storage/input/label_reader.h"
#include "storage/io/error.h"
#include "tools/cli/npy_output.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_choice.h"
#include "tools/commands/solver_options.h"

namespace unweave {
namespace {

const std::vector<std::string> kFiles{"out", "scores", "probabilities", "ids"};

bool writes_files(const CommandLine& line) {
  return std::any_of(kFiles.begin(), kFiles.end(), [&](const std::string& option) { return line.has(option); });
}

/// Takes predictions in order and puts them where the options say: into arrays, else on standard output, one line each.
class Predictions {
 public:
  Predictions(const CommandLine& line, const Model& model, std::uint64_t rows)
      : line_(line),
        head_(model.head),
        classes_(shape_of(model).classes),
        progress_(line.error(), line.shows_progress() && writes_files(line), "predict", rows, "rows") {
    const std::array<std::uint64_t, 2> shape{rows, classes_};
    const auto open = [&](std::optional<NpyWriter>& writer, const char* option, const char* type,
                          std::size_t dimensions) {
      if (line.has(option)) writer.emplace(npy_target(line, option), type, 8, std::span(shape).first(dimensions));
    };
    open(out_, "out", "<i8", 1);
    open(scores_, "scores", "<f8", 2);
    open(probabilities_, "probabilities", "<f8", 2);
    open(ids_, "ids", "<i8", 1);
    if (!writes_files(line) && !line.common().json) line.out() << "id\tclass\tscore\tprobability\n";
  }

  void add(std::span<const std::int64_t> ids, std::span<double> margins) {
    if (ids_) ids_->append(ids);
    if (scores_) scores_->append(std::span<const double>(margins));
    said_.clear();
    best_.clear();
    if (!writes_files(line_) && line_.common().json) margins_.assign(margins.begin(), margins.end());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::span<double> row = margins.subspan(i * classes_, classes_);
      said_.push_back(static_cast<std::int64_t>(largest_of(row)));
      best_.push_back(row[static_cast<std::size_t>(said_.back())]);
      probabilities_in_place(head_, row.data(), row.size());
    }
    if (out_) out_->append(std::span<const std::int64_t>(said_));
    if (probabilities_) probabilities_->append(std::span<const double>(margins));
    if (!writes_files(line_)) print(ids, margins);
    progress_.advance(ids.size());
  }

  void finish() {
    for (std::optional<NpyWriter>* writer : {&out_, &scores_, &probabilities_, &ids_})
      if (*writer) (*writer)->finish();
  }

 private:
  void print(std::span<const std::int64_t> ids, std::span<const double> probabilities) {
    std::ostream& out = line_.out();
    for (std::size_t i = 0; i < ids.size() && out; ++i) {
      const std::span<const double> row = probabilities.subspan(i * classes_, classes_);
      const double probability = row[static_cast<std::size_t>(said_[i])];
      if (line_.common().json) {
        const std::span<const double> scores = std::span(margins_).subspan(i * classes_, classes_);
        out << nlohmann::ordered_json{{"id", ids[i]},
                                      {"class", said_[i]},
                                      {"score", best_[i]},
                                      {"probability", probability},
                                      {"scores", std::vector<double>(scores.begin(), scores.end())},
                                      {"probabilities", std::vector<double>(row.begin(), row.end())}}
            << '\n';
        continue;
      }
      std::array<char, 96> text{};
      std::snprintf(text.data(), text.size(), "%lld\t%lld\t%.6g\t%.6g\n", static_cast<long long>(ids[i]),
                    static_cast<long long>(said_[i]), best_[i], probability);
      out << text.data();
    }
    if (!out) throw ResourceError("cannot write to standard output; is the disk full?");
  }

  const CommandLine& line_;
  Head head_;
  std::size_t classes_;
  Progress progress_;
  std::optional<NpyWriter> out_, scores_, probabilities_, ids_;
  std::vector<std::int64_t> said_;
  std::vector<double> best_, margins_;
};

/// Rows of Z from a file: how many.
std::uint64_t predict_rows(const CommandLine& line, const ModelRecord& record, MemoryBudget& budget) {
  const auto& file = line.get<std::string>("embeddings");
  const std::unique_ptr<FeatureReader> reader = open_features({file, {}});
  const std::size_t width = row_width(record), classes = shape_of(record.model).classes;
  if (reader->columns() != width)
    throw DataError(file + ": rows of " + std::to_string(reader->columns()) + " numbers; the model takes rows of " +
                    std::to_string(width) + ", as `unweave export --embeddings` writes them");
  Predictions predictions(line, record.model, reader->rows());
  const ScoredChunk chunk(record.model, budget);
  const std::size_t share = std::max<std::size_t>(1, (std::size_t{1} << 20) / width);  // a MiB of numbers at a time
  const std::size_t most = std::min(chunk.rows, share);
  const Reservation memory = budget.reserve(most * width * (sizeof(double) + sizeof(float)), "rows to predict");
  std::vector<float> rows;
  std::vector<double> margins;
  std::vector<std::int64_t> ids;
  for (FeatureBatch batch; reader->next(batch, most * width);) {
    rows.assign(batch.rows * width, 0);
    for (std::size_t i = 0; i < batch.rows; ++i)
      for (std::size_t k = batch.sparse ? batch.indptr[i] : i * width,
                       end = batch.sparse ? batch.indptr[i + 1] : k + width;
           k < end; ++k) {
        const auto value = static_cast<float>(batch.values[k]);
        const std::size_t column = batch.sparse ? batch.indices[k] : k - i * width;
        if (!std::isfinite(value))
          throw InputError(file, "row " + std::to_string(batch.first_row + i) + ", column " + std::to_string(column),
                           "a number that float32 cannot hold", "scale the rows");
        rows[i * width + column] = value;
      }
    ids.resize(batch.rows);
    for (std::size_t i = 0; i < batch.rows; ++i) ids[i] = static_cast<std::int64_t>(batch.first_row + i);
    margins.resize(batch.rows * classes);
    score_rows(record, rows, budget, margins.data());
    predictions.add(ids, margins);
  }
  predictions.finish();
  return reader->rows();
}

/// Nodes of the store: how many.
std::uint64_t predict_nodes(const CommandLine& line, const ModelRecord& record, const LiveStore& store) {
  std::optional<std::vector<NodeId>> nodes;
  if (line.has("nodes")) nodes = read_node_ids({line.get<std::string>("nodes"), {}}, store.contents().num_nodes());
  const Embedding& embedding = store.embedding();
  const std::uint64_t rows = nodes ? nodes->size() : embedding.cone().rows(embedding.levels());
  std::optional<Predictions> predictions;
  const auto sink = [&](std::span<const std::int64_t> ids, std::span<double> margins) {
    if (!predictions) predictions.emplace(line, record.model, rows);  // not before the nodes are known to be there
    predictions->add(ids, margins);
  };
  if (nodes)
    score_some(store, record, *nodes, sink);
  else
    score_all(store, record, sink);
  predictions->finish();
  if (!nodes)
    note_missing_rows(line, store, store.contents().num_nodes() - rows, store.contents().num_nodes(),
                      "nothing is said of them");
  return rows;
}

void check_options(const CommandLine& line) {
  if (line.has("nodes") && line.has("embeddings")) throw UsageError("give --nodes or --embeddings, not both");
  if (line.has("ids") && line.has("embeddings"))
    throw UsageError("--ids: rows of --embeddings are not nodes of the store; predictions come in their order");
  check_npy_outputs(line, kFiles, line.positional(0));
}

}  // namespace

void run_predict(CommandLine& line) {
  line.describe(
      "Says which class a model gives nodes that have an embedding, or rows that are not in the store, by its\n"
      "published weights. Prints one line a node: id, class, score (margin) and probability of the class, parted by "
      "tabs;\n"
      "with --json also the scores and the probabilities of all classes. With files it prints no lines; the file name "
      "-\n"
      "is standard output. Probabilities: of " +
          names_of_heads(true) + " its own; of one-vs-rest heads each class's own over their sum.",
      {"STORE"},
      "unweave predict demo/debian.store > classes.tsv\n"
      "  unweave predict demo/debian.store --out classes.npy --probabilities p.npy");
  add_model_choice(line, "the model of this solver; may be left out where there is only one");
  auto add = line.options().add_options();
  add("nodes", po::value<std::string>()->value_name("F"),
      "of these nodes, ids as .npy or text, in order; default: all that have an embedding, in the order of ids");
  add("embeddings", po::value<std::string>()->value_name("Z.npy"),
      "of these rows instead, as `export --embeddings` writes them: any number type; a row above norm 1 is divided by "
      "its norm, as training rows were; id is "
      "the number of the row");
  add("out", po::value<std::string>()->value_name("F.npy"), "classes, int64, one a row");
  add("scores", po::value<std::string>()->value_name("F.npy"), "margins, float64, rows x classes");
  add("probabilities", po::value<std::string>()->value_name("F.npy"), "probabilities, float64, rows x classes");
  add("ids", po::value<std::string>()->value_name("F.npy"), "whose rows these are, int64");
  if (!line.parse()) return;
  line.on_interrupt("the store is as it was, and a file named is whole or as it was; run the command again");
  check_options(line);

  MemoryBudget budget(line.budget_bytes());
  const ModelRecord record = chosen_model(line, line.positional(0));
  const LiveStore store(line.positional(0), Access::read, budget, release_ledger());
  if (!line.has("embeddings")) check_propagation(record, store.manifest(), store.path());
  note_state(line, record, store);
  const std::uint64_t rows =
      line.has("embeddings") ? predict_rows(line, record, budget) : predict_nodes(line, record, store);
  const auto takes_stdout = [&](const std::string& option) {
    return line.has(option) && line.get<std::string>(option) == "-";
  };
  if (!writes_files(line) || std::any_of(kFiles.begin(), kFiles.end(), takes_stdout)) return;
  Figures figures;
  figures.add("solver", "solver", record.model.solver, record.model.solver);
  figures.add("name", "model", name_of(record), name_of(record));
  figures.count("rows", "rows", rows);
  figures.count("classes", "classes", shape_of(record.model).classes);
  figures.add("outdated", "outdated", record.model.sequence != store.sequence(),
              record.model.sequence != store.sequence() ? "yes" : "no");
  figures.print(line.out(), line.common().json);
}

}  // namespace unweave
