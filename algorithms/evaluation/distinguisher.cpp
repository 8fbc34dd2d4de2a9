// algorithms/evaluation/distinguisher.cpp - searches thresholds, and bounds epsilon by the limits of Clopper and
// Pearson.
#include "algorithms/evaluation/distinguisher.h"

#include <algorithm>

#include "algorithms/privacy/accounting/epsilon_lower_bound.h"

namespace unweave {
namespace {

EventCount count(const Event& event, const Scores& scores) {
  const std::vector<double>& values = scores[event.statistic];
  const auto hits = std::count_if(values.begin(), values.end(), [&](double value) {
    return event.above ? value >= event.threshold : value <= event.threshold;
  });
  return {values.size(), static_cast<std::uint64_t>(hits)};
}

double bound_of(const Event& event, EventCount unlearned, EventCount retrained, double delta, double confidence) {
  return event.unlearned_likelier ? epsilon_lower_bound(unlearned, retrained, delta, confidence)
                                  : epsilon_lower_bound(retrained, unlearned, delta, confidence);
}

}  // namespace

Event choose_event(const TwoScores& scores, std::uint64_t tests, double delta, double confidence) {
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
        const double bound = bound_of(event, expected(unlearned), expected(retrained), delta, confidence);
        if (bound <= most) continue;
        most = bound;
        best = event;
      }
  }
  return best;
}

Evidence try_event(const Event& event, const TwoScores& scores, double delta, double confidence) {
  const EventCount unlearned = count(event, scores.unlearned), retrained = count(event, scores.retrained);
  return {unlearned.trials, unlearned.hits, retrained.hits, bound_of(event, unlearned, retrained, delta, confidence)};
}

}  // namespace unweave
