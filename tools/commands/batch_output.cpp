// tools/commands/batch_output.cpp - names the counts of a batch.
#include "tools/commands/batch_output.h"

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

}  // namespace unweave
