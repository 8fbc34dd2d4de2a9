// engine/ingest/shard_builder.cpp - encodes blocks of lists on all threads and joins them to
// shards.
#include "engine/ingest/shard_builder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/graph/edge_pieces.h"
#include "engine/graph/span_share.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/pipeline.h"
#include "storage/formats/shard.h"
#include "storage/formats/store_layout.h"

namespace unweave {
namespace {

constexpr std::uint64_t kShardBytes = std::uint64_t{64} << 20;  // in memory: most shards, unless hubs come first

constexpr std::uint64_t kMostFoldArcs = std::uint64_t{1} << 16;  // at a time, but for a block that has more
constexpr std::size_t kFoldBlocks = 256;

struct Piece {
  ArcLists lists;
  EncodedLists encoded;
  Reservation excess;  ///< what lists longer than others take
};

/// Whole blocks of one span of a graph with changes.
struct ChangedPiece {
  std::size_t first_block = 0, last_block = 0;
  Graph::BlockBuffer buffer;
  std::vector<std::uint32_t> counts;
  NeighbourList lists;
  EncodedLists encoded;
};

void encode(const Graph& graph, ChangedPiece& piece) {
  piece.counts.clear();
  piece.lists.clear();
  DecodedBlock block;
  for (std::size_t b = piece.first_block; b < piece.last_block; ++b) {
    graph.decode(b, piece.buffer, block);
    std::size_t arcs = 0;
    for (std::uint32_t i = 0; i < block.nodes; ++i) arcs += block.counts[i];
    piece.counts.insert(piece.counts.end(), block.counts, block.counts + block.nodes);
    piece.lists.ids.insert(piece.lists.ids.end(), block.targets, block.targets + arcs);
    if (block.weights != nullptr)
      piece.lists.weights.insert(piece.lists.weights.end(), block.weights, block.weights + arcs);
  }
  encode_lists({piece.counts, piece.lists.ids, piece.lists.weights}, graph.list_form(), piece.encoded);
}

FileEntry fold_shard(const std::filesystem::path& store, const Graph& graph, NodeRange span, std::uint64_t fold_arcs,
                     std::uint64_t memory, ShardOf of) {
  ShardWriter writer(store, span, graph.num_nodes(), graph.list_form(), memory, of);
  std::size_t next = span.first / kBlockNodes;
  const std::size_t end = (std::size_t{span.last} + kBlockNodes - 1) / kBlockNodes;
  run_pipeline<ChangedPiece>(
      [&](ChangedPiece& piece) {
        piece.first_block = next;
        std::uint64_t arcs = 0;
        while (next < end && next - piece.first_block < kFoldBlocks) {
          arcs += block_arcs(graph, next);
          if (arcs > fold_arcs && next > piece.first_block) break;
          ++next;
        }
        piece.last_block = next;
        graph.read_ahead(next, next + kFoldBlocks);
        return piece.first_block < piece.last_block;
      },
      [&](ChangedPiece& piece) { encode(graph, piece); },
      [&](const ChangedPiece& piece) { writer.append(piece.encoded); });
  return writer.finish();
}

}  // namespace

BuiltShards build_shards(const std::filesystem::path& store, NodeId nodes, const ListForm& form, SortedArcs& arcs,
                         MemoryBudget& budget, WorkMeter& meter, std::optional<RankShare> part, ShardOf of,
                         const CheckLength& check) {
  const Reservation encoded =
      budget.reserve(std::min(kShardBytes, memory_shares::kShard.of(budget)), "the shard being written");
  std::optional<ShardWriter> writer;
  const RankShare spans = part.value_or(RankShare{0, num_spans(nodes)});
  arcs.begin(nodes, nodes_of(spans, nodes), form.max_weight > 1 && !form.multiplied);
  BuiltShards built;
  run_pipeline<Piece>([&](Piece& piece) { return arcs.next(piece.lists); },
                      [&](Piece& piece) {
                        if (piece.excess.bytes() > 0) piece.encoded = {};
                        piece.excess.release();
                        if (const std::uint64_t bytes = arcs.excess_bytes(piece.lists); bytes > 0)
                          piece.excess = budget.reserve(bytes, "lists of nodes whose edges weigh much");
                        arcs.load(piece.lists);
                        const GivenLists lists{piece.lists.counts, piece.lists.targets, piece.lists.weights};
                        encode_lists(lists, form, piece.encoded);
                      },
                      [&](const Piece& piece) {
                        const NodeRange range = piece.lists.nodes;
                        const NodeRange shard = span_range(nodes, range.first / span_nodes(nodes));
                        for (NodeId node = range.first; check && node < range.last; ++node)
                          check(node, piece.encoded.counts[node - range.first]);
                        if (!writer) writer.emplace(store, shard, nodes, form, encoded.bytes(), of);
                        writer->append(piece.encoded);
                        for (const std::uint32_t count : piece.encoded.counts) built.arcs += count;
                        built.unique += piece.lists.targets.size();
                        meter.advance(range.size());
                        if (range.last != shard.last) return;
                        built.files.push_back(writer->finish());
                        writer.reset();
                      });
  return built;
}

std::uint64_t fold_bytes(const Graph& graph) {
  return pipeline_items() * 3 * graph.max_decoded_bytes() * 4 / 3;
}

std::vector<FileEntry> fold_shards(const std::filesystem::path& store, const Graph& graph,
                                   std::vector<FileEntry> shards, MemoryBudget& budget, WorkMeter& meter, ShardOf of) {
  // Decoded, gathered and encoded lists of each piece, which may be one large block.
  const std::uint64_t lists = pipeline_items() * 3;
  const std::uint64_t id_bytes = sizeof(NodeId) + (graph.list_form().multiplied ? sizeof(std::uint32_t) : 0);
  const std::uint64_t fold_arcs = std::min(kMostFoldArcs, memory_shares::kFoldedLists.of(budget) / (lists * id_bytes));
  const Reservation pieces =
      budget.reserve(lists * (graph.max_decoded_bytes() + fold_arcs * id_bytes), "changed lists");
  const Reservation encoded =
      budget.reserve(std::min(kShardBytes, memory_shares::kShard.of(budget)), "the shard being written");
  meter.start("graph", graph.num_nodes(), "nodes");
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const NodeRange span = span_range(graph.num_nodes(), i);
    if (graph.has_changes(span)) shards[i] = fold_shard(store, graph, span, fold_arcs, encoded.bytes(), of);
    meter.advance(span.size());
  }
  return shards;
}

}  // namespace unweave
