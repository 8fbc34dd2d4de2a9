// algorithms/propagation/row_builder.cpp - combines levels of a tile into values, rounds them, and hands them to files.
#include "algorithms/propagation/row_builder.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>

#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/row_values.h"
#include "engine/resources/clock.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "engine/state/level_image.h"
#include "engine/state/rows_level.h"
#include "engine/sweep/level_tile.h"
#include "storage/formats/rows_image.h"
#include "storage/formats/store_layout.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kMostBatch = 512;                        // rows, as a sweep goes through them
constexpr std::uint64_t kBatchBytes = std::uint64_t{1} << 20;  // a thread has

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;  // what a HugeBuffer is charged in

std::size_t blocks_of_rows(const PropagationSpec& spec) {
  return spec.kept.keep == Keep::embedding ? spec.weights.size() / (spec.levels + std::size_t{1}) : 1;
}

std::vector<bool> levels_in_use(const PropagationSpec& spec) {
  return used_levels(spec.weights, spec.levels);
}

/// Levels whose normalised sums wait for those of the last one.
std::uint64_t waiting_levels(const PropagationSpec& spec) {
  if (spec.kept.keep != Keep::embedding) return 0;
  const std::vector<bool> used = levels_in_use(spec);
  std::uint64_t waiting = 0;
  for (std::uint32_t l = 1; l < spec.levels; ++l) waiting += used[l] ? 1 : 0;
  return waiting;
}

}  // namespace

/// What a thread works with, for at most `batch` rows.
struct RowConverter::Work {
  Work(const PropagationSpec& spec, std::size_t width, std::size_t batch)
      : t(batch * width), sums(batch * width * blocks_of_rows(spec)), values(batch * width * blocks_of_rows(spec)) {
    nodes.reserve(batch);
    rows.reserve(batch);
  }
  std::vector<NodeId> nodes;
  std::vector<StateRow> rows;  ///< the sums of the nodes
  std::vector<std::int32_t> t;
  std::vector<double> sums;
  std::vector<float> values;
};

