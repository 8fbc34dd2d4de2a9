// algorithms/evaluation/regularisation.cpp - computes the default lambda, and tries others on the
// validation split.
#include "algorithms/evaluation/regularisation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/evaluation/validation_trial.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kRidge = 0.1;                // lambda N
constexpr int kWeakest = -2, kStrongest = 4;  // powers of ten that are tried

}  // namespace

double default_lambda(const DeclaredSizes& sizes) {
  if (sizes.nodes == 0 || sizes.features == 0 || sizes.classes == 0)
    throw UsageError("lambda has no default without nodes, features and classes");
  return std::max(kRidge / static_cast<double>(sizes.nodes), weakest_default_lambda(sizes.solver));
}

TunedLambda tune_lambda(const LiveStore& store, MemoryBudget& budget, SolverOptions options, const RowProgram& rows,
                        const std::function<void(const LambdaTrial&)>& told, Ranks* ranks) {
  const std::vector<NodeId> keys = validation_keys(store, rows, option("lambda", "auto"));
  const double usual = options.lambda;
  ValidationTrial trial(store, budget, std::move(options), rows, ranks);
  TunedLambda tuned;
  const auto at = [&](double lambda) {
    tuned.trials.push_back({lambda, trial.accuracy_at(lambda, keys)});
    if (told) told(tuned.trials.back());
  };
  const auto best = [&] {
    return *std::max_element(tuned.trials.begin(), tuned.trials.end(),
                             [usual](const LambdaTrial& a, const LambdaTrial& b) {
                               if (a.accuracy != b.accuracy) return a.accuracy < b.accuracy;
                               return std::abs(std::log(a.lambda / usual)) > std::abs(std::log(b.lambda / usual));
                             });
  };
  for (int power = kStrongest; power >= kWeakest; --power) at(usual * std::pow(10.0, power));
  const double middle = best().lambda;
  for (const double factor : {std::sqrt(10.0), 1 / std::sqrt(10.0)}) at(middle * factor);
  if (!best().accuracy)
    throw UsageError(option("lambda", "auto") + ": no trial came to its end; give " + option("lambda") + " a number");
  tuned.lambda = best().lambda;
  return tuned;
}

}  // namespace unweave
