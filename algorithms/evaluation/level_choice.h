// algorithms/evaluation/level_choice.h - weights of the levels when the validation split is to
// choose them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/rows/row_program.h"
#include "algorithms/unlearning/options.h"
#include "engine/resources/memory.h"

namespace unweave {

class LiveStore;
class Ranks;

/// The weights w_0 .. w_L that are tried, each once: those of the propagation; each level alone,
/// where L > 4 levels 0, 1, 2, 4, 8 and so on, and L; all levels alike; and ppr:0.15. They depend
/// on declared numbers alone. Throws UsageError for weights of blocks (chebyshev).
[[nodiscard]] std::vector<std::vector<double>> candidate_weights(std::uint32_t levels,
                                                                 const std::vector<double>& propagated);

struct ChosenWeights {
  std::vector<double> weights;
  std::vector<WeightsTrial> trials;  ///< in the order of candidate_weights()
};

/// The candidate of the best accuracy on the validation split, the first one of several, each with
/// lambda options.lambda (ValidationTrial). `told` is called after each. With `ranks` all call it,
/// and share the rows. The rest of the program stays. Throws DataError where no node of the
/// validation split has a label, UsageError where no trial ends or the store keeps no levels.
[[nodiscard]] ChosenWeights choose_weights(const LiveStore& store, MemoryBudget& budget, const SolverOptions& options,
                                           const RowProgram& program,
                                           const std::vector<std::vector<double>>& candidates,
                                           const std::function<void(const WeightsTrial&)>& told,
                                           Ranks* ranks = nullptr);

}  // namespace unweave
