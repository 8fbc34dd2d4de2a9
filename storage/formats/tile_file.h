// storage/formats/tile_file.h - some columns of one level of a propagation that is not finished:
// sums, or values of kept rows, until those of all columns are there (FORMAT.md, "Unfinished
// propagations").
//
// Sealed file of kind "tile"; parameters: level and version; first column and columns; rows; blocks
// and bytes of a value; wide rows; bytes of the text and of the proof.
//   text      which contents and which options, line by line; then padding up to the next chunk
//   blocks    rows x columns values each, row-major, in node order; a wide row of sums holds zeros
//             here
//   wide      u32 node of each wide row, padding to 8, then i64 rows
//   norms     two 128-bit sums a column, of its features
//   proof     key and residues with which the sums were checked, as engine/sweep/tile_level.h
//             writes them; empty for values
// The name tells level and columns, and nothing of the bytes: whoever computes a tile twice
// replaces it by itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/sealed_image.h"
#include "storage/formats/state_file.h"
#include "storage/io/error.h"
#include "storage/io/types.h"

namespace unweave {

/// A tile that is damaged, or is none of its propagation. Nothing is lost with it: where it is
/// dropped, its columns are computed anew.
struct TileDamage final : DataError {
  TileDamage(const std::filesystem::path& tile, const std::string& what);
  std::filesystem::path file;
  std::string fault;  ///< without file and remedy, with its marks
};

/// Which part of a propagation a tile holds, and in which form.
struct TileShape {
  std::uint32_t level = 1;
  std::uint32_t first_column = 0, columns = 0;  ///< those of the features
  std::uint64_t rows = 0;
  std::uint32_t blocks = 1;       ///< a row of a filter has several, side by side
  std::uint32_t value_bytes = 4;  ///< a sum has 4, a kept value 2 or 4

  [[nodiscard]] std::uint64_t row_bytes() const noexcept { return std::uint64_t{columns} * value_bytes; }
  [[nodiscard]] std::uint64_t block_bytes() const noexcept { return rows * row_bytes(); }
  /// Bytes of its file without text, wide rows and proof.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return sealed_file_bytes(blocks * block_bytes()); }
  friend bool operator==(const TileShape&, const TileShape&) = default;
};

inline constexpr std::size_t kTileNormBytes = 32;  ///< for each column

/// The name of a tile in its folder.
[[nodiscard]] std::string tile_name(std::uint32_t level, std::uint32_t first_column, std::uint32_t columns);

struct TileName {
  std::uint32_t level = 0, first_column = 0, columns = 0;
};
/// What a name tells; nothing where it is not a tile's.
[[nodiscard]] std::optional<TileName> parse_tile_name(std::string_view name);

/// A word that no other process uses at this time, on this machine or another one that shares its
/// files.
[[nodiscard]] std::string process_word();

/// A tile written by many threads, rows in any order.
class TileImage {
 public:
  /// The queue must outlive this object.
  TileImage(const std::filesystem::path& folder, const TileShape& shape, std::string_view text, WriteBehind& queue);

  /// Rows of a block from row `rank` on; each byte once, from any thread.
  void put(std::uint32_t block, std::uint64_t rank, std::span<const std::byte> rows);
  /// A row of sums of which some do not fit 32 bits; from any thread.
  void put_wide(NodeId node, const std::int64_t* sums);
  /// Hands the rest of the file to the queue, after all rows.
  void finish(std::span<const std::byte> norms, std::span<const std::byte> proof);
  /// Whether all its bytes are written, or failed to be, which the queue tells; after finish().
  [[nodiscard]] bool is_written() const noexcept { return image_.is_written(); }
  /// Makes it durable and gives it its name, in the place of one that somebody else has finished;
  /// after is_written().
  void publish();

 private:
  std::filesystem::path folder_;
  TileShape shape_;
  std::uint64_t text_bytes_, rows_at_;
  SealedImage image_;
  std::mutex mutex_;  ///< guards wide_
  std::map<NodeId, std::vector<std::int64_t>> wide_;
};

/// A tile that somebody has finished. Const members may run on any number of threads at once.
/// Errors are TileDamage.
class TileFile {
 public:
  /// Maps the file and checks all but rows. `nodes`: of the store.
  TileFile(const std::filesystem::path& path, NodeId nodes);
  [[nodiscard]] const TileShape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::filesystem::path path() const { return file_.path(); }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return sealed_file_bytes(file_.size()); }

  /// Rows [first, first + count) of a block, checked.
  [[nodiscard]] std::span<const std::byte> rows(std::uint32_t block, std::uint64_t first, std::uint64_t count) const;
  /// As above, past the page cache where the file system can; they lie in the piece until the next
  /// call.
  [[nodiscard]] std::span<const std::byte> rows(std::uint32_t block, std::uint64_t first, std::uint64_t count,
                                                DirectPiece& piece) const;
  /// They will be read soon, by the first of these.
  void read_ahead(std::uint64_t first, std::uint64_t count) const noexcept;
  /// Nodes of wide rows, ascending, and the row of the one at `index`.
  [[nodiscard]] std::span<const NodeId> wide_nodes() const noexcept { return wide_nodes_; }
  [[nodiscard]] std::span<const std::int64_t> wide_row(std::size_t index) const;
  [[nodiscard]] std::span<const std::byte> norms() const;
  [[nodiscard]] std::span<const std::byte> proof() const;
  /// Checks every byte.
  void verify() const;
  /// Throws TileDamage: this is wrong with the file.
  [[noreturn]] void fail(std::string_view what) const;

 private:
  [[nodiscard]] std::uint64_t wide_nodes_at() const noexcept;
  [[nodiscard]] std::uint64_t wide_rows_at() const noexcept;
  [[nodiscard]] std::uint64_t norms_at() const noexcept;
  void read_header(NodeId nodes);

  SealedFile file_;
  File direct_;  ///< not open where the file system refuses that
  TileShape shape_;
  std::uint64_t rows_at_ = 0, wide_ = 0, proof_bytes_ = 0;
  std::string_view text_;
  std::span<const NodeId> wide_nodes_;
};

}  // namespace unweave
