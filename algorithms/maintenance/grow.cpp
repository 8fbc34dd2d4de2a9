// algorithms/maintenance/grow.cpp - closes the present generation, extends its files, and commits
// them.
#include "algorithms/maintenance/grow.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/live/store_writer.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/maintenance/new_nodes.h"
#include "engine/graph/store.h"
#include "engine/ingest/growth.h"
#include "storage/formats/store_layout.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/message.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

std::string purge_to(const std::filesystem::path& store, std::uint64_t nodes) {
  return operation("purge " + shell_word(store.string()) + ' ' + option("nodes", std::to_string(nodes)));
}

/// New copies of nodes come between those that there are, so that no span stays.
void require_one_copy(const std::filesystem::path& store, const Manifest& manifest, std::uint64_t nodes) {
  if (manifest.layers.copies() == 1) return;
  throw UsageError(option("nodes", std::to_string(nodes)) + ": the edges of " + store.string() +
                   " have directions or relations, so that all its files change; write them anew by " +
                   purge_to(store, nodes));
}

void require_spans_stay(const std::filesystem::path& store, const Manifest& manifest, std::uint64_t nodes) {
  if (spans_stay(manifest.nodes, static_cast<NodeId>(nodes))) return;
  const std::uint64_t most = std::uint64_t{span_nodes(manifest.nodes)} * kMaxSpans;
  throw UsageError(option("nodes", std::to_string(nodes)) + ": the files of " + store.string() +
                   " are cut for at most " + std::to_string(most) +
                   " nodes; name no more than that, or write them all anew by " + purge_to(store, nodes));
}

/// A name that a removed node has lost is in the files until a purge, and stands for nobody.
void require_never_given(const NameList& added, const NodeNames& present, const InputFile& file) {
  for (NodeId node = 0; node < added.nodes(); ++node) {
    const std::string_view name = added.name(node);
    if (name.empty() || present.index().find(name) == kNoNode) continue;
    throw InputError(
        display_name(file), "line " + std::to_string(std::uint64_t{node} + 1),
        "a node that was removed had the name " + quote_for_message(name),
        "it is free again after " + operation("purge") + ", which makes room by " + option("nodes") + ", too");
  }
}

void count_grown_bytes(const Manifest& before, const Manifest& after, GrowReport& report) {
  std::set<std::string> known;
  for (const FileEntry& entry : before.files()) known.insert(entry.path);
  for (const FileEntry& entry : after.files())
    (known.contains(entry.path) ? report.bytes_kept : report.bytes_written) += entry.bytes;
}

}  // namespace

void require_room_to_grow(const std::filesystem::path& store, const Manifest& manifest, std::uint64_t nodes) {
  constexpr std::uint64_t kBeside = std::uint64_t{1} << 20;  // a manifest, and the journal
  constexpr std::uint64_t kValueBytes = 4;
  const std::uint64_t first = manifest.nodes / span_nodes(manifest.nodes) * std::uint64_t{span_nodes(manifest.nodes)};
  std::uint64_t bytes = kBeside + bytes_of(manifest.shards) + (manifest.pairs ? bytes_of(manifest.pairs->shards) : 0);
  if (manifest.names) bytes += manifest.names->names.bytes + manifest.names->index.bytes;
  const std::uint64_t values = (manifest.labels ? 1 : 0) + (manifest.graphs ? 1 : 0) + (manifest.order_file ? 2 : 0);
  bytes += values * nodes * kValueBytes;
  if (!manifest.feature_layout.sparse)
    bytes += (nodes - first) * manifest.features * value_bytes(manifest.feature_layout.type);
  for (const LevelFiles& level : manifest.levels) {
    bytes += (level.counts ? nodes * kValueBytes : 0) + bytes_of(level.lists);
    if (manifest.propagation->all_rows && !level.partitions.empty())
      bytes += (nodes - first) * manifest.features * kValueBytes;
    if (manifest.propagation->all_rows && !level.rows.empty())
      bytes += (nodes - first) * manifest.row_width() * kValueBytes;
  }
  require_disk_room(store, bytes, "the files of the grown store", "move the store to a larger disk");
}

std::uint64_t nodes_to_add(const std::filesystem::path& store, const Manifest& manifest, const GrowOptions& options) {
  const std::uint64_t added = added_nodes(store, manifest, options.nodes, options.names);
  if (added == 0) return 0;
  require_one_copy(store, manifest, options.nodes);
  require_spans_stay(store, manifest, options.nodes);
  return added;
}

GrowReport grow_store(const std::filesystem::path& store, const GrowOptions& options, MemoryBudget& budget,
                      WorkMeter& meter, std::optional<WriterLock> given) {
  std::optional<StoreWriter> live(std::in_place, store, std::move(given), budget);
  GrowReport report;
  report.nodes_added = nodes_to_add(store, live->manifest(), options);
  report.nodes = options.nodes;
  if (report.nodes_added == 0) return report;
  require_room_to_grow(store, live->manifest(), options.nodes);
  std::optional<NameList> names;
  if (options.names) {
    names.emplace(read_new_names(store, live->manifest(), *options.names, live->contents().order().names(),
                                 report.nodes_added, budget, meter));
    require_never_given(*names, live->contents().order().names(), *options.names);
  }
  live->checkpoint();
  live->record();
  const Manifest before = live->manifest();
  const WriterLock lock = std::move(*live).give_lock();
  live.reset();
  Manifest after;
  try {
    after =
        grow_generation(store, before, static_cast<NodeId>(options.nodes), names ? &*names : nullptr, budget, meter);
    lock.require_held();
  } catch (...) {
    try {
      remove_strays(store, before);
    } catch (const std::exception&) {  // the next writer can
    }
    throw;
  }
  count_grown_bytes(before, after, report);
  remove_tiles(store);  // these are sums of fewer nodes
  // Where this fails nobody knows which manifest the disk has: the files of both stay.
  commit_generation(store, before, after);
  remove_strays(store, after);
  return report;
}

}  // namespace unweave
