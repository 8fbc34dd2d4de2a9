// algorithms/propagation/tile_folder.h - what is finished of a propagation that is not: tiles of
// columns, in a folder of the store that names contents and options.
//
// The folder is tiles/CONTENTS-OPTIONS of the store. Whatever lies there is durable, and whole,
// once it has its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/propagation/propagation_sweep.h"
#include "engine/graph/contents.h"
#include "storage/formats/sealed_file.h"
#include "storage/formats/tile_file.h"

namespace unweave {

/// What all tiles of a propagation have alike.
struct TileForm {
  std::vector<std::uint32_t> levels{};  ///< that have files, ascending
  std::vector<std::uint64_t> rows{};    ///< rows at these levels
  std::uint32_t blocks = 1;
  std::uint32_t value_bytes = 4;
  [[nodiscard]] TileShape shape(std::size_t index, TileColumns columns) const {
    return {levels[index],
            static_cast<std::uint32_t>(columns.first),
            static_cast<std::uint32_t>(columns.count),
            rows[index],
            blocks,
            value_bytes};
  }
  /// Bytes of the files of these columns, of all levels.
  [[nodiscard]] std::uint64_t file_bytes(TileColumns columns) const {
    std::uint64_t bytes = 0;
    for (std::size_t index = 0; index < levels.size(); ++index) bytes += shape(index, columns).file_bytes();
    return bytes;
  }
};

/// Some columns, and the files of the form's levels; null where there is none yet.
struct FinishedTile {
  TileColumns columns;
  std::vector<std::unique_ptr<TileFile>> levels;
  [[nodiscard]] bool is_whole() const;
  /// How many of the first levels are there.
  [[nodiscard]] std::size_t first_levels() const;
  /// Whether the levels that are missing can be made of the last one that is there: of values of
  /// rows they cannot, since the sums that these were made of are gone.
  [[nodiscard]] bool can_go_on() const;
};

class TileFolder {
 public:
  /// `text`: contents and options, line by line; `nodes` of the store. Where `kept` is false nobody
  /// goes on with what a killed process leaves there, and nothing is made durable.
  TileFolder(std::filesystem::path path, std::string text, NodeId nodes, bool kept = true)
      : path_(std::move(path)), text_(std::move(text)), nodes_(nodes), kept_(kept) {}

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] bool kept() const noexcept { return kept_; }
  /// Makes the folder, its name durable, and removes what killed processes of this machine have not
  /// finished there.
  void prepare() const;
  /// All tiles of which some level is there, by columns. A file that is damaged, of other contents
  /// or options, or of another form is dropped: its columns are missing.
  [[nodiscard]] std::vector<FinishedTile> tiles(const TileForm& form) const;
  /// Removes a damaged tile. Throws DataError where it cannot be removed.
  void drop(const TileDamage& damage) const;
  /// A note on each tile that was dropped, with marks.
  [[nodiscard]] const std::vector<std::string>& dropped() const noexcept { return dropped_; }
  /// Bytes of all that lies there.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  std::filesystem::path path_;
  std::string text_;
  NodeId nodes_;
  bool kept_;
  mutable std::vector<std::string> dropped_{};
};

/// A folder of tiles made ready. Where nothing lies there at the end, because the propagation was
/// refused, it goes again, and so does the folder of all tiles.
class PreparedTiles {
 public:
  explicit PreparedTiles(const TileFolder& folder) : folder_(folder) { folder_.prepare(); }
  ~PreparedTiles();
  PreparedTiles(const PreparedTiles&) = delete;
  PreparedTiles& operator=(const PreparedTiles&) = delete;

 private:
  const TileFolder& folder_;
};

/// A folder for tiles that nobody goes on with: where a process is killed, the next one that writes
/// the store removes it.
class TemporaryTiles {
 public:
  TemporaryTiles(const std::filesystem::path& store, NodeId nodes);
  ~TemporaryTiles();
  TemporaryTiles(const TemporaryTiles&) = delete;
  TemporaryTiles& operator=(const TemporaryTiles&) = delete;
  [[nodiscard]] const TileFolder& folder() const noexcept { return folder_; }

 private:
  TileFolder folder_;
};

/// Whole tiles that cover the columns of a range exactly once, in ascending order; none where there
/// are none such.
[[nodiscard]] std::vector<const FinishedTile*> exact_cover(std::span<const FinishedTile> tiles, TileColumns range);
/// Throws DataError, which names the columns that no tile has, or tiles of which none ends where
/// the next begins.
void require_tiles(const TileFolder& folder, std::span<const FinishedTile> tiles, TileColumns all);
/// What is missing to that: columns of the range that no whole tile covers that begins where
/// another one, or the range, leaves off.
[[nodiscard]] std::vector<TileColumns> missing_columns(std::span<const FinishedTile> tiles, TileColumns range);

/// The normalised sums of a level from its tile, for columns within that one's. `wanted`: rows of
/// the level, or null for all; others get zeros. References must outlive it.
[[nodiscard]] TileFill fill_from_tile(const TileFile& tile, const Contents& contents, const RowMask* wanted,
                                      PageCache cache = PageCache::used);

}  // namespace unweave
