#include "engine/shard_builder.h"

#include <algorithm>
#include <optional>

#include "engine/pipeline.h"
#include "storage/shard.h"
#include "storage/store_layout.h"

namespace unweave {
namespace {

constexpr std::uint64_t kShardBytes = std::uint64_t{64} << 20;  // in memory: most shards, unless hubs come first

struct Piece {
  ArcLists lists;
  EncodedLists encoded;
};

}  // namespace

BuiltShards build_shards(const std::filesystem::path& store, NodeId nodes, SortedArcs& arcs, MemoryBudget& budget,
                         WorkMeter& meter) {
  const Reservation encoded = budget.reserve(std::min(kShardBytes, budget.available() / 4), "the shard being written");
  BuiltShards built;
  std::optional<ShardWriter> writer;
  arcs.begin(nodes);
  run_pipeline<Piece>([&](Piece& piece) { return arcs.next(piece.lists); },
                      [&](Piece& piece) {
                        arcs.load(piece.lists);
                        encode_lists(piece.lists.counts, piece.lists.targets, piece.encoded);
                      },
                      [&](const Piece& piece) {
                        const NodeRange range = piece.lists.nodes;
                        const NodeRange shard = span_range(nodes, range.first / span_nodes(nodes));
                        if (!writer) writer.emplace(store, shard, nodes, encoded.bytes());
                        writer->append(piece.encoded);
                        built.arcs += piece.lists.targets.size();
                        meter.advance(range.size());
                        if (range.last != shard.last) return;
                        built.files.push_back(writer->finish());
                        writer.reset();
                      });
  return built;
}

}  // namespace unweave
