// algorithms/evaluation/trend_attack.h - an attack that recovers removed edges from what the
// unlearned model says of their ends.
//
// source   Zhang, Wang, Zhang, Liu and Wang, Unlearning Inversion Attacks for Graph Neural Networks
// (TrendAttack), WSDM 2026,
//          arXiv 2506.00808: nodes beside an edge that was unlearned are less sure of their class
//          than their neighbourhood is ("confidence pitfall"), which is joined with how alike the
//          predictions of the two ends are.
//
// Theirs is trained on a shadow model; this one has nothing to learn. The score of a pair is the
// sum of two terms, each in units of its standard deviation over all pairs at hand: the cosine of
// the two vectors of probabilities, and the dip of both ends, that is the mean confidence of a
// node's present neighbours less its own, confidence being the largest probability.
//
// Neighbours in a graph have like labels, so that the first term finds removed edges whatever the
// model has seen: a score says something only beside the one of a model that was trained without
// them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/model_record.h"

namespace unweave {

/// Two nodes, ids of the user.
using NodePair = std::pair<NodeId, NodeId>;

class TrendAttack {
 public:
  /// Removed are the edges of `before` between nodes that `present` still has something of, and no
  /// edges there. At most `most` of them are tried, drawn by `seed`, against as many pairs of such
  /// nodes that are connected in neither. Memory: 16 bytes a pair. Both stores outlive it. Throws
  /// DataError, FormatError.
  TrendAttack(const LiveStore& before, const LiveStore& present, std::size_t most, std::uint64_t seed);

  [[nodiscard]] const std::vector<NodePair>& removed() const noexcept { return removed_; }
  [[nodiscard]] const std::vector<NodePair>& others() const noexcept { return others_; }

  /// How well a model's predictions on rows of `rows`, one of the two stores, tell removed edges
  /// from the other pairs. At most 64 neighbours of a node take part. A model of links says itself
  /// how likely an edge is, and is asked for that alone; one of whole graphs says nothing of nodes,
  /// and recovers none. Throws UsageError, ResourceError.
  [[nodiscard]] EdgeRecovery of(const ModelRecord& model, const LiveStore& rows) const;

 private:
  [[nodiscard]] std::vector<NodeId> neighbours_of(NodeId user) const;
  [[nodiscard]] EdgeRecovery by_score(const ModelRecord& model, const LiveStore& rows) const;

  const LiveStore& present_;
  std::vector<NodePair> removed_, others_;
};

/// What is said of a pair of nodes, before it is put in proportion to other pairs.
struct PairTraces {
  double likeness = 0;  ///< cosine of the probabilities
  double dip = 0;       ///< sum of both ends' dips
};

/// The area under the curve of the attack, and of each of its terms alone.
[[nodiscard]] EdgeRecovery recover_edges(const std::vector<PairTraces>& removed, const std::vector<PairTraces>& others);

}  // namespace unweave
