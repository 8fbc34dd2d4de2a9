// algorithms/propagation/tile_folder.cpp - finds the tiles of an unfinished propagation, and which
// of them cover its columns.
#include "algorithms/propagation/tile_folder.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>
#include <utility>

#include "algorithms/propagation/density.h"
#include "engine/sweep/level_tile.h"
#include "storage/formats/state_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

/// Whether a temporary file, .level-...-HOST-PROCESS-NUMBER.tile.new, is of a process of this
/// machine that is no more.
bool is_abandoned(const std::string& name) {
  constexpr std::string_view kEnd = ".tile.new";
  if (!name.starts_with(".level-") || !name.ends_with(kEnd)) return false;
  const std::string word = process_word();
  const std::string host = word.substr(0, word.rfind('-', word.rfind('-') - 1));
  const std::string_view stem = std::string_view(name).substr(0, name.size() - kEnd.size());
  const std::size_t number = stem.rfind('-');
  const std::size_t process = stem.rfind('-', number - 1);
  if (number == std::string_view::npos || process == std::string_view::npos || number == 0) return false;
  if (!stem.substr(0, process).ends_with("-" + host)) return false;
  pid_t id = 0;
  const std::string_view digits = stem.substr(process + 1, number - process - 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (error != std::errc() || end != digits.data() + digits.size() || id <= 0) return false;
  return ::kill(id, 0) != 0 && errno == ESRCH;
}

}  // namespace

bool FinishedTile::is_whole() const {
  return first_levels() == levels.size();
}

std::size_t FinishedTile::first_levels() const {
  return static_cast<std::size_t>(std::find(levels.begin(), levels.end(), nullptr) - levels.begin());
}

bool FinishedTile::can_go_on() const {
  const std::size_t count = first_levels();
  return count > 0 && count < levels.size() && !levels[count - 1]->proof().empty();
}

void TileFolder::prepare() const {
  if (!kept_) return;
  make_folders(path_);
  for (const Entry& entry : list_folder(path_))
    if (is_abandoned(entry.name())) drop_entry(entry.path);
}

std::vector<FinishedTile> TileFolder::tiles(const TileForm& form) const {
  std::map<std::pair<std::size_t, std::size_t>, FinishedTile> found;
  for (const Entry& entry : list_folder(path_)) {
    const std::optional<TileName> name = parse_tile_name(entry.name());
    if (!name) continue;
    const auto level = std::find(form.levels.begin(), form.levels.end(), name->level);
    if (level == form.levels.end()) continue;  // a level that was joined before its tile was removed
    const auto index = static_cast<std::size_t>(level - form.levels.begin());
    const TileColumns columns{name->first_column, name->columns};
    const std::optional<EntryStatus> seen = try_status_of(entry.path);
    std::unique_ptr<TileFile> file;
    try {
      file = std::make_unique<TileFile>(entry.path, nodes_);
      if (file->text() != text_)
        file->fail("it belongs to a propagation of another store, of other contents or options");
      if (file->shape() != form.shape(index, columns))
        file->fail("it has not the rows and columns that its name tells");
    } catch (const TileDamage& damage) {
      // Whoever shares the store may have dropped it as well, and made it anew by now.
      const std::optional<EntryStatus> now = try_status_of(entry.path);
      if (seen && now && now->is_same_file(*seen)) drop(damage);
      continue;
    }
    FinishedTile& tile = found[{columns.first, columns.count}];
    tile.columns = columns;
    tile.levels.resize(form.levels.size());
    tile.levels[index] = std::move(file);
  }
  std::vector<FinishedTile> tiles;
  tiles.reserve(found.size());
  for (auto& [columns, tile] : found) tiles.push_back(std::move(tile));
  return tiles;
}

void TileFolder::drop(const TileDamage& damage) const {
  if (drop_entry(damage.file))
    dropped_.push_back(damage.file.string() + ": " + damage.fault +
                       "; the file is dropped: its columns can be computed anew");
  else if (has_entry(damage.file))
    throw DataError(damage.file.string() + ": " + damage.fault + "; remove it, and its columns are computed anew");
}

std::uint64_t TileFolder::bytes() const {
  std::uint64_t bytes = 0;
  walk_folder(path_, [&](const Entry& entry) {
    if (entry.kind == EntryKind::file) bytes += status_of(entry.path).bytes;
  });
  return bytes;
}

PreparedTiles::~PreparedTiles() {
  // Where nothing is left in them.
  if (folder_.kept() && drop_entry(folder_.path())) drop_entry(folder_.path().parent_path());
}

TemporaryTiles::TemporaryTiles(const fs::path& store, NodeId nodes)
    : folder_(store / "state" / (".tiles-" + process_word()), "", nodes, false) {
  make_folders(folder_.path());
}

