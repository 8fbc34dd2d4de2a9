// algorithms/evaluation/efficacy_figures.h - what a model still shows of forgotten rows, in figures (efficacy.h has the tests).
#pragma once

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

}  // namespace unweave
