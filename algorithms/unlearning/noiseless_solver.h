// algorithms/unlearning/noiseless_solver.h - what solvers share that learn by noiseless_learning.h
// and publish the weights as they are.
//
// Nothing is claimed of their releases. A model that has missed a batch is learnt again; what a
// batch does is left to the solver, and without more it learns again too.
#pragma once

#include <string>
#include <string_view>

#include "algorithms/unlearning/noiseless_learning.h"
#include "algorithms/unlearning/release.h"
#include "algorithms/unlearning/solver.h"

namespace unweave {

class NoiselessSolver : public Solver {
 public:
  NoiselessSolver(std::string_view name, const SolverOptions& options, const SgdPlan& plan,
                  const SolverResources& resources)
      : options_(options), plan_(plan), memory_(resources.memory), name_(name) {}

  std::string_view name() const noexcept override { return name_; }
  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override;
  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override;
  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override;
  bool reads_moved_rows() const noexcept override { return false; }

 protected:
  /// What a batch does to the model.
  virtual StepReport unlearn(Model& model, const TrainingSet& after, const BatchChange& change) const;
  /// What learning a release adds to the objective, `linear` of noiseless_learning.h; empty:
  /// nothing.
  virtual Vector linear_term(std::uint64_t release, const TrainingSet& rows) const;
  /// What governs a batch is told when the model is learnt, too.
  virtual void add_settings(StepReport&) const {}

  StepReport publish(Model& model, const Vector& weights, const TrainingSet& rows) const;
  StepReport learn(Model& model, const TrainingSet& rows) const;

  SolverOptions options_;
  SgdPlan plan_;
  std::size_t memory_;

 private:
  std::string name_;
};

}  // namespace unweave
