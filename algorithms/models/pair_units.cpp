// algorithms/models/pair_units.cpp - keys of pairs, and their rows from those of nodes.
#include "algorithms/models/pair_units.h"

#include <algorithm>
#include <utility>

#include "algorithms/learning/training_set.h"
#include "algorithms/live/live_store.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

constexpr std::size_t kNodeBlockBytes = std::size_t{8} << 20;
constexpr std::size_t kPairsAtOnce = 64;

/// Half of all keys are for training, a quarter each for validation and test.
constexpr NodeId first_key(PairRole role) noexcept {
  return role == PairRole::label ? 0 : role == PairRole::valid ? NodeId{1} << 31 : NodeId{3} << 30;
}
constexpr std::uint64_t most_keys(PairRole role) noexcept {
  return std::uint64_t{1} << (role == PairRole::label ? 31 : 30);
}
constexpr PairRole role_of(NodeId key) noexcept {
  if (key < first_key(PairRole::valid)) return PairRole::label;
  return key < first_key(PairRole::test) ? PairRole::valid : PairRole::test;
}
constexpr std::size_t place_of(NodeId key) noexcept {
  return key - first_key(role_of(key));
}

}  // namespace

PairUnits::PairUnits(const LiveStore& store, const RowProgram& program)
    : RowUnits(store),
      contents_(store.contents()),
      maker_(row_source(store), program.of_nodes(), true),
      pairs_(program, maker_.width()) {
  const std::string name = store.path().string();
  if (!contents_.rules().pairs)
    throw UsageError(name + ": predicts no links; run " + operation("import") + " with " + option("pairs") +
                     " to build it again");
  if (!store.embedding().spec().all_rows)
    throw UsageError(name + ": rows of pairs need those of all nodes; run " +
                     operation("propagate " + shell_word(name) + ' ' + option("rows", "all")) + " first");
}

std::size_t PairUnits::classes() const {
  return kPairClasses;
}

std::vector<NodeId> PairUnits::labelled(SplitName split) const {
  if (split == SplitName::none) return {};
  const PairRole role = split == SplitName::train   ? PairRole::label
                        : split == SplitName::valid ? PairRole::valid
                                                    : PairRole::test;
  std::vector<NodeId> keys(list(role).size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = key(role, i);
  if (!keys.empty()) static_cast<void>(node_rows());  // while nobody waits for it in parallel
  return keys;
}

std::int32_t PairUnits::label(NodeId key) const {
  return list(role_of(key)).is_edge(place_of(key)) ? kEdgeClass : kNoEdgeClass;
}

std::uint64_t PairUnits::declared() const {
  return contents_.order().users();
}

void PairUnits::rows(std::span<const NodeId> keys, float* out) const {
  std::vector<Edge> ends(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) ends[i] = this->ends(keys[i]);
  rows_of(ends, out);
}

std::string PairUnits::text(NodeId key) const {
  const Edge ends = this->ends(key);
  return "the pair of " + contents_.order().text(ends.u) + " and " + contents_.order().text(ends.v);
}

Edge PairUnits::ends(NodeId key) const {
  return list(role_of(key)).ends()[place_of(key)];
}

NodeId PairUnits::key(PairRole role, std::size_t place) noexcept {
  return first_key(role) + static_cast<NodeId>(place);
}

const PairList& PairUnits::list(PairRole role) const {
  const auto index = static_cast<std::size_t>(role);
  if (const PairList* const known = lists_.at(index).load(std::memory_order_acquire)) return *known;
  const std::scoped_lock lock(mutex_);
  if (const PairList* const known = lists_[index].load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<const PairList>(contents_, role, store().budget());
  if (made->size() > most_keys(role))
    throw ResourceError(store().path().string() + ": has " + std::to_string(made->size()) + " pairs of the role " +
                        role_name(role) + ", and a model takes " + std::to_string(most_keys(role)) +
                        " at most; a smaller share in " + option("pairs") + " of an import gives fewer");
  made_lists_[index] = std::move(made);
  lists_[index].store(made_lists_[index].get(), std::memory_order_release);
  return *made_lists_[index];
}

void PairUnits::rows_of(std::span<const Edge> ends, float* out) const {
  const FloatRows& nodes = node_rows();
  parallel_ranges(0, ends.size(), kPairsAtOnce, [&](std::size_t first, std::size_t last) {
    PairRows::Room room;
    const auto row = [&](std::size_t i, int end) {
      return nodes.row(end == 0 ? ends[first + i].u : ends[first + i].v);
    };
    pairs_.write(last - first, row, out + first * pairs_.width(), room);
  });
}

const FloatRows& PairUnits::node_rows() const {
  if (const FloatRows* const known = nodes_.load(std::memory_order_acquire)) return *known;
  const std::scoped_lock lock(mutex_);
  if (const FloatRows* const known = nodes_.load(std::memory_order_acquire)) return *known;
  made_nodes_.emplace(form_node_rows());
  nodes_.store(&*made_nodes_, std::memory_order_release);
  return *made_nodes_;
}

FloatRows PairUnits::form_node_rows() const {
  const NodeId count = contents_.num_nodes();
  const std::size_t width = maker_.width();
  const std::uint64_t bytes = std::uint64_t{count} * width * sizeof(float);
  MemoryBudget& budget = store().budget();
  const bool in_memory = bytes <= memory_shares::kTrainingRows.of(budget);
  if (in_memory) memory_ = budget.reserve(bytes, "rows of nodes");
  FloatRows rows = in_memory ? FloatRows(width) : FloatRows(width, store().temporary_folder(), count);
  rows.reserve(count);
  const auto block =
      static_cast<NodeId>(std::clamp<std::size_t>(kNodeBlockBytes / (width * sizeof(float)), 64, std::size_t{1} << 20));
  std::vector<NodeId> some;
  std::vector<float> values;
  const WatchedStep watched("rows of nodes", count, "rows");
  for (NodeId first = 0; first < count;) {
    const NodeId last = first + std::min(block, count - first);
    some.resize(last - first);
    for (NodeId node = first; node < last; ++node) some[node - first] = node;
    values.resize(some.size() * width);
    maker_.rows(some, values.data());
    parallel_ranges(0, some.size(), kPairsAtOnce, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) clip_row(std::span(values).subspan(i * width, width), 1);
    });
    rows.append(values);
    watched.advance(last - first);
    first = last;
  }
  return rows;
}

std::unique_ptr<const RowUnits> pair_units(const LiveStore& store, const RowProgram& program) {
  return std::make_unique<PairUnits>(store, program);
}

}  // namespace unweave
