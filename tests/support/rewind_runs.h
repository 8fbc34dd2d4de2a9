// tests/support/rewind_runs.h - runs of `rewind` and `descend` without noise, as coupled pairs.
#pragma once

#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/solvers/rewind/rewind_account.h"
#include "support/learner_data.h"

namespace unweave::testing {

/// Constants and slots of a training on `before`, and runs on it and on other rows of its nodes.
struct RewindRuns {
  RewindRuns(bool descend, const TrainingSet& before, const SolverOptions& options)
      : slots(before.nodes().begin(), before.nodes().end()),
        constants(choose_rewind_constants(descend, before.size(), before.features(), before.classes(), options)),
        account(descend, constants, before.features(), before.classes(), options),
        head(options.head) {}

  [[nodiscard]] RunChange change(const BatchChange& batch) const {
    return account.change_of(weights_of(slots, account.sgd(), head, batch));
  }
  [[nodiscard]] Matrix zero(const TrainingSet& rows) const {
    return Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
  }
  /// Epochs first .. last - 1 of a run; drawn ones draw by `seed` and the epoch's number.
  void run(const TrainingSet& rows, std::uint64_t first, std::uint64_t last, Matrix& weights,
           std::uint64_t seed = 0) const {
    const bool in_turn = constants.sampling == Sampling::kInTurn;
    const Batches batches(constants, slots, rows);
    const std::vector<std::uint32_t> row_of_slot = rows_of_slots(constants, slots, rows);
    for (std::uint64_t epoch = first; epoch < last; ++epoch) {
      RandomSource random = RandomSource::from_seed(seed, epoch);
      if (in_turn)
        run_epochs({account.sgd(), rows, batches, head, 0}, 1, random, weights);
      else
        run_drawn_epochs({account.sgd(), rows, row_of_slot, head}, 1, random, weights);
    }
  }
  /// How far unlearning ends from retraining when both take the same batches at the end.
  [[nodiscard]] double apart(bool descend, const TrainingSet& before, const TrainingSet& after, std::uint64_t epochs,
                             std::uint64_t seed = 0) const {
    const std::uint64_t all = constants.epochs;
    Matrix unlearnt = zero(before), retrained = unlearnt;
    // Learning's last T - K epochs (descend) or first ones (rewind) share their batches with the
    // first of retraining.
    if (descend) run(before, all, all + epochs, unlearnt, seed);
    run(before, 0, all - epochs, unlearnt, seed);
    run(after, 0, all - epochs, retrained, seed);
    run(after, all - epochs, all, unlearnt, seed);
    run(after, all - epochs, all, retrained, seed);
    return (unlearnt - retrained).norm();
  }

  std::vector<NodeId> slots;
  RewindConstants constants;
  RewindAccount account;
  Head head;
};

}  // namespace unweave::testing
