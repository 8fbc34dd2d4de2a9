// algorithms/evaluation/efficacy.cpp - predictions of forgotten rows, of all rows, and of what an
// attack learns from.
#include "algorithms/evaluation/efficacy.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "algorithms/models/pair_units.h"
#include "algorithms/random/counter_random.h"
#include "algorithms/random/permutation.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

constexpr std::size_t kRowsAtOnce = std::size_t{1} << 20;
constexpr std::size_t kRowsOfAttack = 256;
enum Use : std::uint64_t { kMembers, kOthers, kRetained, kUnseen };

std::vector<NodeId> sample(const std::vector<NodeId>& nodes, std::size_t count, std::uint64_t seed, Use use) {
  std::vector<NodeId> drawn(count);
  if (count == 0) return drawn;
  const Permutation order(nodes.size(), random_key(seed, use));
  for (std::size_t i = 0; i < count; ++i) drawn[i] = nodes[static_cast<std::size_t>(order.at(i))];
  return drawn;
}

/// Labelled units of a split; of pairs the edges alone.
std::vector<NodeId> members_of(const RowUnits& units, SplitName split) {
  std::vector<NodeId> keys = units.labelled(split);
  if (dynamic_cast<const PairUnits*>(&units) != nullptr)
    std::erase_if(keys, [&](NodeId key) { return units.label(key) != kEdgeClass; });
  return keys;
}

/// What names a unit in both stores.
std::uint64_t name_of_unit(const RowUnits& units, RowUnit unit, NodeId key) {
  const NodeOrder& order = units.store().contents().order();
  if (unit == RowUnit::graph) return key;
  if (unit == RowUnit::node) return order.user(key);
  const Edge ends = dynamic_cast<const PairUnits&>(units).ends(key);
  return std::uint64_t{order.user(ends.u)} << 32 | order.user(ends.v);
}

/// Whether a node or a whole graph has a row of its own.
bool has_row(const LiveStore& store, RowUnit unit, NodeId key) {
  if (unit == RowUnit::graph) return store.contents().graphs().size(key) > 0;
  return store.embedding().is_target(key) && store.contents().order().is_first_copy(key);
}

std::vector<double> confidences(const RowUnits& units, const ModelRecord& model, const std::vector<NodeId>& keys) {
  std::vector<double> values;
  values.reserve(keys.size());
  for (const Prediction& one : predict(units, model, keys)) values.push_back(one.confidence);
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The values of(i) of all rows, computed on all threads.
template <class Of>
std::vector<double> each(std::size_t rows, const Of& of) {
  std::vector<double> values(rows);
  parallel_ranges(0, rows, kRowsOfAttack, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) values[i] = of(i);
  });
  return values;
}

}  // namespace

void require_copy(const LiveStore& before, const LiveStore& present) {
  const Manifest &old = before.manifest(), &now = present.manifest();
  if (old.nodes == now.nodes && old.features == now.features && old.classes == now.classes && old.layers == now.layers)
    return;
  const auto text = [](const Manifest& of) {
    const std::string kind = of.layers.directed ? " nodes with arcs, " : " nodes, ";
    return std::to_string(of.user_nodes()) + kind + std::to_string(of.features) + " features and " +
           std::to_string(of.classes) + " classes";
  };
  throw DataError(before.path().string() + ": " + text(old) + ", but " + present.path().string() + " has " + text(now) +
                  (old.nodes < now.nodes && old.features == now.features && old.classes == now.classes
                       ? "; bring the copy there by " + operation("purge " + shell_word(before.path().string()) + ' ' +
                                                                  option("nodes", std::to_string(now.nodes)))
                       : "; name a copy of the store from before the removals"));
}

EfficacyTests::EfficacyTests(const LiveStore& before, const LiveStore& present, const RowProgram& rows,
                             std::size_t attack_rows, std::uint64_t seed)
    : before_(before), present_(present), unit_(rows.unit()), seed_(seed) {
  require_copy(before, present);
  const std::unique_ptr<const RowUnits> old = row_units(before, rows), now = row_units(present, rows);
  const std::vector<NodeId> train = members_of(*now, SplitName::train);
  std::vector<std::uint64_t> seen;
  seen.reserve(train.size());
  for (const NodeId key : train) seen.push_back(name_of_unit(*now, unit_, key));
  std::sort(seen.begin(), seen.end());
  std::vector<NodeId> retained;
  const bool may_vanish = unit_ != RowUnit::pair;
  vanished_.assign(may_vanish ? old->classes() : 0, false);
  for (const NodeId key : members_of(*old, SplitName::train)) {
    const bool kept = std::binary_search(seen.begin(), seen.end(), name_of_unit(*old, unit_, key));
    (kept ? retained : forgotten_).push_back(key);
    if (!kept && may_vanish) vanished_[static_cast<std::size_t>(old->label(key))] = true;
  }
  if (may_vanish)
    for (const NodeId key : retained) vanished_[static_cast<std::size_t>(old->label(key))] = false;
  vanished_count_ = static_cast<std::size_t>(std::count(vanished_.begin(), vanished_.end(), true));

  const std::vector<NodeId> test = members_of(*now, SplitName::test);
  const std::size_t most = std::min({attack_rows, train.size(), test.size()});
  members_ = sample(train, most, seed, kMembers);
  others_ = sample(test, most, seed, kOthers);
  const std::vector<NodeId> unseen = members_of(*old, SplitName::test);
  const std::size_t old_rows = std::min({attack_rows, retained.size(), unseen.size()});
  retained_ = sample(retained, old_rows, seed, kRetained);
  unseen_ = sample(unseen, old_rows, seed, kUnseen);
}

