// algorithms/propagation/kept_row_form.cpp - shares memory between tiles, conversion and queue, and
// joins tiles of rows.
#include "algorithms/propagation/kept_row_form.h"

#include <algorithm>
#include <utility>

#include "algorithms/propagation/row_converter.h"
#include "algorithms/propagation/row_sink.h"
#include "algorithms/propagation/row_tile_sink.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "engine/state/level_image.h"
#include "engine/state/rows_level.h"
#include "engine/sweep/level_tile.h"
#include "storage/formats/rows_image.h"

namespace unweave {
namespace {

constexpr std::size_t kMostBatch = 512;                        // rows, as a sweep goes through them
constexpr std::uint64_t kBatchBytes = std::uint64_t{1} << 20;  // a thread has
constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;    // what a HugeBuffer is charged in
constexpr std::uint64_t kSmallBuffers = std::uint64_t{256} << 20;

/// More pieces than the threads of a sweep can have partly filled at a time: each is at work on
/// rows of two chunks at most, and what none has begun yet lies in one more.
std::uint64_t least_pieces(const PropagationSpec& spec, std::size_t width, std::size_t columns) {
  const std::size_t blocks = blocks_of_rows(spec);
  const std::size_t strips = width == columns ? (blocks * columns + kStripColumns - 1) / kStripColumns
                                              : blocks * ((width + kStripColumns - 1) / kStripColumns);
  return (2 * active_threads() + 4) * strips + active_threads();
}

/// Whether tiles of this width cut no strip.
bool cuts_no_strip(const PropagationSpec& spec, std::size_t width, std::size_t columns) {
  return width == columns ||
         (width % kStripColumns == 0 && (blocks_of_rows(spec) == 1 || columns % kStripColumns == 0));
}

/// Memory of the conversion beside the queue.
std::uint64_t converter_bytes(const Contents& contents, const PropagationSpec& spec, std::size_t width,
                              std::size_t batch) {
  return 2 * active_threads() * RowConverter::worker_bytes(spec, width, batch) +
         RowConverter::rank_bytes(spec, contents.num_nodes());
}

std::size_t batch_rows(const PropagationSpec& spec, std::size_t width, std::uint64_t available) {
  const std::uint64_t room = std::min(kBatchBytes, memory_shares::kRowBatches.of(available) / active_threads());
  return std::clamp<std::size_t>(room / RowConverter::worker_bytes(spec, width, 1), 1, kMostBatch);
}

/// Segments of a queue that takes pieces of whole rows, or none where there is no room.
std::uint64_t join_segments(const PropagationSpec& spec, std::size_t columns, std::uint64_t room) {
  const std::uint64_t segment = RowsImage::segment_bytes(spec.kept.type), least = least_pieces(spec, columns, columns);
  const std::uint64_t most = (room - std::min(room, kHugePage)) / segment;
  return least > most || RowQueue::bytes(spec.kept, least) > room ? 0 : least;
}

}  // namespace

std::uint64_t kept_rows_of(const Contents& contents, const PropagationSpec& spec) {
  return spec.all_rows || spec.levels == 0 ? contents.num_nodes() : contents.num_labelled();
}

std::uint32_t KeptRowForm::row_width() const noexcept {
  return static_cast<std::uint32_t>(blocks_of_rows(spec_) * sweep_.columns.count);
}

TileForm KeptRowForm::tiles() const {
  TileForm form;
  for (std::uint32_t level = first_kept_level(spec_); level <= spec_.levels; ++level) {
    form.levels.push_back(level);
    form.rows.push_back(kept_rows_of(contents_, spec_));
  }
  form.blocks = static_cast<std::uint32_t>(blocks_of_rows(spec_));
  form.value_bytes = static_cast<std::uint32_t>(value_bytes(spec_.kept.type));
  return form;
}

TilePlan KeptRowForm::plan_part(const SweepSpec& part, std::uint64_t available) const {
  return plan_tiles(block_source(contents_.graph()), part, available);
}

/// The queue, and the tiles that fit beside it and the conversion.
void KeptRowForm::plan_queue(std::uint64_t available, std::uint64_t converter, StatePlan& plan) const {
  const std::size_t columns = sweep_.columns.count;
  const auto tiles_beside = [&](std::uint64_t bytes) {
    return plan_part(sweep_, available - std::min(available, bytes));
  };
  const std::uint64_t share = memory_shares::kWriteBuffers.of(available);
  const std::uint64_t segment = RowsImage::segment_bytes(spec_.kept.type);
  const auto try_queue = [&](std::uint64_t segments) {
    if (segments == 0 || RowQueue::bytes(spec_.kept, segments) > share) return;
    TilePlan tiles = tiles_beside(RowQueue::bytes(spec_.kept, segments) + converter);
    if (!tiles.fits() || !cuts_no_strip(spec_, tiles.width, columns) ||
        least_pieces(spec_, tiles.width, columns) > segments)
      return;
    if (plan.row_segments > 0 && tiles.tiles > plan.tiles.tiles) return;
    plan.row_segments = segments;
    plan.tiles = std::move(tiles);
  };
  const std::uint64_t least = least_pieces(spec_, columns, columns);
  const std::uint64_t most = (share - std::min(share, kHugePage)) / segment;
  try_queue(least);
  // Room for a quarter of all, as for sums, where that does not make tiles narrower: a sweep waits
  // less often then.
  if (const std::uint64_t ample = std::min(most, plan.state_bytes / 4 / segment); ample > least) try_queue(ample);
  if (plan.row_segments == 0) try_queue(most);
  if (plan.row_segments == 0) plan.tiles = tiles_beside(converter);
  plan.lack = plan.tiles.lack;
}

StatePlan KeptRowForm::plan(std::uint64_t available) const {
  StatePlan plan;
  const std::size_t columns = sweep_.columns.count;
  const std::uint64_t levels = spec_.levels + std::uint64_t{1} - first_kept_level(spec_);
  plan.state_bytes = levels * rows_level_bytes(contents_.num_nodes(), row_width(), spec_.kept.type, targets());
  plan.row_batch = batch_rows(spec_, columns, available);
  const std::uint64_t converter = converter_bytes(contents_, spec_, columns, plan.row_batch);
  if (spec_.levels > 0) plan_queue(available, converter, plan);
  plan.row_bytes = RowQueue::bytes(spec_.kept, plan.row_segments) + converter;
  const std::uint64_t rows = kept_rows_of(contents_, spec_);
  plan.disk_bytes = plan.state_bytes + RowConverter::spool_bytes(spec_, rows, plan.tiles.width);
  plan.spooled_bytes = RowConverter::spool_bytes(spec_, rows, spec_.levels > 0 ? columns : 0);
  return plan;
}

std::uint64_t KeptRowForm::disk_bytes(const StatePlan& plan, std::uint64_t /*there*/, std::uint64_t missing) const {
  return plan.disk_bytes + plan.state_bytes / sweep_.columns.count * missing;
}

TileMemory KeptRowForm::tile_memory(const StatePlan& plan, std::uint64_t available) const {
  return {WriteBuffers::size_for(std::min(plan.state_bytes, kSmallBuffers), available),
          converter_bytes(contents_, spec_, sweep_.columns.count, plan.row_batch)};
}

std::unique_ptr<FileSink> KeptRowForm::to_files(const std::filesystem::path& store, const StatePlan& plan,
                                                MemoryBudget& budget) const {
  return std::make_unique<RowSink>(store, contents_, spec_, targets(), plan, budget);
}

std::unique_ptr<LevelSink> KeptRowForm::to_tiles(const TileFolder& folder, TileWriter& writer, std::size_t width,
                                                 const StatePlan& plan) const {
  return std::make_unique<RowTileSink>(folder, writer, contents_, spec_, targets(), width, plan.row_batch);
}

LevelEntries KeptRowForm::join(const std::filesystem::path& store, std::vector<FinishedTile>& tiles,
                               RankShare /*spans*/, TileEnd /*end*/, const StatePlan& /*plan*/,
                               MemoryBudget& budget) const {
  const std::size_t columns = sweep_.columns.count;
  const std::vector<const FinishedTile*> cover = exact_cover(tiles, sweep_.columns);
  RowQueue queue(spec_.kept, join_segments(spec_, columns, memory_shares::kWriteBuffers.of(budget.available())),
                 budget);
  LevelEntries entries;
  for (std::size_t i = 0; i <= spec_.levels - first_kept_level(spec_); ++i) {
    std::vector<const TileFile*> files;
    files.reserve(cover.size());
    for (const FinishedTile* tile : cover) files.push_back(tile->levels[i].get());
    RowsLevelImage image(store, first_kept_level(spec_) + static_cast<std::uint32_t>(i), row_width(),
                         contents_.num_nodes(), spec_.kept, targets(), queue.get());
    join_rows(files, contents_.num_nodes(), targets(), image, budget);
    queue.drain();
    entries.push_back(image.publish());
  }
  return entries;
}

}  // namespace unweave
