// algorithms/evaluation/trials.h - what an audit draws: releases that unlearned a canary, and
// releases of the reference beside them.
#pragma once

#include <cstdint>

#include "algorithms/evaluation/audit.h"

namespace unweave {

struct Releases {
  Matrix first;  ///< on the rows before, from which the unlearned one was made
  Matrix unlearned;
  Matrix retrained;
};

/// What the attacker computes before any release: minimisers, and the gradient at the old one on
/// the new rows. A network is known by nothing but the means of its releases, and all three are 0.
struct Knowledge {
  Matrix best_before;
  Matrix best_after;
  Matrix gradient;
};

/// Brings a model of the rows before a canary's removal to those after it, as a stream does.
[[nodiscard]] StepReport unlearn_canary(const Solver& solver, Model& model, const Canary& canary,
                                        const ApproximationError& lazy);

/// Trials of one solver on one canary, each with a solver, a folder and noise of its own. The
/// references are those of audit.h.
class Trials {
 public:
  /// All arguments outlive it. Throws what minimise() throws.
  Trials(const SolverFactory& make, const SolverOptions& options, const Canary& canary, const AuditOptions& how);

  /// One trial. Throws what the solver throws.
  [[nodiscard]] Releases run();

  [[nodiscard]] const Knowledge& known() const noexcept { return known_; }
  /// What is claimed, of all trials so far.
  [[nodiscard]] AuditResult& result() noexcept { return result_; }
  /// Whether the last release claims the whole curve of two Gaussians.
  [[nodiscard]] bool claims_curve() const noexcept { return curve_; }
  /// Whether the claim of the last release is about the one before as well.
  [[nodiscard]] bool covers_later() const noexcept { return later_; }
  /// Whether the last release claims to be the minimiser with noise, which Knowledge has.
  [[nodiscard]] bool finishes() const noexcept { return finishes_; }

 private:
  [[nodiscard]] SolverOptions next_options();
  template <class Body>
  void with_model(const Body& body);
  [[nodiscard]] Matrix unlearn(Matrix& first);
  [[nodiscard]] Matrix train_anew();
  [[nodiscard]] Matrix stated_release();
  [[nodiscard]] Matrix follow_stated_run();

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

}  // namespace unweave
