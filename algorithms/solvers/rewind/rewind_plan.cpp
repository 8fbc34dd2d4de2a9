// algorithms/solvers/rewind/rewind_plan.cpp - the account of a run over slots as answers to `plan`.
#include <algorithm>

#include "algorithms/solvers/rewind/rewind_account.h"
#include "algorithms/solvers/rewind/rewind_solver.h"
#include "algorithms/unlearning/planned_task.h"

namespace unweave {

UnlearningPlan plan_rewind(bool descend, const PlannedTask& task) {
  const SolverOptions& options = task.options;
  const std::size_t rows = task.rows, features = task.shape.features, classes = task.shape.classes;
  const RewindConstants constants = choose_rewind_constants(descend, rows, features, classes, options);
  const RewindAccount account(descend, constants, features, classes, options);
  const auto change = [=](std::uint64_t removed) {
    return account.worst_change(std::min<std::uint64_t>(removed, constants.slots));
  };
  const std::vector<std::uint64_t> kept = account.kept_epochs();
  const auto fewest_of = [descend, kept](const RewindAccount& of, const RunChange& all) {
    const std::optional<std::uint64_t> least = of.fewest_epochs(all);
    if (descend || !least) return least;
    const auto from = std::lower_bound(kept.begin(), kept.end(), *least);
    return from == kept.end() ? std::nullopt : std::optional(*from);
  };
  UnlearningPlan plan;
  plan.unit = "epochs";
  plan.learning = constants.epochs;
  plan.constants = listed_constants(constants, account.sgd());
  plan.constants.emplace_back("sigma", account.noise().sigma);
  plan.constants.emplace_back("distance", account.noise().distance);
  plan.constants.emplace_back("rounding", account.rounding());
  plan.constants.emplace_back("sampling", static_cast<double>(constants.sampling));
  if (!descend) plan.constants.emplace_back("iterates", static_cast<double>(kept.size()));
  plan.rules = {"batches in turn", "drawn, tail", "drawn, mean", "as printed"};
  plan.fewest = [=](std::uint64_t removed, double epsilon) {
    SolverOptions other = options;
    other.epsilon = epsilon;
    const OutputNoise noise = noise_of_sigma(constants.sigma, features * classes, epsilon, other.delta);
    if (!(account.rounding() < noise.distance)) return std::optional<std::uint64_t>();
    return fewest_of(RewindAccount(descend, constants, features, classes, other), change(removed));
  };
  plan.noise = [=](std::uint64_t removed, std::uint64_t epochs) {
    RewindConstants in_turn = constants;
    in_turn.sampling = Sampling::kInTurn;
    const RewindAccount sure(descend, in_turn, features, classes, options);
    const OutputNoise& noise = sure.noise();
    const RunChange all = change(removed);
    if (epochs == constants.epochs && !descend) return std::vector<double>(4, 0.0);
    return std::vector<double>{noise.sigma * sure.distance(all, epochs) / noise.distance,
                               account.drawn_sigma(all, epochs, DistanceRule::kTail),
                               account.drawn_sigma(all, epochs, DistanceRule::kMean),
                               account.printed_sigma(all, epochs)};
  };
  plan.sequence = [=](std::span<const std::uint64_t> batches) {
    std::vector<std::uint64_t> counts;
    std::uint64_t gone = 0;
    for (const std::uint64_t removed : batches) {
      gone += removed;
      const std::optional<std::uint64_t> epochs = fewest_of(account, change(gone));
      if (!epochs) gone = 0;
      counts.push_back(epochs.value_or(constants.epochs));
    }
    return counts;
  };
  return plan;
}

}  // namespace unweave
