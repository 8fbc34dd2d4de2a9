// algorithms/models/training_rows.cpp - reading rows in blocks, comparing them with those held.
#include "algorithms/models/training_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "algorithms/numerics/row_sweep.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{8} << 20;

std::size_t block_rows(std::size_t features) {
  return std::max<std::size_t>(64, kBlockBytes / (features * sizeof(float)));
}

TrainingSet empty_set(const LiveStore& store, const RowProgram& program, const RowForm& form) {
  static_cast<void>(store.embedding());  // or it says what to run
  const auto units = row_units(store, program);
  units->require_training();
  return {form.features(units->width()), units->classes(), form};
}

}  // namespace

TrainingRows::TrainingRows(const LiveStore& store, RowProgram program, const RowForm& form, MemoryBudget& budget,
                           Ranks* ranks)
    : store_(store),
      program_(std::move(program)),
      budget_(budget),
      ranks_(ranks),
      set_(empty_set(store, program_, form)) {
  read_all();
}

void TrainingRows::read_all() {
  read_all(*row_units(store_, program_));
}

void TrainingRows::read_all(const RowUnits& units) {
  set_ = TrainingSet(set_.features(), set_.classes(), set_.form());
  reservation_.release();
  const std::vector<NodeId> nodes = units.labelled(SplitName::train);
  const RankShare own =
      ranks_ == nullptr ? RankShare{0, nodes.size()} : own_rows(nodes.size(), ranks_->rank(), ranks_->size());
  const std::size_t here = own.end - own.begin;
  Reservation work = store_.hold_work_room();
  Room room = room_for(nodes.size(), here, "training rows");
  is_in_memory_ = room.is_in_memory;
  work.release();
  set_ = std::move(room.set);
  reservation_ = std::move(room.memory);
  const auto labels_of = [&](std::span<const NodeId> some) {
    std::vector<ClassId> labels;
    labels.reserve(some.size());
    for (const NodeId node : some) labels.push_back(static_cast<ClassId>(units.label(node)));
    return labels;
  };
  if (ranks_ != nullptr) set_.share_among(*ranks_, nodes, labels_of(nodes));
  const std::size_t features = set_.features(), block = block_rows(features);
  std::vector<float> rows(std::min(block, here) * features);
  const WatchedStep watched("training rows", here, "rows");
  for (std::size_t first = own.begin; first < own.end; first += block) {
    const std::size_t count = std::min(block, own.end - first);
    const std::span<const NodeId> some = std::span(nodes).subspan(first, count);
    read(units, some, rows.data());
    if (ranks_ != nullptr)
      set_.append_own(std::span(rows).first(count * features));
    else
      set_.append(some, std::span(rows).first(count * features), labels_of(some));
    watched.advance(count);
  }
  if (ranks_ != nullptr) set_.share_norms();
  remember_sizes();
}

void TrainingRows::remember_sizes() {
  if (!program_.pool) return;
  const WholeGraphs& graphs = store_.contents().graphs();
  if (sizes_.empty()) {
    sizes_memory_ = budget_.reserve(graphs.count() * sizeof(sizes_[0]), "sizes of graphs");
    sizes_.resize(graphs.count());
  }
  for (std::uint32_t graph = 0; graph < graphs.count(); ++graph) sizes_[graph] = graphs.size(graph);
}

void TrainingRows::add_resized(std::optional<std::vector<NodeId>>& changed) const {
  if (!program_.pool || !changed) return;
  const WholeGraphs& graphs = store_.contents().graphs();
  for (std::uint32_t graph = 0; graph < graphs.count(); ++graph)
    if (sizes_[graph] != graphs.size(graph)) changed->push_back(graph);
  std::sort(changed->begin(), changed->end());
  changed->erase(std::unique(changed->begin(), changed->end()), changed->end());
}

bool TrainingRows::leave_memory() {
  if (!is_in_memory_ || ranks_ != nullptr) return false;  // ranks share rows in one way
  may_be_in_memory_ = false;
  read_all();
  return true;
}

TrainingRows::Room TrainingRows::room_for(std::size_t most, std::size_t here, std::string_view what) const {
  const std::uint64_t besides = most * (sizeof(NodeId) + sizeof(ClassId) + sizeof(double));
  const std::uint64_t bytes = besides + here * set_.features() * sizeof(float);
  const bool in_memory = may_be_in_memory_ && bytes <= memory_shares::kTrainingRows.of(budget_);
  Room room{in_memory ? TrainingSet(set_.features(), set_.classes(), set_.form())
                      : TrainingSet(set_.features(), set_.classes(), set_.form(), store_.temporary_folder(), here),
            budget_.reserve(in_memory ? bytes : besides, what), in_memory};
  room.set.reserve(most, here);
  return room;
}

void TrainingRows::read(const RowUnits& units, std::span<const NodeId> keys, float* out) const {
  units.rows(keys, out);
  const std::size_t width = set_.form().width(set_.features());
  parallel_ranges(0, keys.size(), 64, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      if (!std::all_of(out + i * width, out + (i + 1) * width, [](float x) { return std::isfinite(x); }))
        throw DataError(store_.path().string() + ": the embedding of " + units.text(keys[i]) +
                        " holds a value that is not finite; run " +
                        operation("verify " + shell_word(store_.path().string())));
  });
  spread_rows(out, keys.size(), set_.features(), set_.form());
}

bool TrainingRows::holds_all(const RowUnits& units, std::span<const NodeId> present) const {
  const auto held = set_.nodes();
  std::size_t i = 0;
  return std::all_of(present.begin(), present.end(), [&](NodeId node) {
    while (i < held.size() && held[i] < node) ++i;
    return i < held.size() && held[i] == node && set_.labels()[i] == static_cast<ClassId>(units.label(node));
  });
}

