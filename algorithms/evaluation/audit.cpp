// algorithms/evaluation/audit.cpp - runs the trials of an attack, and scores releases along directions that tell them
// apart.
#include "algorithms/evaluation/audit.h"

#include <array>

#include "algorithms/evaluation/equality_audit.h"
#include "algorithms/evaluation/stated_run.h"
#include "algorithms/learning/newton.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/unlearning/report.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::array<std::string_view, 5> kAttacks{"gradient of the removal", "step of the removal",
                                                   "difference of the means", "distance from the minimiser",
                                                   "noise shared with the release before"};
constexpr std::size_t kSharedNoise = 4;

struct Releases {
  Matrix first;  ///< on the rows before, from which the unlearned one was made
  Matrix unlearned;
  Matrix retrained;
};

/// What the attacker computes before any release: minimisers, and the gradient at the old one on the new rows.
struct Knowledge {
  Matrix best_before;
  Matrix best_after;
  Matrix gradient;
};

Objective objective_on(const TrainingSet& rows, const SolverOptions& options) {
  return {rows.rows(), rows.classes(), options.head, strong_convexity(options.lambda, rows.size()), nullptr};
}

/// What the attacker knows. A network is known by nothing but the means of its releases.
Knowledge know(const SolverOptions& options, const Canary& canary, std::size_t memory) {
  if (!options.hidden.empty()) {
    const Matrix zero = Matrix::Zero(index_of(Network(shape_of(options, canary.after)).size()), 1);
    return {zero, zero, zero};
  }
  NewtonOptions newton;
  newton.tolerance = options.tau / 100;  // small beside the tau that M may leave
  newton.best_effort = true;
  newton.memory = memory;
  const Matrix zero = Matrix::Zero(index_of(canary.after.features()), index_of(canary.after.classes()));
  Knowledge known;
  known.best_before = minimise(objective_on(canary.before, options), zero, newton).weights;
  known.best_after = minimise(objective_on(canary.after, options), known.best_before, newton).weights;
  known.gradient = gradient_with_error(objective_on(canary.after, options), known.best_before).value;
  return known;
}

class Trials {
 public:
  Trials(const SolverFactory& make, const SolverOptions& options, const Canary& canary, const AuditOptions& how)
      : make_(make), options_(options), canary_(canary), how_(how), known_(know(options, canary, how.working_memory)) {
    result_.certified = true;
    result_.epsilon = options.epsilon;
    result_.delta = options.delta;
  }

  Releases run() {
    Releases out;
    out.unlearned = unlearn(out.first);
    out.retrained = result_.certified && finishes_      ? stated_release()
                    : result_.certified && follows_run_ ? follow_stated_run()
                                                        : train_anew();
    how_.advance();
    return out;
  }

  [[nodiscard]] const Knowledge& known() const noexcept { return known_; }
  [[nodiscard]] AuditResult& result() noexcept { return result_; }
  /// Whether the last release claims the whole curve of two Gaussians.
  [[nodiscard]] bool claims_curve() const noexcept { return curve_; }
  /// Whether the claim of the last release is about the one before as well.
  [[nodiscard]] bool covers_later() const noexcept { return later_; }

 private:
  SolverOptions next_options() {
    SolverOptions own = options_;
    if (own.seed) *own.seed += seeds_used_++;
    return own;
  }

  /// Calls body(solver, fitted model) on the rows before, in a folder of their own.
  template <class Body>
  void with_model(const Body& body) {
    const SolverResources resources{how_.working_memory, how_.folder / "trial"};
    const std::unique_ptr<Solver> solver = make_(next_options(), resources);
    Fit fit = solver->fit(canary_.before, exact_);
    solver->tidy(fit.model);
    body(*solver, fit.model);
    std::filesystem::remove_all(resources.folder);
  }

  Matrix unlearn(Matrix& first) {
    Matrix out;
    with_model([&](const Solver& solver, Model& model) {
      first = model.published;
      const StepReport report = solver.absorb(model, canary_.after, canary_.change, exact_);
      result_.certified = result_.certified && report.certified;
      result_.claim = report.claim;
      curve_ = report.certified && report.gaussian_curve;
      later_ = report.certified && report.scope == Scope::all_later;
      finishes_ = report.mechanism == kOutputNoise;
      follows_run_ = states_run(report);
      if (follows_run_) stated_ = report;
      out = std::move(model.published);
    });
    return out;
  }

  Matrix train_anew() {
    Matrix out;
    with_model([&](const Solver& solver, Model& model) {
      if (!solver.catch_up(model, canary_.after, exact_).retrained)
        model = make_(next_options(), {})->fit(canary_.after, exact_).model;
      out = std::move(model.published);
    });
    return out;
  }

  Matrix stated_release() {
    const double mu = strong_convexity(options_.lambda, canary_.after.size());
    Matrix weights = known_.best_after;
    const OutputNoise noise =
        plan_output_noise(options_.tau / mu, size_of(weights.size()), options_.epsilon, options_.delta);
    RandomSource random = noise_source(next_options(), 0);
    return publish(weights, noise, random);
  }

  Matrix follow_stated_run() {
    RandomSource random = noise_source(next_options(), 0);
    return stated_run(stated_, options_, canary_.before, canary_.after, random);
  }

  const SolverFactory& make_;
  const SolverOptions& options_;
  const Canary& canary_;
  const AuditOptions& how_;
  const ApproximationError exact_;
  Knowledge known_;
  AuditResult result_;
  bool later_ = false, curve_ = false;
  bool follows_run_ = false;
  StepReport stated_;      // the last report that states a run
  bool finishes_ = false;  // the last release was the minimiser with noise, which can be found here
  std::uint64_t seeds_used_ = 0;
};

Matrix normalised(const Matrix& direction) {
  const double norm = direction.norm();
  return norm > 0 ? Matrix(direction / norm) : direction;
}

/// Directions in the space of weights, and the statistics of a release.
class Attacker {
 public:
  Attacker(const Knowledge& known, bool sees_first, const Matrix& difference_of_means)
      : known_(known),
        sees_first_(sees_first),
        directions_{normalised(known.gradient), normalised(known.best_before - known.best_after),
                    normalised(difference_of_means)} {}

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
    scores[kSharedNoise].push_back(sees_first_ ? (noise - (first - known_.best_before)).norm() : 0);
  }

  const Knowledge& known_;
  bool sees_first_;
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
  Matrix difference = Matrix::Zero(trials.known().gradient.rows(), trials.known().gradient.cols());
  for (std::uint64_t t = 0; t < learning; ++t) {
    const Releases releases = trials.run();
    difference += releases.unlearned - releases.retrained;
  }
  const Attacker attacker(trials.known(), trials.covers_later(), difference);
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
