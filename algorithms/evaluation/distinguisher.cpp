// algorithms/evaluation/distinguisher.cpp - searches thresholds, and bounds epsilon by the limits
// of Clopper and Pearson.
#include "algorithms/evaluation/distinguisher.h"

#include <algorithm>

namespace unweave {
namespace {

EventCount count(const Event& event, const Scores& scores) {
  const std::vector<double>& values = scores[event.statistic];
  const auto hits = std::count_if(values.begin(), values.end(), [&](double value) {
    return event.above ? value >= event.threshold : value <= event.threshold;
  });
  return {values.size(), static_cast<std::uint64_t>(hits)};
}

double bound_of(const Event& event, EventCount unlearned, EventCount retrained, const AuditedClaim& claim) {
  return event.unlearned_likelier ? claim.bound(unlearned, retrained) : claim.bound(retrained, unlearned);
}

}  // namespace

double AuditedClaim::bound(EventCount of_p, EventCount of_q) const {
  const double any = epsilon_lower_bound(of_p, of_q, delta, confidence);
  return gaussian_curve ? std::max(any, gaussian_epsilon_lower_bound(of_p, of_q, delta, confidence)) : any;
}

double AuditedClaim::bound(CoinGuesses guesses) const {
  const double any = one_run_lower_bound(guesses, delta, confidence);
  return gaussian_curve ? std::max(any, gaussian_one_run_lower_bound(guesses, delta, confidence)) : any;
}

Event choose_event(const TwoScores& scores, std::uint64_t tests, const AuditedClaim& claim) {
  constexpr std::size_t kMostThresholds = 256;
  Event best;
  double most = -1;
  for (std::size_t k = 0; k < scores.unlearned.size(); ++k) {
    std::vector<double> thresholds = scores.unlearned[k];
    thresholds.insert(thresholds.end(), scores.retrained[k].begin(), scores.retrained[k].end());
    std::sort(thresholds.begin(), thresholds.end());
    const std::size_t step = (thresholds.size() + kMostThresholds - 1) / kMostThresholds;
    for (std::size_t i = 0; i < thresholds.size(); i += step)
      for (const bool above : {false, true}) {
        Event event{k, above, thresholds[i], true};
        const EventCount unlearned = count(event, scores.unlearned), retrained = count(event, scores.retrained);
        event.unlearned_likelier = unlearned.hits * retrained.trials >= retrained.hits * unlearned.trials;
        const auto expected = [&](EventCount seen) {
          return EventCount{tests, (seen.hits * tests + seen.trials / 2) / seen.trials};
        };
        const double bound = bound_of(event, expected(unlearned), expected(retrained), claim);
        if (bound <= most) continue;
        most = bound;
        best = event;
      }
  }
  return best;
}

Evidence try_event(const Event& event, const TwoScores& scores, const AuditedClaim& claim) {
  const EventCount unlearned = count(event, scores.unlearned), retrained = count(event, scores.retrained);
  return {unlearned.trials, unlearned.hits, retrained.hits, bound_of(event, unlearned, retrained, claim)};
}

}  // namespace unweave
