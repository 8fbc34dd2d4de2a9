// algorithms/models/node_rows.cpp - rows of a model's program, a chunk at a time.
#include "algorithms/models/node_rows.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/row_units.h"
#include "algorithms/updates/requests.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"
#include "storage/io/shell_word.h"
#include "storage/npy/npy_writer.h"

namespace unweave {
namespace {

constexpr std::uint64_t kMostChunkBytes = std::uint64_t{64} << 20;

}  // namespace

void require_rows(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> nodes,
                  std::string_view without) {
  const NodeOrder& order = store.contents().order();
  const std::string fate(without);
  for (const NodeId node : nodes) {
    const NodeId position = order.position(node);
    if (store.embedding().is_target(position)) continue;
    if (edges_of(store.contents(), node) == 0 && store.contents().is_blank(position))
      throw UsageError("node " + order.names().text(node) +
                       " has no edges, features and label: it was removed, or never had any, and " + fate +
                       "; take it out of the list");
    throw UsageError("node " + order.names().text(node) + " has no embedding, so that " + fate +
                     "; take it out of the list, or run " +
                     operation("propagate " + shell_word(store.path().string()) + ' ' + option("rows", "all")) +
                     " and " + train_command(store.path(), name_of(record)) + " again");
  }
}

namespace {

/// Rows of units, a chunk at a time.
void write_rows(const RowUnits& units, std::span<const NodeId> keys, const NpyTarget& target) {
  const std::size_t width = units.width();
  MemoryBudget& budget = units.store().budget();
  const Reservation memory =
      budget.reserve(std::min(memory_shares::kChunk.of(budget), kMostChunkBytes), "rows to export");
  // The maker holds levels of as many rows beside them.
  const auto chunk = static_cast<std::size_t>(std::max<std::uint64_t>(1, memory.bytes() / (2 * width * sizeof(float))));
  const std::array<std::uint64_t, 2> shape{keys.size(), width};
  NpyWriter writer(target, "<f4", sizeof(float), shape);
  const WatchedStep watched("rows", keys.size(), "rows");
  std::vector<float> rows;
  for (std::size_t first = 0; first < keys.size(); first += chunk) {
    const auto some = keys.subspan(first, std::min(chunk, keys.size() - first));
    rows.resize(some.size() * width);
    units.rows(some, rows.data());
    writer.append(std::span<const float>(rows));
    watched.advance(some.size());
  }
  writer.finish();
}

}  // namespace

void export_rows(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> nodes,
                 const NpyTarget& target) {
  if (record.rows.unit() != RowUnit::node)
    throw UsageError("the model " + name_of(record) + " has rows of " + std::string(name_of(record.rows.unit())) +
                     "s, and not of nodes; leave the list of nodes away");
  require_rows(store, record, nodes, "it has no row");
  std::vector<NodeId> positions;
  positions.reserve(nodes.size());
  for (const NodeId node : nodes) positions.push_back(store.contents().order().position(node));
  write_rows(*row_units(store, record.rows), positions, target);
}

void export_training_rows(const LiveStore& store, const ModelRecord& record, const NpyTarget& target) {
  const std::unique_ptr<const RowUnits> units = row_units(store, record.rows);
  write_rows(*units, units->labelled(SplitName::train), target);
}

}  // namespace unweave
