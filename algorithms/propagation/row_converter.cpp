// algorithms/propagation/row_converter.cpp - combines levels of a tile into values, and hands them
// on.
#include "algorithms/propagation/row_converter.h"

#include <algorithm>
#include <utility>

#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/row_values.h"
#include "storage/formats/sealed_file.h"
#include "storage/formats/tile_file.h"
#include "storage/io/entry.h"

namespace unweave {

std::size_t blocks_of_rows(const PropagationSpec& spec) {
  return spec.kept.keep == Keep::embedding ? spec.weights.size() / (spec.levels + std::size_t{1}) : 1;
}

std::uint32_t first_kept_level(const PropagationSpec& spec) noexcept {
  return spec.kept.keep == Keep::embedding ? spec.levels : 1;
}

namespace {

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

void RowConverter::put(std::uint32_t level, TileColumns columns, const SumRows& rows) {
  const bool is_embedding = spec_.kept.keep == Keep::embedding;
  if (is_embedding && level < spec_.levels && !used_[level]) return;
  Loan loan(*this);
  Work& w = loan.get();
  for (std::size_t at = 0; at < rows.nodes.size();) {
    load_targets(rows, at, w);
    if (w.nodes.empty()) continue;
    for (std::size_t i = 0; i < w.nodes.size(); ++i)
      density_from_sums(w.rows[i], static_cast<std::uint32_t>(columns.count), contents_.graph().degree(w.nodes[i]),
                        &w.t[i * columns.count]);
    if (is_embedding && level < spec_.levels)
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

std::uint64_t RowConverter::spool_at(std::uint32_t level, TileColumns columns, NodeId first) const {
  std::uint64_t before = 0;
  for (std::uint32_t l = 1; l < level; ++l) before += used_[l] ? 1 : 0;
  const std::uint64_t rows = ranks_ ? ranks_->size() : contents_.num_nodes();
  return (before * rows + (ranks_ ? ranks_->before(first) : first)) * columns.count * sizeof(std::int32_t);
}

void RowConverter::spool(std::uint32_t level, TileColumns columns, Work& w) const {
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

/// The sums are complete: w.t holds those of this level. Levels are added in ascending order, as
/// Embedding::rows() does.
void RowConverter::combine(std::uint32_t level, TileColumns columns, Work& w) const {
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
        spool_->read_at(spool_at(l, columns, w.nodes.front()), std::as_writable_bytes(std::span(w.t).first(values)));
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
  const std::size_t all = contents_.features().columns();
  if (blocks == 1 || width == all)
    return take_(level, {blocks == 1 ? columns.first : 0, blocks * width}, w.nodes, w.values.data());
  std::vector<float> block(values);
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t i = 0; i < count; ++i) std::copy_n(&w.values[(i * blocks + b) * width], width, &block[i * width]);
    take_(level, {b * all + columns.first, width}, w.nodes, block.data());
  }
}

}  // namespace unweave
