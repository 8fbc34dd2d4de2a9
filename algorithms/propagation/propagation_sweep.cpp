// algorithms/propagation/propagation_sweep.cpp - sizes column tiles, and sweeps the levels of each.
#include "algorithms/propagation/propagation_sweep.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>
#include <type_traits>
#include <utility>

#include "algorithms/propagation/row_share.h"
#include "engine/resources/clock.h"
#include "engine/resources/parallel.h"
#include "storage/formats/feature_file.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kCacheLine = 64;  // bytes
constexpr std::size_t kPage = 4096;
constexpr std::size_t kFillRows = 4096;
constexpr std::size_t kCheckedBytes = std::size_t{128} << 10;  // rows of level 0 that are checked from a cache
constexpr std::size_t kWaitingBytes = std::size_t{3}
                                      << 20;  // what one more thread of a fill takes, with what malloc keeps
constexpr std::size_t kNarrowRows = 64;  // rows of level 0 turned into 16 bits at a time; fewer, where columns are many
constexpr std::size_t kNarrowValues = std::size_t{1} << 18;

/// Columns in a cache line.
std::size_t tile_step(const PropagationOptions& options) {
  return kCacheLine / value_bytes(options.scale_bits);
}

std::uint64_t tile_bytes(NodeId nodes, std::size_t width, const PropagationOptions& options) {
  return (static_cast<std::uint64_t>(nodes) * width + kTilePadding) * value_bytes(options.scale_bits);
}

/// Rows of the tile that levels 1, 3, .. leave to the next: no level above the first wants more.
NodeId next_rows(const BlockSource& source, const PropagationOptions& options) {
  if (options.hops == 1) return 0;
  if (options.share != nullptr) return static_cast<NodeId>(options.share->own().size());
  return options.wanted.empty() ? source.num_nodes : options.wanted.front().size();
}

/// Threads that wait for a disk: more than there are processors keep it busy.
std::size_t waiting_threads() {
  return 2 * active_threads() + 2;
}

/// Rows that are read back at a time: about as many as a disk wants, and whole blocks of one partition.
std::size_t refill_rows(std::size_t width) {
  constexpr std::size_t kRefillBytes = std::size_t{256} << 10;
  return std::clamp<std::size_t>(std::bit_floor(kRefillBytes / (width * sizeof(std::int32_t))), kBlockNodes, kFillRows);
}

/// Memory of one worker that refills a tile: a piece of sums as it is read, as much again on the way to 16 bits, each with
/// pages that are read beyond its ends, and the totals of the check.
std::uint64_t refill_worker_bytes(std::size_t width) {
  return 2 * (refill_rows(width) * width * sizeof(std::int32_t) + 4 * kPage) + ColumnTotals::bytes(width);
}

/// The plan of tiles of `width` columns with so many workers.
TilePlan tiles_of(const BlockSource& source, const PropagationOptions& options, std::size_t width,
                  std::size_t workers) {
  TilePlan plan{width, (options.features + width - 1) / width, options.refills && options.hops > 1, 0,
                workers * sweep_worker_bytes(source, width)};
  plan.tile_bytes = HugeBuffer::charge(tile_bytes(source.num_nodes, width, options));
  if (options.hops > 1 && !plan.refills)
    plan.tile_bytes += HugeBuffer::charge(tile_bytes(next_rows(source, options), width, options));
  if (plan.refills) plan.worker_bytes = std::max(plan.worker_bytes, refill_worker_bytes(width));
  plan.worker_bytes += SumCheck::bytes(source.num_nodes, options.first_column + options.features,
                                       static_cast<std::uint32_t>(options.hops), options.wanted,
                                       options.share != nullptr ? options.share->own().size() : source.num_nodes);
  if (!options.wanted.empty()) plan.tile_bytes += (options.wanted.size() - 1) * RowRanks::bytes(source.num_nodes);
  return plan;
}

/// The widest tile that fits; 0 when none does.
std::size_t widest_tile(const BlockSource& source, const PropagationOptions& options, std::uint64_t available,
                        std::size_t workers) {
  const auto fits = [&](std::size_t width) {
    return tiles_of(source, options, width, workers).memory_bytes() <= available;
  };
  const std::size_t step = tile_step(options);
  const std::size_t most =
      options.most_columns == 0 ? options.features : std::min(options.features, options.most_columns);
  if (fits(most)) return most;
  for (std::size_t width = (most - 1) / step * step; width > 0; width -= step) {
    if (fits(width)) return width;
  }
  for (std::size_t width = std::min(step, most) - 1; width > 0; --width) {
    if (fits(width)) return width;
  }
  return 0;
}

