// algorithms/evaluation/row_choice.h - what a model's rows are made of when the validation split is
// to choose it.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/rows/row_program.h"
#include "algorithms/unlearning/options.h"
#include "engine/resources/memory.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

class LiveStore;
class Ranks;

/// The programs that are tried: the weights as propagated; the stack of levels, alone and with the
/// labels of neighbours, with rho 1 also with the open mean; and where rows are no wider than a
/// lift of 1024, the lifted stack, alone and with labels and degree. They depend on declared
/// numbers alone. Throws UsageError where the store keeps something else than sums of levels.
[[nodiscard]] std::vector<RowProgram> candidate_programs(const PropagationSpec& spec, std::size_t columns,
                                                         std::size_t classes, std::uint32_t copies,
                                                         const std::optional<Pool>& pool = {});

struct ChosenProgram {
  RowProgram rows;
  double lambda = 0;
  std::vector<RowsTrial> trials;  ///< in the order of the candidates
};

/// The candidate of the best accuracy on the validation split, the first one of several: each with
/// options.lambda, or with `tunes_lambda` with the best of the values that tune_lambda() tries.
/// `told` is called after each. With `ranks` all call it, and share the rows. Throws DataError
/// where no node of the validation split has a label, UsageError where no trial ends.
[[nodiscard]] ChosenProgram choose_rows(const LiveStore& store, MemoryBudget& budget, const SolverOptions& options,
                                        const std::vector<RowProgram>& candidates, bool tunes_lambda,
                                        const std::function<void(const RowsTrial&)>& told, Ranks* ranks = nullptr);

}  // namespace unweave
