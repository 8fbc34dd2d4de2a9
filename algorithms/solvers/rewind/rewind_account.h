// algorithms/solvers/rewind/rewind_account.h - public constants of `rewind` and `descend`, and how
// far a release may be from retraining.
//
// Both learn T epochs of projected SGD over slots from W = 0, without noise at the steps, and
// publish the last iterate with discrete Gaussian noise. A request costs K epochs on the present
// rows: `rewind` runs them from the iterate that stood K epochs before the end of learning,
// `descend` from the last one. THEOREMS.md, T4, proves the bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/privacy/accounting/rewind.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/sgd/slot_weights.h"
#include "algorithms/unlearning/options.h"
#include "algorithms/unlearning/parameters.h"
#include "algorithms/unlearning/slot_constants.h"

namespace unweave {

enum class Sampling { kInTurn, kDrawnTail, kDrawnMean };

struct RewindParameters {
  std::optional<std::uint64_t> epochs;
  std::optional<std::uint64_t> batch_rows;
  Sampling sampling = Sampling::kInTurn;
  std::optional<double> sigma;
  std::optional<double> step_size;
  std::optional<double> radius;
  std::uint64_t order_key = 1;
  double capacity = 0.1;
  double retention = 1.5;
};
[[nodiscard]] const ParametersOf<RewindParameters>& rewind_parameters();

struct RewindConstants : SlotRun {
  Sampling sampling = Sampling::kInTurn;
  double sigma = 0;
  double capacity = 0;
  double retention = 0;
  friend bool operator==(const RewindConstants&, const RewindConstants&) = default;
};

/// How the present rows differ from those of learning.
struct RunChange {
  double shift = 0;           ///< what an epoch of batches in turn adds to the distance
  double total = 0;           ///< kappa: sum of the gradient changes of the rows
  std::uint64_t removed = 0;  ///< rows that left
};

class RewindAccount {
 public:
  /// Throws UsageError for constants out of range and noise that float64 cannot resolve.
  RewindAccount(bool descend, const RewindConstants& constants, std::size_t features, std::size_t classes,
                const SolverOptions& options);

  [[nodiscard]] const RewindConstants& constants() const noexcept { return constants_; }
  [[nodiscard]] const NoisySgd& sgd() const noexcept { return sgd_; }
  /// The noise of every release; noise().distance is the budget of residual().
  [[nodiscard]] const OutputNoise& noise() const noexcept { return noise_; }
  /// What rounding adds to the distance at most, both runs together.
  [[nodiscard]] double rounding() const noexcept { return rounding_; }

  [[nodiscard]] RunChange change_of(std::span<const SlotWeight> changes) const;
  /// The change that so many removed rows at the worst places make.
  [[nodiscard]] RunChange worst_change(std::uint64_t rows) const;

  /// Bound of the distance between the iterates after K in 1 .. T epochs, rounding included. For
  /// batches in turn it bounds the distance surely, for drawn ones the mean of it. It is 0 for K =
  /// T, which is retraining.
  [[nodiscard]] double distance(const RunChange& change, std::uint64_t epochs) const;
  /// The bound distance() for batches in turn; for drawn ones the distance whose sure bound would
  /// need the noise that K needs. It is at most noise().distance where K suffices. Under --bound
  /// paper it follows the printed formulas.
  [[nodiscard]] double residual(const RunChange& change, std::uint64_t epochs) const;
  /// Least K in 1 .. T - 1 that suffices, if there is one.
  [[nodiscard]] std::optional<std::uint64_t> fewest_epochs(const RunChange& change) const;
  /// Ascending K for which `rewind` keeps the iterate of epoch T - K: up to what `capacity` can ask
  /// for.
  [[nodiscard]] std::vector<std::uint64_t> kept_epochs() const;
  /// The noise that K epochs need by a rule for drawn batches; infinity where none covers it.
  [[nodiscard]] double drawn_sigma(const RunChange& change, std::uint64_t epochs, DistanceRule rule) const;
  /// The noise that K epochs need as printed: by Theorem 2 with Lemma 12.2 for `rewind`, by Theorem
  /// 4 with Lemma 12.1 for `descend`. It leaves out rows that moved.
  [[nodiscard]] double printed_sigma(const RunChange& change, std::uint64_t epochs) const;

 private:
  [[nodiscard]] double start_left() const;  // c^(TN) times how far `descend` may have travelled
  [[nodiscard]] std::uint64_t steps(std::uint64_t epochs) const { return epochs * sgd_.batches(); }

  bool descend_;
  RewindConstants constants_;
  NoisySgd sgd_;
  LossConstants loss_;
  PrivacyTarget total_;
  BoundRule rule_;
  double rounding_;
  OutputNoise noise_;
};

/// Constants from public numbers and the options. T: the fewest epochs that forget all but a
/// thousandth of the start and bring what `capacity` allows to the budget within T/2.
[[nodiscard]] RewindConstants choose_rewind_constants(bool descend, std::size_t rows, std::size_t features,
                                                      std::size_t classes, const SolverOptions& options);

}  // namespace unweave
