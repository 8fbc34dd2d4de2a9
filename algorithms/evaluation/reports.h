// algorithms/evaluation/reports.h - what the functions of this folder find, as plain figures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/privacy/accounting/one_run_bound.h"
#include "algorithms/rows/row_program.h"
#include "storage/types/request.h"

namespace unweave {

/// Fractions of right predictions; none for a split without labelled nodes.
struct Accuracies {
  std::optional<double> train, valid, test;
};

/// One class against the rest. A ratio that has nothing to divide by is absent.
struct ClassMetrics {
  std::uint64_t support = 0;    ///< rows of the class
  std::uint64_t predicted = 0;  ///< rows that are said to be of it
  std::uint64_t right = 0;      ///< both
  std::optional<double> auc;    ///< absent where all rows or no rows are of the class

  [[nodiscard]] std::optional<double> precision() const noexcept;  ///< right / predicted
  [[nodiscard]] std::optional<double> recall() const noexcept;     ///< right / support
  [[nodiscard]] std::optional<double> f1() const noexcept;         ///< 2 right / (predicted + support)
};

/// How good predictions of labelled rows are, class by class (metrics.h).
struct Metrics {
  std::uint64_t rows = 0;
  std::vector<ClassMetrics> classes;
  std::vector<std::uint64_t>
      confusion;  ///< classes x classes, a row the label, a column the prediction; empty: not asked

  // These are none where there are no rows.
  [[nodiscard]] std::optional<double> accuracy() const noexcept;
  /// Share of the most frequent class: what it would be right to always say.
  [[nodiscard]] std::optional<double> majority() const noexcept;
  /// From right, predicted and support of all classes together; of one label a row it is the
  /// accuracy.
  [[nodiscard]] std::optional<double> micro_f1() const noexcept { return accuracy(); }
  /// Means over the classes that have an F1, or an AUC.
  [[nodiscard]] std::optional<double> macro_f1() const noexcept;
  [[nodiscard]] std::optional<double> macro_auc() const noexcept;
  [[nodiscard]] std::size_t classes_without_auc() const noexcept;
};

/// How well a model tells edges from other pairs (link_metrics.h). What has nothing to divide by is
/// absent.
struct LinkFigures {
  static constexpr std::array<std::size_t, 4> kHits{10, 20, 50, 100};

