// algorithms/live/propagate.cpp - writes the levels of a new embedding and swaps the manifest.
#include "algorithms/live/propagate.h"

#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/live/live_store.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/propagation.h"
#include "algorithms/propagation/tile_folder.h"
#include "engine/resources/clock.h"
#include "engine/resources/parallel.h"
#include "engine/state/level_indexes.h"
#include "engine/state/target_graph.h"
#include "engine/sweep/sum_check.h"
#include "storage/formats/run_file.h"
#include "storage/formats/target_lists.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// Throws where the real weights of some node are more than sums of so many bits hold.
void require_weights_in_scale(const LiveStore& store, std::uint32_t scale_bits) {
  if (!store.contents().rules().weight_unit) return;
  const Graph& graph = store.contents().graph();
  const std::uint64_t most = most_degree(scale_bits);
  for (NodeId node = 0; node < graph.num_nodes(); ++node)
    if (graph.degree(node) > most)
      throw UsageError(option("scale-bits", std::to_string(scale_bits)) + ": " + store.contents().order().text(node) +
                       ": its weights and its self loop add up to " + std::to_string(graph.degree(node)) +
                       " units, the limit at " + std::to_string(scale_bits) + " bits is " + std::to_string(most) +
                       "; take fewer bits, or import the graph with a larger unit");
}

}  // namespace

void check_propagation_spec(const LiveStore& store, const PropagationSpec& spec) {
  if (store.manifest().features == 0)
    throw DataError(store.path().string() + ": has no features to propagate; import it with " + option("features"));
  if (!(spec.rho >= 0 && spec.rho <= 1)) throw UsageError(option("rho") + " must lie between 0 and 1");
  if (spec.scale_bits < 8 || spec.scale_bits > 29)
    throw UsageError(option("scale-bits") + " must lie between 8 and 29");
  require_weights_in_scale(store, spec.scale_bits);
  if (!spec.all_rows && !store.contents().has_labels())
    throw UsageError(option("rows", "labelled") + ": this store has no labels; use " + option("rows", "all"));
  const KeptForm& kept = spec.kept;
  if (kept.has_sums() && kept != KeptForm())
    throw UsageError(option("keep-type") + " and " + option("keep-exponent") +
                     " are for rows that are kept in place of sums; give " + option("keep", "embedding") + " or " +
                     option("keep", "hops"));
  if (kept.type == FeatureType::f32 && kept.exponent != 0)
    throw UsageError(option("keep-exponent") + " needs " + option("keep-type", "f16"));
  if (kept.exponent < -kMostKeptExponent || kept.exponent > kMostKeptExponent)
    throw UsageError(option("keep-exponent") + " must lie between -64 and 64");
}

namespace {

/// The lists of the targets, where they are kept apart: who takes them from there need not read the
/// graph for them.
class LastLists {
 public:
  LastLists(const std::filesystem::path& store, const Contents& contents, const LevelFiles& files,
            MemoryBudget& budget) {
    if (!files.targets) return;
    const std::uint64_t targets = contents.num_labelled();
    const ListForm& form = contents.graph().list_form();
    memory_ = budget.reserve(TargetLists::bytes(targets, form), "lists of the targets");
    lists_.emplace(store, files, contents.num_nodes(), form);
    graph_.emplace(contents.graph(), *lists_);
    source_ = block_source(*graph_);
    buffers_ = budget.reserve(2 * active_threads() * graph_->more_buffer_bytes(), "lists of the targets");
  }
  LastLists(const LastLists&) = delete;
  LastLists& operator=(const LastLists&) = delete;
  [[nodiscard]] const TargetGraph* graph() const noexcept { return graph_ ? &*graph_ : nullptr; }
  [[nodiscard]] const BlockSource* source() const noexcept { return graph_ ? &source_ : nullptr; }

 private:
  Reservation memory_, buffers_;
  std::optional<TargetLists> lists_;
  std::optional<TargetGraph> graph_;
  BlockSource source_;
};

}  // namespace

PropagationSeconds PropagationForecaster::seconds(const PropagationPlan& plan) const {
  PropagationWork whole = work;
  add_plan(plan, whole);
  return predict_propagation(whole, machine);
}

namespace {

/// What the sums of a whole propagation are made of, and what is there of them.
struct WholeRun {
  const Propagation& whole;
  const PropagationTiles& tiles;
  /// Nobody goes on with what a process of one tile leaves when it is killed, unless others have
  /// begun with tiles.
  [[nodiscard]] const TileFolder* folder() const {
    const bool cuts = whole.plan().state.tiles.tiles > 1 && whole.job().form.joins_tiles();
    return tiles.folder != nullptr && (cuts || tiles.assemble || has_entry(tiles.folder->path())) ? tiles.folder
                                                                                                  : nullptr;
  }
};

/// Files that ranks have joined; their tiles know the norms of the features.
SweepResult joined(const WholeRun& run) {
  const PropagationJob& job = run.whole.job();
  const std::vector<FinishedTile> tiles = run.tiles.folder->tiles(job.form.tiles());
  take_norms(job, *run.tiles.folder, tiles);
  SweepResult result;
  result.files = *run.tiles.joined;
  result.count_tiles(tiles, job.sweep.columns);
  result.dropped = run.tiles.folder->dropped();
  for (const std::uint64_t rows : job.form.tiles().rows) result.rows += rows;
  return result;
}

void add_result(const SweepResult& result, PropagateReport& report) {
  report.rows = result.rows;
  report.tiles = result.tiles;
  report.tile_width = result.tile_width;
  report.sweep_seconds = result.seconds;
  report.fill_seconds += result.fill_seconds;
  report.sync_seconds = result.drain_seconds;
  report.dropped = result.dropped;
}

}  // namespace

