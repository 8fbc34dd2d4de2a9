// algorithms/evaluation/one_run_audit.cpp - coins, the labels that they choose, and guesses by
// margins.
#include "algorithms/evaluation/one_run_audit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "algorithms/evaluation/distinguisher.h"
#include "algorithms/evaluation/trials.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/random/random_source.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kFewestGuesses = 16;
constexpr double kCanaryRidge = 0.1;                 // in units of the mean square norm of a row
constexpr std::uint64_t kCoinStream = 0x636f696e73;  // no release is the so many-th, so that no noise shares its bits

struct Coins {
  std::vector<bool> up;
  std::vector<std::size_t> shift;  ///< to the class that the coin may put in the place of the row's own
};

Coins throw_coins(std::size_t count, std::size_t classes, const SolverOptions& options) {
  RandomSource random =
      options.seed ? RandomSource::from_seed(*options.seed, kCoinStream) : RandomSource::from_system();
  Coins coins;
  for (std::size_t i = 0; i < count; ++i) {
    coins.up.push_back(random.coin());
    coins.shift.push_back(1 + static_cast<std::size_t>(random.below(classes - 1)));
  }
  return coins;
}

ClassId label_on(ClassId label, std::size_t shift, std::size_t classes) {
  return static_cast<ClassId>((label + shift) % classes);
}

TrainingSet relabelled(const TrainingSet& rows, const TrainingSet& removed, const std::vector<bool>& coins,
                       const std::vector<std::size_t>& shift) {
  TrainingSet out(rows.features(), rows.classes(), rows.form());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ClassId label = rows.labels()[i];
    if (const auto at = removed.find(rows.nodes()[i]); at && coins[*at])
      label = label_on(label, shift[*at], rows.classes());
    out.append(rows.nodes()[i], rows.row(i), label);
  }
  return out;
}

/// Margins of the rows under these weights, less those under the reference: rows x classes.
Matrix moved_margins(const Matrix& release, const Matrix& reference, const SolverOptions& options,
                     const TrainingSet& rows) {
  Model with = blank_model("", options, rows), without = with;
  with.published = release;
  without.published = reference;
  std::vector<double> margins(rows.classes()), expected(rows.classes());
  Matrix moved(index_of(rows.size()), index_of(rows.classes()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    margins_of(with, rows.row(i).data(), 1, margins.data());
    margins_of(without, rows.row(i).data(), 1, expected.data());
    for (std::size_t c = 0; c < rows.classes(); ++c) moved(index_of(i), index_of(c)) = margins[c] - expected[c];
  }
  return moved;
}

/// The removed rows, and behind them rows that stay, as many as the system has room for.
TrainingSet rows_of_system(const TrainingSet& removed, const TrainingSet& after) {
  TrainingSet rows(removed.features(), removed.classes(), removed.form());
  std::size_t room = kMostCanaries - removed.size();
  std::vector<NodeId> nodes(removed.nodes().begin(), removed.nodes().end());
  for (std::size_t i = 0; i < after.size() && room > 0; ++i, --room) nodes.push_back(after.nodes()[i]);
  std::sort(nodes.begin(), nodes.end());
  for (const NodeId node : nodes) {
    const auto left = removed.find(node);
    const TrainingSet& from = left ? removed : after;
    const std::size_t at = left ? *left : *after.find(node);
    rows.append(node, from.row(at), from.labels()[at]);
  }
  return rows;
}

/// How much more a release speaks for the other label of each removed row than the reference does:
/// above 0, the coin seems up. A row that was learnt moves the margins of all rows like it, and one
/// that stayed may weigh less beside it. So the margins are taken apart into what each row gave, by
/// regression on the inner products of the rows.
std::vector<double> scores_of(const Matrix& release, const Matrix& reference, const SolverOptions& options,
                              const Canary& canary, const std::vector<std::size_t>& shift) {
  const TrainingSet& removed = canary.change.removed;
  const TrainingSet set = rows_of_system(removed, canary.after);
  const Eigen::Index count = index_of(set.size());
  Matrix rows(count, index_of(set.features()));
  for (Eigen::Index i = 0; i < count; ++i)
    rows.row(i) = Eigen::Map<const Eigen::VectorXf>(set.row(size_of(i)).data(), rows.cols()).cast<double>();
  Matrix products = rows * rows.transpose();
  const double ridge = kCanaryRidge * products.trace() / static_cast<double>(count);
  products.diagonal().array() += ridge > 0 ? ridge : 1;
  const Matrix given = products.llt().solve(moved_margins(release, reference, options, set));
  std::vector<double> scores(removed.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const ClassId own = removed.labels()[i], other = label_on(own, shift[i], removed.classes());
    const Eigen::Index at = index_of(*set.find(removed.nodes()[i]));
    scores[i] = given(at, other) - given(at, own);
  }
  return scores;
}

/// Guesses of the coins with the largest scores; a score of 0 says nothing.
CoinGuesses guess(const std::vector<double>& scores, const std::vector<bool>& coins) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(scores[a]) > std::abs(scores[b]); });
  order.resize(std::min(order.size(), std::max(kFewestGuesses, (order.size() + 1) / 2)));
  CoinGuesses guesses;
  for (const std::size_t i : order) {
    if (scores[i] == 0) continue;
    ++guesses.made;
    guesses.right += (scores[i] > 0) == coins[i] ? 1 : 0;
  }
  return guesses;
}

}  // namespace

Canary with_labels_by_coins(const Canary& canary, const std::vector<bool>& coins,
                            const std::vector<std::size_t>& shift) {
  const TrainingSet& removed = canary.change.removed;
  BatchChange change(removed.features(), removed.classes(), removed.form());
  change.removed = relabelled(removed, removed, coins, shift);
  change.moved_from = canary.change.moved_from;
  change.moved_to = canary.change.moved_to;
  change.only_edges = canary.change.only_edges;
  change.begins_anew = canary.change.begins_anew;
  return {canary.name, relabelled(canary.before, removed, coins, shift), std::move(change), canary.after};
}

AuditResult audit_in_one_run(const SolverFactory& make, const SolverOptions& options, const Canary& canary,
                             const AuditOptions& how) {
  const TrainingSet& removed = canary.change.removed;
  if (removed.size() == 0) throw UsageError("an audit in one run needs requests that remove training nodes");
  if (removed.size() > kMostCanaries)
    throw UsageError("an audit in one run takes " + std::to_string(kMostCanaries) + " canaries at most");
  if (removed.classes() < 2) throw UsageError("an audit in one run needs two classes at least");
  const Coins coins = throw_coins(removed.size(), removed.classes(), options);
  const Canary drawn = with_labels_by_coins(canary, coins.up, coins.shift);

  Trials trials(make, options, drawn, how);
  const Releases releases = trials.run();
  const Matrix& reference =
      trials.finishes() && options.hidden.empty() ? trials.known().best_after : releases.retrained;
  const AuditedClaim claim{options.delta, how.confidence, trials.claims_curve()};
  AuditResult result = std::move(trials.result());
  result.attack = "labels of the canaries";
  const CoinGuesses guesses = guess(scores_of(releases.unlearned, reference, options, canary, coins.shift), coins.up);
  result.guesses = guesses;
  result.evidence.trials = 1;
  result.evidence.epsilon = claim.bound(guesses);
  result.most = claim.bound({guesses.made, guesses.made});
  return result;
}

}  // namespace unweave
