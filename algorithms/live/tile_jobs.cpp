// algorithms/live/tile_jobs.cpp - names folders of tiles, claims jobs, and does them.
#include "algorithms/live/tile_jobs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <exception>
#include <numeric>
#include <set>
#include <utility>

#include "algorithms/live/live_store.h"
#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/propagation.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/clock.h"
#include "engine/resources/parallel.h"
#include "engine/state/level_image.h"
#include "engine/sweep/gather.h"
#include "engine/sweep/sum_check.h"
#include "storage/formats/state_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLineBytes = 64;

std::string word_of(const std::string& text) {
  return to_hex(checksum128(std::as_bytes(std::span(text)), {})).substr(0, 16);
}

std::string number_text(double number) {
  std::array<char, 64> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), end};
}

/// All that the bytes of a tile follow from beside the contents, one option a line.
std::string options_text(const PropagationSpec& spec) {
  std::string text = "hops " + std::to_string(spec.levels) + "\nrho " + number_text(spec.rho) + "\nscale-bits " +
                     std::to_string(spec.scale_bits) + "\nrows " + (spec.all_rows ? "all" : "labelled") + "\nkeep " +
                     std::string(keep_name(spec.kept.keep)) + "\n";
  if (spec.kept.has_sums()) return text;
  text += std::string("keep-type ") + (spec.kept.type == FeatureType::f16 ? "f16" : "f32") + "\nkeep-exponent " +
          std::to_string(spec.kept.exponent) + "\n";
  if (spec.kept.keep != Keep::embedding) return text;
  text += "weights";
  for (const double weight : spec.weights) text += " " + number_text(weight);
  return text + "\n";
}

/// The options of a text of a tile, on one line.
std::string options_line(std::string_view text) {
  std::string line(text.substr(std::min(text.size(), text.find('\n') + 1)));
  while (line.ends_with('\n')) line.pop_back();
  for (std::size_t at = line.find('\n'); at != std::string::npos; at = line.find('\n')) line.replace(at, 1, ", ");
  return line;
}

/// Folders of tiles in a store.
std::vector<fs::path> folders_of(const fs::path& store) {
  std::vector<fs::path> folders;
  for (const Entry& entry : list_folder(store / kTilesFolder)) folders.push_back(entry.path);
  return folders;
}

/// What some tile of a folder says of itself; nothing where none can be read.
std::string options_in(const fs::path& folder, NodeId nodes) {
  for (const Entry& entry : list_folder(folder)) {
    if (!parse_tile_name(entry.name())) continue;
    try {
      return options_line(TileFile(entry.path, nodes).text());
    } catch (const DataError&) {
      continue;
    }
  }
  return {};
}

/// Held by whoever does a job, until its process ends, however it does. Where a file system has no
/// locks, nobody holds any. Who cannot do the job leaves no file behind.
class JobLock {
 public:
  explicit JobLock(const fs::path& file) : file_(file), descriptor_(try_open_entry(file, O_RDWR | O_CREAT, 0644)) {
    is_busy_ = descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  }
  ~JobLock() {
    if (descriptor_ < 0) return;
    if (!is_busy_ && std::uncaught_exceptions() > exceptions_) drop_entry(file_);
    ::close(descriptor_);
  }
  JobLock(const JobLock&) = delete;
  JobLock& operator=(const JobLock&) = delete;
  /// Whether another process is at it.
  [[nodiscard]] bool is_busy() const noexcept { return is_busy_; }

 private:
  fs::path file_;
  int descriptor_;
  int exceptions_ = std::uncaught_exceptions();
  bool is_busy_ = false;
};

/// Notices whether somebody removes the folder, as whoever changes the contents does.
class FolderWatch {
 public:
  explicit FolderWatch(const fs::path& path) : path_(path), descriptor_(try_open_entry(path, O_RDONLY | O_DIRECTORY)) {}
  ~FolderWatch() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;
  [[nodiscard]] bool is_there() const {
    const std::optional<EntryStatus> named = try_status_of(path_);
    return descriptor_ >= 0 && named && named->is_same_file(status_of_open(descriptor_, path_));
  }

 private:
  fs::path path_;
  int descriptor_;
};

}  // namespace

std::string contents_word(const Manifest& manifest, std::uint64_t sequence) {
  Manifest contents = manifest;
  contents.propagation.reset();
  contents.levels.clear();
  contents.lazy = false;
  contents.journal.reset();
  contents.releases.clear();
  contents.sequence = sequence;
  return word_of(manifest_text(contents));
}

TileFolder tile_folder(const LiveStore& store, const PropagationSpec& spec) {
  const std::string contents = contents_word(store.manifest(), store.sequence());
  std::string text = "contents " + contents + "\n" + options_text(spec);
  const std::string name = contents + "-" + word_of(text);
  return {store.path() / kTilesFolder / name, std::move(text), store.contents().num_nodes()};
}

