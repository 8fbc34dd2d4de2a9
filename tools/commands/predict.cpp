// tools/commands/predict.cpp - `unweave predict`: what a model says of nodes, or of rows that are
// not in the store.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "storage/input/nodes/label_reader.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"
#include "storage/io/plain_text.h"
#include "storage/npy/id_writer.h"
#include "tools/cli/message_style.h"
#include "tools/cli/npy_output.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_choice.h"
#include "tools/commands/model_notes.h"
#include "tools/commands/model_output.h"
#include "tools/commands/solver_options.h"
#include "unweave/classes.h"
#include "unweave/links.h"
#include "unweave/remarks.h"
#include "unweave/rows.h"

namespace unweave {
namespace {

const std::vector<std::string> kFiles{"out", "scores", "probabilities", "ids"};

bool writes_files(const CommandLine& line) {
  return std::any_of(kFiles.begin(), kFiles.end(), [&](const std::string& option) { return line.has(option); });
}

/// Takes predictions in order and puts them where the options say: into arrays, else on standard
/// output, one line each.
class Predictions {
 public:
  /// `names`: of the nodes whose ids come; null where these are numbers of rows. `class_names`:
  /// empty where classes have numbers alone; arrays have numbers all the same.
  Predictions(const CommandLine& line, const ModelFacts& model, std::uint64_t rows, const NodeNames* names,
              std::vector<std::string> class_names)
      : line_(line),
        names_(names),
        class_names_(std::move(class_names)),
        head_(model.head),
        classes_(model.classes),
        progress_(line.error(), line.shows_progress() && writes_files(line), "predict", rows, "rows") {
    const std::array<std::uint64_t, 2> shape{rows, classes_};
    const auto open = [&](std::optional<NpyWriter>& writer, const char* option, const char* type,
                          std::size_t dimensions) {
      if (line.has(option)) writer.emplace(npy_target(line, option), type, 8, std::span(shape).first(dimensions));
    };
    open(out_, "out", "<i8", 1);
    open(scores_, "scores", "<f8", 2);
    open(probabilities_, "probabilities", "<f8", 2);
    if (line.has("ids")) ids_.emplace(npy_target(line, "ids"), rows, [this](std::uint64_t id) { return text_of(id); });
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
      said_.push_back(std::max_element(row.begin(), row.end()) - row.begin());
      best_.push_back(row[static_cast<std::size_t>(said_.back())]);
      probabilities_in_place(head_, row.data(), row.size());
    }
    if (out_) out_->append(std::span<const std::int64_t>(said_));
    if (probabilities_) probabilities_->append(std::span<const double>(margins));
    if (!writes_files(line_)) print(ids, margins);
    progress_.advance(ids.size());
  }

  void finish() {
    for (std::optional<NpyWriter>* writer : {&out_, &scores_, &probabilities_})
      if (*writer) (*writer)->finish();
    if (ids_) ids_->finish();
  }

 private:
  void print(std::span<const std::int64_t> ids, std::span<const double> probabilities) {
    std::ostream& out = line_.out();
    for (std::size_t i = 0; i < ids.size() && out; ++i) {
      const std::span<const double> row = probabilities.subspan(i * classes_, classes_);
      const double probability = row[static_cast<std::size_t>(said_[i])];
      if (line_.common().json) {
        const std::span<const double> scores = std::span(margins_).subspan(i * classes_, classes_);
        const nlohmann::ordered_json line{{"id", id_json(ids[i])},
                                          {"class", class_json(said_[i])},
                                          {"score", best_[i]},
                                          {"probability", probability},
                                          {"scores", std::vector<double>(scores.begin(), scores.end())},
                                          {"probabilities", std::vector<double>(row.begin(), row.end())}};
        out << text_of_json(line) << '\n';
        continue;
      }
      std::array<char, 96> text{};
      std::snprintf(text.data(), text.size(), "\t%.6g\t%.6g\n", best_[i], probability);
      out << text_of(static_cast<std::uint64_t>(ids[i])) << '\t'
          << printable(class_text(class_names_, static_cast<std::uint64_t>(said_[i]))) << text.data();
    }
    if (!out) throw ResourceError("cannot write to standard output; is the disk full?");
  }

