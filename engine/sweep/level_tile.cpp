// engine/sweep/level_tile.cpp - writes the sums of column tiles to files and joins whole rows of
// them.
#include "engine/sweep/level_tile.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "engine/resources/parallel.h"
#include "storage/formats/manifest.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kJoinedBytes = std::size_t{1} << 20;  // whole rows that are put together at a time

/// Nodes of one range of rows of so many bytes: a power of two, so that a range lies in one
/// partition.
std::size_t range_nodes(std::size_t row_bytes) {
  return std::clamp<std::size_t>(std::bit_floor(kJoinedBytes / row_bytes), kSweepRangeRows, kMinSpanNodes);
}

/// Likewise; fewer where what one worker takes for so many (`bytes`) is not available.
template <class Bytes>
std::size_t range_nodes_within(std::uint64_t available, std::size_t row_bytes, const Bytes& bytes) {
  constexpr std::size_t kFewestNodes = 4 * kBlockNodes;
  std::size_t nodes = range_nodes(row_bytes);
  while (nodes > kFewestNodes && bytes(nodes) > available) nodes /= 2;
  return nodes;
}

std::size_t wanted_nodes(NodeRange range, const RowMask* wanted, std::span<NodeId> ids) {
  std::size_t count = 0;
  for (NodeId node = range.first; node < range.last; ++node)
    if (wanted == nullptr || wanted->contains(node)) ids[count++] = node;
  return count;
}

/// Calls work(range) for all ranges of `step` nodes in `nodes`, `workers` at a time; `make` makes
/// what a worker works with.
template <class Make, class Work>
void run_ranges(NodeRange nodes, std::size_t step, std::size_t workers, const Make& make, const Work& work) {
  const std::size_t ranges = (nodes.size() + step - 1) / step;
  run_waiting_items(ranges, workers, [&](auto&& next_item) {
    auto buffers = make();
    for (std::size_t item = next_item(); item < ranges; item = next_item())
      work(NodeRange{static_cast<NodeId>(nodes.first + item * step),
                     static_cast<NodeId>(std::min<std::size_t>(nodes.last, nodes.first + (item + 1) * step))},
           buffers);
  });
}

}  // namespace

WantedRanks::WantedRanks(NodeId nodes, const RowMask* wanted) : nodes_(nodes), wanted_(wanted), rows_(nodes) {
  if (wanted == nullptr) return;
  NodeId rank = 0;
  for (std::size_t block = 0; block * kBlockNodes < nodes; ++block) {
    if (block % kSweepRangeBlocks == 0) ranks_.push_back(rank);
    rank += static_cast<NodeId>(std::popcount(wanted->block_bits(block)));
  }
  rows_ = rank;
}

std::uint64_t WantedRanks::before(NodeId node) const {
  if (wanted_ == nullptr) return node;
  if (node >= nodes_) return rows_;
  const std::size_t block = node / kBlockNodes;
  std::uint64_t rank = ranks_[block / kSweepRangeBlocks];
  for (std::size_t b = block / kSweepRangeBlocks * kSweepRangeBlocks; b < block; ++b)
    rank += static_cast<std::uint64_t>(std::popcount(wanted_->block_bits(b)));
  const std::uint32_t below = wanted_->block_bits(block) & ((std::uint32_t{1} << node % kBlockNodes) - 1);
  return rank + static_cast<std::uint64_t>(std::popcount(below));
}

void put_sums(TileImage& image, const WantedRanks& ranks, const SumRows& rows) {
  image.put(0, ranks.before(rows.nodes.front()), std::as_bytes(std::span(rows.sums, rows.nodes.size() * rows.width)));
  for (std::size_t i = 0; i < rows.wide_nodes.size(); ++i)
    image.put_wide(rows.nodes[rows.wide_nodes[i]], rows.wide_sums + i * rows.width);
}

