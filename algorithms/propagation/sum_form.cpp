// algorithms/propagation/sum_form.cpp - shares memory between tiles and write buffers, and joins
// tiles of sums.
#include "algorithms/propagation/sum_form.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "algorithms/propagation/partition_sink.h"
#include "algorithms/propagation/row_share.h"
#include "algorithms/propagation/sum_tile_sink.h"
#include "engine/state/level_image.h"
#include "engine/sweep/gather.h"
#include "engine/sweep/level_tile.h"
#include "storage/formats/state_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/readable_bytes.h"

namespace unweave {
namespace {

constexpr std::uint64_t kSmallBuffers = std::uint64_t{256} << 20;

/// Whether real weights are so many units that sums of most rows may need more than 32 bits.
bool expects_wide_rows(const Graph& graph, std::uint32_t scale_bits) {
  if (!graph.list_form().multiplied || graph.num_nodes() == 0) return false;
  const double degree = static_cast<double>(graph.num_arcs()) / graph.num_nodes() + graph.self_weight();
  return std::ldexp(degree, static_cast<int>(scale_bits)) > std::ldexp(1.0, 31);
}

/// Bytes of the partitions of a level whose sums all fit 32 bits, or none of whose do.
std::uint64_t partition_bytes(NodeId nodes, std::size_t columns, const RowMask* wanted, bool are_wide) {
  std::uint64_t bytes = 0;
  for (std::size_t span = 0; span < num_spans(nodes); ++span) {
    const NodeRange range = span_range(nodes, span);
    const std::uint64_t rows = wanted == nullptr ? range.size() : wanted->size(range);
    bytes +=
        sealed_file_bytes(StateLayout{range, static_cast<std::uint32_t>(columns), rows}.bytes(are_wide ? rows : 0));
  }
  return bytes;
}

/// Bytes that sums in such tiles move: through files, and from memory, which gives kMemoryRate of
/// them in the time in which a disk gives one.
double moved_bytes(const Contents& contents, const SweepSpec& sweep, const TilePlan& plan) {
  constexpr double kMemoryRate = 10;
  constexpr std::size_t kCacheLine = 64;
  const std::size_t row_bytes = plan.width * value_bytes(sweep.scale_bits);
  const std::size_t fetched = (row_bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  const double pass = static_cast<double>(contents.graph().file_bytes()) +
                      static_cast<double>(contents.graph().num_terms() * fetched) / kMemoryRate;
  const double sums = static_cast<double>(contents.num_nodes() * sweep.columns.count * sizeof(std::int32_t));
  const double levels = sweep.levels;
  return static_cast<double>(plan.tiles) * levels * pass + (plan.tiles > 1 ? 2 * levels * sums : 0) +
         (plan.refills ? (levels - 1) * sums : 0);
}

std::uint64_t without(std::uint64_t available, std::uint64_t bytes) {
  return available - std::min(available, bytes);
}

}  // namespace

TileForm SumForm::tiles() const {
  TileForm form;
  for (std::uint32_t index = 0; index < sweep_.levels; ++index) {
    form.levels.push_back(sweep_.first_level + index);
    form.rows.push_back(sweep_.rows(index, contents_.num_nodes()));
  }
  return form;
}

TilePlan SumForm::plan_part(const SweepSpec& part, std::uint64_t available) const {
  const BlockSource source = block_source(contents_.graph());
  TilePlan two = plan_tiles(source, part, available);
  if (part.levels < 2 || part.columns.count == 0 || !part.wanted.empty() || part.share != nullptr) return two;
  TilePlan one = plan_tiles(source, part, available, TileBuffers::one);  // takes less memory
  if (!two.fits()) return one;
  return moved_bytes(contents_, part, one) < moved_bytes(contents_, part, two) ? one : two;
}

/// Buffers as suits `written` bytes of sums, unless small ones save passes over the graph, and the
/// tiles that fit beside them.
void SumForm::share_memory(std::uint64_t written, std::uint64_t available, StatePlan& plan) const {
  const auto tiles_beside = [&](std::uint64_t buffers) {
    return plan_part(sweep_, without(available, WriteBuffers::charge(buffers)));
  };
  plan.write_buffers = WriteBuffers::size_for(std::min(written, kSmallBuffers), available);
  plan.tiles = tiles_beside(plan.write_buffers);
  plan.lack = plan.tiles.lack;
  if (!plan.fits()) return;
  const std::uint64_t ample = WriteBuffers::size_for(written, available);
  TilePlan tiles = tiles_beside(ample);
  if (!tiles.fits() || moved_bytes(contents_, sweep_, tiles) > moved_bytes(contents_, sweep_, plan.tiles)) return;
  plan.write_buffers = ample;
  plan.tiles = std::move(tiles);
}

StatePlan SumForm::plan(std::uint64_t available) const {
  StatePlan plan;
  const NodeId nodes = contents_.num_nodes();
  const std::uint64_t row_bytes = sweep_.columns.count * sizeof(std::int32_t);
  const bool are_wide = expects_wide_rows(contents_.graph(), static_cast<std::uint32_t>(sweep_.scale_bits));
  std::uint64_t largest = 0, written = 0;
  for (std::size_t index = 0; index < sweep_.levels; ++index) {
    const std::uint64_t bytes = sweep_.rows(index, nodes) * row_bytes;
    plan.state_bytes += partition_bytes(nodes, sweep_.columns.count, sweep_.mask(index), are_wide);
    largest = std::max(largest, bytes);
    written += bytes;
  }
  share_memory(written, available, plan);
  if (!plan.fits()) return plan;
  if (plan.tiles.tiles > 1) {
    const std::uint64_t join =
        plan.buffer_bytes() + SumJoin::least_bytes(nodes, sweep_.columns.count, plan.tiles.tiles, plan.tiles.width);
    if (join > available)
      plan.lack = "propagation: rows of " + std::to_string(plan.tiles.tiles) + " tiles are put together in " +
                  readable_bytes(join) + " of memory, " + readable_bytes(available) + " available; raise " +
                  option("memory");
  }
  // The tiles of a level are removed when its rows have been put together.
  plan.disk_bytes = plan.tiles.tiles > 1 ? plan.state_bytes + largest : plan.state_bytes;
  plan.spooled_bytes = plan.tiles.tiles > 1 ? written : 0;
  if (plan.tiles.refills) plan.refill_bytes = written - sweep_.rows(sweep_.levels - 1, nodes) * row_bytes;
  return plan;
}

std::uint64_t SumForm::disk_bytes(const StatePlan& plan, std::uint64_t there, std::uint64_t /*missing*/) const {
  return without(plan.disk_bytes, there);
}

TileMemory SumForm::tile_memory(const StatePlan& plan, std::uint64_t /*available*/) const {
  return {plan.write_buffers, 0};
}

std::unique_ptr<FileSink> SumForm::to_files(const std::filesystem::path& store, const StatePlan& plan,
                                            MemoryBudget& budget) const {
  return std::make_unique<PartitionSink>(store, contents_, sweep_, plan.write_buffers, budget);
}

std::unique_ptr<LevelSink> SumForm::to_tiles(const TileFolder& folder, TileWriter& writer, std::size_t /*width*/,
                                             const StatePlan& /*plan*/) const {
  return std::make_unique<SumTileSink>(folder, writer, contents_, sweep_);
}

LevelEntries SumForm::join(const std::filesystem::path& store, std::vector<FinishedTile>& tiles, RankShare spans,
                           TileEnd end, const StatePlan& plan, MemoryBudget& budget) const {
  LevelEntries entries;
  WriteBuffers buffers(plan.write_buffers, budget);
  const NodeId nodes = contents_.num_nodes();
  const std::vector<const FinishedTile*> cover = exact_cover(tiles, sweep_.columns);
  for (std::uint32_t index = 0; index < sweep_.levels; ++index) {
    std::vector<const TileFile*> files;
    files.reserve(cover.size());
    for (const FinishedTile* tile : cover) files.push_back(tile->levels[index].get());
    LevelImage image(store, sweep_.first_level + index, static_cast<std::uint32_t>(sweep_.columns.count), nodes,
                     sweep_.mask(index), buffers.queue(), spans);
    if (spans.begin < spans.end)
      SumJoin(files, nodes, sweep_.mask(index), budget).join(spans.begin, spans.end, image, budget);
    image.finish();
    buffers.queue().drain();
    entries.push_back(image.publish());
    if (end == TileEnd::stay) continue;
    for (FinishedTile& tile : tiles) {
      if (std::find(cover.begin(), cover.end(), &tile) == cover.end()) continue;
      const std::filesystem::path path = tile.levels[index]->path();
      tile.levels[index].reset();  // while it is mapped, the disk has not its room back
      drop_entry(path);
    }
  }
  return entries;
}

}  // namespace unweave