TemporaryTiles::~TemporaryTiles() {
  drop_tree(folder_.path());
}

std::vector<const FinishedTile*> exact_cover(std::span<const FinishedTile> tiles, TileColumns range) {
  const std::size_t end = range.first + range.count;
  // From the end on: a tile with which a cover of all columns from its first one on begins.
  std::map<std::size_t, const FinishedTile*> begins;
  for (auto tile = tiles.rbegin(); tile != tiles.rend(); ++tile) {
    const std::size_t next = tile->columns.first + tile->columns.count;
    if (tile->is_whole() && (next == end || (next < end && begins.contains(next))))
      begins[tile->columns.first] = &*tile;
  }
  std::vector<const FinishedTile*> cover;
  for (std::size_t at = range.first; at < end; at += cover.back()->columns.count) {
    const auto tile = begins.find(at);
    if (tile == begins.end()) return {};
    cover.push_back(tile->second);
  }
  return cover;
}

std::vector<TileColumns> missing_columns(std::span<const FinishedTile> tiles, TileColumns range) {
  if (!exact_cover(tiles, range).empty()) return {};
  const std::size_t end = range.first + range.count;
  std::map<std::size_t, std::size_t> longest;  // end of the longest whole tile within the range, by first column
  for (const FinishedTile& tile : tiles) {
    const std::size_t next = tile.columns.first + tile.columns.count;
    if (tile.is_whole() && tile.columns.first >= range.first && next <= end)
      longest[tile.columns.first] = std::max(longest[tile.columns.first], next);
  }
  std::vector<TileColumns> missing;
  for (std::size_t at = range.first; at < end;) {
    const auto tile = longest.lower_bound(at);
    const std::size_t next = tile == longest.end() ? end : tile->first;
    if (next > at) missing.push_back({at, next - at});
    at = tile == longest.end() ? end : tile->second;
  }
  return missing;
}

void require_tiles(const TileFolder& folder, std::span<const FinishedTile> tiles, TileColumns all) {
  if (!exact_cover(tiles, all).empty()) return;
  std::string missing;
  std::size_t covered = all.first;  // by any whole tile
  bool is_gap = false;
  for (const FinishedTile& tile : tiles) {
    if (!tile.is_whole()) continue;
    is_gap |= tile.columns.first > covered;
    covered = std::max(covered, tile.columns.first + tile.columns.count);
  }
  is_gap |= covered < all.first + all.count;
  for (const TileColumns& gap : missing_columns(tiles, all))
    missing +=
        (missing.empty() ? "" : ", ") + std::to_string(gap.first) + " to " + std::to_string(gap.first + gap.count - 1);
  if (is_gap)
    throw DataError(folder.path().string() + ": tiles of the columns " + missing + " are missing" +
                    (folder.dropped().empty() ? "" : " (" + folder.dropped().back() + ")") +
                    "; run the jobs that make them, then give the command again");
  throw DataError(folder.path().string() +
                  ": its tiles overlap, and none of them begins where another one ends, before the columns " + missing +
                  "; run the jobs of one number of tiles again, or remove the tiles of another number");
}

TileFill fill_from_tile(const TileFile& tile, const Contents& contents, const RowMask* wanted, PageCache cache) {
  const auto ranks = std::make_shared<WantedRanks>(contents.num_nodes(), wanted);
  return [&tile, &contents, wanted, ranks, cache](TileColumns columns, NodeRange rows, std::int32_t* out) {
    const std::size_t width = tile.shape().columns, skip = columns.first - tile.shape().first_column;
    const std::uint64_t first = ranks->before(rows.first), last = ranks->before(rows.last);
    std::optional<DirectPiece> piece;
    if (cache == PageCache::passed)
      piece.emplace((last - first) * tile.shape().row_bytes());
    else
      tile.read_ahead(first, last - first);
    const auto* sums = reinterpret_cast<const std::int32_t*>(
        (piece ? tile.rows(0, first, last - first, *piece) : tile.rows(0, first, last - first)).data());
    const std::span<const NodeId> wide = tile.wide_nodes();
    auto next_wide = std::lower_bound(wide.begin(), wide.end(), rows.first);
    for (NodeId node = rows.first; node < rows.last; ++node, out += columns.count) {
      if (wanted != nullptr && !wanted->contains(node)) {
        std::fill_n(out, columns.count, 0);
        continue;
      }
      StateRow row{sums + skip, nullptr};
      if (next_wide != wide.end() && *next_wide == node)
        row = {nullptr, tile.wide_row(static_cast<std::size_t>(next_wide++ - wide.begin())).data() + skip};
      density_from_sums(row, static_cast<std::uint32_t>(columns.count), contents.graph().degree(node), out);
      sums += width;
    }
  };
}

}  // namespace unweave
