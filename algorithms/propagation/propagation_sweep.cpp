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
std::size_t tile_step(const SweepSpec& spec) {
  return kCacheLine / value_bytes(spec.scale_bits);
}

std::uint64_t tile_bytes(NodeId nodes, std::size_t width, const SweepSpec& spec) {
  return (static_cast<std::uint64_t>(nodes) * width + kTilePadding) * value_bytes(spec.scale_bits);
}

/// Rows of the tile that levels 1, 3, .. leave to the next: no level above the first wants more.
NodeId next_rows(const BlockSource& source, const SweepSpec& spec) {
  return spec.levels == 1 ? 0 : static_cast<NodeId>(spec.rows(0, source.num_nodes));
}

/// Threads that wait for a disk: more than there are processors keep it busy.
std::size_t waiting_threads() {
  return 2 * active_threads() + 2;
}

/// Rows that are read back at a time: about as many as a disk wants, and whole blocks of one
/// partition.
std::size_t refill_rows(std::size_t width) {
  constexpr std::size_t kRefillBytes = std::size_t{256} << 10;
  return std::clamp<std::size_t>(std::bit_floor(kRefillBytes / (width * sizeof(std::int32_t))), kBlockNodes, kFillRows);
}

/// Memory of one worker that refills a tile: a piece of sums as it is read, as much again on the
/// way to 16 bits, each with pages that are read beyond its ends, and the totals of the check.
std::uint64_t refill_worker_bytes(std::size_t width) {
  return 2 * (refill_rows(width) * width * sizeof(std::int32_t) + 4 * kPage) + ColumnTotals::bytes(width);
}

/// The plan of tiles of `width` columns with so many workers.
TilePlan tiles_of(const BlockSource& source, const SweepSpec& spec, TileBuffers buffers, std::size_t width,
                  std::size_t workers) {
  TilePlan plan{width, (spec.columns.count + width - 1) / width, buffers == TileBuffers::one && spec.levels > 1, 0,
                workers * sweep_worker_bytes(source, width)};
  plan.tile_bytes = HugeBuffer::charge(tile_bytes(source.num_nodes, width, spec));
  if (spec.levels > 1 && !plan.refills)
    plan.tile_bytes += HugeBuffer::charge(tile_bytes(next_rows(source, spec), width, spec));
  if (plan.refills) plan.worker_bytes = std::max(plan.worker_bytes, refill_worker_bytes(width));
  plan.worker_bytes +=
      SumCheck::bytes(source.num_nodes, spec.columns.first + spec.columns.count, spec.levels, spec.wanted,
                      spec.share != nullptr ? spec.share->own().size() : source.num_nodes);
  if (!spec.wanted.empty()) plan.tile_bytes += (spec.wanted.size() - 1) * RowRanks::bytes(source.num_nodes);
  return plan;
}

/// The widest tile that fits; 0 when none does.
std::size_t widest_tile(const BlockSource& source, const SweepSpec& spec, TileBuffers buffers, std::uint64_t available,
                        std::size_t workers) {
  const auto fits = [&](std::size_t width) {
    return tiles_of(source, spec, buffers, width, workers).memory_bytes() <= available;
  };
  const std::size_t step = tile_step(spec), columns = spec.columns.count;
  const std::size_t most = spec.most_columns == 0 ? columns : std::min(columns, spec.most_columns);
  if (fits(most)) return most;
  for (std::size_t width = (most - 1) / step * step; width > 0; width -= step) {
    if (fits(width)) return width;
  }
  for (std::size_t width = std::min(step, most) - 1; width > 0; --width) {
    if (fits(width)) return width;
  }
  return 0;
}

void check_spec(const BlockSource& source, const SweepSpec& spec, const TilePlan& plan) {
  if (!spec.wanted.empty() && spec.wanted.size() != spec.levels)
    throw UsageError("one mask of wanted rows is needed for every level");
  if (spec.share != nullptr && !spec.wanted.empty())
    throw UsageError("ranks share the rows of all nodes, and not those of some");
  if (plan.refills && (spec.share != nullptr || !spec.wanted.empty()))
    throw UsageError("a tile is filled anew with rows of all nodes, and not with those of some");
  for (const RowMask& mask : spec.wanted) {
    if (mask.rows() != source.num_nodes) throw UsageError("a mask of wanted rows must have one bit a node");
  }
}

}  // namespace

TileFill LevelSink::refill(std::uint32_t /*level*/, TileColumns /*columns*/) {
  throw UsageError("nobody fills tiles anew");
}

const RowMask* SweepSpec::mask(std::size_t index) const noexcept {
  if (share != nullptr) return &share->mask();
  return wanted.empty() ? nullptr : &wanted[index];
}

std::uint64_t SweepSpec::rows(std::size_t index, NodeId nodes) const noexcept {
  if (share != nullptr) return share->own().size();
  return wanted.empty() ? nodes : wanted[index].size();
}

SweepSpec SweepSpec::rest(TileColumns some, std::size_t skip) const noexcept {
  SweepSpec left = *this;
  left.columns = some;
  left.first_level += static_cast<std::uint32_t>(skip);
  left.levels -= static_cast<std::uint32_t>(skip);
  if (!wanted.empty()) left.wanted = wanted.subspan(skip);
  return left;
}

