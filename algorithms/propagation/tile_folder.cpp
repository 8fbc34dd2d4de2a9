// algorithms/propagation/tile_folder.cpp - finds, covers and writes the tiles of an unfinished propagation.
#include "algorithms/propagation/tile_folder.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
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

constexpr std::int64_t kMomentMillis = 200;

/// Whether a temporary file, .level-...-HOST-PROCESS-NUMBER.tile.new, is of a process of this machine that is no more.
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
    auto file = std::make_unique<TileFile>(entry.path, nodes_);
    if (file->text() != text_) file->fail("it belongs to a propagation of another store, of other contents or options");
    if (file->shape() != form.shape(index, columns)) file->fail("it has not the rows and columns that its name tells");
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

std::vector<FileEntry> TileFolder::partitions(std::uint32_t level, std::uint32_t columns) const {
  std::vector<FileEntry> entries(num_spans(nodes_));
  if (!kept_) return entries;
  for (const Entry& found : list_folder(path_ / "state")) {
    const std::string file = found.name();
    for (std::size_t span = 0; span < entries.size(); ++span) {
      const NodeRange range = span_range(nodes_, span);
      const SealedName name = state_name(path_, level, range.first);
      if (!file.starts_with(name.stem + "-") || !file.ends_with("." + name.extension)) continue;
      try {
        FileEntry entry = sealed_entry(path_, name.folder + "/" + file);
        static_cast<void>(StatePartition(path_, entry, level, range, columns));
        if (file == name.stem + "-" + entry.root.substr(0, 16) + "." + name.extension) entries[span] = std::move(entry);
      } catch (const DataError&) {
        drop_entry(found.path);
      }
      break;
    }
  }
  return entries;
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

bool PublishMoments::passed() noexcept {
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  std::int64_t next = next_.load(std::memory_order_relaxed);
  return now >= next && next_.compare_exchange_strong(next, now + kMomentMillis);
}

TileImage& TileWriter::at(std::size_t index, TileColumns columns) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<TileImage>& image = open_[index];
  if (!image) image = std::make_unique<TileImage>(folder_.path(), form_.shape(index, columns), folder_.text(), queue_);
  return *image;
}

void TileWriter::finish(std::size_t index, TileColumns columns, std::span<const std::byte> proof) {
  at(index, columns).finish(norms_(columns), proof);
  std::unique_lock lock(mutex_);
  std::unique_ptr<TileImage> image = std::move(open_[index]);
  lock.unlock();
  const std::scoped_lock publishing(publishing_);
  finished_.push_back(std::move(image));
}

void TileWriter::publish_written() {
  if (folder_.kept() && moments_.passed()) publish(false);
}

void TileWriter::publish_all() {
  queue_.drain();
  publish(true);
}

void TileWriter::publish(bool all) {
  std::unique_lock publishing(publishing_, std::defer_lock);
  if (all)
    publishing.lock();
  else if (!publishing.try_lock())
    return;
  std::erase_if(finished_, [&](const std::unique_ptr<TileImage>& image) {
    if (!image->is_written()) return false;
    queue_.require_written();
    image->publish();
    return true;
  });
}

}  // namespace unweave
