// tests/support/shortcuts.h - solvers that stop one step too early, or unlearn another change than
// they were asked for, and report as if they had not.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/evaluation/audit.h"
#include "algorithms/learning/newton.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/solvers/replay/whole_network.h"
#include "algorithms/unlearning/release.h"
#include "support/sabotage.h"

namespace unweave::testing {

/// The rows from which a change leads to `after`.
inline TrainingSet rows_before(const TrainingSet& after, const BatchChange& change) {
  TrainingSet before(after.features(), after.classes(), after.form());
  std::vector<NodeId> nodes(after.nodes().begin(), after.nodes().end());
  nodes.insert(nodes.end(), change.removed.nodes().begin(), change.removed.nodes().end());
  std::sort(nodes.begin(), nodes.end());
  for (const NodeId node : nodes)
    for (const TrainingSet* from : {&change.removed, &change.moved_from, &after})
      if (const auto at = from->find(node)) {
        before.append(node, from->row(*at), from->labels()[*at]);
        break;
      }
  return before;
}

/// Absorbs another change than it was asked for, with all that its solver does, fresh noise
/// included, and reports the right one.
class OtherChange : public Wrapped {
 public:
  using Wrapped::Wrapped;
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    Model other = model;
    StepReport report = honest().absorb(other, after, change, lazy);
    TrainingSet rows = rows_before(after, change);
    BatchChange wrong(after.features(), after.classes(), after.form());
    choose(wrong, change, rows);
    rows.apply(wrong);
    static_cast<void>(honest().absorb(model, rows, wrong, lazy));
    model.trained_rows = after.size();
    return report;
  }

 protected:
  /// Fills the change that is made instead.
  virtual void choose(BatchChange& wrong, const BatchChange& asked, const TrainingSet& before) const = 0;
};

/// Publishes the iterate of the rows before again, under fresh noise.
class OldIterate final : public OtherChange {
 public:
  using OtherChange::OtherChange;

 protected:
  void choose(BatchChange&, const BatchChange&, const TrainingSet&) const override {}
};

/// Forgets the row that stands behind the first one that leaves: of `hessian-free`, adds the wrong
/// vector.
class WrongRow final : public OtherChange {
 public:
  using OtherChange::OtherChange;

 protected:
  void choose(BatchChange& wrong, const BatchChange& asked, const TrainingSet& before) const override {
    const std::size_t at = (*before.find(asked.removed.nodes()[0]) + 1) % before.size();
    wrong.removed.append(before.nodes()[at], before.row(at), before.labels()[at]);
  }
};

/// Leaves the row that moved farthest where it was.
class OneMoveMissing final : public OtherChange {
 public:
  using OtherChange::OtherChange;

 protected:
  void choose(BatchChange& wrong, const BatchChange& asked, const TrainingSet&) const override {
    const auto moved = [&](std::size_t i) {
      double sum = 0;
      for (std::size_t f = 0; f < asked.moved_to.features(); ++f)
        sum += std::pow(static_cast<double>(asked.moved_to.row(i)[f] - asked.moved_from.row(i)[f]), 2);
      return sum;
    };
    std::size_t farthest = 0;
    for (std::size_t i = 1; i < asked.moved_to.size(); ++i)
      if (moved(i) > moved(farthest)) farthest = i;
    wrong.removed = asked.removed;
    for (std::size_t i = 0; i < asked.moved_to.size(); ++i) {
      if (i == farthest) continue;
      const NodeId node = asked.moved_to.nodes()[i];
      wrong.moved_from.append(node, asked.moved_from.row(i), asked.moved_from.labels()[i]);
      wrong.moved_to.append(node, asked.moved_to.row(i), asked.moved_to.labels()[i]);
    }
  }
};

