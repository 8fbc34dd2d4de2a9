// algorithms/solvers/langevin/langevin_plan.cpp - the accountant of noisy SGD as answers to `plan`.
#include <algorithm>

#include "algorithms/solvers/langevin/langevin_constants.h"
#include "algorithms/solvers/langevin/langevin_solver.h"
#include "algorithms/unlearning/planned_task.h"

namespace unweave {

UnlearningPlan plan_langevin(bool full_batches, const PlannedTask& task) {
  const SolverOptions& options = task.options;
  const std::size_t rows = task.rows, classes = task.shape.classes;
  const LangevinConstants constants = choose_constants(full_batches, rows, classes, options);
  const NoisySgd sgd = noisy_sgd_of(constants, options, classes);
  const LangevinAccountant accountant = accountant_of(constants, sgd, options);
  const double weight = removed_row_weight(sgd, options);
  const auto distance = [sgd, rows, weight](std::uint64_t removed) {
    const std::uint64_t most = std::min<std::uint64_t>(removed, rows);
    return stationary_distance(sgd, packed_shift(sgd, most, weight));
  };
  UnlearningPlan plan;
  plan.unit = "epochs";
  plan.learning = constants.epochs;
  plan.constants = listed_constants(constants, sgd);
  plan.constants.emplace_back("sigma", constants.sigma);
  if (const auto epochs = epochs_from_anywhere(constants, sgd, options);
      epochs && options.bound == BoundRule::kCorrected)
    plan.constants.emplace_back("epochs of an adaptive request", static_cast<double>(*epochs));
  plan.rules = {"sigma"};
  plan.fewest = [=](std::uint64_t removed, double epsilon) {
    return request_epochs(constants, accountant, distance(removed), epsilon);
  };
  plan.noise = [=](std::uint64_t removed, std::uint64_t epochs) {
    return std::vector<double>{accountant.smallest_sigma(distance(removed), epochs, options.epsilon)};
  };
  plan.sequence = [=](std::span<const std::uint64_t> batches) {
    std::vector<std::uint64_t> counts;
    double before = 0;
    std::uint64_t last = 0;
    for (const std::uint64_t removed : batches) {
      const double own = distance(removed);
      const double apart = last == 0 ? own : following_distance(sgd, before, last, own);
      const std::optional<std::uint64_t> epochs = request_epochs(constants, accountant, apart, options.epsilon);
      before = epochs ? apart : 0;
      last = epochs.value_or(0);
      counts.push_back(epochs.value_or(constants.epochs));
    }
    return counts;
  };
  return plan;
}

}  // namespace unweave
