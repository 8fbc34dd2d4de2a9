// storage/formats/rows_file.h - rows of values that are kept in place of sums, for one span of
// nodes (FORMAT.md, "Kept rows").
//
// Sealed file of kind "rows", values float32, or "rows16", values binary16; parameters: level,
// first node, nodes of the span, rows, columns, exponent. The payload is
//   members   one bit a node of the span, u64 words; absent when every node has a row
//   padding   to a multiple of 4096 of the file
//   rows      chunk after chunk of 4096 rows, the last one perhaps shorter; in each, strip after
//             strip of 16 columns, the last one perhaps narrower: rows x width values row-major,
//             filled with zeros to a multiple of 4096 bytes
// A tile of 16 columns, or a multiple, then writes whole pieces that begin and end with a page, and
// whoever reads many rows reads a chunk at a time from end to end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "storage/codec/half.h"
#include "storage/formats/sealed_file.h"
#include "storage/formats/state_file.h"
#include "storage/io/types.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

inline constexpr std::uint64_t kRowsChunk = 4096;       ///< rows of a chunk
inline constexpr std::uint32_t kStripColumns = 16;      ///< columns of a strip
inline constexpr std::uint64_t kPieceAlignment = 4096;  ///< bytes of the file

/// Where the parts of the payload lie. Offsets count from the beginning of the payload.
struct RowsLayout {
  NodeRange range;
  std::uint32_t columns = 0;
  std::uint64_t rows = 0;
  std::uint64_t value_bytes = 4;

  [[nodiscard]] std::uint64_t member_words() const noexcept {
    return rows == range.size() ? 0 : (std::uint64_t{range.size()} + 63) / 64;
  }
  [[nodiscard]] std::uint64_t rows_at() const noexcept {
    return aligned(kSealedHeaderBytes + 8 * member_words()) - kSealedHeaderBytes;
  }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return (rows + kRowsChunk - 1) / kRowsChunk; }
  [[nodiscard]] std::uint64_t rows_of(std::uint64_t chunk) const noexcept {
    return std::min(kRowsChunk, rows - chunk * kRowsChunk);
  }
  [[nodiscard]] std::uint32_t strips() const noexcept { return (columns + kStripColumns - 1) / kStripColumns; }
  [[nodiscard]] std::uint32_t width_of(std::uint32_t strip) const noexcept {
    return std::min(kStripColumns, columns - strip * kStripColumns);
  }
  /// Bytes of a piece with its padding: a strip of a chunk.
  [[nodiscard]] std::uint64_t piece_bytes(std::uint64_t chunk, std::uint32_t strip) const noexcept {
    return aligned(rows_of(chunk) * width_of(strip) * value_bytes);
  }
  [[nodiscard]] std::uint64_t piece_at(std::uint64_t chunk, std::uint32_t strip) const noexcept {
    return rows_at() + chunk * kRowsChunk * columns * value_bytes +
           strip * aligned(rows_of(chunk) * kStripColumns * value_bytes);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    if (rows == 0) return rows_at();
    return piece_at(chunks() - 1, strips() - 1) + piece_bytes(chunks() - 1, strips() - 1);
  }
  [[nodiscard]] static constexpr std::uint64_t aligned(std::uint64_t bytes) noexcept {
    return (bytes + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment;
  }
};

/// Name and kind of the file of one span.
[[nodiscard]] SealedName rows_name(const std::filesystem::path& store, std::uint32_t level, NodeId first,
                                   FeatureType type);

/// Writes each value times 2^exponent as the binary16 next to it, ties to even: rounded once.
/// Returns the position of the first value of which that is no finite number, where it stops; else
/// how many there are.
std::size_t round_to_halves(std::span<const float> values, std::int32_t exponent, Half* out) noexcept;

/// Read-only view of the kept rows of a span. Const members may run on any number of threads at
/// once.
class RowsFile {
 public:
  /// Throws DataError, FormatError.
  RowsFile(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level, NodeRange range,
           std::uint32_t columns, const KeptForm& kept);
  [[nodiscard]] NodeRange range() const noexcept { return layout_.range; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return layout_.rows; }
  [[nodiscard]] bool contains(NodeId node) const noexcept;
  /// The rows of nodes of the range will be read soon.
  void read_ahead(NodeRange nodes) const noexcept;
  /// The row of a node of the range as float32 into out[columns], checked; false when it has none.
  bool read(NodeId node, float* out) const;
  /// The bits of the values, one a word; false when it has no row.
  bool read_bits(NodeId node, std::uint32_t* out) const;
  /// Checks checksums, and that all values are finite; throws FormatError.
  void verify() const;

 private:
  [[nodiscard]] std::uint64_t index(NodeId node) const noexcept;
  template <class Value, class Use>
  void for_strips(std::uint64_t rank, const Use& use) const;

  SealedFile file_;
  RowsLayout layout_;
  KeptForm kept_;
  float unit_ = 1;                          ///< 2^-exponent
  std::span<const std::uint64_t> members_;  ///< empty when every node has a row
  MemberRanks ranks_;
};

}  // namespace unweave