std::vector<std::byte> proof_of(const FingerprintKey& key, std::size_t first_column, std::size_t columns,
                                const PartitionSums& residues) {
  std::vector<std::byte> proof;
  key.write(first_column, columns, proof);
  const std::vector<std::uint64_t> sums = residues.residues();
  const auto bytes = std::as_bytes(std::span(sums));
  proof.insert(proof.end(), bytes.begin(), bytes.end());
  return proof;
}

struct SumJoin::Tile {
  Tile(const TileFile& tile, FingerprintKey of, std::vector<std::uint64_t> sums, NodeId nodes)
      : file(&tile),
        key(std::move(of)),
        formed(std::move(sums)),
        joined(std::make_unique<PartitionSums>(nodes, key.modulus())) {}
  const TileFile* file;
  FingerprintKey key;
  std::vector<std::uint64_t> formed;  ///< residues of the partitions as the sums were formed
  std::unique_ptr<PartitionSums> joined;
};

/// What one thread of a join works with.
struct SumJoin::Buffers {
  Buffers(std::size_t most, std::span<const Tile> tiles, std::size_t columns)
      : ids(most),
        weights(most),
        starts(most),
        rows(std::make_unique_for_overwrite<std::int32_t[]>(most * columns)),
        piece(most * widest(tiles)) {
    for (const Tile& tile : tiles) sums.emplace_back(tile.file->shape().columns);
  }
  static std::uint64_t bytes(std::size_t most, std::span<const Tile> tiles, std::size_t columns) {
    std::uint64_t bytes = rows_bytes(most, columns, widest(tiles));
    for (const Tile& tile : tiles) bytes += totals_bytes(tile.file->shape().columns);
    return bytes;
  }
  /// `widest`: bytes of a row of the widest tile.
  static std::uint64_t rows_bytes(std::size_t most, std::size_t columns, std::size_t widest) {
    return most * (sizeof(NodeId) + sizeof(const std::int32_t*) + (columns + 1) * sizeof(std::int32_t)) +
           DirectPiece::memory_bytes(most * widest);
  }
  static std::uint64_t totals_bytes(std::size_t width) { return sizeof(ColumnTotals) + ColumnTotals::bytes(width); }

  /// Bytes of a row of the widest tile.
  static std::size_t widest(std::span<const Tile> tiles) {
    std::size_t bytes = 0;
    for (const Tile& tile : tiles) bytes = std::max<std::size_t>(bytes, tile.file->shape().row_bytes());
    return bytes;
  }

  std::vector<NodeId> ids;
  std::vector<std::int32_t> weights;
  std::vector<const std::int32_t*> starts;
  std::vector<ColumnTotals> sums;
  std::unique_ptr<std::int32_t[]> rows;
  DirectPiece piece;
};

std::uint64_t SumJoin::check_bytes(NodeId nodes, std::size_t width) {
  return FingerprintKey::bytes(nodes, width) + 2 * num_spans(nodes) * sizeof(std::uint64_t);
}

std::uint64_t SumJoin::least_bytes(NodeId nodes, std::size_t columns, std::size_t tiles, std::size_t width) {
  return tiles * (check_bytes(nodes, width) + Buffers::totals_bytes(width)) +
         Buffers::rows_bytes(kSweepRangeRows, columns, width * sizeof(std::int32_t));
}

SumJoin::SumJoin(std::span<const TileFile* const> tiles, NodeId nodes, const RowMask* wanted, MemoryBudget& budget)
    : nodes_(nodes), wanted_(wanted), ranks_(nodes, wanted) {
  std::uint64_t bytes = 0;
  for (const TileFile* tile : tiles) bytes += check_bytes(nodes, tile->shape().columns);
  memory_ = budget.reserve(bytes, "checks of the tiles");
  for (const TileFile* tile : tiles) {
    const std::span<const std::byte> proof = tile->proof();
    const std::size_t columns = tile->shape().columns;
    const std::uint64_t key_bytes = FingerprintKey::written_bytes(nodes, columns);
    if (proof.size() != key_bytes + num_spans(nodes) * sizeof(std::uint64_t))
      tile->fail("its proof has not the length for this store");
    std::optional<FingerprintKey> key = FingerprintKey::read(nodes, columns, proof.first(key_bytes));
    if (!key) tile->fail("its proof has no key");
    std::vector<std::uint64_t> formed(num_spans(nodes));
    std::memcpy(formed.data(), proof.data() + key_bytes, proof.size() - key_bytes);
    tiles_.emplace_back(*tile, std::move(*key), std::move(formed), nodes);
    columns_ += columns;
  }
}

