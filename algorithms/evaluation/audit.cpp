// algorithms/evaluation/audit.cpp - scores the releases of many trials along directions that tell
// them apart.
#include "algorithms/evaluation/audit.h"

#include <array>

#include "algorithms/evaluation/distinguisher.h"
#include "algorithms/evaluation/equality_audit.h"
#include "algorithms/evaluation/trials.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::array<std::string_view, 7> kAttacks{"gradient of the removal",
                                                   "step of the removal",
                                                   "difference of the means",
                                                   "distance from the minimiser",
                                                   "distance from the reference",
                                                   "lean towards the release before",
                                                   "noise shared with the release before"};

Matrix normalised(const Matrix& direction) {
  const double norm = direction.norm();
  return norm > 0 ? Matrix(direction / norm) : direction;
}

/// Means of the releases of both kinds.
struct Means {
  Matrix unlearned;
  Matrix retrained;
};

/// Directions in the space of weights, and the statistics of a release.
class Attacker {
 public:
  Attacker(const Knowledge& known, bool sees_first, const Means& means)
      : known_(known),
        sees_first_(sees_first),
        reference_(means.retrained),
        directions_{normalised(known.gradient), normalised(known.best_before - known.best_after),
                    normalised(means.unlearned - means.retrained)} {}

  void add(const Releases& releases, TwoScores& scores) const {
    add(releases.first, releases.unlearned, scores.unlearned);
    add(releases.first, releases.retrained, scores.retrained);
  }

 private:
  void add(const Matrix& first, const Matrix& second, Scores& scores) const {
    scores.resize(kAttacks.size());
    const Matrix noise = second - known_.best_after;
    std::size_t k = 0;
    for (const Matrix& direction : directions_) scores[k++].push_back(noise.cwiseProduct(direction).sum());
    scores[k++].push_back(noise.norm());
    scores[k++].push_back((second - reference_).norm());
    scores[k++].push_back(sees_first_ ? noise.cwiseProduct(normalised(first - known_.best_after)).sum() : 0);
    scores[k++].push_back(sees_first_ ? (noise - (first - known_.best_before)).norm() : 0);
  }

  const Knowledge& known_;
  bool sees_first_;
  Matrix reference_;
  std::array<Matrix, 3> directions_;
};

}  // namespace

AuditResult audit(const SolverFactory& make, const SolverOptions& options, const Canary& canary,
                  const AuditOptions& how) {
  constexpr std::uint64_t kFewest = 16;
  if (how.trials < kFewest) throw UsageError("an audit needs at least " + std::to_string(kFewest) + " trials");
  if (options.epsilon == 0 && options.delta == 0) return audit_equality(make, options, canary, how);
  const std::uint64_t learning = how.trials / 8, choosing = 3 * learning, tests = how.trials - learning - choosing;

  Trials trials(make, options, canary, how);
  const Matrix zero = Matrix::Zero(trials.known().gradient.rows(), trials.known().gradient.cols());
  Means means{zero, zero};
  for (std::uint64_t t = 0; t < learning; ++t) {
    const Releases releases = trials.run();
    means.unlearned += releases.unlearned / static_cast<double>(learning);
    means.retrained += releases.retrained / static_cast<double>(learning);
  }
  const Attacker attacker(trials.known(), trials.covers_later(), means);
  const auto score = [&](std::uint64_t count) {
    TwoScores scores;
    for (std::uint64_t t = 0; t < count; ++t) attacker.add(trials.run(), scores);
    return scores;
  };
  const AuditedClaim claim{options.delta, how.confidence, trials.claims_curve()};
  const Event event = choose_event(score(choosing), tests, claim);
  const Evidence evidence = try_event(event, score(tests), claim);
  AuditResult result = std::move(trials.result());
  result.evidence = evidence;
  result.attack = kAttacks[event.statistic];
  result.most = claim.bound({tests, tests}, {tests, 0});
  return result;
}

}  // namespace unweave
