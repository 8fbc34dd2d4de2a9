// engine/ingest/shard_builder.cpp - encodes blocks of lists on all threads and joins them to
// shards.
#include "engine/ingest/shard_builder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/graph/edge_pieces.h"
#include "engine/graph/span_share.h"
#include "engine/resources/look_ahead.h"
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
  NodeRange span;
  std::size_t first_block = 0, last_block = 0;
  bool ends_span = false;
  Graph::BlockBuffer buffer;
  EncodedLists encoded;
};

void encode(const Graph& graph, ChangedPiece& piece) {
  piece.encoded.clear();
  for (std::size_t block = piece.first_block; block < piece.last_block; ++block)
    graph.append_encoded(block, piece.buffer, piece.encoded);
}

/// The blocks of the spans whose lists differ from their shards', in pieces that are one after
/// another.
class ChangedPieces {
 public:
  ChangedPieces(const Graph& graph, const std::vector<std::size_t>& spans, std::uint64_t fold_arcs)
      : graph_(graph),
        spans_(spans),
        fold_arcs_(fold_arcs),
        ahead_(spans.size(), graph.file_bytes() / graph.shards().size(),
               [this](std::size_t i) { graph_.read_ahead(span_range(graph_.num_nodes(), spans_[i])); }) {}

  bool next(ChangedPiece& piece) {
    if (span_ == spans_.size()) return false;
    ahead_.at(span_);
    const NodeRange range = span_range(graph_.num_nodes(), spans_[span_]);
    const std::size_t end = (std::size_t{range.last} + kBlockNodes - 1) / kBlockNodes;
    block_ = std::max<std::size_t>(block_, range.first / kBlockNodes);
    piece.span = range;
    piece.first_block = block_;
    std::uint64_t arcs = 0;
    while (block_ < end && block_ - piece.first_block < kFoldBlocks) {
      arcs += block_arcs(graph_, block_);
      if (arcs > fold_arcs_ && block_ > piece.first_block) break;
      ++block_;
    }
    piece.last_block = block_;
    piece.ends_span = block_ == end;
    if (piece.ends_span) ++span_;
    return true;
  }

 private:
  const Graph& graph_;
  const std::vector<std::size_t>& spans_;
  std::uint64_t fold_arcs_;
  std::size_t span_ = 0;   ///< the present one, among spans_
  std::size_t block_ = 0;  ///< the next one
  ScanAhead ahead_;
};

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
  meter.start("graph", graph.num_nodes(), "nodes");
  fold_shards(store, graph, shards, {0, shards.size()}, budget, meter, of);
  return shards;
}

void fold_shards(const std::filesystem::path& store, const Graph& graph, std::vector<FileEntry>& shards, RankShare part,
                 MemoryBudget& budget, WorkMeter& meter, ShardOf of) {
  // Decoded, gathered and encoded lists of each piece, which may be one large block.
  const std::uint64_t lists = pipeline_items() * 3;
  const std::uint64_t id_bytes = sizeof(NodeId) + (graph.list_form().multiplied ? sizeof(std::uint32_t) : 0);
  const std::uint64_t fold_arcs = std::min(kMostFoldArcs, memory_shares::kFoldedLists.of(budget) / (lists * id_bytes));
  const Reservation memory =
      budget.reserve(lists * (graph.max_decoded_bytes(part.begin, part.end) + fold_arcs * id_bytes), "changed lists");
  const Reservation encoded =
      budget.reserve(std::min(kShardBytes, memory_shares::kShard.of(budget)), "the shard being written");
  std::vector<std::size_t> changed;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    const NodeRange span = span_range(graph.num_nodes(), i);
    if (graph.has_changes(span))
      changed.push_back(i);
    else
      meter.advance(span.size());
  }
  ChangedPieces pieces(graph, changed, fold_arcs);
  std::optional<ShardWriter> writer;
  run_pipeline<ChangedPiece>(
      [&](ChangedPiece& piece) { return pieces.next(piece); }, [&](ChangedPiece& piece) { encode(graph, piece); },
      [&](const ChangedPiece& piece) {
        if (!writer) writer.emplace(store, piece.span, graph.num_nodes(), graph.list_form(), encoded.bytes(), of);
        writer->append(piece.encoded);
        if (!piece.ends_span) return;
        shards[piece.span.first / span_nodes(graph.num_nodes())] = writer->finish();
        writer.reset();
        meter.advance(piece.span.size());
      });
}

}  // namespace unweave