  [[nodiscard]] std::string text_of(std::uint64_t id) const {
    return names_ != nullptr ? names_->text(id) : std::to_string(id);
  }
  /// A number where nodes have numbers.
  [[nodiscard]] nlohmann::ordered_json id_json(std::int64_t id) const {
    if (names_ == nullptr || !names_->given()) return id;
    return names_->plain_text(static_cast<std::uint64_t>(id));
  }

  [[nodiscard]] nlohmann::ordered_json class_json(std::int64_t said) const {
    if (class_names_.empty()) return said;
    return class_text(class_names_, static_cast<std::uint64_t>(said));
  }

  const CommandLine& line_;
  const NodeNames* names_;
  std::vector<std::string> class_names_;
  Head head_;
  std::size_t classes_;
  Progress progress_;
  std::optional<NpyWriter> out_, scores_, probabilities_;
  std::optional<IdWriter> ids_;
  std::vector<std::int64_t> said_;
  std::vector<double> best_, margins_;
};

/// Rows of Z from a file: how many.
std::uint64_t predict_rows(const CommandLine& line, const StoredModel& model, const Reader& reader,
                           Resources& resources) {
  RowFile file(line.get<std::string>("embeddings"), model, resources);
  Predictions predictions(line, model.facts(), file.rows(), nullptr, reader.class_names());
  file.score([&](std::span<const std::int64_t> ids, std::span<double> margins) { predictions.add(ids, margins); });
  predictions.finish();
  return file.rows();
}

/// Whole graphs of the store, by their numbers: how many.
std::uint64_t predict_graphs(const CommandLine& line, const StoredModel& model, const Reader& reader) {
  if (line.has("nodes"))
    throw UsageError("--nodes: the model " + model.name() + " gives classes to graphs; give --graphs, or leave it out");
  const std::optional<std::vector<NodeId>> given =
      line.has("graphs") ? std::optional(read_node_ids(named_input(line.get<std::string>("graphs")))) : std::nullopt;
  const std::vector<NodeId> graphs = given ? *given : graphs_with_nodes(reader);
  std::optional<Predictions> predictions;
  score_graphs(reader, model, graphs, [&](std::span<const std::int64_t> ids, std::span<double> margins) {
    if (!predictions) predictions.emplace(line, model.facts(), graphs.size(), nullptr, reader.class_names());
    predictions->add(ids, margins);
  });
  predictions->finish();
  return graphs.size();
}

/// Nodes of the store: how many.
std::uint64_t predict_nodes(const CommandLine& line, const StoredModel& model, const Reader& reader) {
  if (line.has("graphs"))
    throw UsageError("--graphs: the model " + model.name() + " gives classes to " +
                     std::string(name_of(model.facts().rows.unit())) + "s; leave it out");
  NodeList list;
  if (line.has("nodes")) list = listed_nodes(line, reader);
  const std::optional<std::vector<NodeId>> nodes =
      line.has("nodes") ? std::optional(std::move(list.nodes)) : std::nullopt;
  const std::uint64_t rows = nodes ? nodes->size() : embedded_nodes(reader);
  if (model.facts().rows.unit() == RowUnit::node) note_remark(line, remark_on_blank_nodes(reader, nodes));
  std::optional<Predictions> predictions;
  score_nodes(reader, model, nodes, [&](std::span<const std::int64_t> ids, std::span<double> margins) {
    if (!predictions)
      predictions.emplace(line, model.facts(), rows, &reader.names(),
                          reader.class_names());  // not before the nodes are known to be there
    predictions->add(ids, margins);
  });
  predictions->finish();
  if (!nodes) note_missing_rows(line, reader.path(), reader.nodes() - rows, reader.nodes(), "nothing is said of them");
  return rows;
}

/// What a model says of pairs, into arrays, else on standard output, one line each.
class LinkPredictions {
 public:
  /// `pairs`: how many come; none where nobody knows it before.
  LinkPredictions(const CommandLine& line, const NodeNames& names, std::optional<std::uint64_t> pairs)
      : line_(line), names_(names) {
    if (pairs) {
      const std::array<std::uint64_t, 1> shape{*pairs};
      if (line.has("scores")) scores_.emplace(npy_target(line, "scores"), "<f8", sizeof(double), shape);
      if (line.has("probabilities"))
        probabilities_.emplace(npy_target(line, "probabilities"), "<f8", sizeof(double), shape);
    }
    if (!writes_files(line) && !line.common().json) line.out() << "u\tv\tscore\tprobability\n";
  }

