// engine/ingest/import_context.h - what the steps of an import share.
#pragma once

#include <string>

#include "engine/graph/node_count.h"
#include "engine/graph/node_names.h"
#include "engine/ingest/import_report.h"
#include "engine/ingest/store_builder.h"
#include "engine/ingest/store_import.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/io/types.h"

namespace unweave {

struct ImportContext {
  const ImportOptions& options;
  MemoryBudget& budget;
  WorkMeter& meter;
  Ranks& job;
  NodeCount& nodes;
  StoreBuilder& builder;
  ImportReport& report;
  const NodeNames* names;  ///< null where nodes have numbers alone
};

/// The options with files that give their remarks to `take` and charge their zstd windows, for as
/// long as they are open. Windows of usual levels are charged as far as there is room, so that they
/// go on working under small budgets.
[[nodiscard]] ImportOptions with_charges(ImportOptions options, MemoryBudget& budget, const TakeRemark& take);

/// How a node is written for users. `names` may be null.
[[nodiscard]] inline std::string text_of(NodeId node, const NodeNames* names) {
  return names != nullptr ? names->text(node) : std::to_string(node);
}

}  // namespace unweave