/// Newton's method, or gradient descent, that ends one step before the gradient is as small as tau
/// says (T1); of `exact` what that leaves, rounded to the grid (T0).
class OneStepTooFew final : public Wrapped {
 public:
  OneStepTooFew(std::string_view name, const SolverOptions& options, const SolverResources& resources)
      : Wrapped(name, options, resources), options_(options) {}
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    const bool cold = name() == "retrain", descends = name() == "descent-to-delete";
    Matrix start = cold ? Matrix(Matrix::Zero(model.published.rows(), model.published.cols())) : model.published;
    StepReport report = honest().absorb(model, after, change, lazy);
    const double mu = strong_convexity(options_.lambda, after.size());
    const Objective objective{after.rows(), after.classes(), options_.head, mu, nullptr};
    Matrix weights = descends ? descend(objective, after, start) : step(objective, start);
    if (name() == "exact") {
      const double grid = report.terms.at("grid");
      model.published = (weights / grid).array().rint() * grid;
      return report;
    }
    const OutputNoise noise =
        plan_output_noise(options_.tau / mu, size_of(weights.size()), options_.epsilon, options_.delta);
    RandomSource random = noise_source(options_, model.releases + 1000);
    model.published = publish(weights, noise, random);
    return report;
  }

 private:
  [[nodiscard]] bool ends(const Objective& objective, const Matrix& weights) const {
    const Gradient gradient = gradient_with_error(objective, weights);
    return gradient.norm + gradient.error <= options_.tau;
  }
  [[nodiscard]] Matrix step(const Objective& objective, const Matrix& start) const {
    Matrix last = start;
    for (int steps = 1;; ++steps) {
      NewtonOptions newton;
      newton.tolerance = options_.tau / 2;
      newton.most_steps = steps;
      newton.best_effort = true;
      Matrix next = minimise(objective, start, newton).weights;
      if (ends(objective, next)) return last;
      last = std::move(next);
    }
  }
  [[nodiscard]] Matrix descend(const Objective& objective, const TrainingSet& rows, Matrix weights) const {
    const double bound = rows.form().norm_bound();
    const double most = smoothness(options_.head).curvature * static_cast<double>(rows.size()) * bound * bound;
    for (Matrix last = weights;; last = weights) {
      weights -= 2 / (most + 2 * objective.mu) * gradient_with_error(objective, weights).value;
      if (ends(objective, weights)) return last;
    }
  }

  SolverOptions options_;
};

/// A run over slots that takes one epoch fewer after a request (T2, T4), as it would by right for
/// the larger epsilon of `done`.
class OneEpochTooFew final : public Wrapped {
 public:
  OneEpochTooFew(std::string_view name, const SolverOptions& options, const SolverOptions& done,
                 const SolverResources& resources)
      : Wrapped(name, done, resources),
        asked_(make_solver(name, options, {resources.memory, resources.folder / "asked"})) {}
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    Model own = asked_->fit(rows_before(after, change), lazy).model;
    StepReport report = asked_->absorb(own, after, change, lazy);
    static_cast<void>(honest().absorb(model, after, change, lazy));
    return report;
  }

 private:
  std::unique_ptr<Solver> asked_;
};

/// The run of `hessian-free` without its last epoch, where it makes one (T3).
class ShorterRun final : public Wrapped {
 public:
  ShorterRun(std::string_view name, const SolverOptions& options, const SolverResources& resources)
      : Wrapped(name, shorter(options), resources) {}
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    StepReport report = honest().absorb(model, after, change, lazy);
    report.terms.publish("epochs", report.terms.at("epochs") + 1);
    return report;
  }

 private:
  static SolverOptions shorter(SolverOptions options) {
    options.parameters.at("epochs") -= 1;
    return options;
  }
};

/// Was released with weights at the rim of the ball of its run before the request: a history that
/// T2 from any start allows as any other.
class FarStart final : public Wrapped {
 public:
  FarStart(std::unique_ptr<Solver> solver, double radius) : Wrapped(std::move(solver)), radius_(radius) {}
  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit = honest().fit(rows, lazy);
    fit.model.published.setConstant(radius_ / std::sqrt(static_cast<double>(fit.model.published.size())));
    return fit;
  }

 private:
  double radius_;
};

/// An exact network whose batches go by the places of its rows (T0').
class BatchesByPlace final : public Wrapped {
 public:
  BatchesByPlace(std::string_view name, const SolverOptions& options, const SolverResources& resources)
      : Wrapped(name, in_batches(options), resources) {}
  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    return honest().fit(by_place(rows), lazy);
  }
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    return honest().absorb(model, by_place(after), change, lazy);
  }
  bool reads_nodes() const noexcept override { return false; }

 private:
  static SolverOptions in_batches(SolverOptions options) {
    options.parameters["batches"] = 3;
    return options;
  }
  static TrainingSet by_place(const TrainingSet& rows) {
    TrainingSet out(rows.features(), rows.classes(), rows.form());
    for (std::size_t i = 0; i < rows.size(); ++i) out.append(static_cast<NodeId>(i), rows.row(i), rows.labels()[i]);
    return out;
  }
};

