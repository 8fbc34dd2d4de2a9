// algorithms/models/row_units.cpp - the table of units.
#include "algorithms/models/row_units.h"

#include "algorithms/live/live_store.h"
#include "storage/io/error.h"

namespace unweave {

RowSource row_source(const LiveStore& store) {
  return {store.embedding(), store.contents(), store.manifest().classes};
}

std::optional<std::vector<NodeId>> RowUnits::changed(const UpdateReport&, std::span<const NodeId>) const {
  return std::nullopt;
}

std::size_t RowUnits::classes() const {
  return store_.manifest().classes;
}

void require_rows_of_nodes(const RowProgram& program, const std::string& what) {
  if (program.unit() == RowUnit::node) return;
  throw UsageError(what + " is for models that learn on nodes, and this one learns on " +
                   std::string(name_of(program.unit())) + "s; name a model of nodes by " + option("name"));
}

std::unique_ptr<const RowUnits> row_units(const LiveStore& store, const RowProgram& program) {
  switch (program.unit()) {
    case RowUnit::node:
      return node_units(store, program);
    case RowUnit::pair:
      return pair_units(store, program);
    case RowUnit::graph:
      return graph_units(store, program);
      break;
  }
  throw UsageError(store.path().string() + ": has no " + std::string(name_of(program.unit())) +
                   "s of nodes whose rows could be made");
}

}  // namespace unweave
