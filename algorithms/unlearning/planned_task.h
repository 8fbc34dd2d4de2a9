// algorithms/unlearning/planned_task.h - what `plan` asks a solver about, before it is trained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/learning/network.h"
#include "algorithms/privacy/accounting/noisy_sgd.h"
#include "algorithms/sgd/slot_run.h"
#include "algorithms/unlearning/account.h"
#include "algorithms/unlearning/options.h"

namespace unweave {

/// The training that is asked about: public numbers alone.
struct PlannedTask {
  std::size_t rows = 0;
  NetworkShape shape;
  const SolverOptions& options;
  std::uint64_t memory = 0;  ///< bytes that the solver may use
};

/// The constants of a run over slots, by name.
[[nodiscard]] std::vector<std::pair<std::string, double>> listed_constants(const SlotRun& run, const NoisySgd& sgd);

}  // namespace unweave
