// algorithms/evaluation/regularisation.cpp - computes the default lambda, and tries others on the validation split.
#include "algorithms/evaluation/regularisation.h"

#include <algorithm>
#include <cmath>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/learning/network_pass.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/noiseless_learning.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kTrialTau = 1e-4;
constexpr double kRidge = 0.1;                // lambda N
constexpr int kWeakest = -2, kStrongest = 4;  // powers of ten that are tried

std::vector<NodeId> validation_nodes(const LiveStore& store) {
  std::vector<NodeId> nodes;
  for (const NodeId node : store.contents().valid())
    if (store.contents().label(node) != kNoLabel) nodes.push_back(node);
  if (nodes.empty())
    throw DataError(store.path().string() + ": " + option("lambda", "auto") +
                    " needs labelled nodes in the validation split; import it with " + option("split", "valid=F") +
                    ", or give " + option("lambda") + " a number");
  return nodes;
}

}  // namespace

double default_lambda(const DeclaredSizes& sizes) {
  if (sizes.nodes == 0 || sizes.features == 0 || sizes.classes == 0)
    throw UsageError("lambda has no default without nodes, features and classes");
  return std::max(kRidge / static_cast<double>(sizes.nodes), weakest_default_lambda(sizes.solver));
}

TunedLambda tune_lambda(const LiveStore& store, MemoryBudget& budget, SolverOptions options,
                        const std::vector<double>& weights, const std::function<void(const LambdaTrial&)>& told,
                        Ranks* ranks) {
  const std::vector<NodeId> nodes = validation_nodes(store);
  ModelRecord record;
  record.weights = weights;
  stand_on(record, store.embedding().spec());
  options.blocks = record.options.blocks;
  options.parameters.clear();  // they are another solver's
  options.tau = std::max(options.tau, kTrialTau);
  const TrainingRows rows(store, weights, {record.clip, options.intercept}, budget, ranks);
  if (rows.set().size() == 0) throw DataError(store.path().string() + ": there is no training row to tune lambda with");
  Reservation layers;
  if (!options.hidden.empty())
    layers = reserve_passes(Network(shape_of(options, rows.set())), rows.set().size(), budget);
  const Reservation working = reserve_working_memory(rows.set().rows(), rows.set().classes(), budget);

  const double usual = options.lambda;
  TunedLambda tuned;
  const auto at = [&](double lambda) {
    options.lambda = lambda;
    record.options = options;
    record.model = blank_model(retraining_solver().name, options, rows.set());
    LambdaTrial trial{lambda, {}};
    bool has_learnt = false;
    try {
      const Learnt learnt = learn_weights(options, {}, rows.set(), static_cast<std::size_t>(working.bytes()));
      record.model.published = as_published(shape_of(options, rows.set()), learnt.weights);
      has_learnt = true;
    } catch (const UsageError&) {  // float64 does not reach the minimiser of so weak a ridge, on any rank
    }
    if (has_learnt) trial.accuracy = accuracy_on(store, record, nodes, ranks);
    tuned.trials.push_back(trial);
    if (told) told(trial);
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