  void add(std::span<const ScoredLink> links) {
    count_ += links.size();
    for (auto [writer, member] :
         {std::pair(&scores_, &ScoredLink::score), {&probabilities_, &ScoredLink::probability}}) {
      if (!*writer) continue;
      std::vector<double> values;
      for (const ScoredLink& link : links) values.push_back(link.*member);
      (*writer)->append(std::span<const double>(values));
    }
    if (!writes_files(line_)) print(links);
  }

  std::uint64_t finish() {
    if (scores_) scores_->finish();
    if (probabilities_) probabilities_->finish();
    return count_;
  }

 private:
  void print(std::span<const ScoredLink> links) {
    std::ostream& out = line_.out();
    for (const ScoredLink& link : links) {
      if (line_.common().json) {
        const nlohmann::ordered_json json{
            {"u", id_json(link.u)}, {"v", id_json(link.v)}, {"score", link.score}, {"probability", link.probability}};
        out << text_of_json(json) << '\n';
        continue;
      }
      std::array<char, 96> text{};
      std::snprintf(text.data(), text.size(), "\t%.6g\t%.6g\n", link.score, link.probability);
      out << names_.text(link.u) << '\t' << names_.text(link.v) << text.data();
    }
    if (!out) throw ResourceError("cannot write to standard output; is the disk full?");
  }
  [[nodiscard]] nlohmann::ordered_json id_json(std::uint64_t id) const {
    if (!names_.given()) return id;
    return names_.plain_text(id);
  }

  const CommandLine& line_;
  const NodeNames& names_;
  std::optional<NpyWriter> scores_, probabilities_;
  std::uint64_t count_ = 0;
};

/// Given pairs, or the best ones of given nodes: how many.
std::uint64_t predict_links(const CommandLine& line, const StoredModel& model, const Reader& reader) {
  if (line.has("links")) {
    const NodeList list = listed_nodes(line, reader, "links");
    note_remark(line, remark_on_blank_nodes(reader, list.nodes));
    LinkPredictions predictions(line, reader.names(), std::nullopt);
    best_links(reader, model, list.nodes, static_cast<std::size_t>(line.get<Count>("top").value),
               [&](std::span<const ScoredLink> links) { predictions.add(links); });
    return predictions.finish();
  }
  const PairListing listing = read_pairs(reader, line.get<std::string>("pairs"),
                                         [&](const std::string& remark) { line.note(command_text(remark)); });
  note_remark(line, remark_on_blank_ends(reader, listing.pairs));
  LinkPredictions predictions(line, reader.names(), listing.pairs.size());
  score_links(reader, model, listing.pairs, [&](std::span<const ScoredLink> links) { predictions.add(links); });
  return predictions.finish();
}

bool asks_links(const CommandLine& line) {
  return line.has("pairs") || line.has("links");
}

void check_options(const CommandLine& line) {
  if (line.has("graphs") && line.has("embeddings")) throw UsageError("give --graphs or --embeddings, not both");
  if (line.has("nodes") && line.has("embeddings")) throw UsageError("give --nodes or --embeddings, not both");
  if (line.has("pairs") && line.has("links")) throw UsageError("give --pairs or --links, not both");
  for (const char* const of : {"pairs", "links"})
    for (const char* const other : {"nodes", "embeddings", "out", "ids"})
      if (line.has(of) && line.has(other))
        throw UsageError("--" + std::string(of) + " and --" + other +
                         ": the former is of pairs of nodes; give one of them");
  if (line.has("links") && writes_files(line))
    throw UsageError("--links prints its pairs, which no array has: leave out --scores and --probabilities");
  if (line.given("top") && !line.has("links")) throw UsageError("--top needs --links");
  if (line.has("ids") && line.has("embeddings"))
    throw UsageError("--ids: rows of --embeddings are not nodes of the store; predictions come in their order");
  check_npy_outputs(line, kFiles, line.positional(0));
}

}  // namespace