/// Work that goes back to where it came from.
struct RowConverter::Loan {
  explicit Loan(RowConverter& from) : owner(from) {
    const std::scoped_lock lock(owner.mutex_);
    if (owner.idle_.empty()) return;
    work = std::move(owner.idle_.back());
    owner.idle_.pop_back();
  }
  ~Loan() {
    const std::scoped_lock lock(owner.mutex_);
    owner.idle_.push_back(std::move(work));
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  Work& get() {
    if (!work) work = std::make_unique<Work>(owner.spec_, owner.tile_width_, owner.batch_);
    return *work;
  }

  RowConverter& owner;
  std::unique_ptr<Work> work;
};

RowConverter::RowConverter(const std::filesystem::path& folder, const Contents& contents, const PropagationSpec& spec,
                           const RowMask* targets, std::size_t tile_width, std::size_t batch, RowTaker take)
    : contents_(contents),
      spec_(spec),
      targets_(targets),
      tile_width_(tile_width),
      batch_(batch),
      take_(std::move(take)),
      power_(spec.rho),
      features_(level0_rows(contents, spec)),
      used_(levels_in_use(spec)) {
  const bool uses_others = std::any_of(used_.begin(), used_.end() - 1, [](bool one) { return one; });
  is_single_ = spec.kept.keep == Keep::hops || (spec.levels > 0 && blocks_of_rows(spec) == 1 && !uses_others);
  if (waiting_levels(spec) == 0) return;
  if (targets != nullptr) ranks_.emplace(*targets);
  const std::filesystem::path path =
      SealedName{folder, "state", "waiting-" + process_word(), "rows", ""}.make_temporary();
  spool_.emplace(File::create(path));
  remove_entry(path);
}

RowConverter::~RowConverter() = default;

std::uint64_t RowConverter::worker_bytes(const PropagationSpec& spec, std::size_t width, std::size_t batch) {
  const std::uint64_t values = blocks_of_rows(spec) * (sizeof(double) + sizeof(float) + sizeof(Half));
  return batch * (sizeof(NodeId) + sizeof(StateRow) + width * (2 * sizeof(std::int32_t) + sizeof(float) + values)) +
         std::min<std::uint64_t>(kLevel0Values, batch * width) * sizeof(float);
}

std::uint64_t RowConverter::rank_bytes(const PropagationSpec& spec, NodeId nodes) noexcept {
  return spec.all_rows ? 0 : RowRanks::bytes(nodes);
}

std::uint64_t RowConverter::spool_bytes(const PropagationSpec& spec, std::uint64_t rows, std::size_t width) {
  return waiting_levels(spec) * rows * width * sizeof(std::int32_t);
}

/// Fills the work with the next targets among the rows, as many as fit.
void RowConverter::load_targets(const SumRows& rows, std::size_t& at, Work& w) const {
  w.nodes.clear();
  w.rows.clear();
  for (; at < rows.nodes.size() && w.nodes.size() < batch_; ++at) {
    if (targets_ != nullptr && !targets_->contains(rows.nodes[at])) continue;
    w.nodes.push_back(rows.nodes[at]);
    const auto wide = std::lower_bound(rows.wide_nodes.begin(), rows.wide_nodes.end(), at);
    if (wide != rows.wide_nodes.end() && *wide == at)
      w.rows.push_back(
          {nullptr, rows.wide_sums + static_cast<std::size_t>(wide - rows.wide_nodes.begin()) * rows.width});
    else
      w.rows.push_back({rows.sums + at * rows.width, nullptr});
  }
}

void RowConverter::put(int level, TileColumns columns, const SumRows& rows) {
  const auto l = static_cast<std::uint32_t>(level);
  const bool is_embedding = spec_.kept.keep == Keep::embedding;
  if (is_embedding && l < spec_.levels && !used_[l]) return;
  Loan loan(*this);
  Work& w = loan.get();
  for (std::size_t at = 0; at < rows.nodes.size();) {
    load_targets(rows, at, w);
    if (w.nodes.empty()) continue;
    for (std::size_t i = 0; i < w.nodes.size(); ++i)
      density_from_sums(w.rows[i], static_cast<std::uint32_t>(columns.count), contents_.graph().degree(w.nodes[i]),
                        &w.t[i * columns.count]);
    if (is_embedding && l < spec_.levels)
      spool(level, columns, w);
    else
      combine(level, columns, w);
  }
}

void RowConverter::put_features(NodeRange nodes) {
  const TileColumns columns{0, contents_.features().columns()};
  Loan loan(*this);
  Work& w = loan.get();
  for (NodeId node = nodes.first; node < nodes.last;) {
    w.nodes.clear();
    for (; node < nodes.last && w.nodes.size() < batch_; ++node)
      if (targets_ == nullptr || targets_->contains(node)) w.nodes.push_back(node);
    if (!w.nodes.empty()) combine(0, columns, w);
  }
}

std::uint64_t RowConverter::spool_at(int level, TileColumns columns, NodeId first) const {
  std::uint64_t before = 0;
  for (int l = 1; l < level; ++l) before += used_[static_cast<std::size_t>(l)] ? 1 : 0;
  const std::uint64_t rows = ranks_ ? ranks_->size() : contents_.num_nodes();
  return (before * rows + (ranks_ ? ranks_->before(first) : first)) * columns.count * sizeof(std::int32_t);
}

void RowConverter::spool(int level, TileColumns columns, Work& w) const {
  spool_->write_at(spool_at(level, columns, w.nodes.front()),
                   std::as_bytes(std::span(w.t).first(w.nodes.size() * columns.count)));
}

/// t^0 of the nodes into w.t.
void RowConverter::add_features(TileColumns columns, Work& w) const {
  for (std::size_t i = 0; i < w.nodes.size();) {
    std::size_t end = i + 1;
    while (end < w.nodes.size() && w.nodes[end] == w.nodes[end - 1] + 1) ++end;
    features_(columns, {w.nodes[i], w.nodes[end - 1] + 1}, &w.t[i * columns.count]);
    i = end;
  }
}

/// The sums are complete: w.t holds those of this level. Levels are added in ascending order, as Embedding::rows()
/// does.
void RowConverter::combine(int level, TileColumns columns, Work& w) const {
  const std::size_t count = w.nodes.size(), width = columns.count, values = count * width;
  const std::size_t blocks = blocks_of_rows(spec_), levels = spec_.levels + std::size_t{1};
  const double unit = unit_of(spec_.scale_bits);
  const auto factor = [&](std::size_t i) { return power_.inverse(contents_.graph().degree(w.nodes[i])) * unit; };
  if (is_single_) {
    const double weight = spec_.kept.keep == Keep::embedding ? spec_.weights.back() : 1;
    for (std::size_t i = 0; i < count; ++i)
      finish_level(weight, factor(i), std::span<const std::int32_t>(w.t).subspan(i * width, width),
                   &w.values[i * width]);
  } else {
    std::vector<std::int32_t> last;  // t of this level, while w.t holds those below
    if (level > 0 && used_[spec_.levels]) last.assign(w.t.begin(), w.t.begin() + static_cast<std::ptrdiff_t>(values));
    std::fill_n(w.sums.begin(), values * blocks, 0.0);
    for (std::uint32_t l = 0; l <= spec_.levels; ++l) {
      if (!used_[l]) continue;
      if (l == 0)
        add_features(columns, w);
      else if (l < spec_.levels)
        spool_->read_at(spool_at(static_cast<int>(l), columns, w.nodes.front()),
                        std::as_writable_bytes(std::span(w.t).first(values)));
      const std::span<const std::int32_t> t(l > 0 && l == spec_.levels ? last : w.t);
      for (std::size_t b = 0; b < blocks; ++b) {
        const double weight = spec_.weights[b * levels + l];
        for (std::size_t i = 0; weight != 0 && i < count; ++i)
          add_level(weight, t.subspan(i * width, width), &w.sums[(i * blocks + b) * width]);
      }
    }
    for (std::size_t i = 0; i < count; ++i)
      finish_row(factor(i), std::span<const double>(w.sums).subspan(i * blocks * width, blocks * width),
                 &w.values[i * blocks * width]);
  }
  const auto kept = static_cast<std::uint32_t>(level);
  const std::size_t all = contents_.features().columns();
  if (blocks == 1 || width == all)
    return take_(kept, {blocks == 1 ? columns.first : 0, blocks * width}, w.nodes, w.values.data());
  std::vector<float> block(values);
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t i = 0; i < count; ++i) std::copy_n(&w.values[(i * blocks + b) * width], width, &block[i * width]);
    take_(kept, {b * all + columns.first, width}, w.nodes, block.data());
  }
}

