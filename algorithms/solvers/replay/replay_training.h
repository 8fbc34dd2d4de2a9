// algorithms/solvers/replay/replay_training.h - the training of an exact network: a function of the
// rows that are there, as a multiset, and of public constants.
//
//   g <- G unit / n + lambda w,  m <- 0.9 m + 0.1 g,  v <- 0.999 v + 0.001 g^2
//   w <- the nearest multiple of 2^-18 to w - rate (m / (1 - 0.9^t)) / (sqrt(v / (1 - 0.999^t)) + 10^-8)
//
// G is the exact gradient over the rows of a step (whole_network.h), n their number: Adam (Kingma
// and Ba, ICLR 2015), each number by itself, the powers by repeated products. A step takes all
// rows; with B batches it takes those of one, to which a row belongs by its node and the epoch
// alone.
#pragma once

#include <cstdint>

#include "algorithms/learning/network.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/numerics/matrix.h"

namespace unweave {

/// The public constants of a training beside shape and lambda.
struct ReplayPlan {
  std::uint64_t steps = 300, batches = 1, key = 0;
  double rate = 0.01;
};

/// How the work is cut, which the weights do not depend on.
struct ReplayCut {
  std::size_t block = 0;  ///< rows of a block, kRowsTogether at most
  std::size_t workers = 0;
};

/// The cut for as many threads as there are, or as `memory` bytes serve.
[[nodiscard]] ReplayCut choose_cut(const Network& network, const TrainingSet& rows, std::size_t memory);
/// Bytes that a training takes beside the rows with so many workers.
[[nodiscard]] std::size_t replay_bytes(const Network& network, const TrainingSet& rows, std::size_t workers);

/// The batch of a node in an epoch, below plan.batches.
[[nodiscard]] std::uint64_t batch_of(const ReplayPlan& plan, std::uint64_t epoch, NodeId node);

/// Weights after all steps, network.size() multiples of 2^-18. Where ranks share the rows all call
/// it, and get the same. Throws UsageError as require_exact_shape() does, and for rows that are
/// longer than 1.
[[nodiscard]] Vector train_exactly(const Network& network, const TrainingSet& rows, const ReplayPlan& plan,
                                   double lambda, const ReplayCut& cut);

}  // namespace unweave