/// A network that is trained from its public start by gradients whose sums over rows are those of
/// float32 (T0').
class RoundedSums : public Wrapped {
 public:
  RoundedSums(std::string_view name, const SolverOptions& options, const SolverResources& resources)
      : Wrapped(name, options, resources), options_(options) {}
  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit = honest().fit(rows, lazy);
    fit.model.published = trained(rows, first(rows));
    return fit;
  }
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    const Vector last = as_vector(model.published);
    StepReport report = honest().absorb(model, after, change, lazy);
    model.published = trained(after, start(after, last));
    return report;
  }

 protected:
  [[nodiscard]] virtual Vector start(const TrainingSet& rows, const Vector& /*last*/) const { return first(rows); }
  [[nodiscard]] virtual Vector sum_of(const Matrix& gradients) const {
    return gradients.cast<float>().colwise().sum().transpose().cast<double>();
  }
  [[nodiscard]] Vector first(const TrainingSet& rows) const {
    return first_weights(Network(shape_of(options_, rows)), 0) / kWeightUnit;
  }

 private:
  [[nodiscard]] Vector trained(const TrainingSet& rows, Vector weights) const {
    const Network network(shape_of(options_, rows));
    for (int step = 0; step < 20; ++step) {
      const Matrix gradients = network.row_gradients({weights.data(), size_of(weights.size())}, ChosenRows(rows));
      weights -= 0.5 / static_cast<double>(rows.size()) * sum_of(gradients);
    }
    return weights;
  }

  SolverOptions options_;
};

/// A network that goes on from the last model, by sums that are rounded so far that their order
/// does not matter (T0').
class WarmStart final : public RoundedSums {
 public:
  using RoundedSums::RoundedSums;

 protected:
  [[nodiscard]] Vector start(const TrainingSet&, const Vector& last) const override { return last; }
  [[nodiscard]] Vector sum_of(const Matrix& gradients) const override {
    return (gradients * kSlopeUnit).array().rint().matrix().colwise().sum().transpose() / kSlopeUnit;
  }
};

/// A way to break a promise, and what it is called.
struct Sabotage {
  std::string what;
  SolverFactory make;
};

/// What the release of a canary reports.
inline StepReport report_of(std::string_view name, const SolverOptions& options, const Canary& canary,
                            const std::filesystem::path& folder) {
  const auto solver = make_solver(name, options, {std::size_t{1} << 28, folder / "report"});
  Fit fit = solver->fit(canary.before, {});
  solver->tidy(fit.model);
  StepReport report = solver->absorb(fit.model, canary.after, canary.change, {});
  std::filesystem::remove_all(folder / "report");
  return report;
}

/// Options under which a run over slots takes one epoch fewer for this canary than under `asked`,
/// by a larger epsilon and delta.
inline SolverOptions one_epoch_fewer(std::string_view name, const SolverOptions& asked, const Canary& canary,
                                     const std::filesystem::path& folder) {
  const double epochs = report_of(name, asked, canary, folder).terms.at("epochs");
  SolverOptions done = asked;
  done.delta = 0.99;
  do done.epsilon *= 1.2;
  while (report_of(name, done, canary, folder).terms.at("epochs") >= epochs && done.epsilon < 1e6);
  return done;
}

/// Every sabotage that makes sense for a solver: noise, steps, moved rows, iterate.
inline std::vector<Sabotage> sabotages_of(const std::string& name, const SolverOptions& options, const Canary& canary,
                                          const std::filesystem::path& folder) {
  std::vector<Sabotage> all;
  if (solver_entry(name).noisy) all.push_back({"a third of the noise", made_by<ThirdOfNoise>(name)});
  if (name == "replay") {
    all.push_back({"sums of float32", made_by<RoundedSums>(name)});
    all.push_back({"a start from the last model", made_by<WarmStart>(name)});
    all.push_back({"batches by place", made_by<BatchesByPlace>(name)});
  } else if (name == "hessian-free") {
    all.push_back({"one epoch too few", made_by<ShorterRun>(name)});
  } else if (solver_entry(name).linear.over_slots) {
    const SolverOptions done = one_epoch_fewer(name, options, canary, folder);
    const bool any_start = canary.change.adaptive;
    const double radius = report_of(name, options, canary, folder).terms.at("radius");
    all.push_back({"one epoch too few", [=](const SolverOptions& asked, const SolverResources& resources) {
                     std::unique_ptr<Solver> short_of = std::make_unique<OneEpochTooFew>(name, asked, done, resources);
                     if (!any_start) return short_of;
                     return std::unique_ptr<Solver>(std::make_unique<FarStart>(std::move(short_of), radius));
                   }});
  } else if (name != "newton-step" && name != "jackknife") {  // whose only step is missing below
    all.push_back({"one step too few", made_by<OneStepTooFew>(name)});
  }
  if (canary.change.moved_to.size() > 0) all.push_back({"a moved row left out", made_by<OneMoveMissing>(name)});
  all.push_back({"the iterate from before", made_by<OldIterate>(name)});
  all.push_back({"another row forgotten", made_by<WrongRow>(name)});
  return all;
}

}  // namespace unweave::testing
