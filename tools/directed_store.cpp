#include "tools/directed_store.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/store.h"
#include "storage/error.h"
#include "storage/input/edge_reader.h"
#include "storage/manifest.h"
#include "storage/shard.h"
#include "storage/store_layout.h"

namespace unweave {
namespace {

constexpr std::size_t kReadArcs = std::size_t{1} << 16;

struct Arcs {
  Reservation memory;
  std::vector<Edge> list;  // u -> v
};

Arcs read_arcs(const InputFile& file, MemoryBudget& budget) {
  Arcs arcs;
  const auto reader = open_edges(file);
  std::vector<Edge> piece(kReadArcs);
  while (const std::size_t count = reader->read(piece)) {
    if (arcs.list.size() + count > arcs.list.capacity()) {
      const std::size_t wanted = 2 * (arcs.list.size() + count);
      Reservation more = budget.reserve(sizeof(Edge) * wanted, "arcs of the benchmark");
      arcs.list.reserve(wanted);
      arcs.memory = std::move(more);
    }
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
    counts.assign(range.size(), 0);
    targets.clear();
    for (; next != arcs.list.end() && next->u < range.last; ++next) {
      ++counts[next->u - range.first];
      targets.push_back(next->v);
    }
    encode_lists(counts, targets, encoded);
    ShardWriter shard(store, range, manifest.nodes, encoded.bytes.size());
    shard.append(encoded);
    manifest.shards.push_back(shard.finish());
  }
  write_manifest(store, manifest);
}

}  // namespace unweave