  std::size_t edges = 0, others = 0;  ///< pairs that were scored
  std::optional<double> auc;          ///< chance that an edge has a higher score than another pair; equal ones half
  std::array<std::optional<double>, kHits.size()> hits{};  ///< for each K: edges above the K-th best other pair
  /// Each edge among the other pairs that it brings along; absent for given and for uniform ones.
  std::optional<double> reciprocal_rank;
  std::optional<double> accuracy, precision, recall, f1;  ///< where a probability above 1/2 says that it is an edge
};

/// A pair of nodes, by the ids of users, and what a model says of it.
struct ScoredLink {
  std::uint64_t u = 0, v = 0;
  double score = 0;        ///< margin of an edge: above 0 where it is more likely than none
  double probability = 0;  ///< that there is an edge
};

/// How alike the predictions of two models are (model_comparison.h).
struct Likeness {
  /// Mean over the rows of sum_c f_c ln(f_c / g_c), in nats, f and g the probabilities (head.h) of
  /// `model` and `other`: their Kullback-Leibler divergence. Infinite where g excludes a class of a
  /// row and f does not.
  double divergence = 0;
  double agreement = 0;  ///< share of the rows of which both predict the same class
};

/// What a model still shows of forgotten rows (efficacy.h): fractions of rows; one is absent where
/// no row is of the kind.
struct Efficacy {
  std::optional<double> accuracy_forgotten;
  // Deleted data replay: predictions of a vanished class, one that lost all its training rows.
  std::optional<double> replay_forgotten;  ///< among the forgotten rows of vanished classes
  std::optional<double> replay_all;        ///< among all rows of the copy
  std::optional<double> replay_present;    ///< among all rows of the store
  // Membership of forgotten rows. These figures are absent without attacks, and without test rows.
  std::optional<double> svm_member_rate;        ///< rows that ConfidenceAttack calls members
  std::optional<double> threshold_member_rate;  ///< rows that lie above best_threshold()
  std::optional<double> attack_auc;             ///< area_under_curve() of forgotten rows against test rows
  std::optional<double> presence;               ///< mean PresenceAttack::presence() by an attack on the original model
  std::optional<double> presence_ratio;  ///< mean of the rows' presence in the original model over that in this one
};

/// How well removed edges are told from pairs that were never connected: areas under the curve,
/// absent where there are no such pairs. One half: not at all.
struct EdgeRecovery {
  std::size_t edges = 0;               ///< removed ones that were tried
  std::optional<double> auc;           ///< by TrendAttack
  std::optional<double> likeness_auc;  ///< by how alike the predictions of both ends are, alone
  std::optional<double> dip_auc;       ///< by how far both ends' confidence dips below their neighbours', alone
};

/// A canary before it is tried.
struct CanaryRequests {
  std::string name;
  std::vector<Request> requests;
  std::vector<Request> planted{};  ///< what puts into the data, before anything is learnt, what they remove
};

/// What trials of two random sources have shown (distinguisher.h).
struct Evidence {
  std::uint64_t trials = 0;  ///< trials of each source
  std::uint64_t unlearned_hits = 0;
  std::uint64_t retrained_hits = 0;
  double epsilon = 0;  ///< a lower bound, with the confidence asked for
};

/// What an audit found, beside what the certificates claim (audit.h).
struct AuditResult {
  bool certified = false;            ///< whether every unlearned release was certified
  std::optional<std::string> claim;  ///< what the last release claims
  double epsilon = 0;
  double delta = 0;
  std::string_view attack;  ///< the statistic that separated best
  Evidence evidence;
  std::optional<CoinGuesses> guesses;  ///< given by an audit in one run, which makes no other trials
  /// The lower bound that as many trials give where the two never agree, or as many guesses where
  /// all are right; infinite where bits are compared.
  double most = 0;

  [[nodiscard]] bool refuted() const noexcept { return certified && evidence.epsilon > epsilon; }
};

/// One value of lambda that was tried (regularisation.h).
struct LambdaTrial {
  double lambda = 0;
  std::optional<double> accuracy;  ///< on the labelled nodes of the validation split; none where learning did not end
};

/// Weights of the levels that were tried (level_choice.h).
struct WeightsTrial {
  std::vector<double> weights;
  std::optional<double> accuracy;  ///< on the labelled nodes of the validation split; none where learning did not end
};

/// A program of rows that was tried (row_choice.h).
struct RowsTrial {
  RowProgram rows;
  double lambda = 0;               ///< the best of those that were tried, or the one that is given
  std::optional<double> accuracy;  ///< as above
};

/// What one training or batch of a solver takes.
struct SolverCost {
  int passes = 0;      ///< readings of the rows
  double seconds = 0;  ///< on all rows, from those of the trial
};

/// What a solver costs, tried on some rows (solver_trial.h).
struct SolverTrial {
  std::size_t rows = 0;        ///< on which it was tried
  SolverCost training, batch;  ///< from nothing; the first batch after it
  SolverCost later_batch;      ///< the next one, with what a stream's session keeps from batch to batch
  /// What all rows and the work on them take of a budget like this one, beside the store; part of
  /// it merely saves time.
  std::uint64_t memory_bytes = 0;
};

/// Takes pairs in their order, some at a time.
using LinkSink = std::function<void(std::span<const ScoredLink>)>;

/// Takes ids of the user and margins, ids x classes, which it may change.
using ScoreSink = std::function<void(std::span<const std::int64_t> ids, std::span<double> margins)>;

}  // namespace unweave
