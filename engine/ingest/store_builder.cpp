// engine/ingest/store_builder.cpp - fills the folder of a new store, which becomes a store at
// commit() or vanishes.
#include "engine/ingest/store_builder.h"

#include <utility>

#include "storage/io/entry.h"

namespace unweave {
namespace {

/// The folder, where there is none of its name, and those that it is to lie in and that are missing
/// too, the innermost first.
std::vector<std::filesystem::path> missing_folders(std::filesystem::path folder) {
  std::vector<std::filesystem::path> missing;
  for (; !folder.empty() && !has_entry(folder); folder = folder.parent_path())
    if (folder.has_filename()) missing.push_back(folder);
  return missing;
}

}  // namespace

StoreBuilder::StoreBuilder(std::filesystem::path store)
    : store_(std::move(store)), made_folders_(missing_folders(store_)), lock_(start_building(store_)) {}

StoreBuilder::~StoreBuilder() {
  if (committed_ || left_) return;
  abandon_building(store_);
  for (const std::filesystem::path& folder : made_folders_)
    if (!drop_entry(folder)) break;  // somebody else has put something there
}

void StoreBuilder::commit() {
  commit_generation(store_, Manifest(), manifest_);
  committed_ = true;
  end_building(store_);
}

BuildReport build_report(const Manifest& manifest, const ArcCounts& counts) {
  BuildReport report;
  report.edges_read = counts.edges_read;
  report.self_loops = counts.self_loops;
  report.duplicates = counts.duplicates;
  report.spooled_bytes = counts.spooled_bytes;
  report.nodes = manifest.user_nodes();
  report.layers = manifest.layers;
  if (manifest.pairs) report.pairs = manifest.pairs->rules;
  if (manifest.pairs) report.held_edges = manifest.pairs->edges;
  report.edges = manifest.edges;
  // Those of sets of relations are not users'.
  report.max_weight = manifest.layers.relations.empty() || manifest.weight_unit ? manifest.max_weight : 1;
  report.weight_sum = manifest.weight_sum;
  report.weight_unit = manifest.weight_unit;
  report.features = manifest.features;
  report.classes = manifest.classes;
  report.order = manifest.order;
  std::uint64_t bytes = 0;
  for (const FileEntry& shard : manifest.shards) bytes += shard.bytes;
  if (manifest.edges > 0)
    report.bits_per_arc = 8.0 * static_cast<double>(bytes) /
                          (static_cast<double>(manifest.weight_unit ? 2 * manifest.edges : manifest.arcs()) /
                           (manifest.layers.directed ? 2 : 1));
  return report;
}

}  // namespace unweave
