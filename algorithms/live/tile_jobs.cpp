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
#include "algorithms/propagation/propagation_plan.h"
#include "algorithms/propagation/row_builder.h"
#include "algorithms/propagation/state_builder.h"
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

/// Held by whoever does a job, until its process ends, however it does. Where a file system has no locks, nobody holds any.
/// Who cannot do the job leaves no file behind.
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

void remove_stale_tiles(const fs::path& store, const std::string& contents) {
  for (const Entry& entry : list_folder(store / kTilesFolder))
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

std::vector<KeptPart> check_tiles(const fs::path& store, NodeId nodes) {
  std::vector<KeptPart> parts;
  const auto add = [&](const fs::path& path, const auto& check) {
    KeptPart part{path, {}};
    try {
      check();
    } catch (const DataError& error) {
      if (!has_entry(path)) return;  // joined meanwhile
      part.damage = error.message();
    }
    parts.push_back(std::move(part));
  };
  for (const fs::path& folder : folders_of(store)) {
    for (const Entry& entry : list_folder(folder))
      if (parse_tile_name(entry.name())) add(entry.path, [&] { TileFile(entry.path, nodes).verify(); });
    for (const Entry& entry : list_folder(folder / "state"))
      if (entry.path.extension() == ".sums")
        add(entry.path,
            [&] { SealedFile(folder, sealed_entry(folder, "state/" + entry.name()), "state").check_all(); });
  }
  std::sort(parts.begin(), parts.end(), [](const KeptPart& a, const KeptPart& b) { return a.path < b.path; });
  return parts;
}

TileColumns job_columns(std::uint32_t columns, std::uint64_t index, std::uint64_t jobs, std::uint32_t scale_bits) {
  const std::uint64_t step = kLineBytes / value_bytes(scale_bits);
  const std::uint64_t lines = (columns + step - 1) / step;
  const auto begin = [&](std::uint64_t job) {
    return jobs <= lines ? std::min<std::uint64_t>(columns, job * lines / jobs * step) : job * columns / jobs;
  };
  return {begin(index), begin(index + 1) - begin(index)};
}

TileForm tile_form(const Contents& contents, const PropagationSpec& spec, const SweepJob& job) {
  return spec.kept.has_sums() ? sums_form(contents, job) : rows_form(contents, spec);
}

std::uint64_t shared_bytes(const TileForm& form, const PropagationSpec& spec, std::uint32_t columns,
                           std::uint64_t ranks, const StatePlan& plan) {
  std::uint64_t bytes = spec.kept.has_sums() ? plan.state_bytes : plan.disk_bytes;
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < form.levels.size(); ++i)
      bytes += form.shape(i, job_columns(columns, rank, ranks, spec.scale_bits)).file_bytes();
  return bytes;
}