void check_options(const BlockSource& source, const PropagationOptions& options) {
  if (options.hops < 0) throw UsageError("the number of hops must not be negative");
  if (!options.wanted.empty() && options.wanted.size() != static_cast<std::size_t>(options.hops)) {
    throw UsageError("one mask of wanted rows is needed for every level");
  }
  if (options.share != nullptr && !options.wanted.empty())
    throw UsageError("ranks share the rows of all nodes, and not those of some");
  if (options.refills && (options.share != nullptr || !options.wanted.empty()))
    throw UsageError("a tile is filled anew with rows of all nodes, and not with those of some");
  for (const RowMask& mask : options.wanted) {
    if (mask.rows() != source.num_nodes) throw UsageError("a mask of wanted rows must have one bit a node");
  }
}

}  // namespace

TilePlan plan_tiles(const BlockSource& source, const PropagationOptions& options, std::uint64_t available) {
  if (options.features == 0) return {};
  std::size_t workers = active_threads();
  std::size_t widest = widest_tile(source, options, available, workers);
  if (widest == 0) widest = widest_tile(source, options, available, workers = 1);
  if (widest == 0) {
    throw ResourceError("propagation: one feature column of " + std::to_string(source.num_nodes) + " nodes needs " +
                        std::to_string(tiles_of(source, options, 1, 1).memory_bytes()) + " bytes of memory, " +
                        std::to_string(available) + " available; raise " + option("memory"));
  }
  // Tiles of equal width: the same passes over the graph with less memory than a narrow last tile would leave unused.
  const std::size_t tiles = (options.features + widest - 1) / widest;
  const std::size_t even = (options.features + tiles - 1) / tiles;
  const std::size_t step = tile_step(options);
  const std::size_t width = widest < step ? even : std::min(widest, (even + step - 1) / step * step);
  return tiles_of(source, options, width, workers);
}