void EfficacyTests::set_original(const ModelRecord* original) {
  original_.reset();
  original_presence_.clear();
  if (original == nullptr || retained_.empty() || forgotten_.empty()) return;
  check_propagation(*original, before_.manifest(), before_.path());
  const std::unique_ptr<const RowUnits> units = row_units(before_, original->rows);
  original_.emplace(confidences(*units, *original, retained_), confidences(*units, *original, unseen_));
  original_presence_ = presence_of(confidences(*units, *original, forgotten_));
}

std::vector<double> EfficacyTests::presence_of(const std::vector<double>& confidences) const {
  return each(confidences.size(), [&](std::size_t i) { return original_->presence(confidences[i]); });
}

Efficacy EfficacyTests::of(const ModelRecord& model) const {
  check_propagation(model, before_.manifest(), before_.path());
  Efficacy result;
  const std::unique_ptr<const RowUnits> units = row_units(before_, model.rows);
  const std::vector<Prediction> predictions = predict(*units, model, forgotten_);
  result.accuracy_forgotten = accuracy_of(*units, forgotten_, predictions);
  if (vanished_count_ > 0) {
    std::size_t rows = 0, replayed = 0;
    for (std::size_t i = 0; i < forgotten_.size(); ++i) {
      if (!vanished_[static_cast<std::size_t>(units->label(forgotten_[i]))]) continue;
      ++rows;
      replayed += vanished_[predictions[i].predicted] ? 1 : 0;
    }
    result.replay_forgotten = static_cast<double>(replayed) / static_cast<double>(rows);
    result.replay_all = replay_of_all(before_, model);
    result.replay_present = replay_of_all(present_, model);
  }
  if (forgotten_.empty()) return result;
  std::vector<double> forgotten;
  forgotten.reserve(predictions.size());
  for (const Prediction& one : predictions) forgotten.push_back(one.confidence);
  add_attacks(result, model, forgotten);
  return result;
}

double EfficacyTests::replay_of_all(const LiveStore& store, const ModelRecord& model) const {
  std::uint64_t rows = 0, replayed = 0;
  const std::unique_ptr<const RowUnits> units = row_units(store, model.rows);
  std::vector<NodeId> chunk;
  const std::uint64_t keys = unit_ == RowUnit::graph ? store.contents().graphs().count() : store.contents().num_nodes();
  for (std::uint64_t key = 0; key < keys;) {
    chunk.clear();
    for (; key < keys && chunk.size() < kRowsAtOnce; ++key)
      if (has_row(store, unit_, static_cast<NodeId>(key))) chunk.push_back(static_cast<NodeId>(key));
    rows += chunk.size();
    for (const Prediction& one : predict(*units, model, chunk)) replayed += vanished_[one.predicted] ? 1 : 0;
  }
  return static_cast<double>(replayed) / static_cast<double>(std::max<std::uint64_t>(1, rows));
}

void EfficacyTests::add_attacks(Efficacy& result, const ModelRecord& model,
                                const std::vector<double>& forgotten) const {
  if (!members_.empty()) {
    const std::unique_ptr<const RowUnits> units = row_units(present_, model.rows);
    const std::vector<double> members = confidences(*units, model, members_);
    const std::vector<double> others = confidences(*units, model, others_);
    const Reservation memory = present_.budget().reserve(ConfidenceAttack::bytes(members_.size() + others_.size()),
                                                         "a membership attack (" + option("attack-rows") + ")");
    const ConfidenceAttack attack(members, others);
    const double threshold = best_threshold(members, others);
    const auto share = [&](const auto& of) { return mean(each(forgotten.size(), of)); };
    result.svm_member_rate = share([&](std::size_t i) { return attack.is_member(forgotten[i]) ? 1.0 : 0.0; });
    result.threshold_member_rate = share([&](std::size_t i) { return forgotten[i] > threshold ? 1.0 : 0.0; });
    result.attack_auc = area_under_curve(forgotten, others);
  }
  if (!original_) return;
  const std::vector<double> presence = presence_of(forgotten);
  result.presence = mean(presence);
  result.presence_ratio =
      mean(each(forgotten.size(), [&](std::size_t i) { return original_presence_[i] / presence[i]; }));
}

}  // namespace unweave