const TilePlan& TilePlan::require() const {
  if (!fits()) throw ResourceError(lack);
  return *this;
}

TilePlan plan_tiles(const BlockSource& source, const SweepSpec& spec, std::uint64_t available, TileBuffers buffers) {
  if (spec.columns.count == 0) return {};
  std::size_t workers = active_threads();
  std::size_t widest = widest_tile(source, spec, buffers, available, workers);
  if (widest == 0) widest = widest_tile(source, spec, buffers, available, workers = 1);
  if (widest == 0) {
    TilePlan plan = tiles_of(source, spec, buffers, 1, 1);
    plan.lack = "propagation: one feature column of " + std::to_string(source.num_nodes) + " nodes needs " +
                std::to_string(plan.memory_bytes()) + " bytes of memory, " + std::to_string(available) +
                " available; raise " + option("memory");
    return plan;
  }
  // Tiles of equal width: the same passes over the graph with less memory than a narrow last tile
  // would leave unused.
  const std::size_t tiles = (spec.columns.count + widest - 1) / widest;
  const std::size_t even = (spec.columns.count + tiles - 1) / tiles;
  const std::size_t step = tile_step(spec);
  const std::size_t width = widest < step ? even : std::min(widest, (even + step - 1) / step * step);
  return tiles_of(source, spec, buffers, width, workers);
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

/// Fills all rows of a tile anew, from files for which each worker waits, and adds them to the
/// check of the next level.
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

/// What a sweep is called with.
struct SweepCall {
  const BlockSource& source;
  const SweepSpec& spec;
  const TilePlan& plan;
  MemoryBudget& budget;
  const LevelSource& below;
  LevelSink& sink;
  SumCheck* check;
};

/// The tiles of a sweep, one after another, in values of T.
template <class T>
class TileSweep {
 public:
  explicit TileSweep(const SweepCall& call)
      : call_(call), nodes_(call.source.num_nodes), share_(call.spec.share), larger_(buffer(nodes_)) {
    if (spec().levels > 1 && !call_.plan.refills) smaller_ = buffer(next_rows(call_.source, spec()));
    // A level leaves to the next the rows that it was wanted for, one after another.
    if (spec().wanted.empty()) return;
    ranks_memory_ = call_.budget.reserve((spec().wanted.size() - 1) * RowRanks::bytes(nodes_), "ranks of the rows");
    for (std::size_t l = 0; l + 1 < spec().wanted.size(); ++l) ranks_.emplace_back(spec().wanted[l]);
  }

  /// Returns the seconds that committing and filling took.
  double run() {
    if (share_ != nullptr && call_.check != nullptr) share_->share_key(*call_.check);
    Clock::time_point begin = Clock::now();
    Clock::duration filling{};
    // Before the features pass through the page cache, which would leave few free pages of the
    // larger size.
    if (call_.source.forget) call_.source.forget(0, call_.source.num_blocks);
    larger_.commit();
    smaller_.commit();
    for (std::size_t first = spec().columns.first; first < end(); first += call_.plan.width) {
      const TileColumns columns{first, std::min(call_.plan.width, end() - first)};
      if (first > spec().columns.first) begin = Clock::now();
      fill(columns);
      filling += Clock::now() - begin;
      sum(columns);
      if (call_.check != nullptr) call_.check->close_tile();
    }
    return std::chrono::duration<double>(filling).count();
  }

 private:
  [[nodiscard]] const SweepSpec& spec() const noexcept { return call_.spec; }
  [[nodiscard]] std::size_t end() const noexcept { return spec().columns.first + spec().columns.count; }
  [[nodiscard]] HugeBuffer buffer(NodeId rows) const {
    return {tile_bytes(rows, call_.plan.width, spec()), call_.budget, "column tile"};
  }
  /// What `step` of the levels, counted from 1, adds up; 0 is the level below them.
  [[nodiscard]] LevelCheck check_of(std::uint32_t step, TileColumns columns) const {
    return call_.check == nullptr ? LevelCheck{} : call_.check->level(step, columns.first);
  }
  [[nodiscard]] const RowRanks* ranks_of(std::uint32_t step) const {
    if (share_ != nullptr && step > 0) return &share_->ranks();
    return step < 1 || step > ranks_.size() ? nullptr : &ranks_[step - 1];
  }

  /// The rows below the first level go into the larger buffer, which has all of them.
  void fill(TileColumns columns) {
    const NodeRange filled = share_ != nullptr ? share_->own() : NodeRange{0, nodes_};
    const LevelCheck check = check_of(0, columns);
    const std::uint64_t list_bytes =
        call_.check == nullptr ? 1 : ColumnTotals::bytes(call_.plan.width) + call_.source.max_decoded_bytes;
    // A fill's own buffers are charged to nobody, but there are no more of them than there is room
    // for.
    const bool waits = call_.below.waits && columns.count <= kTileColumns && std::is_same_v<T, std::int32_t>;
    const std::uint64_t slot_bytes = list_bytes + (waits ? kWaitingBytes : 0);
    const std::size_t most_workers = waits ? waiting_threads() : active_threads();
    const std::size_t workers = std::clamp<std::size_t>(call_.budget.available() / slot_bytes, 1, most_workers);
    Reservation lists = call_.budget.reserve(workers * list_bytes, "lists of the check");
    if (call_.check != nullptr) call_.source.make_slots(workers);
    const auto fill_item = [&](std::size_t item, std::size_t worker) {
      const std::size_t begin = filled.first + item * kFillRows;
      const NodeRange rows{static_cast<NodeId>(begin),
                           static_cast<NodeId>(std::min<std::size_t>(filled.last, begin + kFillRows))};
      if (check.must_weigh && begin / kBlockNodes % kReadBlocks == 0)
        scan_ahead(call_.source, begin / kBlockNodes, nullptr);
      T* const out = larger_.as<T>() + begin * columns.count;
      if (call_.check == nullptr)
        fill_rows(call_.below.fill, columns, rows, out);
      else
        fill_checked(call_.source, call_.below.fill, columns, rows, out, worker, check);
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
    if (share_ != nullptr) share_->exchange(reinterpret_cast<std::byte*>(larger_.as<T>()), columns.count * sizeof(T));
  }

  /// All levels of a tile. The two buffers take turns, unless the plan refills: then the larger one
  /// is filled anew.
  void sum(TileColumns columns) {
    HugeBuffer* current = &larger_;
    HugeBuffer* next = &smaller_;
    for (std::uint32_t step = 1; step <= spec().levels; ++step) {
      const bool is_last = step == spec().levels;
      if (is_last && step > 1 && !call_.plan.refills && columns.first + columns.count == end())
        call_.sink.spare(std::exchange(*next, {}));
      // The last level's quotients are read by nobody: whoever wants them derives them from the
      // sums.
      T* const quotients = !is_last && !call_.plan.refills ? next->as<T>() : nullptr;
      const LevelCheck check = sum_level(step, columns, {{current->as<T>(), columns.count, bits()}, quotients});
      if (is_last) return;
      if (call_.plan.refills) {
        refill_tile(call_.source, call_.sink.refill(spec().first_level + step - 1, columns), columns, larger_.as<T>(),
                    call_.check == nullptr ? nullptr : &check, call_.budget);
      } else if (share_ == nullptr) {
        std::swap(current, next);
      } else {
        std::copy_n(smaller_.as<T>(), share_->own().size() * columns.count,
                    larger_.as<T>() + share_->own().first * columns.count);
        share_->exchange(reinterpret_cast<std::byte*>(larger_.as<T>()), columns.count * sizeof(T));
      }
    }
  }

  [[nodiscard]] int bits() const noexcept { return static_cast<int>(spec().scale_bits); }

  /// Hands the sums of one level over, and proves them. Returns what the level has added up.
  LevelCheck sum_level(std::uint32_t step, TileColumns columns, const SweepTile<T>& tile) {
    const std::uint32_t level = spec().first_level + step - 1;
    const LevelCheck whole = check_of(step, columns);
    LevelCheck check = whole;
    if (call_.plan.refills) check.terms = nullptr;  // they are formed as the tile is filled anew
    const SweepLevel job{tile, spec().mask(step - 1), share_ != nullptr ? nullptr : ranks_of(step - 1), ranks_of(step),
                         call_.check == nullptr ? nullptr : &check};
    const bool has_lists = step == spec().levels && spec().last_lists != nullptr;
    sweep_level(has_lists ? *spec().last_lists : call_.source, job, call_.budget,
                [&](const SumRows& rows) { call_.sink.put(level, columns, rows); });
    if (call_.check == nullptr) return whole;
    if (share_ != nullptr && !share_->holds(*call_.check, step))
      throw WrongSums("level " + std::to_string(level) + ", on one of the ranks");
    if (share_ == nullptr && !call_.check->holds(step))
      throw WrongSums(blame_level(call_.source, job, *call_.check, step));
    call_.sink.end(level, columns, {call_.check->key(), call_.check->sums(step)});
    return whole;
  }

  const SweepCall& call_;
  NodeId nodes_;
  const RowShare* share_;
  HugeBuffer larger_;  ///< rows of all nodes
  HugeBuffer smaller_;
  Reservation ranks_memory_;
  std::vector<RowRanks> ranks_;
};

}  // namespace

double propagation_sweep(const BlockSource& source, const SweepSpec& spec, const TilePlan& plan, MemoryBudget& budget,
                         const LevelSource& below, LevelSink& sink, SumCheck* check) {
  check_spec(source, spec, plan.require());
  if (spec.levels == 0 || spec.columns.count == 0 || source.num_nodes == 0) return 0;
  const SweepCall call{source, spec, plan, budget, below, sink, check};
  return value_bytes(static_cast<int>(spec.scale_bits)) == sizeof(std::int16_t) ? TileSweep<std::int16_t>(call).run()
                                                                                : TileSweep<std::int32_t>(call).run();
}

}  // namespace unweave
