// engine/sweep/tile_spool.cpp - writes the sums of column tiles to a file and assembles whole rows of them.
#include "engine/sweep/tile_spool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "engine/resources/parallel.h"
#include "storage/formats/store_layout.h"

namespace unweave {
namespace {

constexpr std::size_t kRowsBytes = std::size_t{1} << 20;  // whole rows that are put together at a time

/// Nodes of one range: a power of two, so that a range lies in one partition.
std::size_t range_nodes(std::size_t columns) {
  const std::size_t rows = kRowsBytes / (columns * sizeof(std::int32_t));
  return std::clamp<std::size_t>(std::bit_floor(rows), kSweepRangeRows, kMinSpanNodes);
}

}  // namespace

/// What one thread of an assembly works with.
struct TileSpool::Buffers {
  struct Free {
    void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
  };

  Buffers(std::size_t most, std::size_t columns, std::size_t tile_width)
      : ids(most),
        weights(most),
        sums(columns),
        rows(std::make_unique_for_overwrite<std::int32_t[]>(most * columns)),
        piece(static_cast<std::byte*>(std::aligned_alloc(WriteBehind::kAlignment, piece_bytes(most, tile_width)))) {
    if (!piece) throw std::bad_alloc();
  }
  /// A piece of a tile and the rest of the blocks that it begins and ends in.
  static std::size_t piece_bytes(std::size_t most, std::size_t tile_width) {
    constexpr std::size_t kBlock = WriteBehind::kAlignment;
    return (most * tile_width * sizeof(std::int32_t) / kBlock + 3) * kBlock;
  }
  static std::uint64_t bytes(std::size_t most, std::size_t columns, std::size_t tile_width) {
    return most * (sizeof(NodeId) + (columns + 1) * sizeof(std::int32_t)) + ColumnTotals::bytes(columns) +
           piece_bytes(most, tile_width);
  }

  std::vector<NodeId> ids;
  std::vector<std::int32_t> weights;
  ColumnTotals sums;
  std::unique_ptr<std::int32_t[]> rows;
  std::unique_ptr<std::byte, Free> piece;
};

ScatteredWriter make_spool(const std::filesystem::path& store, std::uint64_t bytes, WriteBehind& queue) {
  const std::filesystem::path path = SealedName{store, "state", "tiles", "spool", ""}.make_temporary();
  ScatteredWriter spool(path, bytes, queue);
  std::filesystem::remove(path);
  return spool;
}

TileSpool::TileSpool(ScatteredWriter& spool, SpoolShare share, std::size_t columns, std::size_t tile_width,
                     NodeId nodes, const RowMask* wanted)
    : spool_(spool),
      share_(share),
      columns_(columns),
      tile_width_(tile_width),
      nodes_(nodes),
      wanted_(wanted),
      rows_(wanted != nullptr ? wanted->size() : nodes) {
  if (wanted == nullptr) return;
  NodeId rank = 0;
  for (std::size_t block = 0; block * kBlockNodes < nodes; ++block) {
    if (block % kSweepRangeBlocks == 0) ranks_.push_back(rank);
    rank += static_cast<NodeId>(std::popcount(wanted->block_bits(block)));
  }
}

std::uint64_t TileSpool::rank_of_block(std::size_t block) const {
  if (block * kBlockNodes >= nodes_) return rows_;
  if (wanted_ == nullptr) return block * kBlockNodes;
  std::uint64_t rank = ranks_[block / kSweepRangeBlocks];
  for (std::size_t b = block / kSweepRangeBlocks * kSweepRangeBlocks; b < block; ++b)
    rank += static_cast<std::uint64_t>(std::popcount(wanted_->block_bits(b)));
  return rank;
}

void TileSpool::put(std::size_t first_column, const SumRows& rows) {
  spool_.put(tile_begin(first_column) + rank_of_block(rows.block) * rows.width * sizeof(std::int32_t),
             std::as_bytes(std::span(rows.sums, rows.nodes.size() * rows.width)));
  if (rows.wide_nodes.empty()) return;
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < rows.wide_nodes.size(); ++i) {
    const std::int64_t* piece = rows.wide_sums + i * rows.width;
    wide_[rows.nodes[rows.wide_nodes[i]]][first_column].assign(piece, piece + rows.width);
  }
}

