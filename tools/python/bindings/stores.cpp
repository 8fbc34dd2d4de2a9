// tools/python/bindings/stores.cpp - makes stores and their embeddings, and verifies, repairs,
// grows, purges and upgrades them.
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

namespace unweave::python {
namespace {

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
    warn_of(report.dropped);
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
  warn_of(report.dropped);
  return watch.added_to(dict_of(report, spec, nodes));
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

py::dict grow(Machine& machine, const py::object& progress, const Path& store, std::uint64_t nodes,
              const py::object& ids) {
  GrowOptions options{nodes};
  if (!ids.is_none()) options.names = input_file(ids);
  const Stopwatch watch;
  GrowReport report;
  run(machine, progress, [&] { report = grow_store(store, options, machine.resources()); });
  return watch.added_to(dict_of(report));
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

py::dict upgrade(Machine& machine, const Path& store) {
  UpgradeReport report;
  run_whole(machine, [&] { report = upgrade_store(store, machine.resources()); });
  return dict_of(report);
}

py::dict repair(Machine& machine, const py::object& progress, const Path& store, bool cut_journal) {
  std::vector<RepairedFile> files;
  run(machine, progress, [&] { files = repair_store(store, {cut_journal}, machine.resources()); });
  const bool ok = std::none_of(files.begin(), files.end(), [](const RepairedFile& file) { return file.lost; });
  return py::dict(py::arg("ok") = ok, py::arg("files") = object_of(files));
}

}  // namespace

void define_stores(py::module_& module) {
  module.def("import_arrays", &import_arrays);
  module.def("generate", &generate);
  module.def("propagate", &propagate);
  module.def("verify", &verify);
  module.def("grow", &grow);
  module.def("purge", &purge);
  module.def("upgrade", &upgrade);
  module.def("repair", &repair);
}

}  // namespace unweave::python
