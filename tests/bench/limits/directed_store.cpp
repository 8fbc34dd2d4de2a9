// tests/bench/limits/directed_store.cpp - sorts the arcs of a file by source and writes them as
// shards.
#include "bench/limits/directed_store.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/graph/store.h"
#include "storage/formats/manifest.h"
#include "storage/formats/shard.h"
#include "storage/formats/store_layout.h"
#include "storage/input/edges/edge_reader.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kReadArcs = std::size_t{1} << 16;
/// Memory of one arc while its span is written: the target, and twice its encoding, at most 5
/// bytes, in vectors that grow.
constexpr std::size_t kSpanArcBytes = sizeof(NodeId) + std::size_t{2} * 2 * 5;
/// Memory of one node: its count, also encoded and in the writer.
constexpr std::size_t kSpanNodeBytes = 3 * sizeof(std::uint32_t);

struct Arcs {
  Reservation memory;
  std::vector<Edge> list;  // u -> v
};

Arcs read_arcs(const InputFile& file, MemoryBudget& budget) {
  Arcs arcs;
  const auto reader = open_edges(file);
  const auto make_room = [&](std::size_t wanted) {
    Reservation more = budget.reserve(sizeof(Edge) * std::uint64_t{wanted}, "arcs of the benchmark");
    arcs.list.reserve(wanted);
    arcs.memory = std::move(more);
  };
  if (const auto count = reader->count()) make_room(static_cast<std::size_t>(*count));
  std::vector<Edge> piece(kReadArcs);
  while (const std::size_t count = reader->read(piece)) {
    if (arcs.list.size() + count > arcs.list.capacity()) make_room(2 * (arcs.list.size() + count));
    arcs.list.insert(arcs.list.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (arcs.list.empty()) throw InputError(file.path, "whole file", "no arc", "name a file that has some");
  std::sort(arcs.list.begin(), arcs.list.end());
  arcs.list.erase(std::unique(arcs.list.begin(), arcs.list.end()), arcs.list.end());
  return arcs;
}

}  // namespace

void write_directed_store(const std::filesystem::path& store, const InputFile& file, MemoryBudget& budget) {
  const Arcs arcs = read_arcs(file, budget);
  create_store_folder(store);
  Manifest manifest;
  for (const Edge& arc : arcs.list) manifest.nodes = std::max({manifest.nodes, arc.u + 1, arc.v + 1});
  std::vector<std::uint32_t> counts;
  std::vector<NodeId> targets;
  EncodedLists encoded;
  auto next = arcs.list.begin();
  for (std::size_t span = 0; span < num_spans(manifest.nodes); ++span) {
    const NodeRange range = span_range(manifest.nodes, span);
    const auto last = std::partition_point(next, arcs.list.end(), [&](const Edge& arc) { return arc.u < range.last; });
    const auto span_arcs = static_cast<std::uint64_t>(last - next);
    const Reservation memory =
        budget.reserve(span_arcs * kSpanArcBytes + range.size() * kSpanNodeBytes, "a shard of the benchmark");
    counts.assign(range.size(), 0);
    targets.clear();
    targets.reserve(span_arcs);
    for (; next != last; ++next) {
      ++counts[next->u - range.first];
      targets.push_back(next->v);
    }
    encode_lists({counts, targets}, 1, encoded);
    ShardWriter shard(store, range, manifest.nodes, 1, encoded.bytes.size());
    shard.append(encoded);
    manifest.shards.push_back(shard.finish());
  }
  write_manifest(store, manifest);
}

}  // namespace unweave
