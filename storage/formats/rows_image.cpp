// storage/formats/rows_image.cpp - gathers pieces of kept rows, or writes values to their places,
// and seals the file.
#include "storage/formats/rows_image.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "storage/io/checksum.h"
#include "storage/io/entry.h"

namespace unweave {
namespace {

static_assert(kPieceAlignment == kSealedChunkBytes && kPieceAlignment == WriteBehind::kAlignment);

constexpr std::uint64_t kLeastDirectRows = std::uint64_t{2} << 20;  // smaller files go through the page cache
constexpr std::size_t kSumBytes = std::size_t{256} << 10;           // read at a time to form checksums

std::uint64_t rows_among(NodeRange range, std::span<const std::uint64_t> members) {
  std::uint64_t rows = members.empty() ? range.size() : 0;
  for (const std::uint64_t word : members) rows += static_cast<std::uint64_t>(std::popcount(word));
  return rows;
}

/// Rows of `row_bytes` each go side by side. Whole strips have a length that the compiler knows.
void copy_rows(std::byte* to, std::size_t row_bytes, const std::byte* from, std::size_t stride, std::uint64_t rows) {
  constexpr std::size_t kWide = kStripColumns * sizeof(float), kHalves = kStripColumns * sizeof(Half);
  if (row_bytes == kWide)
    for (std::uint64_t r = 0; r < rows; ++r) std::memcpy(to + r * kWide, from + r * stride, kWide);
  else if (row_bytes == kHalves)
    for (std::uint64_t r = 0; r < rows; ++r) std::memcpy(to + r * kHalves, from + r * stride, kHalves);
  else
    for (std::uint64_t r = 0; r < rows; ++r) std::memcpy(to + r * row_bytes, from + r * stride, row_bytes);
}

}  // namespace

RowsImage::RowsImage(const std::filesystem::path& store, std::uint32_t level, NodeRange range, std::uint32_t columns,
                     const KeptForm& kept, std::vector<std::uint64_t> members, WriteBehind* queue)
    : name_(rows_name(store, level, range.first, kept.type)),
      temporary_(name_.make_temporary()),
      level_(level),
      kept_(kept),
      members_(std::move(members)),
      ranks_(members_),
      layout_{range, columns, rows_among(range, members_), value_bytes(kept.type)},
      queue_(queue) {
  if (layout_.rows == range.size()) members_.clear();
  table_.resize(sealed_chunks(layout_.bytes()));
  // What no row fills is zeros from now on.
  File::create(temporary_).truncate(sealed_file_bytes(layout_.bytes()));
}

RowsImage::~RowsImage() {
  if (!temporary_.empty()) drop_entry(temporary_);
}

RowsImage::Files RowsImage::files() {
  const std::scoped_lock lock(files_mutex_);
  if (files_.buffered) return files_;
  files_.buffered = std::make_shared<const File>(File::open_write(temporary_));
  if (queue_ == nullptr || layout_.bytes() < kLeastDirectRows) return files_;
  if (File direct = File::open_direct(temporary_); direct.is_open())
    files_.direct = std::make_shared<const File>(std::move(direct));
  return files_;
}

void RowsImage::rest() {
  const std::scoped_lock lock(files_mutex_);
  files_ = {};
}

void RowsImage::put(std::span<const NodeId> nodes, std::uint32_t first_column, std::uint32_t width,
                    const std::byte* values) {
  const NodeId local = nodes.front() - layout_.range.first;
  const std::uint64_t begin = members_.empty() ? local : ranks_.before(members_, local);
  const std::uint64_t end = begin + nodes.size();
  const std::size_t stride = width * layout_.value_bytes;
  for (std::uint64_t rank = begin; rank < end;) {
    const std::uint64_t chunk = rank / kRowsChunk, last = std::min(end, (chunk + 1) * kRowsChunk);
    for (std::uint32_t column = first_column; column < first_column + width;) {
      const std::uint32_t strip = column / kStripColumns, from = column % kStripColumns;
      const std::uint32_t count = std::min(first_column + width - column, layout_.width_of(strip) - from);
      const Part part{chunk,
                      rank % kRowsChunk,
                      last - rank,
                      strip,
                      from,
                      count,
                      values + (rank - begin) * stride + (column - first_column) * layout_.value_bytes,
                      stride};
      if (queue_ != nullptr)
        gather(part);
      else
        write(part);
      column += count;
    }
    rank = last;
  }
}

void RowsImage::gather(const Part& part) {
  assert(part.first == 0 && part.width == layout_.width_of(part.strip));
  const std::size_t row_bytes = part.width * layout_.value_bytes;
  std::unique_lock lock(mutex_);
  Piece& piece = open_[{part.chunk, part.strip}];
  // Whoever has the lock may wait here while others hold pieces that are not full: there must be
  // more segments than those.
  if (piece.segment == nullptr) piece.segment = queue_->take();
  std::byte* const to = piece.segment + part.row * row_bytes;
  lock.unlock();
  copy_rows(to, row_bytes, part.values, part.stride, part.count);
  lock.lock();
  piece.filled += part.count;
  if (piece.filled < layout_.rows_of(part.chunk)) return;
  std::byte* const segment = piece.segment;
  open_.erase({part.chunk, part.strip});
  lock.unlock();
  complete(part.chunk, part.strip, segment);
}

void RowsImage::complete(std::uint64_t chunk, std::uint32_t strip, std::byte* segment) {
  const std::uint64_t bytes = layout_.piece_bytes(chunk, strip), at = layout_.piece_at(chunk, strip);
  const std::uint64_t used = layout_.rows_of(chunk) * layout_.width_of(strip) * layout_.value_bytes;
  std::fill(segment + used, segment + bytes, std::byte{0});
  const std::uint64_t first = table_index(at);
  for (std::uint64_t i = 0; i * kSealedChunkBytes < bytes; ++i)  // nobody else has these entries
    table_[first + i] = checksum64({segment + i * kSealedChunkBytes, kSealedChunkBytes});
  const Files open = files();
  queue_->write(open.direct, open.buffered, kSealedHeaderBytes + at, segment, bytes);
}

/// Whole rows of a strip are written at once; of some columns of them, these are put between the
/// others, which no other thread writes at this time.
void RowsImage::write(const Part& part) {
  const std::uint32_t strip_width = layout_.width_of(part.strip);
  const std::size_t row_bytes = strip_width * layout_.value_bytes, part_bytes = part.width * layout_.value_bytes;
  std::vector<std::byte> rows(part.count * row_bytes);
  const Files open = files();
  const std::uint64_t at = kSealedHeaderBytes + layout_.piece_at(part.chunk, part.strip) + part.row * row_bytes;
  if (part.width < strip_width) open.buffered->read_at(at, rows);
  for (std::uint64_t r = 0; r < part.count; ++r)
    std::memcpy(&rows[r * row_bytes + part.first * layout_.value_bytes], part.values + r * part.stride, part_bytes);
  open.buffered->write_at(at, rows);
}

FileEntry RowsImage::publish() {
  assert(open_.empty());
  const Files open = files();
  const std::uint64_t payload = layout_.bytes(), rows_at = layout_.rows_at();
  std::vector<std::byte> head(rows_at);
  std::memcpy(head.data(), members_.data(), 8 * members_.size());
  for (std::uint64_t at = 0; at < rows_at;) {
    const std::uint64_t chunk = table_index(at), end = std::min(rows_at, sealed_chunk_begin(chunk + 1));
    table_[chunk] = checksum64(std::span(head).subspan(at, end - at));
    at = end;
  }
  std::vector<std::byte> piece(queue_ == nullptr ? std::min<std::uint64_t>(kSumBytes, payload - rows_at) : 0);
  for (std::uint64_t at = rows_at; queue_ == nullptr && at < payload; at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kSumBytes, payload - at));
    open.buffered->read_at(kSealedHeaderBytes + at, piece);
    for (std::size_t i = 0; i < piece.size(); i += kSealedChunkBytes)
      table_[table_index(at + i)] = checksum64(std::span(piece).subspan(i, kSealedChunkBytes));
  }
  const SealedHeader header = seal(name_, payload,
                                   {level_, layout_.range.first, layout_.range.size(), layout_.rows, layout_.columns,
                                    static_cast<std::uint64_t>(std::int64_t{kept_.exponent})},
                                   table_);
  open.buffered->write_at(kSealedHeaderBytes, head);
  open.buffered->write_at(sealed_table_offset(payload), std::as_bytes(std::span(table_)));
  open.buffered->write_at(0, header.bytes);
  rest();
  publish_sealed(name_, temporary_, header.entry);
  temporary_.clear();
  table_ = {};
  return header.entry;
}

}  // namespace unweave
