// tools/python/bindings/models.cpp - trains models, says what they say, and what is said of them.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/options.h"
#include "bindings/parts.h"
#include "bindings/reports.h"
#include "bindings/stream.h"

namespace unweave::python {
namespace {

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

py::list certificates(const Path& store, const py::dict& selection) {
  py::list out;
  for (const StoredModel& model : read_models(store, model_selection(selection))) out.append(model.certificate());
  return out;
}

py::list requests(Machine& machine, const Path& store, const std::optional<std::string>& id) {
  std::vector<RequestRecord> records;
  run_whole(machine, [&] {
    visit_requests(store, id, machine.resources(), [&](const RequestRecord& record) { records.push_back(record); });
  });
  return object_of(records);
}

}  // namespace

void define_models(py::module_& module) {
  module.def("train", &train);
  module.def("certify", &certify);
  module.def("audit", &audit);
  module.def("predict", &predict);
  module.def("predict_links", &predict_links);
  module.def("predict_rows", &predict_rows);
  module.def("evaluate", &evaluate);
  module.def("export_model", &export_model_file);
  module.def("certificates", &certificates);
  module.def("requests", &requests);
}

}  // namespace unweave::python
