// engine/graph/contents.cpp - opens what a store holds, lists its changes, and clears the data of nodes.
#include "engine/graph/contents.h"

#include <algorithm>

namespace unweave {
namespace {

Changes changes_of(const std::filesystem::path& store, const Manifest& manifest) {
  return manifest.changes ? read_changes(store, *manifest.changes, manifest.nodes) : Changes();
}

std::vector<NodeId> split_of(const std::filesystem::path& store, const std::optional<FileEntry>& entry, NodeId nodes) {
  return entry ? read_ids(store, *entry, nodes) : std::vector<NodeId>();
}

}  // namespace

Contents::Contents(const std::filesystem::path& store, const Manifest& manifest)
    : Contents(store, manifest, changes_of(store, manifest)) {}

Contents::Contents(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes)
    : order_(store, manifest),
      cleared_(manifest.nodes),
      graph_(store, manifest, changes),
      features_(store, manifest, cleared_),
      train_(split_of(store, manifest.train, manifest.nodes)),
      valid_(split_of(store, manifest.valid, manifest.nodes)),
      test_(split_of(store, manifest.test, manifest.nodes)) {
  if (manifest.labels) labels_ = read_labels(store, *manifest.labels, manifest.nodes, manifest.classes);
  labelled_ = static_cast<std::uint64_t>(
      std::count_if(labels_.begin(), labels_.end(), [](std::int32_t label) { return label != kNoLabel; }));
  clear(changes.cleared);
}

std::uint64_t Contents::bytes(const Manifest& manifest) noexcept {
  std::uint64_t bytes =
      std::uint64_t{manifest.nodes} * sizeof(std::uint32_t) + manifest.nodes / 4;  // degrees, two bits
  if (manifest.labels) bytes += std::uint64_t{manifest.nodes} * sizeof(std::int32_t);
  for (const auto* const split : {&manifest.train, &manifest.valid, &manifest.test})
    if (*split) bytes += (*split)->bytes;
  return bytes + Graph::change_bytes(changed_edges(manifest));
}

std::uint64_t Contents::changed_edges(const Manifest& manifest) noexcept {
  return manifest.changes ? manifest.changes->bytes / sizeof(Edge) : 0;
}

bool Contents::is_blank(NodeId node) const {
  if (label(node) != kNoLabel) return false;
  std::vector<float> scratch;
  return features_.is_zero(node, scratch);
}

void Contents::clear(const std::vector<NodeId>& nodes) {
  if (nodes.empty()) return;
  for (const NodeId node : nodes) {
    cleared_.insert(node);
    if (label(node) == kNoLabel) continue;
    labels_[node] = kNoLabel;
    --labelled_;
  }
  for (auto* split : {&train_, &valid_, &test_})
    std::erase_if(*split, [&](NodeId node) { return cleared_.contains(node); });
}

Changes Contents::changes() const {
  Changes changes;
  graph_.collect_changes(changes);
  changes.cleared = cleared_.sorted();
  return changes;
}

Reservation reserve_contents(const Manifest& manifest, MemoryBudget& budget) {
  return budget.reserve(Contents::bytes(manifest), "values of nodes, changed lists of the graph");
}

}  // namespace unweave
