// algorithms/evaluation/regularisation.h - lambda when nobody gives one: from public constants, or
// by trials on the validation split.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/rows/row_program.h"
#include "algorithms/unlearning/options.h"
#include "engine/resources/memory.h"

namespace unweave {

class LiveStore;
class Ranks;

/// SolverOptions::lambda_chosen of a model whose lambda is default_lambda().
inline constexpr const char* kDefaultLambda = "default";

/// What a default may depend on: declared names and numbers of the store and of the model, never
/// training rows, so that a training after removals takes the same one.
struct DeclaredSizes {
  std::string_view solver;
  std::uint64_t nodes = 0;     ///< N of the store, labelled or not, removed or not
  std::uint64_t features = 0;  ///< features of a row
  std::uint64_t classes = 0;
  Head head = Head::kLogistic;
};

/// lambda (a training row's share of the ridge) where none is given: 0.1 / N, which on the graphs
/// of tools/guide/results/default-lambda.md is within a few points of the best accuracy whatever
/// the share of nodes that is for training, and not below weakest_default_lambda(). Throws
/// UsageError for sizes of 0.
[[nodiscard]] double default_lambda(const DeclaredSizes& sizes);

inline constexpr std::uint64_t kLambdaTrials = 9;

struct TunedLambda {
  double lambda = 0;
  std::vector<LambdaTrial> trials;  ///< in the order in which they were made
};

/// The value of the best accuracy on the validation split, the largest of several: options.lambda
/// times powers of ten from 10^4 down to 10^-2, then the two half-way neighbours of the best
/// (ValidationTrial). `told` is called after each. With `ranks` all call it, and share the rows.
/// Throws DataError where no node of the validation split has a label, UsageError where no trial
/// ends.
[[nodiscard]] TunedLambda tune_lambda(const LiveStore& store, MemoryBudget& budget, SolverOptions options,
                                      const RowProgram& rows, const std::function<void(const LambdaTrial&)>& told,
                                      Ranks* ranks = nullptr);

}  // namespace unweave