std::vector<LevelFiles> build_levels(const std::filesystem::path& store, const Contents& contents,
                                     const PropagationSpec& spec, MemoryBudget& budget, const PropagateMeter& progress,
                                     PropagateReport& report, ColumnNorms* norms, const PropagationForecaster* forecast,
                                     const PropagationTiles& tiles) {
  std::vector<LevelFiles> files(spec.levels + std::size_t{1});
  if (spec.levels == 0 && spec.kept.keep != Keep::embedding) return files;
  const Clock::time_point start = Clock::now();
  LevelIndexes::write(store, contents, spec, files);
  const LastLists lists(store, contents, files.back(), budget);
  PropagationPlan plan = plan_propagation(
      contents, spec, budget,
      [&](std::uint32_t level, std::span<const std::uint32_t> counts) {
        if (spec.kept.has_sums()) files[level].counts = write_counts(store, level, counts);
      },
      lists.graph());
  report.cone_seconds = seconds_since(start);
  if (forecast != nullptr) report.predicted = forecast->seconds(plan);
  if (spec.levels == 0) {
    SweepResult kept = keep_features(store, contents, spec, plan.state, budget);
    files[0].rows = std::move(kept.files[0]);
    add_result(kept, report);
    return files;
  }
  Propagation whole(store, contents, spec, std::move(plan), budget, {.norms = norms, .last_lists = lists.source()});
  if (progress) whole.watch([&](std::uint64_t done, std::uint64_t total) { progress({done, total}); });
  const WholeRun run{whole, tiles};
  const TileFolder* const folder = run.folder();
  const bool goes_on = folder != nullptr && has_entry(folder->path());  // not all is summed here
  std::optional<PreparedTiles> prepared;
  if (folder != nullptr) prepared.emplace(*folder);
  SweepResult result = naming_store(store, [&] {
    if (tiles.joined != nullptr) return joined(run);
    return run_whole(whole.job(), folder, tiles.assemble ? TileUse::join : TileUse::sum);
  });
  const LevelForm& form = whole.job().form;
  const std::vector<std::uint32_t> levels = form.tiles().levels;
  for (std::size_t i = 0; i < levels.size(); ++i) files[levels[i]].*form.member() = std::move(result.files[i]);
  add_result(result, report);
  if (result.seconds > 0 && !goes_on)
    report.arc_features_per_second = static_cast<double>(contents.graph().num_terms()) * contents.features().columns() *
                                     spec.levels / result.seconds;
  return files;
}

std::vector<LevelFiles> build_first_levels(const std::filesystem::path& store, const Contents& contents,
                                           PropagationSpec& spec, MemoryBudget& budget, const PropagateMeter& progress,
                                           PropagateReport& report, const PropagationForecaster* forecast,
                                           const PropagationTiles& tiles) {
  ColumnNorms norms(contents.features().columns());
  std::vector<LevelFiles> files =
      build_levels(store, contents, spec, budget, progress, report, &norms, forecast, tiles);
  if (spec.levels > 0)
    norms.finish(spec);
  else
    measure_columns(contents, spec);
  return files;
}

PropagateReport propagate_checked(StoreWriter& store, PropagationSpec spec, MemoryBudget& budget,
                                  const PropagateMeter& progress, const MachineProfile* machine,
                                  const PropagationTiles& tiles) {
  store.begin_propagation();
  std::optional<PropagationForecaster> forecast;
  if (machine != nullptr && spec.levels > 0)
    forecast.emplace(
        PropagationForecaster{survey_store(store.path(), store.manifest(), store.contents(), spec), *machine});
  PropagateReport report;
  std::vector<LevelFiles> files = build_first_levels(store.path(), store.contents(), spec, budget, progress, report,
                                                     forecast ? &*forecast : nullptr, tiles);
  const Clock::time_point start = Clock::now();
  store.commit_propagation(spec, std::move(files));
  report.sync_seconds += seconds_since(start);
  report.targets = store.embedding().cone().rows(spec.levels) / store.contents().order().copies();
  return report;
}

PropagateReport propagate(StoreWriter& store, PropagationSpec spec, MemoryBudget& budget,
                          const PropagateMeter& progress, const MachineProfile* machine, const PropagateHow& how) {
  check_propagation_spec(store, spec);
  const TileFolder tiles = tile_folder(store, spec);
  if (how.restart)
    remove_tiles(store.path());
  else
    require_no_other_tiles(store, tiles);
  if (how.assemble) require_tile_folder(store, spec, tiles);
  return propagate_checked(store, std::move(spec), budget, progress, machine, {&tiles, how.assemble});
}

}  // namespace unweave
