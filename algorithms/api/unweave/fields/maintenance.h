// algorithms/api/unweave/fields/maintenance.h - the fields of what verifications, purges and
// repairs have found and done.
#pragma once

#include "unweave/fields/field.h"
#include "unweave/maintenance.h"

namespace unweave {
inline namespace v0 {

template <class Visit>
void describe(const VerifyReport& report, Visit&& field) {
  field("ok", report.ok());
  field("checked", report.checked());
  field("errors", each_of(report.findings, [](const Finding& finding) { return MessageText{finding.text}; }));
  field("remarks", message_texts(report.remarks));
  field("files", report.files);
  field("bytes", report.bytes);
  if (report.unfinished_parts > 0) field("unfinished_parts", report.unfinished_parts);
  field("arcs", report.arcs);
  field("rows", report.rows);
  if (report.proved > 0) field("proved_rows", report.proved);
  if (report.rebuilt > 0) {
    field("rebuilt_rows", report.rebuilt);
    field("rebuild_tiles", report.rebuild_tiles);
    field("rebuild_memory_bytes", report.rebuild_bytes);
  }
  field("counts", report.counts);
  field("models", report.models);
  if (report.outdated > 0) field("models_outdated", report.outdated);
  if (report.uncompared > 0) field("models_uncompared", report.uncompared);
  field("certificates", report.certificates);
  field("receipts", report.receipts);
  if (report.receipts == 0) return;
  field("receipts_applied", report.applied);
  field("receipts_rejected", report.rejected);
}

template <class Visit>
void describe(const ModelFault& fault, Visit&& field) {
  field("name", fault.name);
  field("text", MessageText{fault.text});
}
template <class Visit>
void describe(const NewLambda& lambda, Visit&& field) {
  field("name", lambda.name);
  field("before", lambda.before);
  field("after", lambda.after);
}

template <class Visit>
void describe(const GrowReport& report, Visit&& field) {
  field("nodes", report.nodes);
  field("nodes_added", report.nodes_added);
  field("bytes_rewritten", report.bytes_written);
  field("bytes_kept", report.bytes_kept);
}

template <class Visit>
void describe(const UpgradeReport& report, Visit&& field) {
  field("upgraded", report.version != report.version_before);
  field("version_before", report.version_before);
  field("version", report.version);
}

/// `keep_order`: PurgeOptions::keep_order.
template <class Visit>
void describe(const PurgeReport& report, bool keep_order, Visit&& field) {
  field("purged", !report.nothing);
  field("requests", report.nothing ? 0 : report.requests);
  if (report.nothing) {
    field("models_lost", report.gone_models);
    field("models_uncertified", report.uncertified_models);
    field("models_certified", report.certified_models);
    return;
  }
  if (report.nodes_added > 0) field("nodes_added", report.nodes_added);
  if (report.stale_rows > 0) field("stale_rows", report.stale_rows);
  field("bytes_rewritten", report.bytes_written);
  field("bytes_kept", report.bytes_kept);
  field("bytes_removed", report.bytes_removed);
  field("models_kept", report.kept_models);
  field("models_lost", report.gone_models);
  field("models_uncertified", report.uncertified_models);
  if (!report.new_lambdas.empty()) field("lambdas", report.new_lambdas);
  field("order_recomputed", report.has_order && !keep_order);
  field("order_changed", report.order_changed);
  if (!report.order_reason.empty()) field("order_reason", report.order_reason);
  field("proof", report.has_order && keep_order ? "digest" : "bytes");
  field("standardized", report.standardized);
  if (report.times_left > 0) field("times_left", report.times_left);
  field("digest", digest_text(report.digest));
}

template <class Visit>
void describe(const RepairedFile& file, Visit&& field) {
  field("file", file.file);
  field("damage", MessageText{file.damage});
  field("remedy", MessageText{file.remedy});
  field("lost", file.lost);
}

}  // namespace v0
}  // namespace unweave
