// algorithms/live/rank_propagation.cpp - the steps of both parts, which meet at the same verbs.
#include "algorithms/live/rank_propagation.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/propagation/propagation.h"
#include "algorithms/propagation/row_share.h"
#include "algorithms/propagation/sum_form.h"
#include "engine/ranks/entry_words.h"
#include "engine/resources/clock.h"
#include "storage/formats/sealed_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// Names of files as bytes, a line each: level, span, bytes, root, path.
std::string lines_of(const std::vector<std::vector<FileEntry>>& levels, RankShare spans) {
  std::ostringstream lines;
  for (std::size_t level = 0; level < levels.size(); ++level)
    for (std::size_t span = spans.begin; span < spans.end; ++span) {
      lines << level << ' ' << span << ' ';
      write_entry(lines, levels[level][span]) << '\n';
    }
  return std::move(lines).str();
}

void read_lines(const std::string& text, std::vector<std::vector<FileEntry>>& levels) {
  std::istringstream lines(text);
  std::size_t level = 0, span = 0;
  for (FileEntry entry; read_entry(lines >> level >> span, entry);) levels.at(level).at(span) = entry;
}

/// The files that every rank has made of its spans, at rank 0: the others know their own alone.
/// Each tells as many bytes.
void gather_files(RankShare spans, LevelEntries& files, Ranks& job) {
  std::string lines = lines_of(files, spans);
  lines.resize(told_file_bytes(files.size(), files.front().size(), job.size()), ' ');
  for (const std::string& one : gather_texts(lines, job)) read_lines(one, files);
}

/// Sums this rank's rows and makes their files durable; at rank 0 the result has the files and the
/// norms of all.
SweepResult sum_rows(const LiveStore& store, const PropagationSpec& spec, MemoryBudget& budget,
                     const PropagateMeter& progress, ColumnNorms& norms, Ranks& job) {
  const Contents& contents = store.contents();
  const RowShare share(contents.num_nodes(), job, budget);
  SweepSpec sweep = sweep_of(contents, spec);
  sweep.share = &share;
  sweep.most_columns = share.least(SumForm(contents, sweep).plan(budget.available()).require().tiles.width);
  PropagationPlan plan;
  plan.state = SumForm(contents, sweep).plan(budget.available()).require();
  Propagation whole(store.path(), contents, spec, std::move(plan), budget,
                    {.norms = &norms, .share = &share, .most_columns = sweep.most_columns});
  if (progress) whole.watch([&](std::uint64_t done, std::uint64_t total) { progress({done, total}); });
  SweepResult result = naming_store(store.path(), [&] { return run_whole(whole.job()); });
  const RankShare spans = share.own_spans();
  for (const std::vector<FileEntry>& level : result.files)
    sync_files(store.path(), std::span(level).subspan(spans.begin, spans.end - spans.begin));
  gather_files(spans, result.files, job);
  const std::vector<std::vector<std::byte>> sums = job.gather(norms.bytes(sweep.columns));
  if (!job.first()) return result;
  norms.clear();
  for (const std::vector<std::byte>& one : sums) norms.add(sweep.columns, one);
  result.rows = std::uint64_t{contents.num_nodes()} * spec.levels;
  return result;
}

/// The part of every rank by columns: tiles, and the files of some spans of sums. At rank 0
/// `joined` names those of all.
TileReport sum_columns(const LiveStore& store, const PropagationSpec& spec, MemoryBudget& budget,
                       const PropagateMeter& progress, Ranks& job, LevelEntries& joined) {
  TileReport report = propagate_tiles(store, spec, {job.rank(), job.size()}, budget, progress, &job, &joined);
  if (spec.kept.has_sums())
    gather_files(share_of(num_spans(store.contents().num_nodes()), job.rank(), job.size()), joined, job);
  job.barrier();  // from here on rank 0 removes tiles
  return report;
}

PropagateReport propagate_rows(StoreWriter& store, PropagationSpec spec, MemoryBudget& budget,
                               const PropagateMeter& progress, Ranks& job) {
  store.begin_propagation();
  ColumnNorms norms(store.contents().features().columns());
  const SweepResult result = sum_rows(store, spec, budget, progress, norms, job);
  PropagateReport report;
  std::vector<LevelFiles> files(spec.levels + std::size_t{1});
  for (std::uint32_t l = 1; l <= spec.levels; ++l) files[l].partitions = result.files[l - 1];
  norms.finish(spec);
  const Clock::time_point start = Clock::now();
  store.commit_propagation(spec, std::move(files));
  report.sync_seconds = result.drain_seconds + seconds_since(start);
  report.targets = store.embedding().cone().rows(spec.levels) / store.contents().order().copies();
  report.rows = result.rows;
  report.tiles = result.tiles;
  report.tile_width = result.tile_width;
  report.sweep_seconds = result.seconds;
  report.fill_seconds = result.fill_seconds;
  return report;
}

}  // namespace

