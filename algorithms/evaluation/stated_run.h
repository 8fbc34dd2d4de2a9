// algorithms/evaluation/stated_run.h - a training as the references of T2, T3 and T4 state it, by
// plain loops of its own.
//
// An audit compares releases with it, and not with what a solver does when it trains: noise that is
// too weak in both would not be seen.
#pragma once

#include "algorithms/learning/training_set.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/random/random_source.h"
#include "algorithms/unlearning/options.h"
#include "algorithms/unlearning/report.h"

namespace unweave {

/// Whether the claim of a release states such a run.
[[nodiscard]] bool states_run(const StepReport& report);

/// A draw of A(D'): from W = 0 through the public schedule, on the rows `present` of D', which keep
/// the slots that they had among the rows `learnt`; with the noise that the public terms of the
/// report name. Under T2 and T4 learning_epochs times over the batches in their order, or under T4
/// over as many batches of slots that are drawn afresh; under T3 the steps of sgd_schedule.h, each
/// of its own size. The end of T3 is not rounded to the grid of its vectors first: THEOREMS.md
/// charges that rounding to the distance, 2^-44 a weight.
[[nodiscard]] Matrix stated_run(const StepReport& report, const SolverOptions& options, const TrainingSet& learnt,
                                const TrainingSet& present, RandomSource& random);

}  // namespace unweave