void require_no_other_tiles(const LiveStore& store, const TileFolder& tiles) {
  const std::string contents = contents_word(store.manifest(), store.sequence());
  for (const fs::path& folder : folders_of(store.path())) {
    // A reader may find what is left of other contents, which the next writer removes.
    if (folder == tiles.path() || !folder.filename().string().starts_with(contents)) continue;
    const std::string options = options_in(folder, store.contents().num_nodes());
    throw UsageError(folder.string() +
                     ": parts of a propagation with other options are kept here, which was ended before its end" +
                     (options.empty() ? "" : " (" + options + ")") +
                     "; finish it with those options, or drop the parts and begin this one: add " + option("restart"));
  }
}

void require_tile_folder(const LiveStore& store, const PropagationSpec& spec, const TileFolder& tiles) {
  if (spec.levels == 0) throw UsageError(option("assemble") + ": without hops there are no tiles");
  if (!has_entry(tiles.path()))
    throw UsageError(store.path().string() +
                     ": has no tiles of its present contents and these options; make them with " + option("tile"));
}

void remove_tiles(const fs::path& store) noexcept {
  try {
    drop_tree(store / kTilesFolder);
  } catch (const std::exception&) {
    return;  // without memory for the names; the next writer removes what is not of its contents
  }
}

void remove_stale_tiles(const fs::path& store, const Manifest& manifest, std::uint64_t sequence) {
  const std::vector<Entry> entries = list_folder(store / kTilesFolder);
  // The word is one for the names of all files, of which a store has thousands.
  const std::string contents = entries.empty() ? std::string() : contents_word(manifest, sequence);
  for (const Entry& entry : entries)
    if (!entry.name().starts_with(contents + "-") || entry.kind != EntryKind::folder) drop_tree(entry.path);
  drop_entry(store / kTilesFolder);  // where nothing is left in it
}

std::uint64_t tile_bytes(const fs::path& store) {
  std::uint64_t bytes = 0;
  walk_folder(store / kTilesFolder, [&](const Entry& entry) {
    if (entry.kind == EntryKind::file) bytes += status_of(entry.path).bytes;
  });
  return bytes;
}

std::vector<CheckedTile> check_tiles(const fs::path& store, NodeId nodes) {
  std::vector<CheckedTile> tiles;
  for (const fs::path& folder : folders_of(store))
    for (const Entry& entry : list_folder(folder)) {
      if (!parse_tile_name(entry.name())) continue;
      CheckedTile tile{entry.path, {}};
      try {
        TileFile(entry.path, nodes).verify();
      } catch (const DataError& error) {
        if (!has_entry(entry.path)) continue;  // joined meanwhile
        tile.damage = error.message();
      }
      tiles.push_back(std::move(tile));
    }
  std::sort(tiles.begin(), tiles.end(), [](const CheckedTile& a, const CheckedTile& b) { return a.path < b.path; });
  return tiles;
}

TileColumns job_columns(std::uint32_t columns, std::uint64_t index, std::uint64_t jobs, std::uint32_t scale_bits) {
  const std::uint64_t step = kLineBytes / value_bytes(scale_bits);
  const std::uint64_t lines = (columns + step - 1) / step;
  const auto begin = [&](std::uint64_t job) {
    return jobs <= lines ? std::min<std::uint64_t>(columns, job * lines / jobs * step) : job * columns / jobs;
  };
  return {begin(index), begin(index + 1) - begin(index)};
}

std::uint64_t shared_bytes(const LevelForm& form, const PropagationSpec& spec, std::uint32_t columns,
                           std::uint64_t ranks, const StatePlan& plan) {
  const TileForm tiles = form.tiles();
  std::uint64_t bytes = form.joined_bytes(plan);
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    bytes += tiles.file_bytes(job_columns(columns, rank, ranks, spec.scale_bits));
  return bytes;
}

namespace {

void check_choice(const TileChoice& choice, std::uint32_t columns) {
  if (choice.jobs == 0 || choice.jobs > columns)
    throw UsageError(option(choice.index ? "tile" : "tiles") + ": there are " + std::to_string(columns) +
                     " columns, and so 1 to " + std::to_string(columns) + " jobs, not " + std::to_string(choice.jobs));
  if (choice.index && *choice.index >= choice.jobs)
    throw UsageError(option("tile") + ": jobs of " + std::to_string(choice.jobs) + " have numbers 0 to " +
                     std::to_string(choice.jobs - 1));
}

std::string fewer_rows() {
  return "keep fewer rows (" + option("rows", "labelled") + ")";
}

/// The jobs of one call.
class TileJobs {
 public:
  TileJobs(const LiveStore& store, const PropagationSpec& spec, const TileChoice& choice, const Propagation& whole,
           const TileFolder& folder, const FolderWatch& watch)
      : store_(store),
        spec_(spec),
        choice_(choice),
        whole_(whole),
        folder_(folder),
        watch_(watch),
        form_(whole.job().form.tiles()) {}