void TileSpool::assemble(LevelImage& image, const SpoolCheck& check, MemoryBudget& budget) const {
  const std::size_t nodes = range_nodes(columns_);
  const std::size_t ranges = (nodes_ + nodes - 1) / nodes;
  const std::uint64_t worker_bytes = Buffers::bytes(nodes, columns_, tile_width_);
  const auto workers = std::clamp<std::size_t>(budget.available() / worker_bytes, 1, 2 * active_threads() + 2);
  const Reservation reservation = budget.reserve(workers * worker_bytes, "rows being put together");
  run_waiting_items(ranges, workers, [&](auto&& next_item) {
    Buffers buffers(nodes, columns_, tile_width_);
    for (std::size_t item = next_item(); item < ranges; item = next_item()) {
      const NodeRange range{static_cast<NodeId>(item * nodes),
                            static_cast<NodeId>(std::min<std::size_t>(nodes_, (item + 1) * nodes))};
      assemble_range(range, buffers, image, check);
    }
  });
  for (std::size_t column = 0; column < columns_; column += tile_width_)
    spool_.file().give_back(tile_begin(column), rows_ * width_of(column) * sizeof(std::int32_t));
}

void TileSpool::assemble_range(NodeRange range, Buffers& buffers, LevelImage& image, const SpoolCheck& check) const {
  constexpr std::size_t kBlock = WriteBehind::kAlignment;
  const std::uint64_t first = rank_of_block(range.first / kBlockNodes);
  std::size_t count = 0;
  for (NodeId node = range.first; node < range.last; ++node)
    if (wanted_ == nullptr || wanted_->contains(node)) buffers.ids[count++] = node;
  if (count == 0) return;
  const std::span<const NodeId> ids(buffers.ids.data(), count);
  for (std::size_t column = 0; column < columns_; column += tile_width_) {
    const std::size_t width = width_of(column);
    const std::uint64_t begin = tile_begin(column) + first * width * sizeof(std::int32_t);
    const std::uint64_t end = begin + count * width * sizeof(std::int32_t);
    const std::uint64_t from = begin / kBlock * kBlock;
    // Past the page cache whole blocks are read; the file may end within the last one.
    spool_.file().read_some_at(from, {buffers.piece.get(), (end - from + kBlock - 1) / kBlock * kBlock}, end - from);
    const auto* piece = reinterpret_cast<const std::int32_t*>(buffers.piece.get() + (begin - from));
    for (std::size_t r = 0; r < count; ++r) std::copy_n(piece + r * width, width, &buffers.rows[r * columns_ + column]);
  }
  std::vector<std::uint32_t> positions;
  std::vector<std::int64_t> wide_rows;
  for (auto it = wide_.lower_bound(range.first); it != wide_.end() && it->first < range.last; ++it) {
    const auto position = static_cast<std::size_t>(std::lower_bound(ids.begin(), ids.end(), it->first) - ids.begin());
    std::int32_t* const row = &buffers.rows[position * columns_];
    positions.push_back(static_cast<std::uint32_t>(position));
    const auto at = static_cast<std::ptrdiff_t>(wide_rows.size());
    wide_rows.insert(wide_rows.end(), row, row + columns_);
    for (const auto& [column, sums] : it->second)
      std::copy(sums.begin(), sums.end(), wide_rows.begin() + at + static_cast<std::ptrdiff_t>(column));
    std::fill_n(row, columns_, 0);
  }
  const ColumnFactors factors = check.key.columns(0);
  const Modulus& modulus = factors.modulus;
  for (std::size_t r = 0; r < count; ++r) buffers.weights[r] = check.key.weight(ids[r]);
  buffers.sums.add(buffers.rows.get(), count, buffers.weights.data());
  std::uint64_t sum = buffers.sums.take(factors);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::uint64_t wide = fingerprint_of(std::span(wide_rows).subspan(i * columns_, columns_), factors);
    sum = modulus.add(sum, modulus.multiply(buffers.weights[positions[i]], wide));
  }
  check.sums.add(range.first, sum);
  image.put(ids, buffers.rows.get(), positions, wide_rows.data());
}

}  // namespace unweave
