// algorithms/evaluation/equality_audit.cpp - the same data in other orders, from other histories,
// on other threads.
#include "algorithms/evaluation/equality_audit.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "algorithms/evaluation/trials.h"
#include "algorithms/random/permutation.h"
#include "engine/resources/parallel.h"

namespace unweave {
namespace {

/// Rows under other nodes, and hence in another order; null: under their own.
TrainingSet renamed(const TrainingSet& rows, const Permutation* nodes) {
  std::vector<std::pair<NodeId, std::size_t>> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NodeId node = rows.nodes()[i];
    order.emplace_back(nodes == nullptr ? node : static_cast<NodeId>(nodes->at(node)), i);
  }
  std::sort(order.begin(), order.end());
  TrainingSet out(rows.features(), rows.classes(), rows.form());
  out.reserve(rows.size());
  for (const auto& [node, i] : order) out.append(node, rows.row(i), rows.labels()[i]);
  return out;
}

Canary renamed(const Canary& canary, const Permutation* nodes) {
  const TrainingSet &before = canary.before, &after = canary.after;
  BatchChange change(before.features(), before.classes(), before.form());
  change.removed = renamed(canary.change.removed, nodes);
  change.moved_from = renamed(canary.change.moved_from, nodes);
  change.moved_to = renamed(canary.change.moved_to, nodes);
  change.adaptive = canary.change.adaptive;
  change.only_edges = canary.change.only_edges;
  change.begins_anew = canary.change.begins_anew;
  return {canary.name, renamed(before, nodes), std::move(change), renamed(after, nodes)};
}

std::uint64_t nodes_of(const TrainingSet& rows) {
  return rows.size() == 0 ? 1 : std::uint64_t{rows.nodes().back()} + 1;
}

/// Unlike ==, it tells zeros of different signs apart.
bool same_bits(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         std::memcmp(a.data(), b.data(), size_of(a.size()) * sizeof(double)) == 0;
}

/// Weights that no training has found.
void scatter(Matrix& weights, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 3);
  for (Eigen::Index k = 0; k < weights.size(); ++k) weights.data()[k] = normal(random);
}

}  // namespace

AuditResult audit_equality(const SolverFactory& make, const SolverOptions& options, const Canary& canary,
                           const AuditOptions& how) {
  const ApproximationError exact;
  const std::uint64_t nodes = std::max(nodes_of(canary.before), nodes_of(canary.after));
  const std::unique_ptr<Solver> solver = make(options, {how.working_memory, how.folder});
  const Matrix anew = solver->fit(canary.after, exact).model.published;

  AuditResult result;
  result.certified = true;
  result.epsilon = options.epsilon;
  result.delta = options.delta;
  result.attack = "bits of training from nothing";
  result.evidence.trials = how.trials;
  for (std::uint64_t t = 0; t < how.trials; ++t) {
    const Permutation names(nodes, t);
    const Canary other = renamed(canary, solver->reads_nodes() ? nullptr : &names);
    std::optional<ThreadLimit> one;
    if (t / 2 % 2 == 0) one.emplace(1);
    Model model = solver->fit(other.before, exact).model;
    if (t % 2 == 1) scatter(model.published, t);
    const StepReport report = unlearn_canary(*solver, model, other, exact);
    result.certified = result.certified && report.certified;
    result.claim = report.claim;
    if (!same_bits(model.published, anew)) ++result.evidence.unlearned_hits;
    how.advance();
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  result.evidence.epsilon = result.evidence.unlearned_hits > 0 ? kInfinity : 0;
  result.most = kInfinity;
  return result;
}

}  // namespace unweave
