// algorithms/evaluation/efficacy_figures.h - what a model still shows of forgotten rows and edges, in figures (efficacy.h and trend_attack.h have the
// tests).
#pragma once

#include <cstddef>
#include <optional>

namespace unweave {

/// Fractions of rows; a fraction is absent where no row is of the kind.
struct Efficacy {
  std::optional<double> accuracy_forgotten;
  // Deleted data replay: predictions of a vanished class, one that lost all its training rows.
  std::optional<double> replay_forgotten;  ///< among the forgotten rows of vanished classes
  std::optional<double> replay_all;        ///< among all rows of the copy
  std::optional<double> replay_present;    ///< among all rows of the store
  // Membership of forgotten rows. These figures are absent without attacks, and without test rows.
  std::optional<double> svm_member_rate;        ///< rows that ConfidenceAttack calls members
  std::optional<double> threshold_member_rate;  ///< rows that lie above best_threshold()
  std::optional<double> attack_auc;             ///< area_under_curve() of forgotten rows against test rows
  std::optional<double> presence;               ///< mean PresenceAttack::presence() by an attack on the original model
  std::optional<double> presence_ratio;  ///< mean of the rows' presence in the original model over that in this one
};

/// How well removed edges are told from pairs that were never connected: areas under the curve, absent where there are no such
/// pairs. One half: not at all.
struct EdgeRecovery {
  std::size_t edges = 0;               ///< removed ones that were tried
  std::optional<double> auc;           ///< by TrendAttack
  std::optional<double> likeness_auc;  ///< by how alike the predictions of both ends are, alone
  std::optional<double> dip_auc;       ///< by how far both ends' confidence dips below their neighbours', alone
};

}  // namespace unweave
