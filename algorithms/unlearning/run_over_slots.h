// algorithms/unlearning/run_over_slots.h - how solvers that start from the end of a run of SGD over
// slots choose that run.
#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/learning/network.h"
#include "algorithms/sgd/sgd_schedule.h"
#include "algorithms/unlearning/options.h"
#include "algorithms/unlearning/parameters.h"

namespace unweave {

/// The parameters of such a run; those that are not given follow from public numbers.
struct RunParameters {
  std::uint64_t epochs = 15;
  std::optional<std::uint64_t> batch_rows;
  std::optional<double> step_size;
  std::optional<double> decay;
};

/// Order, batches and steps of the run of a shape over so many slots. Throws UsageError for
/// constants without a schedule.
[[nodiscard]] SgdConstants choose_run(const NetworkShape& shape, std::uint64_t slots, const RunParameters& parameters,
                                      const SolverOptions& options);

}  // namespace unweave
