// algorithms/evaluation/distinguisher.h - telling two random sources apart by one event, chosen on
// some trials and tried on others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/privacy/accounting/epsilon_lower_bound.h"
#include "algorithms/privacy/accounting/one_run_bound.h"

namespace unweave {

/// Values of several statistics: scores[k][t] of statistic k in trial t, none of them NaN.
using Scores = std::vector<std::vector<double>>;

/// What an experiment with two sources, the unlearned and the retrained models, has seen.
struct TwoScores {
  Scores unlearned;
  Scores retrained;
};

/// The event that statistic `statistic` is at least (or at most) `threshold`, and the source that
/// meets it more often.
struct Event {
  std::size_t statistic = 0;
  bool above = true;
  double threshold = 0;
  bool unlearned_likelier = true;
};

/// What is claimed of the two sources, and with which confidence a lower bound of epsilon must
/// hold.
struct AuditedClaim {
  double delta = 0;
  double confidence = 0;
  bool gaussian_curve = false;  ///< the whole curve of two Gaussians is claimed: gaussian_epsilon_lower_bound() applies

  /// The bound that these counts give, of the likelier source and of the other one.
  [[nodiscard]] double bound(EventCount of_p, EventCount of_q) const;
  /// The bound that guesses of coins from one release give.
  [[nodiscard]] double bound(CoinGuesses guesses) const;
};

/// The event with the largest lower bound of epsilon if `tests` trials came out as these did, among
/// all statistics, up to 256 thresholds of each, both sides and both directions. Throws UsageError
/// as epsilon_lower_bound() does.
[[nodiscard]] Event choose_event(const TwoScores& scores, std::uint64_t tests, const AuditedClaim& claim);

/// Tries the event on trials that had no part in choosing it.
[[nodiscard]] Evidence try_event(const Event& event, const TwoScores& scores, const AuditedClaim& claim);

}  // namespace unweave