namespace {

/// Rows of level 0 as the fill gives them.
void fill_rows(const TileFill& fill, TileColumns columns, NodeRange rows, std::int32_t* out) {
  fill(columns, rows, out);
}

/// Rows of level 0 in 16 bits, which hold what a fill that keeps to the scale gives.
void fill_rows(const TileFill& fill, TileColumns columns, NodeRange rows, std::int16_t* out) {
  const std::size_t most = std::clamp<std::size_t>(kNarrowValues / columns.count, 1, kNarrowRows);
  std::vector<std::int32_t> piece(most * columns.count);
  for (std::size_t first = rows.first; first < rows.last; first += most) {
    const NodeRange some{static_cast<NodeId>(first),
                         static_cast<NodeId>(std::min<std::size_t>(rows.last, first + most))};
    fill(columns, some, piece.data());
    const std::size_t values = some.size() * columns.count;
    for (std::size_t i = 0; i < values; ++i) *out++ = static_cast<std::int16_t>(piece[i]);
  }
}

/// Rows of level 0 go into the tile, and into the check of the first level while they are at hand.
template <class T>
void fill_checked(const BlockSource& source, const TileFill& fill, TileColumns columns, NodeRange rows, T* out,
                  std::size_t slot, const LevelCheck& check) {
  const std::size_t most =
      std::max(kBlockNodes, kCheckedBytes / (columns.count * sizeof(T)) / kBlockNodes * kBlockNodes);
  for (std::size_t first = rows.first; first < rows.last; first += most) {
    const NodeRange some{static_cast<NodeId>(first),
                         static_cast<NodeId>(std::min<std::size_t>(rows.last, first + most))};
    fill_rows(fill, columns, some, out);
    check_terms(source, slot, some, TileOf<T>{out, columns.count}, check);
    out += some.size() * columns.count;
  }
}

/// Fills all rows of a tile anew, from files for which each worker waits, and adds them to the check of the next level.
template <class T>
void refill_tile(const BlockSource& source, const TileFill& fill, TileColumns columns, T* tile, const LevelCheck* check,
                 MemoryBudget& budget) {
  const std::uint64_t worker_bytes = refill_worker_bytes(columns.count);
  const std::size_t workers = std::clamp<std::size_t>(budget.available() / worker_bytes, 1, waiting_threads());
  const Reservation memory = budget.reserve(workers * worker_bytes, "sums read back");
  const std::size_t step = refill_rows(columns.count), items = (source.num_nodes + step - 1) / step;
  run_waiting_items(items, workers, [&](auto&& next_item) {
    std::vector<std::int32_t> piece(std::is_same_v<T, std::int32_t> ? 0 : step * columns.count);
    for (std::size_t item = next_item(); item < items; item = next_item()) {
      const NodeRange rows{static_cast<NodeId>(item * step),
                           static_cast<NodeId>(std::min<std::size_t>(source.num_nodes, (item + 1) * step))};
      T* const out = tile + rows.first * columns.count;
      if constexpr (std::is_same_v<T, std::int32_t>) {
        fill(columns, rows, out);
      } else {
        fill(columns, rows, piece.data());
        const std::size_t values = rows.size() * columns.count;
        for (std::size_t i = 0; i < values; ++i) out[i] = static_cast<T>(piece[i]);
      }
      if (check != nullptr) check_terms(source, 0, rows, TileOf<T>{out, columns.count}, *check);
    }
  });
}

template <class T>
double sweep_tiles(const BlockSource& source, const PropagationOptions& options, const TilePlan& plan,
                   MemoryBudget& budget, const TileFill& fill, const LevelSink& sink) {
  const std::uint64_t list_bytes =
      options.check == nullptr ? 1 : ColumnTotals::bytes(plan.width) + source.max_decoded_bytes;
  // Level 0 has all rows and lies in the larger buffer. From then on the two take turns, unless the plan refills: then the
  // larger one is filled anew.
  HugeBuffer larger(tile_bytes(source.num_nodes, plan.width, options), budget, "column tile");
  HugeBuffer smaller;
  if (options.hops > 1 && !plan.refills)
    smaller = HugeBuffer(tile_bytes(next_rows(source, options), plan.width, options), budget, "column tile");
  // A level leaves to the next the rows that it was wanted for, one after another.
  Reservation ranks_memory;
  std::vector<RowRanks> ranks;
  if (!options.wanted.empty()) {
    ranks_memory = budget.reserve((options.wanted.size() - 1) * RowRanks::bytes(source.num_nodes), "ranks of the rows");
    for (std::size_t l = 0; l + 1 < options.wanted.size(); ++l) ranks.emplace_back(options.wanted[l]);
  }
  const auto ranks_of = [&](int level) {
    return level < 1 || static_cast<std::size_t>(level) > ranks.size() ? nullptr
                                                                       : &ranks[static_cast<std::size_t>(level) - 1];
  };

  const RowShare* const share = options.share;
  const NodeRange filled = share != nullptr ? share->own() : NodeRange{0, source.num_nodes};
  if (share != nullptr && options.check != nullptr) share->share_key(*options.check);
  Clock::time_point begin_fill = Clock::now();
  Clock::duration filling{};
  // Before the features pass through the page cache, which would leave few free pages of the larger size.
  if (source.forget) source.forget(0, source.num_blocks);
  larger.commit();
  smaller.commit();
  const std::size_t end = options.first_column + options.features;
  for (std::size_t first = options.first_column; first < end; first += plan.width) {
    const TileColumns columns{first, std::min(plan.width, end - first)};
    if (first > options.first_column) begin_fill = Clock::now();
    const auto check_of = [&](int level) {
      return options.check == nullptr ? LevelCheck{} : options.check->level(static_cast<std::uint32_t>(level), first);
    };
    const LevelCheck fill_check = check_of(0);
    // A fill's own buffers are charged to nobody, but there are no more of them than there is room for.
    const bool waits = options.fill_waits && columns.count <= kTileColumns && std::is_same_v<T, std::int32_t>;
    const std::uint64_t slot_bytes = list_bytes + (waits ? kWaitingBytes : 0);
    const std::size_t most_workers = waits ? waiting_threads() : active_threads();
    const std::size_t workers = std::clamp<std::size_t>(budget.available() / slot_bytes, 1, most_workers);
    Reservation lists = budget.reserve(workers * list_bytes, "lists of the check");
    if (options.check != nullptr) source.make_slots(workers);
    const auto fill_item = [&](std::size_t item, std::size_t worker) {
      const std::size_t begin = filled.first + item * kFillRows;
      const NodeRange rows{static_cast<NodeId>(begin),
                           static_cast<NodeId>(std::min<std::size_t>(filled.last, begin + kFillRows))};
      if (fill_check.must_weigh && begin / kBlockNodes % kReadBlocks == 0)
        scan_ahead(source, begin / kBlockNodes, nullptr);
      T* const out = larger.as<T>() + begin * columns.count;
      if (options.check == nullptr)
        fill_rows(fill, columns, rows, out);
      else
        fill_checked(source, fill, columns, rows, out, worker, fill_check);
    };
    const std::size_t items = (filled.size() + kFillRows - 1) / kFillRows;
    if (!waits) {
      run_items(items, workers, fill_item);
    } else {
      std::atomic<std::size_t> next_worker = 0;
      run_waiting_items(items, workers, [&](auto&& next_item) {
        const std::size_t worker = next_worker++;
        for (std::size_t item = next_item(); item < items; item = next_item()) fill_item(item, worker);
      });
    }
    lists.release();
    if (share != nullptr) share->exchange(reinterpret_cast<std::byte*>(larger.as<T>()), columns.count * sizeof(T));
    filling += Clock::now() - begin_fill;
    HugeBuffer* current = &larger;
    HugeBuffer* next = &smaller;
    for (int level = 1; level <= options.hops; ++level) {
      const bool is_last = level == options.hops && first + columns.count == end;
      if (is_last && options.hops > 1 && !plan.refills && options.spare) options.spare(std::exchange(*next, {}));
      SweepTile<T> tile;
      tile.input = {current->as<T>(), columns.count, options.scale_bits};
      // The last level's quotients are read by nobody: whoever wants them derives them from the sums.
      tile.quotients = level < options.hops && !plan.refills ? next->as<T>() : nullptr;
      const RowMask* wanted = options.wanted.empty() ? nullptr : &options.wanted[static_cast<std::size_t>(level) - 1];
      if (share != nullptr) wanted = &share->mask();
      LevelCheck check = check_of(level);
      const LevelCheck refill_check = check;
      if (plan.refills) check.terms = nullptr;  // they are formed as the tile is filled anew
      const SweepLevel job{tile, wanted, ranks_of(level - 1), share != nullptr ? &share->ranks() : ranks_of(level),
                           options.check == nullptr ? nullptr : &check};
      const bool has_lists = level == options.hops && options.last_lists != nullptr;
      sweep_level(has_lists ? *options.last_lists : source, job, budget,
                  [&](const SumRows& rows) { sink(level, columns, rows); });
      const auto number = static_cast<std::uint32_t>(level);
      if (share != nullptr && options.check != nullptr && !share->holds(*options.check, number))
        throw WrongSums("level " + std::to_string(number) + ", on one of the ranks");
      if (share == nullptr && options.check != nullptr && !options.check->holds(number))
        throw WrongSums(blame_level(source, job, *options.check, number));
      if (options.level_done) options.level_done(level, columns);
      if (level == options.hops) continue;
      if (plan.refills) {
        refill_tile(source, options.refill(level, columns), columns, larger.as<T>(),
                    options.check == nullptr ? nullptr : &refill_check, budget);
        continue;
      }
      if (share == nullptr) {
        std::swap(current, next);
        continue;
      }
      const std::size_t row_values = columns.count;
      std::copy_n(smaller.as<T>(), share->own().size() * row_values, larger.as<T>() + share->own().first * row_values);
      share->exchange(reinterpret_cast<std::byte*>(larger.as<T>()), row_values * sizeof(T));
    }
    if (options.check != nullptr) options.check->close_tile();
  }
  return std::chrono::duration<double>(filling).count();
}

}  // namespace

double propagation_sweep(const BlockSource& source, const PropagationOptions& options, const TilePlan& plan,
                         MemoryBudget& budget, const TileFill& fill, const LevelSink& sink) {
  check_options(source, options);
  if (options.hops == 0 || options.features == 0 || source.num_nodes == 0) return 0;
  if (plan.refills && !options.refill) throw UsageError("nobody fills tiles anew");
  return value_bytes(options.scale_bits) == sizeof(std::int16_t)
             ? sweep_tiles<std::int16_t>(source, options, plan, budget, fill, sink)
             : sweep_tiles<std::int32_t>(source, options, plan, budget, fill, sink);
}

}  // namespace unweave
