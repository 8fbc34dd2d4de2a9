// algorithms/evaluation/efficacy.h - how much of what a store has forgotten its models still show,
// judged by a copy of the store from before the removals.
//
// The copy is the caller's. From it come the rows that were forgotten, as they were, and their
// labels; the store itself keeps neither. Splits are compared by the users' ids. Rows are of nodes
// or of whole graphs; or of pairs, where those of edges alone take part: training edges are
// members, edges of the test split are none.
//
// source   Yi and Wei, ScaleGUN, ICLR 2025, appendix: deleted data replay and presence probability,
// the latter after
//          Olatunji et al., Membership inference attack on graph neural networks, 2021, and Cheng
//          et al., GNNDelete, ICLR 2023, which take the mean of the rows' ratios; the streaming
//          paper's attack is membership.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/membership.h"
#include "algorithms/evaluation/reports.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/model_record.h"

namespace unweave {

/// Throws DataError when `before` cannot be a copy of a store.
void require_copy(const LiveStore& before, const LiveStore& present);

/// For models whose rows are of one unit.
class EfficacyTests {
 public:
  /// Forgotten are the labelled training units of `before` that are no training units of `present`.
  /// An attack learns from as many training rows, drawn by `seed`, as test rows, `attack_rows` of
  /// each at most; 0 for no attacks. Throws DataError when `before` cannot be a copy of the store,
  /// and what row_units() throws for this program.
  EfficacyTests(const LiveStore& before, const LiveStore& present, const RowProgram& rows, std::size_t attack_rows,
                std::uint64_t seed);

  [[nodiscard]] RowUnit unit() const noexcept { return unit_; }
  /// Their keys in `before` (row_units.h).
  [[nodiscard]] const std::vector<NodeId>& forgotten() const noexcept { return forgotten_; }
  [[nodiscard]] std::size_t vanished_classes() const noexcept { return vanished_count_; }
  /// Rows of either kind that an attack on a model of the present store learns from.
  [[nodiscard]] std::size_t attack_rows() const noexcept { return members_.size(); }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// The model of the same solver before the removals, or none: presence is measured by an attack
  /// that learns from it. Throws as of().
  void set_original(const ModelRecord* original);
  /// Throws ResourceError, or DataError when a model does not stand on the propagation of `before`.
  [[nodiscard]] Efficacy of(const ModelRecord& model) const;

 private:
  [[nodiscard]] double replay_of_all(const LiveStore& store, const ModelRecord& model) const;
  [[nodiscard]] std::vector<double> presence_of(const std::vector<double>& confidences) const;
  void add_attacks(Efficacy& result, const ModelRecord& model, const std::vector<double>& forgotten) const;

  const LiveStore& before_;
  const LiveStore& present_;
  RowUnit unit_;
  std::uint64_t seed_;
  std::vector<NodeId> forgotten_;          ///< keys in before_
  std::vector<NodeId> members_, others_;   ///< keys in present_
  std::vector<NodeId> retained_, unseen_;  ///< rows of an attack on the original model: keys in before_
  std::vector<bool> vanished_;             ///< whether a class has vanished
  std::size_t vanished_count_ = 0;
  std::optional<PresenceAttack> original_;
  std::vector<double> original_presence_;  ///< presence of each row of forgotten_
};

}  // namespace unweave
