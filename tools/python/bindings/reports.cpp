// tools/python/bindings/reports.cpp - hands over to Python what the library reports.
#include "bindings/reports.h"

#include <cmath>
#include <utility>

#include "bindings/options.h"

namespace unweave::python {
namespace {

template <class T>
py::object value_of(const std::optional<T>& value) {
  return value ? py::cast(*value) : py::object(py::none());
}

/// A number, or None where it is not finite, as JSON has null.
py::object finite(double value) {
  return std::isfinite(value) ? py::object(py::float_(value)) : py::object(py::none());
}

void add_accuracies(py::dict& out, const Accuracies& accuracies) {
  out["accuracy_train"] = value_of(accuracies.train);
  out["accuracy_valid"] = value_of(accuracies.valid);
  out["accuracy_test"] = value_of(accuracies.test);
}

py::dict dict_of(const Metrics& metrics, bool by_class, const std::vector<std::string>& class_names) {
  py::dict out;
  out["rows"] = metrics.rows;
  out["majority"] = value_of(metrics.majority());
  out["micro_f1"] = value_of(metrics.micro_f1());
  out["macro_f1"] = value_of(metrics.macro_f1());
  out["macro_auc"] = value_of(metrics.macro_auc());
  out["classes_without_auc"] = metrics.classes_without_auc();
  if (!by_class) return out;
  const std::size_t classes = metrics.classes.size();
  py::list each, confusion;
  for (std::size_t c = 0; c < classes; ++c) {
    const ClassMetrics& one = metrics.classes[c];
    py::dict figures;
    figures["class"] = class_names.empty() ? py::object(py::int_(c)) : py::object(py::str(class_names.at(c)));
    figures["rows"] = one.support;
    figures["predicted"] = one.predicted;
    figures["right"] = one.right;
    figures["precision"] = value_of(one.precision());
    figures["recall"] = value_of(one.recall());
    figures["f1"] = value_of(one.f1());
    figures["auc"] = value_of(one.auc);
    each.append(figures);
    const auto row = metrics.confusion.begin() + static_cast<std::ptrdiff_t>(c * classes);
    confusion.append(std::vector<std::uint64_t>(row, row + static_cast<std::ptrdiff_t>(classes)));
  }
  out["classes"] = each;
  out["confusion"] = confusion;
  return out;
}

py::list texts_of(const std::vector<std::string>& messages) {
  py::list texts;
  for (const std::string& message : messages) texts.append(text_of(message));
  return texts;
}

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

py::dict dict_of(const Attack& attack, const AttackOptions& options, const AuditResult& result) {
  const Evidence& evidence = result.evidence;
  py::dict out;
  out["solver"] = attack.model.solver();
  out["name"] = attack.model.name();
  out["canary"] = attack.canary.name;
  out["attack"] = result.attack;
  out["trials"] = result.guesses ? 1 : options.trials;
  out["tests"] = evidence.trials;
  out["hits_unlearned"] = evidence.unlearned_hits;
  out["hits_retrained"] = evidence.retrained_hits;
  out["confidence"] = options.confidence;
  out["certified"] = result.certified;
  out["claim"] = result.claim ? py::object(py::str(*result.claim)) : py::object(py::none());
  out["epsilon"] = finite(result.epsilon);
  out["delta"] = result.delta;
  out["epsilon_lower_bound"] = finite(evidence.epsilon);
  out["epsilon_provable"] = finite(result.most);
  out["refuted"] = result.refuted();
  if (result.guesses) {
    out["guesses"] = result.guesses->made;
    out["guesses_right"] = result.guesses->right;
  }
  return out;
}

py::dict dict_of(const VerifyReport& report) {
  py::dict out;
  out["ok"] = report.ok();
  out["checked"] = report.checked();
  py::list errors;
  for (const Finding& finding : report.findings) errors.append(text_of(finding.text));
  out["errors"] = errors;
  out["remarks"] = texts_of(report.remarks);
  out["files"] = report.files;
  out["bytes"] = report.bytes;
  const auto counted = [&](const char* name, std::uint64_t value) {
    if (value > 0) out[name] = value;
  };
  counted("unfinished_parts", report.unfinished_parts);
  out["arcs"] = report.arcs;
  out["rows"] = report.rows;
  counted("proved_rows", report.proved);
  if (report.rebuilt > 0) {
    out["rebuilt_rows"] = report.rebuilt;
    out["rebuild_tiles"] = report.rebuild_tiles;
    out["rebuild_memory_bytes"] = report.rebuild_bytes;
  }
  out["counts"] = report.counts;
  out["models"] = report.models;
  counted("models_outdated", report.outdated);
  counted("models_uncompared", report.uncompared);
  out["certificates"] = report.certificates;
  out["receipts"] = report.receipts;
  if (report.receipts > 0) {
    out["receipts_applied"] = report.applied;
    out["receipts_rejected"] = report.rejected;
  }
  return out;
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

py::dict dict_of(const ModelEvaluation& evaluation, const std::vector<std::string>& class_names) {
  py::dict out;
  out["solver"] = evaluation.solver;
  out["name"] = evaluation.name;
  out["sequence"] = evaluation.sequence;
  out["outdated"] = evaluation.outdated;
  if (evaluation.seconds) out["seconds"] = *evaluation.seconds;
  add_accuracies(out, evaluation.metrics.accuracies());
  const bool by_class = evaluation.metrics.by_class;
  py::dict metrics;
  metrics["train"] = dict_of(evaluation.metrics.train, by_class, class_names);
  metrics["valid"] = dict_of(evaluation.metrics.valid, by_class, class_names);
  metrics["test"] = dict_of(evaluation.metrics.test, by_class, class_names);
  out["metrics"] = metrics;
  if (!evaluation.comparison) return out;
  const Comparison& of = *evaluation.comparison;
  out["retrained_distance"] = value_of(of.retrained_distance);
  out["retrained_cosine"] = value_of(of.retrained_cosine);
  for (const auto& [rows, found] : {std::pair("train", &of.train), std::pair("test", &of.test)}) {
    const std::string name(rows);
    out[py::str("kl_" + name)] = *found ? finite((*found)->divergence) : py::object(py::none());
    out[py::str("agreement_" + name)] = *found ? finite((*found)->agreement) : py::object(py::none());
  }
  return out;
}

}  // namespace unweave::python
