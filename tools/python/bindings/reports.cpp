// tools/python/bindings/reports.cpp - hands over to Python what the library reports.
#include "bindings/reports.h"

#include "bindings/options.h"

namespace unweave::python {
namespace {

py::list faults_of(const std::vector<ModelFault>& faults) {
  py::list out;
  for (const ModelFault& fault : faults)
    out.append(py::dict(py::arg("name") = fault.name, py::arg("text") = text_of(fault.text)));
  return out;
}

}  // namespace

std::string text_of(const std::string& message) {
  // Python keeps bytes that are not UTF-8 as surrogates, which text_of() there shows by their bytes.
  const auto text = py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "surrogateescape"));
  if (!text) throw py::error_already_set();
  return py::module_::import("unweave.errors").attr("text_of")(text).cast<std::string>();
}

py::dict dict_of(const PurgeReport& report, bool keep_order) {
  py::dict out;
  out["purged"] = !report.nothing;
  out["requests"] = report.requests;
  out["models_lost"] = faults_of(report.lost_models);
  out["models_uncertified"] = faults_of(report.uncertified_models);
  if (report.nothing) {
    out["models_certified"] = report.certified_models;
    return out;
  }
  if (report.nodes_added > 0) out["nodes_added"] = report.nodes_added;
  if (report.stale_rows > 0) out["stale_rows"] = report.stale_rows;
  out["bytes_rewritten"] = report.bytes_written;
  out["bytes_kept"] = report.bytes_kept;
  out["bytes_removed"] = report.bytes_removed;
  out["models_kept"] = report.kept_models;
  if (!report.new_lambdas.empty()) {
    py::list lambdas;
    for (const NewLambda& one : report.new_lambdas)
      lambdas.append(
          py::dict(py::arg("name") = one.name, py::arg("before") = one.before, py::arg("after") = one.after));
    out["lambdas"] = lambdas;
  }
  out["order_recomputed"] = report.has_order && !keep_order;
  out["order_changed"] = report.order_changed;
  if (!report.order_reason.empty()) out["order_reason"] = report.order_reason;
  out["proof"] = report.has_order && keep_order ? "digest" : "bytes";
  out["standardized"] = report.standardized;
  if (report.times_left > 0) out["times_left"] = report.times_left;
  out["digest"] = digest_text(report.digest);
  out["next"] = report.propagated ? "store.verify(rebuild=True)" : "store.verify()";
  return out;
}

}  // namespace unweave::python
