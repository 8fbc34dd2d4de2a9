// tools/python/bindings/reports.cpp - hands over to Python what the library reports.
#include "bindings/reports.h"

#include <array>
#include <cmath>
#include <utility>

namespace unweave::python {
namespace {

py::object value_of(const std::optional<double>& value) {
  return value ? py::object(py::float_(*value)) : py::object(py::none());
}

py::dict dict_of(const Metrics& metrics) {
  py::dict out;
  out["rows"] = metrics.rows;
  out["accuracy"] = value_of(metrics.accuracy());
  out["majority"] = value_of(metrics.majority());
  out["macro_f1"] = value_of(metrics.macro_f1());
  out["macro_auc"] = value_of(metrics.macro_auc());
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
  const std::string marked = shown(message, {"\x01", "\x02", "\x03", "\x04", "\x05"});
  return py::module_::import("unweave.errors").attr("text_of")(marked).cast<std::string>();
}

py::dict dict_of(const BuildReport& report) {
  py::dict out;
  out["nodes"] = report.nodes;
  out["edges"] = report.edges;
  out["features"] = report.features;
  out["classes"] = report.classes;
  out["max_weight"] = report.max_weight > 1 ? py::object(py::int_(report.max_weight)) : py::object(py::none());
  out["weight_sum"] = report.max_weight > 1 ? py::object(py::int_(report.weight_sum)) : py::object(py::none());
  out["edges_read"] = report.edges_read;
  out["self_loops"] = report.self_loops;
  out["duplicates"] = report.duplicates;
  out["unlabelled_split_ids"] = report.unlabelled_split_ids;
  out["order"] = report.order;
  out["bits_per_arc"] = report.bits_per_arc;
  return out;
}

py::dict dict_of(const ImportReport& report) {
  py::dict out = dict_of(static_cast<const BuildReport&>(report));
  out["one_way_edges"] = report.one_way_edges;
  out["ignored_weights"] = report.ignored_weights;
  out["named"] = report.named ? py::object(py::int_(*report.named)) : py::object(py::none());
  out["rows_scaled"] = report.rows_scaled ? py::object(py::int_(*report.rows_scaled)) : py::object(py::none());
  out["largest_norm"] = report.largest_norm;
  constexpr std::array kSplits{"train", "valid", "test"};
  for (std::size_t i = 0; i < kSplits.size(); ++i)
    out[kSplits[i]] = report.splits[i] ? py::object(py::int_(*report.splits[i])) : py::object(py::none());
  out["resumed"] = report.resumed.has_value();
  out["remarks"] = texts_of(report.remarks);
  return out;
}

py::dict dict_of(const StoreInfo& info) {
  py::dict out;
  out["nodes"] = info.nodes;
  out["edges"] = info.edges;
  out["arcs"] = info.arcs;
  out["weight_sum"] = info.max_weight > 1 ? py::object(py::int_(info.weight_sum)) : py::object(py::none());
  out["max_weight"] = info.max_weight > 1 ? py::object(py::int_(info.max_weight)) : py::object(py::none());
  out["features"] = info.features;
  out["classes"] = info.classes;
  out["targets"] = info.targets;
  out["named"] = info.named ? py::object(py::int_(*info.named)) : py::object(py::none());
  out["bits_per_arc"] = value_of(info.bits_per_arc);
  out["order"] = info.order;
  out["stale_rows"] = info.stale_rows;
  out["expiries"] = info.expiries;
  out["next_expiry"] = info.next_expiry ? py::object(py::str(time_text(*info.next_expiry))) : py::object(py::none());
  out["lazy_error_bound"] = info.lazy_error_bound;
  out["pending_requests"] = info.pending_requests;
  out["acknowledged"] = info.acknowledged;
  out["pending_purge"] = info.pending_purge;
  out["labelled"] = info.labelled;
  out["train"] = info.train;
  out["valid"] = info.valid;
  out["test"] = info.test;
  out["standardized"] = info.standardized;
  out["sparse_features"] = info.feature_layout.sparse;
  out["feature_type"] = feature_type_name(info.feature_layout.type);
  py::dict bytes;
  for (const auto& [folder, size] : info.bytes) bytes[py::str(folder)] = size;
  out["bytes"] = bytes;
  out["hops"] = py::none();
  if (info.propagation) {
    const PropagationSpec& spec = *info.propagation;
    out["hops"] = spec.levels;
    out["scheme"] = spec.scheme;
    out["weights"] = spec.weights;
    out["rho"] = spec.rho;
    out["scale_bits"] = spec.scale_bits;
    out["rows"] = spec.all_rows ? "all" : "labelled";
    out["keep"] = keep_name(spec.kept.keep);
    if (!spec.kept.has_sums()) {
      out["keep_type"] = feature_type_name(spec.kept.type);
      out["keep_exponent"] = spec.kept.exponent;
    }
  }
  py::list models;
  for (const ModelInfo& model : info.models) {
    py::dict one;
    one["name"] = model.name;
    one["solver"] = model.solver;
    one["id"] = model.id;
    one["digest"] = model.digest;
    one["sequence"] = model.sequence;
    one["outdated"] = model.outdated;
    one["other_propagation"] = model.other_propagation;
    one["damage"] = model.damage.empty() ? py::object(py::none()) : py::object(py::str(text_of(model.damage)));
    models.append(one);
  }
  out["models"] = models;
  out["digest"] = info.digest ? py::object(py::str(digest_text(*info.digest))) : py::object(py::none());
  return out;
}

py::dict dict_of(const PropagateReport& report) {
  py::dict out;
  out["rows"] = report.rows;
  out["tiles"] = report.tiles;
  out["tile_width"] = report.tile_width;
  out["sweep_seconds"] = report.sweep_seconds;
  out["sync_seconds"] = report.sync_seconds;
  out["arc_features_per_second"] = report.arc_features_per_second;
  return out;
}

py::dict dict_of(const TileReport& report) {
  const auto columns_of = [](const std::vector<TileColumns>& all) {
    py::list out;
    for (const TileColumns& some : all) out.append(py::make_tuple(some.first, some.first + some.count - 1));
    return out;
  };
  py::dict out;
  out["columns"] = columns_of(report.columns);
  out["jobs_done"] = report.done;
  out["jobs_there"] = report.there;
  out["jobs_busy"] = report.busy;
  out["tiles"] = report.tiles;
  out["rows"] = report.rows;
  out["missing"] = columns_of(report.missing);
  out["sweep_seconds"] = report.sweep_seconds;
  return out;
}

py::dict dict_of(const Accuracies& accuracies) {
  py::dict out;
  out["train"] = value_of(accuracies.train);
  out["valid"] = value_of(accuracies.valid);
  out["test"] = value_of(accuracies.test);
  return out;
}

py::dict dict_of(const StepReport& report) {
  py::dict out;
  out["certified"] = report.certified;
  out["claim"] = report.claim ? py::object(py::str(*report.claim)) : py::object(py::none());
  out["epsilon"] = report.epsilon;
  out["delta"] = report.delta;
  out["residual_bound"] = report.residual_bound;
  out["budget"] = report.budget;
  out["retrained"] = report.retrained;
  out["for_tests"] = report.for_tests;
  out["steps"] = report.steps;
  out["passes"] = report.passes;
  return out;
}

py::dict dict_of(const TrainedModel& model) {
  py::dict out = dict_of(model.report);
  out["solver"] = model.facts.solver;
  out["name"] = model.facts.name;
  out["head"] = head_name(model.facts.options);
  out["lambda"] = model.facts.options.lambda;
  out["lambda_chosen"] = model.facts.options.lambda_chosen;
  out["intercept"] = model.facts.options.intercept;
  out["training_rows"] = model.rows;
  out["accuracy"] = dict_of(model.accuracies);
  out["majority"] = dict_of(model.majority);
  out["public_key"] = model.public_key;
  return out;
}

py::dict dict_of(const CertifiedModel& model) {
  const GivenFigures& figures = model.given;
  py::dict given;
  given["form"] = figures.form;
  given["missing_classes"] = figures.missing;
  given["gradient_bound"] = figures.gradient_bound;
  given["distance_bound"] = figures.distance_bound;
  given["certified"] = false;
  if (solver_info(model.trained.facts.solver).noisy) given["releasing_tau"] = figures.releasing_tau();
  given["accuracy"] = dict_of(figures.accuracies);
  py::dict out = dict_of(model.trained);
  out["given"] = given;
  out["as_given"] = model.as_given;
  out["weights"] = model.weights;
  out["weights_changed"] = model.changed;
  out["largest_change"] = model.largest_change;
  out["distance"] = model.distance;
  return out;
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
  out["epsilon"] = result.epsilon;
  out["delta"] = result.delta;
  out["epsilon_lower_bound"] = evidence.epsilon;
  out["epsilon_provable"] = result.most;
  out["refuted"] = result.refuted();
  if (result.guesses) {
    out["guesses"] = result.guesses->made;
    out["guesses_right"] = result.guesses->right;
  }
  return out;
}

py::dict dict_of(const PropagationForecast& forecast) {
  py::dict out;
  out["rows"] = forecast.rows;
  out["arcs"] = forecast.arcs;
  const std::pair<const char*, bool> counted{"exact", forecast.exact};
  out[counted.first] = counted.second;
  out["rows_error"] = forecast.rows_error;
  out["arcs_error"] = forecast.arcs_error;
  out["tiles"] = forecast.tiles;
  out["tile_columns"] = forecast.tile_columns;
  out["memory_bytes"] = forecast.memory_bytes;
  out["tile_bytes"] = forecast.tile_bytes;
  out["worker_bytes"] = forecast.worker_bytes;
  out["write_buffer_bytes"] = forecast.write_buffer_bytes;
  out["memory_available_bytes"] = forecast.memory_available_bytes;
  out["state_bytes"] = forecast.state_bytes;
  out["feature_bytes"] = forecast.feature_bytes;
  out["cone_bytes"] = forecast.cone_bytes;
  out["disk_bytes"] = forecast.disk_bytes;
  out["disk_free_bytes"] = forecast.disk_free_bytes;
  out["bytes_read"] = forecast.bytes_read;
  out["bytes_written"] = forecast.bytes_written;
  out["fits"] = forecast.fits();
  for (const char* const field : {"sweep_arc_features_per_second", "disk_bytes_per_second", "seconds_predicted",
                                  "predicted", "graph_resident", "features_resident", "limit"})
    out[field] = py::none();
  if (forecast.pace) {
    out["sweep_arc_features_per_second"] = value_of(forecast.pace->sweep_arc_features_per_second);
    out["disk_bytes_per_second"] = forecast.pace->disk_bytes_per_second;
    out["seconds_predicted"] = forecast.pace->seconds;
    const PropagationSeconds& parts = forecast.pace->parts;
    py::dict predicted;
    predicted["cone"] = parts.cone;
    predicted["fill"] = parts.fill;
    predicted["sweep"] = parts.sweep;
    predicted["write"] = parts.write;
    out["predicted"] = predicted;
    out["graph_resident"] = forecast.pace->graph_resident;
    out["features_resident"] = forecast.pace->features_resident;
    out["limit"] = forecast.pace->waits_for_disk ? "disk" : "gather";
  }
  return out;
}

py::dict dict_of(const StreamForecast& forecast, std::uint64_t batches) {
  const StreamPlan& plan = forecast.plan;
  py::list rows, arcs, ways, push, recompute;
  const auto seconds = [](double value) { return std::isnan(value) ? py::object(py::none()) : py::float_(value); };
  for (const LevelForecast& level : plan.levels) {
    rows.append(level.rows);
    arcs.append(level.arcs);
    ways.append(level.recompute ? "recompute" : "push");
    push.append(seconds(level.push_seconds));
    recompute.append(seconds(level.recompute_seconds));
  }
  py::dict out;
  out["batches"] = batches;
  out["requests"] = forecast.first.requests;
  out["applied"] = forecast.first.applied;
  out["rows"] = rows;
  out["arcs"] = arcs;
  out["plan"] = ways;
  out["seconds_push"] = push;
  out["seconds_recompute"] = recompute;
  out["seconds_predicted"] = plan.seconds;
  out["stale_rows"] = forecast.stale_rows;
  out["memory_bytes"] = plan.memory_bytes;
  out["memory_available_bytes"] = forecast.memory_available_bytes;
  out["disk_bytes"] = plan.disk_bytes;
  out["disk_free_bytes"] = forecast.disk_free_bytes;
  out["bytes_written"] = plan.written_bytes;
  out["spills"] = !forecast.fits_memory();
  out["fits"] = forecast.fits();
  return out;
}

py::dict dict_of(const PurgeForecast& forecast) {
  const PurgePlan& plan = forecast.plan;
  py::dict out;
  out["computes_order"] = plan.computes_order;
  out["models"] = plan.models;
  out["trainings"] = plan.trainings;
  out["training_memory_bytes"] = plan.training_memory_bytes;
  out["bytes_rewritten"] = plan.written_bytes;
  out["temporary_bytes"] = plan.temporary_bytes;
  out["disk_bytes"] = plan.disk_bytes();
  out["disk_free_bytes"] = forecast.disk_free_bytes;
  out["fits"] = forecast.fits();
  return out;
}

py::dict dict_of(const BatchOutcome& outcome) {
  const BatchReport& batch = outcome.batch;
  py::dict out;
  out["refused"] = outcome.refused;
  out["requests"] = batch.changes.requests;
  out["applied"] = batch.changes.applied;
  out["rejected"] = batch.changes.rejected;
  out["edges_removed"] = batch.changes.edges_removed;
  out["nodes_removed"] = batch.changes.nodes_removed;
  out["features_removed"] = batch.changes.features_removed;
  out["edges_inserted"] = batch.changes.edges_inserted;
  out["features_set"] = batch.changes.features_set;
  out["labels_set"] = batch.changes.labels_set;
  out["splits_moved"] = batch.changes.splits_moved;
  out["nodes_inserted"] = batch.changes.nodes_inserted;
  out["weights_set"] = batch.changes.weights_set;
  out["expiries_set"] = batch.changes.expiries_set;
  out["last_request"] = batch.last_request;
  py::list statuses;
  for (const RequestStatus status : batch.changes.statuses) statuses.append(name_of(status));
  out["statuses"] = statuses;
  out["rows_touched"] = batch.update.rows_touched;
  out["seconds_journal"] = batch.seconds_journal;
  out["seconds_propagate"] = batch.seconds_propagate;
  out["seconds"] = outcome.seconds;
  out["seconds_unlearn"] = outcome.seconds_unlearn;
  out["changes_entry"] = outcome.changes_entry ? py::object(py::int_(*outcome.changes_entry)) : py::object(py::none());
  out["model"] = outcome.step ? py::object(dict_of(*outcome.step)) : py::object(py::none());
  return out;
}

py::dict dict_of(const VerifyReport& report) {
  py::dict out;
  out["ok"] = report.ok();
  py::list findings;
  for (const Finding& finding : report.findings)
    findings.append(py::dict(py::arg("text") = text_of(finding.text), py::arg("file") = finding.file,
                             py::arg("unreadable") = finding.unreadable));
  out["findings"] = findings;
  out["remarks"] = texts_of(report.remarks);
  out["checked"] = report.checked();
  out["files"] = report.files;
  out["bytes"] = report.bytes;
  out["proved_rows"] = report.proved;
  out["rebuilt_rows"] = report.rebuilt;
  out["models"] = report.models;
  out["certificates"] = report.certificates;
  out["receipts"] = report.receipts;
  return out;
}

py::dict dict_of(const PurgeReport& report) {
  py::dict out;
  out["nothing"] = report.nothing;
  out["digest"] = report.nothing ? py::object(py::none()) : py::object(py::str(digest_text(report.digest)));
  out["requests"] = report.requests;
  out["bytes_written"] = report.bytes_written;
  out["bytes_kept"] = report.bytes_kept;
  out["bytes_removed"] = report.bytes_removed;
  out["kept_models"] = report.kept_models;
  out["nodes_added"] = report.nodes_added;
  out["lost_models"] = faults_of(report.lost_models);
  out["uncertified_models"] = faults_of(report.uncertified_models);
  return out;
}

py::dict dict_of(const ModelEvaluation& evaluation) {
  py::dict out;
  out["name"] = evaluation.name;
  out["solver"] = evaluation.solver;
  out["sequence"] = evaluation.sequence;
  out["outdated"] = evaluation.outdated;
  out["present"] = evaluation.present;
  out["classes"] = evaluation.classes;
  out["train"] = dict_of(evaluation.metrics.train);
  out["valid"] = dict_of(evaluation.metrics.valid);
  out["test"] = dict_of(evaluation.metrics.test);
  if (evaluation.comparison) {
    out["retrained_distance"] = value_of(evaluation.comparison->retrained_distance);
    out["retrained_cosine"] = value_of(evaluation.comparison->retrained_cosine);
  }
  return out;
}

}  // namespace unweave::python