namespace {

/// More pieces than the threads of a sweep can have partly filled at a time: each is at work on rows of two chunks at
/// most, and what none has begun yet lies in one more.
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

std::uint64_t queue_bytes(const KeptForm& kept, std::uint64_t segments) {
  return segments == 0 ? 0 : HugeBuffer::charge(segments * RowsImage::segment_bytes(kept.type));
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

std::string value_text(float value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

std::uint64_t kept_rows_of(const Contents& contents, const PropagationSpec& spec) {
  return spec.all_rows || spec.levels == 0 ? contents.num_nodes() : contents.num_labelled();
}

TileForm rows_form(const Contents& contents, const PropagationSpec& spec) {
  TileForm form;
  const std::uint32_t first = spec.kept.keep == Keep::embedding ? spec.levels : 1;
  for (std::uint32_t level = first; level <= spec.levels; ++level) {
    form.levels.push_back(level);
    form.rows.push_back(kept_rows_of(contents, spec));
  }
  form.blocks = static_cast<std::uint32_t>(blocks_of_rows(spec));
  form.value_bytes = static_cast<std::uint32_t>(value_bytes(spec.kept.type));
  return form;
}

namespace {

/// Segments of a queue that takes pieces of whole rows: as many as suit what is written, or none where there is no room.
std::uint64_t queue_segments(const PropagationSpec& spec, std::size_t columns, std::uint64_t written,
                             std::uint64_t room) {
  const std::uint64_t segment = RowsImage::segment_bytes(spec.kept.type), least = least_pieces(spec, columns, columns);
  const std::uint64_t most = (room - std::min(room, kHugePage)) / segment;
  if (least > most || queue_bytes(spec.kept, least) > room) return 0;
  return std::clamp(written / 4 / segment, least, most);
}

/// The queue of the files of whole rows.
struct RowQueue {
  RowQueue(const PropagationSpec& spec, std::uint64_t segments, MemoryBudget& budget) {
    if (segments == 0) return;
    const std::size_t segment = RowsImage::segment_bytes(spec.kept.type);
    memory = HugeBuffer(segments * segment, budget, "buffers of writes");
    queue.emplace(std::span(memory.data(), memory.size()), segment);
  }
  [[nodiscard]] WriteBehind* get() noexcept { return queue ? &*queue : nullptr; }
  HugeBuffer memory;
  std::optional<WriteBehind> queue;
};

/// Values in the bits in which they are kept.
class KeptBits {
 public:
  KeptBits(const Contents& contents, const KeptForm& kept) : contents_(contents), kept_(kept) {}
  /// Throws DataError for a value that 16 bits do not hold.
  std::span<const std::byte> of(std::uint32_t level, TileColumns some, std::span<const NodeId> nodes,
                                std::span<const float> values) {
    if (kept_.type == FeatureType::f32) return std::as_bytes(values);
    halves_.resize(values.size());
    const std::size_t at = round_to_halves(values, kept_.exponent, halves_.data());
    if (at < values.size())
      throw DataError("level " + std::to_string(level) + ", " + contents_.order().text(nodes[at / some.count]) +
                      ", column " + std::to_string(some.first + at % some.count) + ": the value " +
                      value_text(values[at]) + " times 2^" + std::to_string(kept_.exponent) +
                      " is more than 16 bits hold, at most 65504; give a smaller " + option("keep-exponent") + ", or " +
                      option("keep-type", "f32"));
    return std::as_bytes(std::span<const Half>(halves_));
  }

 private:
  const Contents& contents_;
  const KeptForm& kept_;
  std::vector<Half> halves_;
};

}  // namespace

StatePlan plan_rows(const Contents& contents, const PropagationSpec& spec, const SweepJob& job, const RowMask* targets,
                    std::uint64_t available) {
  StatePlan plan;
  const bool is_embedding = spec.kept.keep == Keep::embedding;
  const std::size_t columns = contents.features().columns();
  const auto row_width = static_cast<std::uint32_t>(blocks_of_rows(spec) * columns);
  const std::uint64_t levels = is_embedding ? 1 : spec.levels;
  plan.state_bytes = levels * rows_level_bytes(contents.num_nodes(), row_width, spec.kept.type, targets);
  plan.row_batch = batch_rows(spec, columns, available);
  const std::uint64_t converter = converter_bytes(contents, spec, columns, plan.row_batch);
  const auto tiles_beside = [&](std::uint64_t bytes) {
    return plan_tiles_of(contents, job, available - std::min(available, bytes));
  };
  const std::uint64_t share = memory_shares::kWriteBuffers.of(available);
  const std::uint64_t segment = RowsImage::segment_bytes(spec.kept.type);
  const auto try_queue = [&](std::uint64_t segments) {
    if (segments == 0 || queue_bytes(spec.kept, segments) > share) return;
    try {
      const TilePlan tiles = tiles_beside(queue_bytes(spec.kept, segments) + converter);
      if (!cuts_no_strip(spec, tiles.width, columns) || least_pieces(spec, tiles.width, columns) > segments) return;
      if (plan.row_segments > 0 && tiles.tiles > plan.tiles.tiles) return;
      plan.row_segments = segments;
      plan.tiles = tiles;
    } catch (const ResourceError&) {
      // With fewer segments, or without a queue.
    }
  };
  if (spec.levels > 0) {
    const std::uint64_t least = least_pieces(spec, columns, columns);
    const std::uint64_t most = (share - std::min(share, kHugePage)) / segment;
    try_queue(least);
    // Room for a quarter of all, as for sums, where that does not make tiles narrower: a sweep waits less often then.
    if (const std::uint64_t ample = std::min(most, plan.state_bytes / 4 / segment); ample > least) try_queue(ample);
    if (plan.row_segments == 0) try_queue(most);
    if (plan.row_segments == 0) plan.tiles = tiles_beside(converter);
  }
  plan.row_bytes = queue_bytes(spec.kept, plan.row_segments) + converter;
  const std::uint64_t rows = kept_rows_of(contents, spec);
  plan.disk_bytes = plan.state_bytes + RowConverter::spool_bytes(spec, rows, plan.tiles.width);
  plan.spooled_bytes = RowConverter::spool_bytes(spec, rows, spec.levels > 0 ? columns : 0);
  return plan;
}

SweepResult row_tiles(const TileFolder& folder, const Contents& contents, const PropagationSpec& spec,
                      const SweepJob& job, const RowMask* targets, TileColumns range, const StatePlan& plan,
                      MemoryBudget& budget, ColumnNorms* norms) {
  const TileForm form = rows_form(contents, spec);
  const std::vector<FinishedTile> tiles = folder.tiles(form);
  SweepResult result;
  for (const FinishedTile& tile : tiles)
    if (norms != nullptr && tile.is_whole()) norms->set(tile.columns, tile.levels[0]->norms());
  const std::size_t all = contents.features().columns(), blocks = form.blocks;
  constexpr std::uint64_t kSmall = std::uint64_t{256} << 20;
  const std::uint64_t written = WriteBuffers::size_for(std::min(plan.state_bytes, kSmall), budget.available());
  const std::uint64_t converter = converter_bytes(contents, spec, all, plan.row_batch);
  const std::uint64_t beside = converter + WriteBuffers::charge(written);
  const std::uint64_t room = budget.available() - std::min(budget.available(), beside);
  const std::vector<TileRun> runs =
      plan_runs(contents, job, {0, job.fill}, tiles, range, plan_tiles_of(contents, job, room), room);
  if (runs.empty()) return result;
  std::uint64_t all_tiles = 0;
  for (const TileRun& run : runs) all_tiles += run.tiles.tiles;
  const Reservation converting = budget.reserve(converter, "rows of values");
  WriteBuffers buffers(written, budget);
  const WantedRanks ranks(contents.num_nodes(), targets);
  TileWriter writer(folder, form, buffers.queue(), [&](TileColumns columns) {
    return norms != nullptr ? norms->bytes(columns) : std::vector<std::byte>(columns.count * kTileNormBytes);
  });
  for (const TileRun& run : runs) {
    if (norms != nullptr) norms->forget(run.columns);  // see sum_tiles()
    const RowTaker put = [&](std::uint32_t level, TileColumns some, std::span<const NodeId> nodes,
                             const float* values) {
      KeptBits bits(contents, spec.kept);
      const std::uint64_t rank = ranks.before(nodes.front());
      const std::size_t index = level - form.levels.front();
      if (blocks == 1 || some.count < blocks * all) {
        const TileColumns columns{some.first % all, some.count};
        writer.at(index, columns)
            .put(static_cast<std::uint32_t>(some.first / all), rank,
                 bits.of(level, some, nodes, {values, nodes.size() * some.count}));
        return;
      }
      std::vector<float> block(nodes.size() * all);
      for (std::size_t b = 0; b < blocks; ++b) {
        for (std::size_t i = 0; i < nodes.size(); ++i)
          std::copy_n(values + (i * blocks + b) * all, all, &block[i * all]);
        writer.at(index, {0, all})
            .put(static_cast<std::uint32_t>(b), rank, bits.of(level, {b * all, all}, nodes, block));
      }
    };
    RowConverter converter_of_run(folder.path(), contents, spec, targets, run.tiles.width, plan.row_batch, put);
    const SweepResult one = sweep_columns(
        contents, job, run, all_tiles, budget,
        [&](int level, TileColumns tile, const SumRows& rows) {
          converter_of_run.put(level, tile, rows);
          writer.publish_written();
        },
        [&](int level, TileColumns columns, SumCheck&) {
          if (static_cast<std::uint32_t>(level) >= form.levels.front())
            writer.finish(static_cast<std::uint32_t>(level) - form.levels.front(), columns, {});
        });
    result.add_run(one);
  }
  const Clock::time_point summed = Clock::now();
  writer.publish_all();
  result.seconds += seconds_since(summed);
  return result;
}

namespace {

/// Joins the tiles of all levels into the files that the store keeps.
void join_row_tiles(const std::filesystem::path& store, const Contents& contents, const PropagationSpec& spec,
                    const RowMask* targets, std::span<const FinishedTile* const> cover, MemoryBudget& budget,
                    std::vector<LevelFiles>& levels) {
  const TileForm form = rows_form(contents, spec);
  const std::size_t columns = contents.features().columns();
  const auto row_width = static_cast<std::uint32_t>(form.blocks * columns);
  RowQueue queue(spec, queue_segments(spec, columns, 0, memory_shares::kWriteBuffers.of(budget.available())), budget);
  for (std::size_t i = 0; i < form.levels.size(); ++i) {
    std::vector<const TileFile*> tiles;
    for (const FinishedTile* tile : cover) tiles.push_back(tile->levels[i].get());
    RowsLevelImage image(store, form.levels[i], row_width, contents.num_nodes(), spec.kept, targets, queue.get());
    join_rows(tiles, contents.num_nodes(), targets, image, budget);
    if (queue.queue) queue.queue->drain();
    levels[form.levels[i]].rows = image.publish();
  }
}

}  // namespace

SweepResult build_rows(const std::filesystem::path& store, const Contents& contents, const PropagationSpec& spec,
                       const SweepJob& job, const RowMask* targets, const StatePlan& plan, MemoryBudget& budget,
                       std::vector<LevelFiles>& levels, const TileFolder* folder, TileUse use, ColumnNorms* norms) {
  const bool is_embedding = spec.kept.keep == Keep::embedding;
  const std::uint32_t columns = contents.features().columns(), first_level = is_embedding ? spec.levels : 1;
  const std::uint64_t kept_levels = spec.levels + std::uint64_t{1} - first_level;
  const auto row_width = static_cast<std::uint32_t>(blocks_of_rows(spec) * columns);
  const TileColumns all{0, columns};
  std::uint64_t missing = 0;  // bytes of tiles that are not there
  bool has_tiles = false;
  if (folder != nullptr) {
    const std::vector<FinishedTile> there = folder->tiles(rows_form(contents, spec));
    has_tiles = !there.empty();
    for (const TileColumns& gap : missing_columns(there, all))
      missing += has_tiles && use == TileUse::sum ? plan.state_bytes / columns * gap.count : 0;
  }
  require_disk_room(store, plan.disk_bytes + missing, "the rows",
                    "keep fewer rows (" + option("rows", "labelled") + ")");
  // Without tiles that jobs have left, rows of every tile go to their place at once: a tile of its own would be written and
  // read once more, and take as much disk again.
  if (folder != nullptr && (use == TileUse::join || has_tiles)) {
    SweepResult result;
    if (use == TileUse::sum) result = row_tiles(*folder, contents, spec, job, targets, all, plan, budget, norms);
    const Clock::time_point summed = Clock::now();
    const std::vector<FinishedTile> tiles = folder->tiles(rows_form(contents, spec));
    require_tiles(*folder, tiles, all);
    const std::vector<const FinishedTile*> cover = exact_cover(tiles, all);
    result.tile_width = 0;
    for (const FinishedTile* tile : cover) {
      if (norms != nullptr) norms->set(tile->columns, tile->levels[0]->norms());
      result.tile_width = std::max(result.tile_width, tile->columns.count);
    }
    join_row_tiles(store, contents, spec, targets, cover, budget, levels);
    result.tiles = cover.size();
    result.rows = kept_rows_of(contents, spec) * kept_levels;
    result.seconds += seconds_since(summed);
    return result;
  }
  const std::size_t width = spec.levels > 0 ? plan.tiles.width : columns;
  const Reservation converting =
      budget.reserve(plan.row_bytes - queue_bytes(spec.kept, plan.row_segments), "rows of values");
  RowQueue queue(spec, plan.row_segments, budget);
  std::vector<std::unique_ptr<RowsLevelImage>> images;
  for (std::uint32_t l = first_level; l <= spec.levels; ++l)
    images.push_back(
        std::make_unique<RowsLevelImage>(store, l, row_width, contents.num_nodes(), spec.kept, targets, queue.get()));
  const RowTaker put = [&](std::uint32_t level, TileColumns some, std::span<const NodeId> nodes, const float* values) {
    KeptBits bits(contents, spec.kept);
    images[level - first_level]->put(nodes, static_cast<std::uint32_t>(some.first),
                                     static_cast<std::uint32_t>(some.count),
                                     bits.of(level, some, nodes, {values, nodes.size() * some.count}).data());
  };
  RowConverter converter(store, contents, spec, targets, width, plan.row_batch, put);
  SweepResult result;
  if (spec.levels > 0) {
    result = sweep_columns(
        contents, job, {all, plan.tiles, 0, job.fill}, plan.tiles.tiles, budget,
        [&](int level, TileColumns tile, const SumRows& rows) { converter.put(level, tile, rows); },
        [&](int level, TileColumns, SumCheck&) {
          if (static_cast<std::uint32_t>(level) >= first_level)
            images[static_cast<std::uint32_t>(level) - first_level]->rest();
        });
  } else {
    const NodeId nodes = contents.num_nodes(), span = span_nodes(nodes);
    parallel_ranges(0, nodes, kMinSpanNodes / 16, [&](std::size_t begin, std::size_t end) {
      for (auto node = static_cast<NodeId>(begin); node < end;) {
        const auto last = static_cast<NodeId>(std::min<std::uint64_t>(end, (std::uint64_t{node} / span + 1) * span));
        converter.put_features({node, last});
        node = last;
      }
    });
    result.tiles = 1;
    result.tile_width = columns;
  }
  const Clock::time_point summed = Clock::now();
  if (queue.queue) queue.queue->drain();
  for (std::size_t i = 0; i < images.size(); ++i) levels[first_level + i].rows = images[i]->publish();
  result.drain_seconds = seconds_since(summed);
  result.rows = kept_rows_of(contents, spec) * images.size();
  return result;
}

}  // namespace unweave