  /// Throws DataError where the store has other contents by now, or somebody has removed the
  /// folder.
  void require_folder() const {
    if (watch_.is_there() && contents_word(read_manifest(store_.path()), store_.sequence()) ==
                                 contents_word(store_.manifest(), store_.sequence()))
      return;
    drop_tree(folder_.path());
    throw DataError(store_.path().string() +
                    ": its contents have changed since this command began, or its tiles were removed; what was summed "
                    "is dropped: run the jobs again");
  }

  /// All ranks call it before any of them has begun.
  void require_shared_room(Ranks& ranks) const {
    ranks.barrier();  // one that finds no room removes the folder, which the others are still to look for
    const std::uint64_t bytes = shared_bytes(whole_.job().form, spec_, columns(), ranks.size(), whole_.plan().state),
                        there = tile_bytes(store_.path());
    require_disk_room(store_.path(), bytes - std::min(there, bytes),
                      "the tiles of all ranks and what is joined of them", fewer_rows());
    ranks.barrier();  // what one rank writes would be counted twice by another one that has not looked yet
  }

  /// Does a job, unless it is done or somebody is at it.
  void run(std::uint64_t index, TileReport& report) const {
    const TileColumns range = job_columns(columns(), index, choice_.jobs, spec_.scale_bits);
    const JobLock lock(
        folder_.path() /
        (tile_name(0, static_cast<std::uint32_t>(range.first), static_cast<std::uint32_t>(range.count)) + ".lock"));
    if (missing_columns(folder_.tiles(form_), range).empty()) {
      ++report.there;
      return;
    }
    // Who asks for one job gets it done: whoever is at it may be on a machine that is no more.
    if (lock.is_busy() && !choice_.index) {
      ++report.busy;
      return;
    }
    require_disk_room(store_.path(), form_.file_bytes(range), "the tiles", fewer_rows());
    const SweepResult result = naming_store(store_.path(), [&] { return run_part(whole_.job(), folder_, range); });
    require_folder();
    ++report.done;
    report.columns.push_back(range);
    report.tiles += result.tiles;
    report.sweep_seconds += result.seconds;
    report.fill_seconds += result.fill_seconds;
  }

  /// What is there when the jobs of this call are done.
  void finish(TileReport& report, Ranks* ranks, LevelEntries* joined) const {
    report.rows = std::accumulate(form_.rows.begin(), form_.rows.end(), std::uint64_t{0});
    if (ranks != nullptr) ranks->barrier();
    report.missing = missing_columns(folder_.tiles(form_), {0, columns()});
    if (ranks == nullptr || !whole_.job().form.joins_tiles()) return;
    const RankShare spans = share_of(num_spans(store_.contents().num_nodes()), ranks->rank(), ranks->size());
    *joined = join_spans(whole_.job(), folder_, spans);
    for (const std::vector<FileEntry>& level : *joined)
      sync_files(store_.path(), std::span(level).subspan(spans.begin, spans.end - spans.begin));
  }

 private:
  [[nodiscard]] std::uint32_t columns() const { return store_.contents().features().columns(); }

  const LiveStore& store_;
  const PropagationSpec& spec_;
  const TileChoice& choice_;
  const Propagation& whole_;
  const TileFolder& folder_;
  const FolderWatch& watch_;
  TileForm form_;
};

}  // namespace

TileReport propagate_tiles(const LiveStore& store, const PropagationSpec& spec, const TileChoice& choice,
                           MemoryBudget& budget, const PropagateMeter& progress, Ranks* ranks, LevelEntries* joined) {
  check_propagation_spec(store, spec);
  if (spec.levels == 0) throw UsageError(option("tile") + ": without hops there is nothing to sum");
  const Contents& contents = store.contents();
  check_choice(choice, contents.features().columns());
  const TileFolder folder = tile_folder(store, spec);
  require_no_other_tiles(store, folder);
  const PreparedTiles prepared(folder);
  const FolderWatch watch(folder.path());
  TileReport report;
  const Clock::time_point start = Clock::now();
  PropagationPlan plan = plan_propagation(contents, spec, budget);
  report.cone_seconds = seconds_since(start);
  ColumnNorms norms(contents.features().columns());
  Propagation whole(store.path(), contents, spec, std::move(plan), budget, {.norms = &norms});
  if (progress)
    whole.watch(
        [&](std::uint64_t done, std::uint64_t total) {
          progress({done, total});
        },
        choice.index ? 1 : choice.jobs);
  const TileJobs jobs(store, spec, choice, whole, folder, watch);
  jobs.require_folder();
  if (ranks != nullptr) jobs.require_shared_room(*ranks);
  const std::uint64_t first = choice.index.value_or(0), last = choice.index ? first + 1 : choice.jobs;
  for (std::uint64_t index = first; index < last; ++index) jobs.run(index, report);
  jobs.finish(report, ranks, joined);
  report.dropped = folder.dropped();
  return report;
}

}  // namespace unweave