TileReport propagate_tiles(const LiveStore& store, const PropagationSpec& spec, const TileChoice& choice,
                           MemoryBudget& budget, const PropagateMeter& progress, Ranks* ranks) {
  check_propagation_spec(store, spec);
  if (spec.levels == 0) throw UsageError(option("tile") + ": without hops there is nothing to sum");
  const Contents& contents = store.contents();
  const std::uint32_t columns = contents.features().columns();
  if (choice.jobs == 0 || choice.jobs > columns)
    throw UsageError(option(choice.index ? "tile" : "tiles") + ": there are " + std::to_string(columns) +
                     " columns, and so 1 to " + std::to_string(columns) + " jobs, not " + std::to_string(choice.jobs));
  if (choice.index && *choice.index >= choice.jobs)
    throw UsageError(option("tile") + ": jobs of " + std::to_string(choice.jobs) + " have numbers 0 to " +
                     std::to_string(choice.jobs - 1));
  const TileFolder folder = tile_folder(store, spec);
  require_no_other_tiles(store, folder);
  const PreparedTiles prepared(folder);
  const FolderWatch watch(folder.path());
  TileReport report;
  const Clock::time_point start = Clock::now();
  PropagationPlan plan = plan_propagation(contents, spec, budget);
  report.cone_seconds = seconds_since(start);
  SweepJob job = sweep_job(contents, spec, std::move(plan.wanted));
  const RowMask* const targets = job.wanted.empty() ? nullptr : &job.wanted.back();
  const TileForm form = tile_form(contents, spec, job);
  ColumnNorms norms(columns);
  const std::uint64_t read_bytes = contents.features().file_bytes() + contents.graph().file_bytes();
  const bool once = plan.state.memory_bytes() + read_bytes > system_memory();
  job.fill = level0_fill(contents, spec, &norms, once);
  job.fill_waits = fill_waits(contents, once);
  const std::uint64_t all_rows = std::accumulate(plan.rows.begin(), plan.rows.end(), std::uint64_t{0});
  std::uint64_t done = 0;
  const std::uint64_t first = choice.index.value_or(0), last = choice.index ? first + 1 : choice.jobs;
  const auto require_folder = [&] {
    if (watch.is_there() && contents_word(read_manifest(store.path()), store.sequence()) ==
                                contents_word(store.manifest(), store.sequence()))
      return;
    drop_tree(folder.path());
    throw DataError(store.path().string() +
                    ": its contents have changed since this command began, or its tiles were removed; what was summed "
                    "is dropped: run the jobs again");
  };
  require_folder();
  if (ranks != nullptr) {
    ranks->barrier();  // one that finds no room removes the folder, which the others are still to look for
    const std::uint64_t bytes = shared_bytes(form, spec, columns, ranks->size(), plan.state),
                        there = tile_bytes(store.path());
    require_disk_room(store.path(), bytes - std::min(there, bytes), "the tiles of all ranks and what is joined of them",
                      "keep fewer rows (" + option("rows", "labelled") + ")");
    ranks->barrier();  // what one rank writes would be counted twice by another one that has not looked yet
  }
  for (std::uint64_t index = first; index < last; ++index) {
    const TileColumns range = job_columns(columns, index, choice.jobs, spec.scale_bits);
    const JobLock lock(
        folder.path() /
        (tile_name(0, static_cast<std::uint32_t>(range.first), static_cast<std::uint32_t>(range.count)) + ".lock"));
    if (missing_columns(folder.tiles(form), range).empty()) {
      ++report.there;
      continue;
    }
    // Who asks for one job gets it done: whoever is at it may be on a machine that is no more.
    if (lock.is_busy() && !choice.index) {
      ++report.busy;
      continue;
    }
    if (progress)
      job.progress = [&](std::uint64_t rows, std::uint64_t tiles) {
        progress({done += rows, all_rows * tiles * (choice.index ? 1 : choice.jobs)});
      };
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < form.levels.size(); ++i) bytes += form.shape(i, range).file_bytes();
    require_disk_room(store.path(), bytes, "the tiles", "keep fewer rows (" + option("rows", "labelled") + ")");
    const SweepResult result = naming_store(store.path(), [&] {
      return spec.kept.has_sums()
                 ? sum_tiles(folder, contents, job, {0, job.fill, true}, range, plan.state, budget, &norms)
                 : row_tiles(folder, contents, spec, job, targets, range, plan.state, budget, &norms);
    });
    require_folder();
    ++report.done;
    report.columns.push_back(range);
    report.tiles += result.tiles;
    report.sweep_seconds += result.seconds;
    report.fill_seconds += result.fill_seconds;
  }
  report.rows = std::accumulate(form.rows.begin(), form.rows.end(), std::uint64_t{0});
  if (ranks != nullptr) ranks->barrier();
  report.missing = missing_columns(folder.tiles(form), {0, columns});
  if (ranks != nullptr) {
    const RankShare spans = share_of(num_spans(contents.num_nodes()), ranks->rank(), ranks->size());
    if (spec.kept.has_sums() && spans.begin < spans.end) join_spans(folder, contents, job, plan.state, spans, budget);
    ranks->barrier();  // from here on rank 0 removes tiles
  }
  return report;
}

}  // namespace unweave
