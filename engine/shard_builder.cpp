#include "engine/shard_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/pipeline.h"
#include "storage/shard.h"
#include "storage/store_layout.h"

namespace unweave {
namespace {

constexpr std::size_t kPieceArcs = std::size_t{1} << 18;
constexpr std::size_t kReadArcs = std::size_t{1} << 15;

/// Lists of consecutive nodes of one shard, whole blocks of them.
struct Piece {
  NodeRange shard;
  bool ends_shard = false;
  std::vector<std::uint32_t> counts;
  std::vector<NodeId> targets;
  EncodedLists encoded;
};

class PieceReader {
 public:
  PieceReader(NodeId nodes, ArcStream& arcs) : nodes_(nodes), arcs_(arcs), buffer_(kReadArcs) {}

  /// False after the last node.
  bool next(Piece& piece) {
    if (node_ == nodes_) return false;
    piece.counts.clear();
    piece.targets.clear();
    piece.targets.reserve(kPieceArcs + kPieceArcs / 4);
    piece.shard = span_range(nodes_, node_ / span_nodes(nodes_));
    while (node_ < piece.shard.last && piece.targets.size() < kPieceArcs) {
      const std::uint64_t block_end = std::min<std::uint64_t>(std::uint64_t{node_} + kBlockNodes, piece.shard.last);
      for (; node_ < block_end; ++node_) take_list(piece);
    }
    piece.ends_shard = node_ == piece.shard.last;
    return true;
  }

 private:
  void take_list(Piece& piece) {
    const std::size_t before = piece.targets.size();
    while (true) {
      while (at_ < filled_ && buffer_[at_].u == node_) piece.targets.push_back(buffer_[at_++].v);
      if (at_ < filled_) break;
      at_ = 0;
      filled_ = arcs_.read(buffer_);
      if (filled_ == 0) break;
    }
    piece.counts.push_back(static_cast<std::uint32_t>(piece.targets.size() - before));
  }

  NodeId nodes_;
  ArcStream& arcs_;
  NodeId node_ = 0;
  std::vector<Edge> buffer_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace

std::vector<FileEntry> build_shards(const std::filesystem::path& store, NodeId nodes, ArcStream& arcs, Codec codec,
                                    WorkMeter& meter) {
  std::vector<FileEntry> shards;
  PieceReader reader(nodes, arcs);
  std::optional<ShardWriter> writer;
  run_pipeline<Piece>([&](Piece& piece) { return reader.next(piece); },
                      [codec](Piece& piece) { encode_lists(piece.counts, piece.targets, codec, piece.encoded); },
                      [&](Piece& piece) {
                        if (!writer) writer.emplace(piece.shard, nodes);
                        writer->append(piece.encoded);
                        meter.advance(piece.encoded.counts.size());
                        if (!piece.ends_shard) return;
                        shards.push_back(writer->finish(store));
                        writer.reset();
                      });
  return shards;
}

}  // namespace unweave