std::uint64_t told_file_bytes(std::size_t levels, std::size_t spans, std::size_t ranks) noexcept {
  constexpr std::uint64_t kMostLineBytes = 192;  // numbers, a root of 32 digits and a name of about 50
  return levels * ((spans + ranks - 1) / ranks) * kMostLineBytes;
}

std::string what_is_shared(const LiveStore& store, const PropagationSpec& spec, RankCut cut) {
  return tile_folder(store, spec).text() + (cut == RankCut::rows ? "by rows\n" : "by columns\n");
}

void require_to_share(const LiveStore& store, const PropagationSpec& spec, RankCut cut, const Ranks& job) {
  if (spec.levels == 0)
    throw UsageError(option("hops", "0") + ": without hops there is nothing to share; start one process");
  if (cut == RankCut::columns) {
    const std::uint32_t columns = store.contents().features().columns();
    if (job.size() > columns)
      throw UsageError("there are " + std::to_string(columns) + " columns, too few for " + std::to_string(job.size()) +
                       " ranks; start fewer");
    return;
  }
  if (!spec.all_rows || !spec.kept.has_sums())
    throw UsageError(option("share", "rows") + " is for the sums of all rows: " + option("rows", "all") + " and " +
                     option("keep", "state"));
  const std::size_t partitions = num_spans(store.contents().num_nodes());
  if (job.size() > partitions)
    throw UsageError(option("share", "rows") + ": the nodes of this store are in " + std::to_string(partitions) +
                     (partitions == 1 ? " partition" : " partitions") + ", too few for " + std::to_string(job.size()) +
                     " ranks; use " + option("share", "columns"));
}

std::vector<std::string> propagate_part(const LiveStore& store, const PropagationSpec& spec, MemoryBudget& budget,
                                        RankCut cut, Ranks& job) {
  check_propagation_spec(store, spec);
  require_to_share(store, spec, cut, job);
  require_same(store.path(), "contents or options", what_is_shared(store, spec, cut), job);
  job.barrier();  // rank 0 drops what is not to be gone on with
  if (cut == RankCut::columns) {
    LevelEntries joined;
    return sum_columns(store, spec, budget, {}, job, joined).dropped;
  }
  ColumnNorms norms(store.contents().features().columns());
  return sum_rows(store, spec, budget, {}, norms, job).dropped;
}

PropagateReport propagate_over_ranks(StoreWriter& store, const PropagationSpec& spec, MemoryBudget& budget,
                                     const PropagateMeter& progress, bool restart, RankCut cut, Ranks& job) {
  check_propagation_spec(store, spec);
  require_to_share(store, spec, cut, job);
  require_same(store.path(), "contents or options", what_is_shared(store, spec, cut), job);
  if (restart) remove_tiles(store.path());
  require_no_other_tiles(store, tile_folder(store, spec));
  job.barrier();
  PropagateReport report;
  if (cut == RankCut::rows) {
    report = propagate_rows(store, spec, budget, progress, job);
  } else {
    LevelEntries joined;
    const TileReport tiles = sum_columns(store, spec, budget, progress, job, joined);
    const TileFolder folder = tile_folder(store, spec);
    require_tile_folder(store, spec, folder);
    report =
        propagate_checked(store, spec, budget, {}, nullptr, {&folder, true, spec.kept.has_sums() ? &joined : nullptr});
    report.sweep_seconds += tiles.sweep_seconds;
    report.fill_seconds += tiles.fill_seconds;
    report.cone_seconds += tiles.cone_seconds;
    report.dropped.insert(report.dropped.begin(), tiles.dropped.begin(), tiles.dropped.end());
  }
  if (report.sweep_seconds > 0)
    report.arc_features_per_second = static_cast<double>(store.contents().graph().num_terms()) *
                                     store.contents().features().columns() * spec.levels / report.sweep_seconds;
  return report;
}

}  // namespace unweave
