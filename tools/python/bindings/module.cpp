// tools/python/bindings/module.cpp - the module unweave._native: what the package unweave is
// written with.
//
// Every function takes the machine that it may use, and where it can be long, who is told of its
// progress.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/array_stream.h"
#include "bindings/options.h"
#include "bindings/reports.h"
#include "bindings/stream.h"
#include "bindings/work.h"
#include "unweave/unweave.h"

namespace unweave::python {
namespace {

using Path = std::filesystem::path;
using Ids = std::optional<std::vector<std::int64_t>>;

/// Ids as the library has them. Throws UsageError for those that no node can have.
std::optional<std::vector<NodeId>> node_ids(const Ids& ids, std::uint64_t nodes) {
  if (!ids) return std::nullopt;
  std::vector<NodeId> out;
  out.reserve(ids->size());
  for (const std::int64_t id : *ids) {
    if (id < 0 || static_cast<std::uint64_t>(id) >= nodes)
      throw UsageError("node " + std::to_string(id) + " is not in the store, whose ids are 0 to " +
                       std::to_string(nodes - 1));
    out.push_back(static_cast<NodeId>(id));
  }
  return out;
}

/// How long a call takes, from its construction on.
class Stopwatch {
 public:
  [[nodiscard]] py::dict added_to(py::dict report) const {
    report["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return report;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

template <class T>
std::span<char> bytes_of(py::array_t<T>& array) {
  return {reinterpret_cast<char*>(array.mutable_data()), static_cast<std::size_t>(array.nbytes())};
}

py::dict import_arrays(Machine& machine, const py::object& progress, const Path& store, const py::dict& options) {
  const ImportOptions how = import_options(options);
  const Stopwatch watch;
  ImportReport report;
  run(machine, progress, [&] { report = import_store(store, how, machine.resources()); });
  // What arrays will take is not foretold.
  return watch.added_to(with_fields(dict_of(report), Prediction<ImportSeconds>()));
}

py::dict generate(Machine& machine, const py::object& progress, const Path& store, const py::dict& options) {
  const GenerateOptions how = generate_options(options);
  const Stopwatch watch;
  BuildReport report;
  run(machine, progress, [&] { report = generate_store(store, how, machine.resources()); });
  return watch.added_to(dict_of(report));
}

py::dict info(Machine& machine, const py::object& progress, const Path& store, bool digest) {
  StoreInfo found;
  run(machine, progress, [&] { found = describe_store(store, machine.resources(), digest); });
  return dict_of(found);
}

py::dict propagate(Machine& machine, const py::object& progress, const Path& store, const py::dict& options) {
  const Stopwatch watch;
  if (const std::optional<TileChoice> choice = tile_choice(options)) {
    std::optional<Reader> reader;
    run_whole(machine, [&] { reader.emplace(store, machine.resources()); });
    const PropagationSpec spec = propagation_spec(options, reader->labelled_rows());
    TileReport report;
    run(machine, progress, [&] {
      report = propagate_tiles(*reader, spec, *choice);
      reader.reset();
    });
    return watch.added_to(dict_of(report));
  }
  std::optional<Writer> writer;
  run_whole(machine, [&] { writer.emplace(store, machine.resources()); });
  const PropagationSpec spec = propagation_spec(options, writer->labelled_rows());
  const PropagateHow how = propagate_how(options);
  PropagateReport report;
  std::uint64_t nodes = 0;
  const std::string remark = remark_on_lost_models(*writer, spec);
  run(machine, progress, [&] {
    report = writer->propagate(spec, {}, how);
    nodes = writer->nodes();
    writer.reset();
  });
  warn_of({remark});
  return watch.added_to(dict_of(report, spec, nodes));
}

py::dict train(Machine& machine, const py::object& progress, const Path& store, const py::dict& options) {
  TrainOptions how = train_options(options);
  const Stopwatch watch;
  TrainedModel model;
  std::string remark;
  how.before_replacement = [&](const ModelFacts& present, const ModelFacts& next) {
    remark = remark_on_model(present, next);
  };
  run(machine, progress, [&] { model = Writer(store, machine.resources()).train(how); });
  warn_of({remark});
  return watch.added_to(dict_of(model));
}

py::dict certify(Machine& machine, const py::object& progress, const Path& store, const Path& weights,
                 const std::optional<Path>& intercepts, const py::dict& options) {
  const TrainOptions how = train_options(options);
  const Stopwatch watch;
  const ForeignModel files{weights, intercepts};
  CertifiedModel model;
  run(machine, progress, [&] {
    Writer writer(store, machine.resources());
    model = certify_model(writer, files, how);
  });
  return watch.added_to(dict_of(model, files));
}

py::list audit(Machine& machine, const py::object& progress, const Path& store, const py::dict& options,
               const std::optional<std::vector<std::string>>& lines) {
  AttackOptions how = attack_options(options);
  const ModelSelection selection = model_selection(options);
  const double miss = 1 - how.confidence;
  std::vector<Attack> attacks;
  std::vector<AuditResult> results;
  run(machine, progress, [&] {
    if (lines) {
      const Reader reader(store, machine.resources());
      how.requests = requests_of(*lines, request_words(reader));
    }
    attacks = plan_attacks(store, selection, how, machine.resources());
    how.confidence = 1 - miss / static_cast<double>(attacks.size());
    for (const Attack& attack : attacks) results.push_back(run_attack(store, attack, how, machine.resources()));
  });
  py::list out;
  for (std::size_t i = 0; i < results.size(); ++i) out.append(dict_of(attacks[i], how, results[i]));
  return out;
}

py::dict plan_propagation(Machine& machine, const py::object& progress, const Path& store, const py::dict& options) {
  std::optional<Reader> reader;
  run_whole(machine, [&] { reader.emplace(store, machine.resources()); });
  const PropagationSpec spec = propagation_spec(options, reader->labelled_rows());
  PropagationForecast forecast;
  run(machine, progress, [&] {
    forecast = forecast_propagation(*reader, spec);
    reader.reset();
  });
  return dict_of(forecast);
}

/// `first`: lines of the first batch; `requests`: how many there are in all.
py::dict plan_stream(Machine& machine, const py::object& progress, const Path& store,
                     const std::vector<std::string>& first, std::uint64_t requests, std::uint64_t batch) {
  const std::uint64_t batches = (requests + batch - 1) / batch;
  StreamForecast forecast;
  run(machine, progress, [&] {
    Reader reader(store, machine.resources());
    const std::vector<Request> read = requests_of(first, request_words(reader));
    forecast = forecast_stream(std::move(reader), read, batches);
  });
  return dict_of(forecast, batches);
}

py::dict plan_purge(Machine& machine, const py::object& progress, const Path& store, bool keep_order) {
  PurgeOptions options;
  options.keep_order = keep_order;
  PurgeForecast forecast;
  run(machine, progress, [&] { forecast = forecast_purge(Reader(store, machine.resources()), options); });
  return dict_of(forecast);
}

/// Rows of Z in memory, or in a file where one is named; then it returns how many nodes among those
/// asked for have none.
py::object embeddings(Machine& machine, const py::object& progress, const Path& store, const Ids& nodes,
                      const std::vector<double>& weights, bool missing_as_nan, const std::optional<Path>& file,
                      const std::optional<Path>& ids_file) {
  const MissingRows missing = missing_as_nan ? MissingRows::nan : MissingRows::leave_out;
  if (file) {
    ExportedRows rows;
    run(machine, progress, [&] {
      const Reader reader(store, machine.resources());
      rows = export_embeddings(reader, node_ids(nodes, reader.nodes()), weights, NpyTarget(*file), missing,
                               ids_file ? std::optional(NpyTarget(*ids_file)) : std::nullopt);
    });
    return py::int_(rows.missing);
  }
  std::optional<Reader> reader;
  std::optional<std::vector<NodeId>> wanted;
  std::size_t rows = 0, columns = 0;
  run_whole(machine, [&] {
    reader.emplace(store, machine.resources());
    wanted = node_ids(nodes, reader->nodes());
    rows = wanted ? wanted->size() : static_cast<std::size_t>(embedded_nodes(*reader));
    const std::optional<PropagationSpec>& spec = reader->propagation();
    const std::size_t blocks = spec ? blocks_of(weights.empty() ? spec->weights : weights, spec->levels) : 1;
    columns = std::max<std::size_t>(blocks, 1) * reader->features();
  });
  py::array_t<float> out({rows, columns});
  const std::span<char> memory = bytes_of(out);
  run(machine, progress, [&] {
    ArrayStream stream(memory);
    export_embeddings(*reader, wanted, weights, NpyTarget(stream), missing);
    stream.require_full();
    reader.reset();
  });
  return out;
}

/// Rows of a model's program in memory, or in a file where one is named; then nothing is returned.
/// `nodes`: none for the training nodes that have a label.
py::object model_rows(Machine& machine, const py::object& progress, const Path& store, const py::dict& selection,
                      const Ids& nodes, const std::optional<Path>& file) {
  const ModelSelection selected = model_selection(selection);  // reads a dict of Python
  std::optional<OpenedModel> opened;
  std::vector<NodeId> wanted;
  std::uint64_t count = 0;
  bool are_of_nodes = true;
  std::string remark;
  run_whole(machine, [&] {
    opened.emplace(open_with_model(store, selected, machine.resources()));
    const RowUnit unit = opened->model.facts().rows.unit();
    are_of_nodes = unit == RowUnit::node;
    if (nodes && !are_of_nodes)
      throw UsageError(option("nodes") + ": the rows of this model are of " + std::string(name_of(unit)) +
                       "s; leave it out");
    if (are_of_nodes) wanted = nodes ? *node_ids(nodes, opened->reader.nodes()) : training_ids(opened->reader);
    count = are_of_nodes ? wanted.size() : count_training_rows(opened->reader, opened->model);
    remark = remark_on_state(opened->model, opened->reader);
  });
  const auto write = [&](const NpyTarget& target) {
    are_of_nodes ? export_rows(opened->reader, opened->model, wanted, target)
                 : export_training_rows(opened->reader, opened->model, target);
  };
  py::object out = py::none();
  if (file) {
    run(machine, progress, [&] {
      write(NpyTarget(*file));
      opened.reset();
    });
  } else {
    py::array_t<float> rows({static_cast<std::size_t>(count), opened->model.facts().row_width});
    const std::span<char> memory = bytes_of(rows);
    run(machine, progress, [&] {
      ArrayStream stream(memory);
      write(NpyTarget(stream));
      stream.require_full();
      opened.reset();
    });
    out = std::move(rows);
  }
  warn_of({remark});
  return out;
}

/// Edges in memory, or in a file where one is named; then nothing is returned.
py::object edges(Machine& machine, const py::object& progress, const Path& store, const std::string& relation,
                 const std::optional<Path>& file) {
  if (file) {
    run(machine, progress,
        [&] { export_edges(Reader(store, machine.resources()), NpyTarget(*file), std::nullopt, relation); });
    return py::none();
  }
  std::optional<Reader> reader;
  std::uint64_t count = 0;
  run_whole(machine, [&] {
    reader.emplace(store, machine.resources());
    count = count_edges(*reader, relation);
  });
  py::array_t<std::int64_t> out({static_cast<std::size_t>(count), std::size_t{2}});
  const std::span<char> memory = bytes_of(out);
  run(machine, progress, [&] {
    ArrayStream stream(memory);
    export_edges(*reader, NpyTarget(stream), std::nullopt, relation);
    stream.require_full();
  });
  return out;
}

py::object edge_weights(Machine& machine, const py::object& progress, const Path& store) {
  std::optional<Reader> reader;
  std::uint64_t count = 0;
  bool are_real = false;
  run_whole(machine, [&] {
    reader.emplace(store, machine.resources());
    count = count_edges(*reader, {});
    are_real = request_words(*reader).real_weights;
  });
  py::array_t<std::int64_t> out(static_cast<py::ssize_t>(count));
  const std::span<char> memory = bytes_of(out);
  run(machine, progress, [&] {
    ArrayStream stream(memory);
    export_edge_weights(*reader, NpyTarget(stream));
    stream.require_full();
  });
  if (are_real) return out.attr("view")("float64");  // numbers of as many bytes
  return std::move(out);
}

/// Names of all nodes, None for a node without one; None where nodes have numbers alone.
py::object names(Machine& machine, const py::object& progress, const Path& store) {
  std::ostringstream text;
  bool given = false;
  run(machine, progress, [&] {
    const Reader reader(store, machine.resources());
    given = reader.names().given();
    if (given) export_names(reader, NpyTarget(text));
  });
  if (!given) return py::none();
  py::list out;
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);)
    out.append(line.empty() ? py::object(py::none()) : py::object(py::str(is_quoted(line) ? unquoted(line) : line)));
  return out;
}

std::vector<std::uint64_t> numbers(Machine& machine, const Path& store, const std::vector<std::string>& words) {
  std::vector<std::uint64_t> found;
  run_whole(machine, [&] {
    const Reader reader(store, machine.resources());
    if (!reader.names().given()) throw UsageError(store.string() + ": its nodes have numbers alone");
    for (const std::string& word : words) {
      found.push_back(word.starts_with('#') ? reader.names().read(word).id : reader.names().find(word));
      if (found.back() >= reader.nodes()) throw UsageError("no node has the name '" + word + "'");
    }
  });
  return found;
}

/// Names of the classes; none where they have numbers alone.
std::vector<std::string> class_names(Machine& machine, const Path& store) {
  std::vector<std::string> names;
  run_whole(machine, [&] { names = Reader(store, machine.resources()).class_names(); });
  return names;
}

/// The nodes of a split, ascending; None where the store has no such split.
py::object split(Machine& machine, const Path& store, const std::string& name) {
  std::vector<NodeId> nodes;
  bool given = false;
  run_whole(machine, [&] {
    const Reader reader(store, machine.resources());
    nodes = nodes_of_split(reader, name);
    given = has_split(reader, name);
  });
  if (!given) return py::none();
  py::array_t<std::int64_t> out(static_cast<py::ssize_t>(nodes.size()));
  std::copy(nodes.begin(), nodes.end(), out.mutable_data());
  return std::move(out);
}

py::array_t<std::int64_t> labels(Machine& machine, const py::object& progress, const Path& store) {
  std::optional<Reader> reader;
  run_whole(machine, [&] { reader.emplace(store, machine.resources()); });
  py::array_t<std::int64_t> out(static_cast<py::ssize_t>(reader->nodes()));
  const std::span<char> memory = bytes_of(out);
  run(machine, progress, [&] {
    ArrayStream stream(memory);
    export_labels(*reader, NpyTarget(stream));
    stream.require_full();
  });
  return out;
}

/// Ids and, as asked for, classes, margins or probabilities of nodes, or of whole graphs where the
/// model's rows are of these, and how many nodes are left out.
py::dict predict(Machine& machine, const py::object& progress, const Path& store, const py::dict& selection,
                 const Ids& nodes, const Ids& graphs, const std::string& what) {
  const ModelSelection selected = model_selection(selection);  // reads a dict of Python
  std::optional<OpenedModel> opened;
  std::optional<std::vector<NodeId>> wanted;
  std::size_t rows = 0, missing = 0;
  bool are_of_graphs = false;
  std::string remark, blank;
  run_whole(machine, [&] {
    const auto& [model, reader] = opened.emplace(open_with_model(store, selected, machine.resources()));
    require_propagation(reader, model);
    remark = remark_on_state(model, reader);
    are_of_graphs = model.facts().rows.unit() == RowUnit::graph;
    if (are_of_graphs ? nodes.has_value() : graphs.has_value())
      throw UsageError(option(are_of_graphs ? "nodes" : "graphs") + ": the model " + model.name() +
                       " gives classes to " + (are_of_graphs ? "graphs; give " : "nodes; give ") +
                       option(are_of_graphs ? "graphs" : "nodes"));
    if (are_of_graphs) {
      wanted = graphs ? *node_ids(graphs, count_graphs(reader)) : graphs_with_nodes(reader);
      rows = wanted->size();
      return;
    }
    wanted = node_ids(nodes, reader.nodes());
    rows = wanted ? wanted->size() : static_cast<std::size_t>(embedded_nodes(reader));
    if (!wanted) missing = static_cast<std::size_t>(reader.nodes()) - rows;
    blank = remark_on_blank_nodes(reader, wanted);
  });
  const StoredModel& model = opened->model;
  const Reader& reader = opened->reader;
  const std::size_t classes = model.facts().classes;
  const Head head = model.facts().head;
  py::array_t<std::int64_t> ids(static_cast<py::ssize_t>(rows)), said;
  py::array_t<double> scores;
  if (what == "classes")
    said = py::array_t<std::int64_t>(static_cast<py::ssize_t>(rows));
  else
    scores = py::array_t<double>({rows, classes});
  std::int64_t* const to_ids = ids.mutable_data();
  std::int64_t* const to_said = what == "classes" ? said.mutable_data() : nullptr;
  double* const to_scores = what == "classes" ? nullptr : scores.mutable_data();
  run(machine, progress, [&] {
    std::size_t row = 0;
    const auto score = are_of_graphs ? score_graphs : score_nodes;
    score(reader, model, wanted, [&](std::span<const std::int64_t> some, std::span<double> margins) {
      for (std::size_t i = 0; i < some.size(); ++i, ++row) {
        double* const one = margins.data() + i * classes;
        to_ids[row] = some[i];
        if (to_said != nullptr) {
          to_said[row] = std::max_element(one, one + classes) - one;
          continue;
        }
        if (what == "probabilities") probabilities_in_place(head, one, classes);
        std::copy_n(one, classes, to_scores + row * classes);
      }
    });
    opened.reset();
  });
  py::dict out;
  out["ids"] = ids;
  out["missing"] = missing;
  if (to_said != nullptr)
    out["classes"] = said;
  else
    out["scores"] = scores;
  warn_of({remark, blank});
  return out;
}

/// What a model says of pairs, int64 [m, 2], or of the best pairs of each of some nodes: both ends,
/// a score and the probability of an edge, one a pair.
py::dict predict_links(Machine& machine, const py::object& progress, const Path& store, const py::dict& selection,
                       const std::optional<py::array_t<std::int64_t, py::array::c_style>>& pairs, const Ids& nodes,
                       std::size_t top) {
  const ModelSelection selected = model_selection(selection);
  std::optional<OpenedModel> opened;
  std::vector<Edge> wanted;
  std::optional<std::vector<NodeId>> of;
  std::string remark, blank;
  const std::span<const std::int64_t> given =
      pairs ? std::span<const std::int64_t>(pairs->data(), static_cast<std::size_t>(pairs->size()))
            : std::span<const std::int64_t>();
  run_whole(machine, [&] {
    const auto& [model, reader] = opened.emplace(open_with_model(store, selected, machine.resources()));
    remark = remark_on_state(model, reader);
    of = node_ids(nodes, reader.nodes());
    for (std::size_t i = 0; i + 1 < given.size(); i += 2) {
      for (const std::int64_t id : {given[i], given[i + 1]})
        if (id < 0 || static_cast<std::uint64_t>(id) >= reader.nodes())
          throw UsageError("pairs: row " + std::to_string(i / 2) + " names node " + std::to_string(id) +
                           ", and the store has the nodes 0 to " + std::to_string(reader.nodes() - 1));
      wanted.push_back({static_cast<NodeId>(given[i]), static_cast<NodeId>(given[i + 1])});
    }
    blank = of ? remark_on_blank_nodes(reader, of) : remark_on_blank_ends(reader, wanted);
  });
  std::vector<ScoredLink> found;
  run(machine, progress, [&] {
    const auto take = [&](std::span<const ScoredLink> links) { found.insert(found.end(), links.begin(), links.end()); };
    if (of)
      best_links(opened->reader, opened->model, *of, top, take);
    else
      score_links(opened->reader, opened->model, wanted, take);
    opened.reset();
  });
  py::array_t<std::int64_t> ends({found.size(), std::size_t{2}});
  py::array_t<double> scores(static_cast<py::ssize_t>(found.size())),
      probabilities(static_cast<py::ssize_t>(found.size()));
  for (std::size_t i = 0; i < found.size(); ++i) {
    ends.mutable_data()[2 * i] = static_cast<std::int64_t>(found[i].u);
    ends.mutable_data()[2 * i + 1] = static_cast<std::int64_t>(found[i].v);
    scores.mutable_data()[i] = found[i].score;
    probabilities.mutable_data()[i] = found[i].probability;
  }
  py::dict out;
  out["pairs"] = ends;
  out["scores"] = scores;
  out["probabilities"] = probabilities;
  warn_of({remark, blank});
  return out;
}

/// The pairs of a split, both ends and 1 for an edge, in a file.
void pairs(Machine& machine, const py::object& progress, const Path& store, const std::string& split,
           const Path& file) {
  run(machine, progress, [&] { export_pairs(Reader(store, machine.resources()), split, NpyTarget(file)); });
}

/// Margins or probabilities of rows in a file that are not in the store.
py::array_t<double> predict_rows(Machine& machine, const py::object& progress, const Path& store,
                                 const py::dict& selection, const Path& file, const std::string& what) {
  const StoredModel model = read_model(store, model_selection(selection));
  const std::size_t classes = model.facts().classes;
  const Head head = model.facts().head;
  std::optional<RowFile> rows;
  run_whole(machine, [&] { rows.emplace(file.string(), model, machine.resources()); });
  py::array_t<double> scores({static_cast<std::size_t>(rows->rows()), classes});
  double* to_scores = scores.mutable_data();
  run(machine, progress, [&] {
    rows->score([&](std::span<const std::int64_t> some, std::span<double> margins) {
      for (std::size_t i = 0; i < some.size(); ++i)
        if (what == "probabilities") probabilities_in_place(head, margins.data() + i * classes, classes);
      to_scores =
          std::copy(margins.begin(), margins.begin() + static_cast<std::ptrdiff_t>(some.size() * classes), to_scores);
    });
    rows.reset();
  });
  return scores;
}

py::list evaluate(Machine& machine, const py::object& progress, const Path& store, const py::dict& selection,
                  bool retrain) {
  const ModelSelection wanted = model_selection(selection);
  std::vector<ModelEvaluation> found;
  EvaluationScope scope;
  run(machine, progress, [&] {
    const std::vector<StoredModel> models = read_models(store, wanted);
    const Reader reader(store, machine.resources());
    scope.class_names = reader.class_names();
    EvaluateOptions options;
    options.retrain = retrain;
    Evaluator evaluator(reader, nullptr, options);
    for (const StoredModel& model : models)
      for (ModelEvaluation& one : evaluator.evaluate(model)) found.push_back(std::move(one));
  });
  py::list out;
  for (const ModelEvaluation& one : found) out.append(dict_of(one, scope));
  return out;
}

py::dict verify(Machine& machine, const py::object& progress, const Path& store,
                const std::optional<std::uint64_t>& sample, bool rebuild,
                const std::optional<std::string>& public_key) {
  VerifyOptions options;
  options.sample = sample;
  options.rebuild = rebuild;
  options.public_key = public_key;
  VerifyReport report;
  run(machine, progress, [&] { report = verify_store(store, options, machine.resources()); });
  return dict_of(report);
}

py::dict purge(Machine& machine, const py::object& progress, const Path& store, bool keep_order, bool without_feeds,
               const std::optional<Path>& key, std::optional<std::uint64_t> nodes, const py::object& ids) {
  PurgeOptions options;
  options.nodes = nodes;
  if (!ids.is_none()) options.names = input_file(ids);
  options.without_feeds = without_feeds;
  options.keep_order = keep_order;
  options.key = key.value_or(Path());
  const Stopwatch watch;
  PurgeReport report;
  run(machine, progress, [&] { report = purge_store(store, options, machine.resources()); });
  std::vector<std::string> removed;
  for (const ModelFault& gone : report.gone_models) {
    const auto is_this = [&](const ModelFault& lost) { return lost.name == gone.name; };
    if (std::none_of(report.lost_models.begin(), report.lost_models.end(), is_this)) removed.push_back(gone.name);
  }
  warn_of({remark_on_removed_models(removed)});
  for (const ModelFault& lost : report.lost_models)
    warn_of({"the model " + lost.name + " could not be brought up to date, and went: " + lost.text});
  py::dict out = dict_of(report, keep_order);
  if (report.nothing) return out;
  out["next"] = report.propagated ? "store.verify(rebuild=True)" : "store.verify()";
  return watch.added_to(out);
}

py::dict grow(Machine& machine, const py::object& progress, const Path& store, std::uint64_t nodes,
              const py::object& ids) {
  GrowOptions options{nodes};
  if (!ids.is_none()) options.names = input_file(ids);
  const Stopwatch watch;
  GrowReport report;
  run(machine, progress, [&] { report = grow_store(store, options, machine.resources()); });
  return watch.added_to(dict_of(report));
}

py::dict repair(Machine& machine, const py::object& progress, const Path& store, bool cut_journal) {
  std::vector<RepairedFile> files;
  run(machine, progress, [&] { files = repair_store(store, {cut_journal}, machine.resources()); });
  const bool ok = std::none_of(files.begin(), files.end(), [](const RepairedFile& file) { return file.lost; });
  return py::dict(py::arg("ok") = ok, py::arg("files") = object_of(files));
}

void export_model_file(Machine& machine, const Path& store, const py::dict& selection, const Path& file) {
  const ModelSelection selected = model_selection(selection);  // reads a dict of Python
  std::string remark;
  run_whole(machine, [&] {
    const OpenedModel opened = open_with_model(store, selected, machine.resources());
    export_model(opened.model, NpyTarget(file));
    remark = remark_on_state(opened.model, opened.reader);
  });
  warn_of({remark});
}

py::list requests(Machine& machine, const Path& store, const std::optional<std::string>& id) {
  std::vector<RequestRecord> records;
  run_whole(machine, [&] {
    visit_requests(store, id, machine.resources(), [&](const RequestRecord& record) { records.push_back(record); });
  });
  return object_of(records);
}

py::list certificates(const Path& store, const py::dict& selection) {
  py::list out;
  for (const StoredModel& model : read_models(store, model_selection(selection))) out.append(model.certificate());
  return out;
}

py::list solvers() {
  py::list out;
  for (const SolverInfo& solver : all_solver_infos()) {
    py::list parameters;
    for (const Parameter& own : solver.parameters)
      parameters.append(
          py::dict(py::arg("name") = own.name, py::arg("default") = own.standard, py::arg("text") = text_of(own.text)));
    out.append(py::dict(py::arg("name") = solver.name, py::arg("meaning") = text_of(solver.meaning),
                        py::arg("linear") = solver.linear, py::arg("networks") = solver.networks,
                        py::arg("noisy") = solver.noisy, py::arg("parameters") = parameters));
  }
  return out;
}

}  // namespace
}  // namespace unweave::python

PYBIND11_MODULE(_native, module) {
  using namespace unweave::python;  // NOLINT: the module is made of it
  translate_errors();
  module.attr("__version__") = unweave::version();
  py::class_<Machine, std::shared_ptr<Machine>>(module, "Machine")
      .def(py::init<std::uint64_t, std::size_t>(), py::arg("memory_bytes") = 0, py::arg("threads") = 0);
  define_stream(module);
  module.def("import_arrays", &import_arrays);
  module.def("generate", &generate);
  module.def("info", &info);
  module.def("propagate", &propagate);
  module.def("train", &train);
  module.def("certify", &certify);
  module.def("audit", &audit);
  module.def("plan_propagation", &plan_propagation);
  module.def("plan_stream", &plan_stream);
  module.def("plan_purge", &plan_purge);
  module.def("embeddings", &embeddings);
  module.def("model_rows", &model_rows);
  module.def("edges", &edges);
  module.def("edge_weights", &edge_weights);
  module.def("labels", &labels);
  module.def("names", &names);
  module.def("numbers", &numbers);
  module.def("class_names", &class_names);
  module.def("split", &split);
  module.def("predict", &predict);
  module.def("predict_links", &predict_links);
  module.def("pairs", &pairs);
  module.def("predict_rows", &predict_rows);
  module.def("evaluate", &evaluate);
  module.def("verify", &verify);
  module.def("grow", &grow);
  module.def("purge", &purge);
  module.def("repair", &repair);
  module.def("export_model", &export_model_file);
  module.def("certificates", &certificates);
  module.def("requests", &requests);
  module.def("solvers", &solvers);
  module.def("name_two_kinds", &unweave::name_two_kinds);
  module.def("names_ids", &unweave::names_ids);
  module.def("name_ends", [](const std::vector<std::string>& columns) { return unweave::name_ends(columns); });
  module.def("begin_with_ends",
             [](const std::vector<std::string>& columns) { return unweave::begin_with_ends(columns); });
  module.def("names_no_weight", &unweave::names_no_weight);
}