SumJoin::~SumJoin() = default;

void SumJoin::join(std::size_t first_span, std::size_t last_span, LevelImage& image, MemoryBudget& budget) {
  const NodeRange nodes{span_range(nodes_, first_span).first, span_range(nodes_, last_span - 1).last};
  const auto bytes_of = [&](std::size_t most) { return Buffers::bytes(most, tiles_, columns_); };
  const std::size_t step = range_nodes_within(budget.available(), columns_ * sizeof(std::int32_t), bytes_of);
  const std::uint64_t worker_bytes = bytes_of(step);
  const auto workers = std::clamp<std::size_t>(budget.available() / worker_bytes, 1, 2 * active_threads() + 2);
  const Reservation reservation = budget.reserve(workers * worker_bytes, "rows being put together");
  run_ranges(
      nodes, step, workers, [&] { return Buffers(step, tiles_, columns_); },
      [&](NodeRange range, Buffers& buffers) { join_range(range, buffers, image); });
  check(first_span, last_span);
}

void SumJoin::join_range(NodeRange range, Buffers& buffers, LevelImage& image) {
  const std::size_t count = wanted_nodes(range, wanted_, buffers.ids);
  if (count == 0) return;
  const std::span<const NodeId> ids(buffers.ids.data(), count);
  const std::uint64_t first = ranks_.before(range.first);
  std::size_t column = 0;
  for (const Tile& tile : tiles_) {
    const std::size_t width = tile.file->shape().columns;
    const std::byte* const piece = tile.file->rows(0, first, count, buffers.piece).data();
    for (std::size_t r = 0; r < count; ++r)
      std::memcpy(&buffers.rows[r * columns_ + column], piece + r * width * sizeof(std::int32_t),
                  width * sizeof(std::int32_t));
    column += width;
  }
  // What came back is checked in the rows that go on, not in the tiles.
  std::vector<std::uint32_t> positions;
  std::vector<std::int64_t> wide_rows;
  column = 0;
  for (std::size_t t = 0; t < tiles_.size(); ++t) {
    const Tile& tile = tiles_[t];
    const std::size_t width = tile.file->shape().columns;
    for (std::size_t r = 0; r < count; ++r) {
      buffers.weights[r] = tile.key.weight(ids[r]);
      buffers.starts[r] = &buffers.rows[r * columns_ + column];
    }
    buffers.sums[t].add(std::span(buffers.starts).first(count), buffers.weights.data());
    const ColumnFactors factors = tile.key.columns(0);
    std::uint64_t sum = buffers.sums[t].take(factors);
    const auto wide = tile.file->wide_nodes();
    for (auto at = std::lower_bound(wide.begin(), wide.end(), range.first); at != wide.end() && *at < range.last;
         ++at) {
      const auto found = std::lower_bound(ids.begin(), ids.end(), *at);
      if (found == ids.end() || *found != *at) tile.file->fail("a wide row of a node that has no row");
      const auto row = tile.file->wide_row(static_cast<std::size_t>(at - wide.begin()));
      const std::uint64_t one = fingerprint_of(row, factors);
      sum = tile.key.modulus().add(
          sum, tile.key.modulus().multiply(buffers.weights[static_cast<std::size_t>(found - ids.begin())], one));
      positions.push_back(static_cast<std::uint32_t>(found - ids.begin()));
    }
    tile.joined->add(range.first, sum);
    column += width;
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  for (const std::uint32_t position : positions) {
    std::int32_t* const row = &buffers.rows[position * columns_];
    const std::size_t at = wide_rows.size();
    wide_rows.insert(wide_rows.end(), row, row + columns_);
    column = 0;
    for (const Tile& tile : tiles_) {
      const auto wide = tile.file->wide_nodes();
      const auto found = std::lower_bound(wide.begin(), wide.end(), ids[position]);
      if (found != wide.end() && *found == ids[position]) {
        const auto sums = tile.file->wide_row(static_cast<std::size_t>(found - wide.begin()));
        std::copy(sums.begin(), sums.end(), wide_rows.begin() + static_cast<std::ptrdiff_t>(at + column));
      }
      column += tile.file->shape().columns;
    }
    std::fill_n(row, columns_, 0);
  }
  image.put(ids, buffers.rows.get(), positions, wide_rows.data());
}

void SumJoin::check(std::size_t first_span, std::size_t last_span) const {
  for (const Tile& tile : tiles_) {
    const std::vector<std::uint64_t> joined = tile.joined->residues();
    for (std::size_t span = first_span; span < last_span; ++span)
      if (joined[span] != tile.formed[span])
        tile.file->fail(partition_text(tile.file->shape().level, nodes_, span) +
                        ": the sums are not those that were put on the disk");
  }
}

void join_rows(std::span<const TileFile* const> tiles, NodeId nodes, const RowMask* wanted, RowsLevelImage& image,
               MemoryBudget& budget) {
  struct Buffers {
    std::vector<NodeId> ids;
    std::vector<std::byte> rows;
    DirectPiece piece;
  };
  const std::size_t blocks = tiles.front()->shape().blocks, value_bytes = tiles.front()->shape().value_bytes;
  std::size_t columns = 0, widest = 0;
  for (const TileFile* tile : tiles) {
    columns += tile->shape().columns;
    widest = std::max<std::size_t>(widest, tile->shape().row_bytes());
  }
  const std::size_t row_bytes = blocks * columns * value_bytes;
  const auto bytes_of = [&](std::size_t most) {
    return most * (sizeof(NodeId) + row_bytes) + DirectPiece::memory_bytes(most * widest);
  };
  const std::size_t step = range_nodes_within(budget.available(), row_bytes, bytes_of);
  const std::uint64_t worker_bytes = bytes_of(step);
  const auto workers = std::clamp<std::size_t>(budget.available() / worker_bytes, 1, active_threads());
  const Reservation reservation = budget.reserve(workers * worker_bytes, "rows being put together");
  const WantedRanks ranks(nodes, wanted);
  run_ranges(
      {0, nodes}, step, workers,
      [&] {
        return Buffers{std::vector<NodeId>(step), std::vector<std::byte>(step * row_bytes), DirectPiece(step * widest)};
      },
      [&](NodeRange range, Buffers& buffers) {
        const std::size_t count = wanted_nodes(range, wanted, buffers.ids);
        if (count == 0) return;
        const std::uint64_t first = ranks.before(range.first);
        std::size_t column = 0;
        for (const TileFile* tile : tiles) {
          const std::size_t bytes = tile->shape().columns * value_bytes;
          for (std::size_t b = 0; b < blocks; ++b) {
            const std::byte* const piece =
                tile->rows(static_cast<std::uint32_t>(b), first, count, buffers.piece).data();
            for (std::size_t r = 0; r < count; ++r)
              std::memcpy(&buffers.rows[r * row_bytes + (b * columns + column) * value_bytes], piece + r * bytes,
                          bytes);
          }
          column += tile->shape().columns;
        }
        image.put({buffers.ids.data(), count}, 0, static_cast<std::uint32_t>(blocks * columns), buffers.rows.data());
      });
}

}  // namespace unweave
