// tools/python/bindings/contents.cpp - what a store holds, as arrays and lists.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bindings/array_stream.h"
#include "bindings/options.h"
#include "bindings/parts.h"
#include "bindings/reports.h"

namespace unweave::python {
namespace {

py::dict info(Machine& machine, const py::object& progress, const Path& store, bool digest) {
  StoreInfo found;
  run(machine, progress, [&] { found = describe_store(store, machine.resources(), digest); });
  return dict_of(found);
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

py::object edge_weights(Machine& machine, const py::object& progress, const Path& store, const std::string& relation) {
  std::optional<Reader> reader;
  std::uint64_t count = 0;
  bool are_real = false;
  run_whole(machine, [&] {
    reader.emplace(store, machine.resources());
    count = count_edges(*reader, relation);
    are_real = request_words(*reader).real_weights;
  });
  py::array_t<std::int64_t> out(static_cast<py::ssize_t>(count));
  const std::span<char> memory = bytes_of(out);
  run(machine, progress, [&] {
    ArrayStream stream(memory);
    export_edge_weights(*reader, NpyTarget(stream), relation);
    stream.require_full();
  });
  if (are_real) return out.attr("view")("float64");  // numbers of as many bytes
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

/// The pairs of a split, both ends and 1 for an edge, in a file.
void pairs(Machine& machine, const py::object& progress, const Path& store, const std::string& split,
           const Path& file) {
  run(machine, progress, [&] { export_pairs(Reader(store, machine.resources()), split, NpyTarget(file)); });
}

}  // namespace

void define_contents(py::module_& module) {
  module.def("info", &info);
  module.def("embeddings", &embeddings);
  module.def("model_rows", &model_rows);
  module.def("edges", &edges);
  module.def("edge_weights", &edge_weights);
  module.def("labels", &labels);
  module.def("names", &names);
  module.def("numbers", &numbers);
  module.def("class_names", &class_names);
  module.def("split", &split);
  module.def("pairs", &pairs);
}

}  // namespace unweave::python
