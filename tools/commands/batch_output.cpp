// tools/commands/batch_output.cpp - names the counts of a batch, and what a model has missed.
#include "tools/commands/batch_output.h"

#include "tools/cli/message_style.h"
#include "tools/cli/output.h"

namespace unweave {

void add_changes(nlohmann::ordered_json& json, const BatchChanges& changes) {
  json["edges_removed"] = changes.edges_removed;
  json["nodes_removed"] = changes.nodes_removed;
  json["features_removed"] = changes.features_removed;
  json["edges_inserted"] = changes.edges_inserted;
  json["features_set"] = changes.features_set;
  json["labels_set"] = changes.labels_set;
  json["splits_moved"] = changes.splits_moved;
  json["nodes_inserted"] = changes.nodes_inserted;
  json["weights_set"] = changes.weights_set;
  json["expiries_set"] = changes.expiries_set;
}

void add_missed(nlohmann::ordered_json& json, const ModelStep& step) {
  if (!step.stuck.empty()) json["stuck"] = command_text(step.stuck);
  if (step.without_receipts > 0) json["without_receipts"] = step.without_receipts;
}

std::string missed_text(const ModelStep& step) {
  if (step.without_receipts == 0) return {};
  return ", no receipts for " + counted(step.without_receipts, "request") + " that it had missed";
}

}  // namespace unweave