void run_predict(CommandLine& line) {
  line.describe(
      "Says which class a model gives nodes that have an embedding, or rows that are not in the store, by its\n"
      "published weights. Prints one line a node: id, class, score (margin) and probability of the class, parted by tabs;\n"
      "with --json also the scores and the probabilities of all classes. With files it prints no lines; the file name -\n"
      "is standard output. Probabilities: of " +
          names_of_heads(true) + " its own; of one-vs-rest heads each class's own over their sum.",
      {"STORE"},
      "unweave predict demo/debian.store > classes.tsv\n"
      "  unweave predict demo/debian.store --out classes.npy --probabilities p.npy");
  add_model_choice(line, "the model of this solver; may be left out where there is only one");
  auto add = line.options().add_options();
  add("nodes", po::value<std::string>()->value_name("F"),
      "of these nodes, ids as .npy or text, in order; default: all that have an embedding, in the order of ids");
  add("pairs", po::value<std::string>()->value_name("F"),
      "of a model of train --pair: of these pairs of nodes, in any form of import --edges: a line a pair, in order: both "
      "nodes, score and probability of an edge");
  add("links", po::value<std::string>()->value_name("F"),
      "of a model of train --pair: for each of these nodes, ids as .npy or text, the best pairs with a node that it has no edge to");
  add("top", po::value<Count>()->value_name("K")->default_value({10}), "with --links: so many of each");
  add("graphs", po::value<std::string>()->value_name("F"),
      "for a model of train --pool: of these graphs, numbers as .npy or text, in order; default: all that have nodes, ascending");
  add("embeddings", po::value<std::string>()->value_name("Z.npy"),
      "of these rows instead, as `export --embeddings` writes them, or `export --rows` for a model of --rows-of: any "
      "number type; a row above norm 1 is divided by its norm, as training rows were; id is the number of the row");
  add("out", po::value<std::string>()->value_name("F.npy"), "classes, int64, one a row");
  add("scores", po::value<std::string>()->value_name("F.npy"), "margins, float64, rows x classes");
  add("probabilities", po::value<std::string>()->value_name("F.npy"), "probabilities, float64, rows x classes");
  add("ids", po::value<std::string>()->value_name("F.npy"),
      "whose rows these are, int64; F.txt has ids as they are printed, one a line");
  if (!line.parse()) return;
  line.on_interrupt("the store is as it was, and a file named is whole or as it was; run the command again");
  check_options(line);

  Resources resources({line.common().memory_bytes});
  const OpenedModel opened = open_with_model(line.positional(0), model_selection(line), resources);
  const StoredModel& model = opened.model;
  const Reader& reader = opened.reader;
  if (!line.has("embeddings")) require_propagation(reader, model);
  check_node_numbers(line, reader.names(), {"ids"});
  note_state(line, model, reader);
  const bool are_of_graphs = model.facts().rows.unit() == RowUnit::graph;
  const std::uint64_t rows = asks_links(line)         ? predict_links(line, model, reader)
                             : line.has("embeddings") ? predict_rows(line, model, reader, resources)
                             : are_of_graphs          ? predict_graphs(line, model, reader)
                                                      : predict_nodes(line, model, reader);
  const auto takes_stdout = [&](const std::string& option) {
    return line.has(option) && line.get<std::string>(option) == "-";
  };
  if (!writes_files(line) || std::any_of(kFiles.begin(), kFiles.end(), takes_stdout)) return;
  Figures figures;
  figures.add("solver", "solver", model.solver(), model.solver());
  figures.add("name", "model", model.name(), model.name());
  figures.count("rows", "rows", rows);
  figures.count("classes", "classes", model.facts().classes);
  const bool outdated = model.facts().sequence != reader.acknowledged();
  figures.add("outdated", "outdated", outdated, outdated ? "yes" : "no");
  figures.print(line.out(), line.common().json);
}

}  // namespace unweave
