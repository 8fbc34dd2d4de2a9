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

void export_rows(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> nodes,
                 const NpyTarget& target) {
  const bool are_nodes = record.rows.unit() == RowUnit::node;
  if (are_nodes) require_rows(store, record, nodes, "it has no row");
  const std::unique_ptr<const RowUnits> units = row_units(store, record.rows);
  const std::size_t width = units->width();
  const Reservation memory =
      store.budget().reserve(std::min(memory_shares::kChunk.of(store.budget()), kMostChunkBytes), "rows to export");
  // The maker holds levels of as many rows beside them.
  const auto chunk = static_cast<std::size_t>(std::max<std::uint64_t>(1, memory.bytes() / (2 * width * sizeof(float))));
  const std::array<std::uint64_t, 2> shape{nodes.size(), width};
  NpyWriter writer(target, "<f4", sizeof(float), shape);
  const WatchedStep watched("rows", nodes.size(), "rows");
  std::vector<NodeId> positions;
  std::vector<float> rows;
  for (std::size_t first = 0; first < nodes.size(); first += chunk) {
    const auto some = nodes.subspan(first, std::min(chunk, nodes.size() - first));
    positions.clear();
    for (const NodeId node : some) positions.push_back(are_nodes ? store.contents().order().position(node) : node);
    rows.resize(some.size() * width);
    units->rows(positions, rows.data());
    writer.append(std::span<const float>(rows));
    watched.advance(some.size());
  }
  writer.finish();
}

}  // namespace unweave
