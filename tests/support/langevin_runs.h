// tests/support/langevin_runs.h - production runs of noisy SGD, epoch by epoch, with noise that two
// runs can share.
#pragma once

#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/solvers/langevin/langevin_constants.h"
#include "support/learner_data.h"

namespace unweave::testing {

/// Slots and constants as a fit on these rows fixes them.
inline LangevinState slots_on(const TrainingSet& rows, const SolverOptions& options, bool full_batches = false) {
  LangevinState state;
  state.constants = choose_constants(full_batches, rows.size(), rows.classes(), options);
  state.slots.assign(rows.nodes().begin(), rows.nodes().end());
  return state;
}

/// One chain. Epoch e of every chain draws the same noise.
class Chain {
 public:
  Chain(const LangevinState& state, const SolverOptions& options, std::size_t features, std::size_t classes)
      : weights(Matrix::Zero(index_of(features), index_of(classes))),
        state_(state),
        head_(options.head),
        sgd_(noisy_sgd_of(state.constants, options, classes)) {}

  void epoch(const TrainingSet& rows, std::uint64_t number) {
    RandomSource random = RandomSource::from_seed(99, number);
    run_epochs({sgd_, rows, Batches(state_.constants, state_.slots, rows), head_, state_.constants.sigma}, 1, random,
               weights);
  }
  [[nodiscard]] const NoisySgd& sgd() const { return sgd_; }

  Matrix weights;

 private:
  LangevinState state_;
  Head head_;
  NoisySgd sgd_;
};

/// Removes `removals` rows from the back on and moves the first `moves` rows, all in one direction.
inline BatchChange coherent_change(const TrainingSet& set, std::size_t removals, std::size_t moves, float distance) {
  BatchChange change(set.features(), set.classes(), set.form());
  for (std::size_t i = 0; i < moves; ++i) {
    std::vector<float> row(set.row(i).begin(), set.row(i).end());
    change.moved_from.append(set.nodes()[i], row, set.labels()[i]);
    row[0] += distance;
    change.moved_to.append(set.nodes()[i], row, set.labels()[i]);
  }
  for (std::size_t i = set.size() - removals; i < set.size(); ++i)
    change.removed.append(set.nodes()[i], set.row(i), set.labels()[i]);
  return change;
}

}  // namespace unweave::testing
