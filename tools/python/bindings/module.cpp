// tools/python/bindings/module.cpp - the module unweave._native: what the package unweave is
// written with.
//
// Every function takes the machine that it may use, and where it can be long, who is told of its
// progress.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bindings/parts.h"
#include "bindings/stream.h"
#include "bindings/work.h"
#include "unweave/unweave.h"

namespace unweave::python {

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

namespace {

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
  define_stores(module);
  define_contents(module);
  define_models(module);
  define_plans(module);
  module.def("solvers", &solvers);
  module.def("name_two_kinds", &unweave::name_two_kinds);
  module.def("names_ids", &unweave::names_ids);
  module.def("name_ends", [](const std::vector<std::string>& columns) { return unweave::name_ends(columns); });
  module.def("begin_with_ends",
             [](const std::vector<std::string>& columns) { return unweave::begin_with_ends(columns); });
  module.def("names_no_weight", &unweave::names_no_weight);
}
