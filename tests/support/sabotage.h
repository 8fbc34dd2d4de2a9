// tests/support/sabotage.h - solvers that break a promise of theirs in one place and report as if
// they had kept it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "algorithms/evaluation/audit.h"
#include "algorithms/learning/newton.h"
#include "algorithms/random/random_source.h"
#include "algorithms/registry/registry.h"
#include "algorithms/solvers/objective_noise/scalegun_solver.h"

namespace unweave::testing {

/// Does what another solver does; a saboteur overrides one member.
class Wrapped : public Solver {
 public:
  Wrapped(std::string_view name, const SolverOptions& options, const SolverResources& resources)
      : Wrapped(make_solver(name, options, resources)) {}
  explicit Wrapped(std::unique_ptr<Solver> solver) : solver_(std::move(solver)) {}
  std::string_view name() const noexcept override { return solver_->name(); }
  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override { return solver_->fit(rows, lazy); }
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    return solver_->absorb(model, after, change, lazy);
  }
  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    return solver_->catch_up(model, rows, lazy);
  }
  bool reads_moved_rows() const noexcept override { return solver_->reads_moved_rows(); }
  bool reads_nodes() const noexcept override { return solver_->reads_nodes(); }
  void tidy(const Model& model) const override { solver_->tidy(model); }

 protected:
  [[nodiscard]] const Solver& honest() const noexcept { return *solver_; }

 private:
  std::unique_ptr<Solver> solver_;
};

/// Noise of a tenth of the level, in every release.
class WeakNoise final : public Wrapped {
 public:
  WeakNoise(std::string_view name, const SolverOptions& options, const SolverResources& resources)
      : Wrapped(name, weakened(options), resources) {}

 private:
  static SolverOptions weakened(SolverOptions options) {
    options.tau /= 10;  // sigma is proportional to it
    return options;
  }
};

/// Noise of a third of the level that its public terms name: of `sigma` (T2, T4) or `s-max` (T3)
/// where the options give it, else of tau (T1).
class ThirdOfNoise final : public Wrapped {
 public:
  ThirdOfNoise(std::string_view name, const SolverOptions& options, const SolverResources& resources)
      : Wrapped(name, weakened(options), resources) {}
  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit = honest().fit(rows, lazy);
    pretend(fit.report);
    return fit;
  }
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    StepReport report = honest().absorb(model, after, change, lazy);
    pretend(report);
    return report;
  }

 private:
  static SolverOptions weakened(SolverOptions options) {
    for (const char* const level : {"sigma", "s-max"})
      if (const auto at = options.parameters.find(level); at != options.parameters.end()) {
        at->second /= 3;
        return options;
      }
    options.tau /= 3;
    return options;
  }
  static void pretend(StepReport& report) {
    for (const char* const name : {"sigma", "s_max", "distance", "sensitivity", "grid"})
      if (report.terms.contains(name)) report.terms.publish(name, 3 * report.terms.at(name));
  }
};

/// Publishes the model as it was, and the report of a step.
class NoStep final : public Wrapped {
 public:
  using Wrapped::Wrapped;
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    Model other = model;
    StepReport report = honest().absorb(other, after, change, lazy);
    model.trained_rows = after.size();
    ++model.releases;
    return report;
  }
};

/// Unlearns with the mu of the rows before.
class StaleLambda final : public Wrapped {
 public:
  StaleLambda(std::string_view name, const SolverOptions& options, const SolverResources& resources)
      : Wrapped(name, options, resources), name_(name), options_(options) {}
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    SolverOptions stale = options_;
    stale.lambda *= static_cast<double>(model.trained_rows) / static_cast<double>(after.size());
    return make_solver(name_, stale, {})->absorb(model, after, change, lazy);
  }

 private:
  std::string name_;
  SolverOptions options_;
};

/// Draws the noise of the first release again.
class ReusedNoise final : public Wrapped {
 public:
  ReusedNoise(std::string_view name, const SolverOptions& options, const SolverResources& resources)
      : Wrapped(name, with_seed(options), resources) {}
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    model.releases = 0;
    return honest().absorb(model, after, change, lazy);
  }

 private:
  static SolverOptions with_seed(SolverOptions options) {
    if (!options.seed) options.seed = RandomSource::from_system().bits();
    return options;
  }
};

/// Leaves rows that moved where they were.
class SkippedMoves final : public Wrapped {
 public:
  using Wrapped::Wrapped;
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    BatchChange back(after.features(), after.classes(), after.form());
    back.moved_to = change.moved_from;
    TrainingSet stale = after;
    stale.apply(back);
    BatchChange removals(after.features(), after.classes(), after.form());
    removals.removed = change.removed;
    return honest().absorb(model, stale, removals, lazy);
  }
};

/// Objective perturbation with exact minimisers, retained B where `draws_again` is false: the
/// unlearned model then has the law of the retrained one. With it B is drawn again where the
/// published model was wrong about the removed row by much, which depends on B and truncates its
/// law.
class ExactObjectiveNoise final : public Wrapped {
 public:
  ExactObjectiveNoise(const SolverOptions& options, const SolverResources& resources, bool draws_again)
      : Wrapped("scalegun", options, resources), options_(options), draws_again_(draws_again) {}

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    return certified(honest().fit(rows, lazy));
  }
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    const auto row = Eigen::Map<const Eigen::VectorXf>(change.removed.row(0).data(), index_of(after.features()));
    const double margin = model.published.col(change.removed.labels()[0]).dot(row.cast<double>());
    if (draws_again_ && margin < kTrigger) {
      Fit again{std::move(model), {}};
      again.report = honest().catch_up(again.model, after, lazy);
      model = std::move(again.model);
      return certified(std::move(again)).report;
    }
    NewtonOptions newton;
    newton.tolerance = options_.tau;
    const Matrix noise = objective_noise_state(model).noise;
    model.published = minimise({after.rows(), after.classes(), options_.head,
                                strong_convexity(options_.lambda, after.size()), &noise},
                               model.published, newton)
                          .weights;
    model.trained_rows = after.size();
    Fit fit;
    fit.report.epsilon = options_.epsilon;
    return certified(std::move(fit)).report;
  }

  static constexpr double kTrigger = -0.25;

 private:
  static Fit certified(Fit fit) {
    fit.report.certified = true;
    fit.report.claim = "a saboteur's";
    return fit;
  }

  SolverOptions options_;
  bool draws_again_;
};

template <class Saboteur>
SolverFactory made_by(std::string_view named) {
  return [name = std::string(named)](const SolverOptions& options, const SolverResources& resources) {
    return std::make_unique<Saboteur>(name, options, resources);
  };
}

inline SolverFactory honest_solver(std::string_view named) {
  return [name = std::string(named)](const SolverOptions& options, const SolverResources& resources) {
    return make_solver(name, options, resources);
  };
}

}  // namespace unweave::testing
