// algorithms/evaluation/validation_trial.cpp - trains without noise, and counts right predictions
// on the validation split.
#include "algorithms/evaluation/validation_trial.h"

#include <algorithm>
#include <utility>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/learning/network_pass.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/live/live_store.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/noiseless_learning.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kTrialTau = 1e-4;

}  // namespace

std::vector<NodeId> validation_nodes(const LiveStore& store, const std::string& asked) {
  std::vector<NodeId> nodes;
  for (const NodeId node : store.contents().valid())
    if (store.contents().label(node) != kNoLabel) nodes.push_back(node);
  if (nodes.empty())
    throw DataError(store.path().string() + ": " + asked +
                    " needs labelled nodes in the validation split; import it with " + option("split", "valid=F") +
                    ", or leave auto away");
  return nodes;
}

ValidationTrial::ValidationTrial(const LiveStore& store, MemoryBudget& budget, SolverOptions options,
                                 const std::vector<double>& weights, Ranks* ranks)
    : store_(store), options_(std::move(options)), ranks_(ranks) {
  record_.weights = weights;
  stand_on(record_, store.embedding().spec());
  options_.blocks = record_.options.blocks;
  options_.parameters.clear();  // they are another solver's
  options_.tau = std::max(options_.tau, kTrialTau);
  rows_.emplace(store, weights, RowForm{record_.clip, options_.intercept}, budget, ranks);
  const TrainingSet& set = rows_->set();
  if (set.size() == 0) throw DataError(store.path().string() + ": there is no training row to choose by");
  if (!options_.hidden.empty()) layers_ = reserve_passes(Network(shape_of(options_, set)), set.size(), budget);
  working_ = reserve_working_memory(set.rows(), set.classes(), budget);
}

std::optional<double> ValidationTrial::accuracy_at(double lambda, const std::vector<NodeId>& nodes) {
  const TrainingSet& set = rows_->set();
  options_.lambda = lambda;
  record_.options = options_;
  record_.model = blank_model(retraining_solver().name, options_, set);
  try {
    const Learnt learnt = learn_weights(options_, {}, set, static_cast<std::size_t>(working_.bytes()));
    record_.model.published = as_published(shape_of(options_, set), learnt.weights);
  } catch (const UsageError&) {  // the minimiser is not reached, on any rank
    return std::nullopt;
  }
  return accuracy_on(store_, record_, nodes, ranks_);
}

}  // namespace unweave
