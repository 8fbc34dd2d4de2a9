// tools/python/bindings/plans.cpp - what work is going to take.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/options.h"
#include "bindings/parts.h"
#include "bindings/reports.h"
#include "bindings/stream.h"

namespace unweave::python {
namespace {

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

}  // namespace

void define_plans(py::module_& module) {
  module.def("plan_propagation", &plan_propagation);
  module.def("plan_stream", &plan_stream);
  module.def("plan_purge", &plan_purge);
}

}  // namespace unweave::python