/// Rows whose node has left the training split.
void TrainingRows::drop_departed(std::span<const NodeId> present, BatchChange& change) {
  std::vector<std::size_t> departed;
  std::size_t at = 0;
  for (std::size_t i = 0; i < set_.size(); ++i) {
    if (at < present.size() && present[at] == set_.nodes()[i])
      ++at;
    else
      departed.push_back(i);
  }
  if (departed.empty()) return;
  Room room = room_for(departed.size(), "training rows that left");
  change.removed = std::move(room.set);
  change.memory.push_back(std::move(room.memory));
  for (const std::size_t i : departed) change.removed.append(set_.nodes()[i], set_.row(i), set_.labels()[i]);
  set_.apply(change);
}

/// Positions of the held rows that an update may have changed.
std::vector<std::size_t> TrainingRows::places_of(const std::optional<std::vector<NodeId>>& changed) const {
  std::vector<std::size_t> places;
  const auto held = set_.nodes();
  for (std::size_t i = 0; i < set_.size(); ++i)
    if (!changed || std::binary_search(changed->begin(), changed->end(), held[i])) places.push_back(i);
  return places;
}

BatchChange TrainingRows::follow(const UpdateReport& update, bool keep_moved, std::span<const NodeId> touched) {
  BatchChange change(set_.features(), set_.classes(), set_.form());
  const std::unique_ptr<const RowUnits> units = row_units(store_, program_);
  std::optional<std::vector<NodeId>> changed = units->changed(update, touched);
  add_resized(changed);
  {
    const bool keeps_keys = !units->begins_anew() || changed.has_value();
    const std::vector<NodeId> present = keeps_keys ? units->labelled(SplitName::train) : std::vector<NodeId>();
    if (!keeps_keys || !holds_all(*units, present)) {
      read_all(*units);
      change.begins_anew = true;
      return change;
    }
    drop_departed(present, change);
  }
  remember_sizes();
  keep_moved = keep_moved && !units->begins_anew();
  const std::vector<std::size_t> places = places_of(changed);
  const std::size_t features = set_.features(), block = block_rows(features);
  if (keep_moved)
    for (TrainingSet* side : {&change.moved_from, &change.moved_to}) {
      Room room = room_for(places.size(), "moved training rows");
      *side = std::move(room.set);
      change.memory.push_back(std::move(room.memory));
    }
  std::vector<float> rows(std::min(block, places.size()) * features);
  std::vector<NodeId> nodes;
  for (std::size_t first = 0; first < places.size(); first += block) {
    const std::size_t count = std::min(block, places.size() - first);
    nodes.clear();
    for (std::size_t i = first; i < first + count; ++i) nodes.push_back(set_.nodes()[places[i]]);
    read(*units, nodes, rows.data());
    const auto row = [&](std::size_t i) { return std::span(rows).subspan(i * features, features); };
    if (keep_moved)
      keep_changed(std::span(places).subspan(first, count), std::span(rows).first(count * features), change);
    parallel_ranges(0, count, 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) set_.replace(places[first + i], row(i));
    });
  }
  if (!units->begins_anew()) return change;
  BatchChange anew(set_.features(), set_.classes(), set_.form());
  anew.begins_anew = true;
  return anew;
}

void TrainingRows::keep_changed(std::span<const std::size_t> places, std::span<float> rows, BatchChange& change) const {
  const std::size_t features = set_.features();
  std::vector<NodeId> nodes;
  std::vector<ClassId> labels;
  std::vector<float> from, to;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::span<float> row = rows.subspan(i * features, features);
    const std::span<const float> held = set_.row(places[i]);
    form_row(row, set_.form());
    if (std::memcmp(row.data(), held.data(), features * sizeof(float)) == 0) continue;
    nodes.push_back(set_.nodes()[places[i]]);
    labels.push_back(set_.labels()[places[i]]);
    from.insert(from.end(), held.begin(), held.end());
    to.insert(to.end(), row.begin(), row.end());
  }
  change.moved_from.append(nodes, from, labels);
  change.moved_to.append(nodes, to, labels);
}

void TrainingRows::append(BatchChange& first, const BatchChange& later) const {
  const std::size_t most = first.moved_from.size() + later.moved_from.size();
  Room room_from = room_for(most, "moved training rows"), room_to = room_for(most, "moved training rows");
  TrainingSet &from = room_from.set, &to = room_to.set;
  std::size_t a = 0, b = 0;
  while (a < first.moved_from.size() || b < later.moved_from.size()) {
    const bool in_first = a < first.moved_from.size() &&
                          (b == later.moved_from.size() || first.moved_from.nodes()[a] <= later.moved_from.nodes()[b]);
    const bool in_later = b < later.moved_from.size() &&
                          (a == first.moved_from.size() || later.moved_from.nodes()[b] <= first.moved_from.nodes()[a]);
    const TrainingSet& before = in_first ? first.moved_from : later.moved_from;
    const std::size_t before_at = in_first ? a : b;
    from.append(before.nodes()[before_at], before.row(before_at), before.labels()[before_at]);
    const TrainingSet& after = in_later ? later.moved_to : first.moved_to;
    const std::size_t after_at = in_later ? b : a;
    to.append(after.nodes()[after_at], after.row(after_at), after.labels()[after_at]);
    a += in_first ? 1 : 0;
    b += in_later ? 1 : 0;
  }
  first.moved_from = std::move(from);
  first.moved_to = std::move(to);
  first.memory.push_back(std::move(room_from.memory));
  first.memory.push_back(std::move(room_to.memory));
}

}  // namespace unweave
