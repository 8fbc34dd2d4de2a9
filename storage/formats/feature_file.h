// storage/formats/feature_file.h - the features of one span of nodes at rest (FORMAT.md,
// "Features").
//
// Rows have norm at most 1 in float64. Two layouts with values of two types, the same for a whole
// store, and a third one for dense files with many rows of zeros:
//   dense    tiles of kTileColumns columns, each rows x width row-major, so that a column tile is
//            one read
//   sparse   u64 offsets[rows + 1], u32 columns[nonzeros], values[nonzeros], columns increasing in
//            a row
//   packed   u64 words of a bit for each row that is there, u32 rows before each word and in all,
//            then the tiles of dense, of these rows alone
// Values are float32, or binary16 under the kinds "dense16", "sparse16" and "packed16"; writers
// take and readers give float32. Parameters: first node, rows, columns, non-zeros (0 for dense, the
// rows that are there for packed).
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "storage/codec/half.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"
#include "storage/types/feature_layout.h"

namespace unweave {

inline constexpr std::uint32_t kTileColumns = 32;

/// The empty file of one span, named by the layout. `packed`: without its rows of zeros.
[[nodiscard]] SealedWriter start_feature_file(const std::filesystem::path& store, NodeRange range, FeatureLayout layout,
                                              bool packed = false);
/// Whether a file of features leaves rows of zeros out.
[[nodiscard]] bool is_packed(const FileEntry& entry);

/// Words of a bit a row, and what a packed file holds beside its values.
[[nodiscard]] constexpr std::uint64_t bit_words(std::uint64_t rows) noexcept {
  return (rows + 63) / 64;
}
[[nodiscard]] constexpr std::uint64_t packed_index_bytes(std::uint64_t rows) noexcept {
  return 12 * bit_words(rows) + 4;
}

/// Appends values to a SealedWriter or OverflowBuffer, in the bits of `type`; what has too many is
/// rounded toward zero.
template <class Sink>
void append_features(std::span<const float> values, FeatureType type, Sink& out) {
  if (type == FeatureType::f32) return out.append_values(values);
  std::array<Half, 1024> halves;
  while (!values.empty()) {
    const auto part = values.first(std::min(values.size(), halves.size()));
    truncate_to_halves(part, halves.data());
    out.append_values(std::span<const Half>(halves).first(part.size()));
    values = values.subspan(part.size());
  }
}

/// Features of one span. Const members may run on any number of threads at once.
class FeatureFile {
 public:
  /// Throws DataError, FormatError.
  FeatureFile(const std::filesystem::path& store, const FileEntry& entry, NodeRange range, std::uint32_t columns,
              FeatureLayout layout);
  /// Columns [first_column, first_column + width) of rows [range.first, range.last), row-major into
  /// `out`.
  void read(NodeRange range, std::uint32_t first_column, std::uint32_t width, float* out,
            PageCache cache = PageCache::used) const;
  /// Whether read_halves() can give what the file holds: its values are of 16 bits, in tiles.
  [[nodiscard]] bool has_halves() const noexcept { return !layout_.sparse && layout_.type == FeatureType::f16; }
  /// Whole rows as they lie in such a file.
  void read_halves(NodeRange range, Half* out) const;
  /// Whether read() goes past the page cache where it is asked to: dense files do, if the file
  /// system can.
  [[nodiscard]] bool can_pass_cache() const;
  /// Asks the disk for these columns and rows, which will be read soon.
  void read_ahead(NodeRange range, std::uint32_t first_column, std::uint32_t width) const noexcept;
  /// These columns and rows will not be read soon; where another column of their strip will, it is
  /// read anew.
  void forget(NodeRange range, std::uint32_t first_column, std::uint32_t width) const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return file_.size(); }
  /// Checks checksums, finiteness and row norms; throws FormatError.
  void verify() const;

 private:
  /// `rows(offset, values)` gives values of the payload.
  template <class Value, class Out, class Rows>
  void read_dense(NodeRange local, std::uint32_t first_column, std::uint32_t width, Out* out, const Rows& rows) const;
  void read_past(const File& direct, NodeRange local, std::uint32_t first_column, std::uint32_t width,
                 float* out) const;
  template <class Value>
  void read_sparse(NodeRange local, std::uint32_t first_column, std::uint32_t width, float* out) const;
  /// Calls use(offset, length) for the bytes of the payload that hold these columns and rows.
  template <class Use>
  void for_bytes(NodeRange range, std::uint32_t first_column, std::uint32_t width, const Use& use) const;
  void read_rows(NodeRange stored, std::uint32_t first_column, std::uint32_t width, float* out, PageCache cache) const;
  /// `read(stored)` puts rows that are there at the beginning of `out`.
  template <class Out, class Read>
  void read_packed(NodeRange local, std::uint32_t width, Out* out, const Read& read) const;
  /// Places among the rows that are there; of those of a packed file's rows [0, row) without a
  /// check.
  [[nodiscard]] NodeId place(NodeId row) const noexcept;
  [[nodiscard]] NodeRange places(NodeRange local) const noexcept;
  void verify_index() const;
  [[noreturn]] void fail_column(std::uint64_t index) const;

  SealedFile file_;
  NodeRange range_;
  std::uint32_t columns_;
  FeatureLayout layout_;
  std::span<const std::uint64_t> offsets_;
  std::span<const std::uint32_t> column_ids_;
  std::uint64_t values_at_ = 0;
  bool is_packed_;
  NodeId stored_;  ///< rows that are there
  std::span<const std::uint64_t> present_;
  std::span<const std::uint32_t> before_;
};

}  // namespace unweave
