// algorithms/privacy/accounting/noisy_sgd.h - projected noisy SGD over a fixed partition, and how
// far two runs can stand apart.
//
// Chien, Wang, Chen, Li, "Stochastic Gradient Langevin Unlearning", arXiv 2403.17105, version 1,
// whose numbering is used (NeurIPS 2024 as "Certified Machine Unlearning via Noisy Stochastic
// Gradient Descent"). The n rows are cut once into N = n/b batches; an epoch runs over them in one
// fixed order, for learning and for every request, with
//   x <- P_R(x - eta g_j(x) + sqrt(2 eta) sigma xi),   xi ~ N(0, I) fresh at every iteration,
// g_j the mean of batch j's loss gradients plus the ridge's. On equal data an iteration is
// c-Lipschitz, c = 1 - eta m. A removal replaces rows in place, n never changes.
//
// Distances are W_infinity between laws of parameters, in units of the parameters: the coupling
// runs both chains with the same noise, which cancels. A *shift* is what one whole epoch with
// changed rows adds to it: d <- c^N d + shift.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace unweave {

/// Public constants of a run. The loss of every row (its ridge included) is m-strongly convex and
/// L-smooth.
struct NoisySgdConstants {
  std::uint64_t rows = 0;        ///< n, at least 1
  std::uint64_t batch_rows = 0;  ///< b, divides n; n for full batches
  double step_size = 0;          ///< eta, in (0, 1/L]
  double strong_convexity = 0;   ///< m, in [0, L]; 0 where the loss is convex only
  double smoothness = 0;         ///< L > 0
  double gradient_bound = 0;     ///< M > 0: bound on the norm of one row's loss gradient without ridge
  double row_norm = 1;           ///< X > 0: bound on the norm of rows
  double radius = std::numeric_limits<double>::infinity();  ///< R > 0 of the projection; infinite for none
};

/// What the decay of Lemma 3.4 is in k iterations.
enum class Decay {
  kLoose,  ///< c^{2k}, as printed
  kSharp,  ///< c^{2k} (1 - c^2) / (1 - c^{2k}): the shifts of the lemma's proof chosen by Cauchy-Schwarz; never larger
};

class NoisySgd {
 public:
  /// Throws UsageError for constants outside the ranges above.
  explicit NoisySgd(const NoisySgdConstants& constants);

  [[nodiscard]] const NoisySgdConstants& constants() const { return constants_; }
  /// N, batches and so iterations of an epoch.
  [[nodiscard]] std::uint64_t batches() const { return batches_; }
  /// Iterations of so many epochs.
  [[nodiscard]] double iterations(std::uint64_t epochs) const {
    return static_cast<double>(epochs) * static_cast<double>(batches_);
  }
  [[nodiscard]] double diameter() const { return 2 * constants_.radius; }
  /// 2M, by how much replacing one row changes the sum of a batch's gradients; M where the new row
  /// is zero.
  [[nodiscard]] double replaced_row_weight() const { return 2 * constants_.gradient_bound; }
  [[nodiscard]] double zeroed_row_weight() const { return constants_.gradient_bound; }

  /// c^k and 1 - c^k for k >= 0 iterations, without cancellation.
  [[nodiscard]] double power(double k) const;
  [[nodiscard]] double one_minus_power(double k) const;
  /// sum of c^i over i < k; k where c = 1.
  [[nodiscard]] double power_sum(double k) const;
  /// Square root of the decay over K >= 1 epochs. For c = 1 the decay is 1/k in both forms.
  [[nodiscard]] double root_decay(Decay decay, std::uint64_t epochs) const;

 private:
  NoisySgdConstants constants_;
  std::uint64_t batches_;
  double log_contraction_;
};

/// By how much one row's gradient changes when the row moves by `distance` with its label kept,
/// rows of norm at most X: min(2M, (M/X + curvature X R) distance). `curvature` bounds the
/// Lipschitz constant of the loss's slope in its margins: 1/4 for logistic regression (M = X, or
/// sqrt(C) X for C classes jointly), 1/2 for softmax (M = sqrt(2) X). Valid where M/X bounds the
/// slope itself, so that no clipping acts. Proof: with p the slope at w.x, p x - p' x' = p (x - x')
/// + (p - p') x'. Throws UsageError for a negative or infinite argument.
[[nodiscard]] double moved_row_weight(const NoisySgd& sgd, double curvature, double distance);

/// Shift of `rows` changed rows of gradient change `weight` each, at the worst places: b a batch
/// from the epoch's last batch backwards (Corollary 3.12). Throws UsageError for more rows than n
/// or a bad weight.
[[nodiscard]] double packed_shift(const NoisySgd& sgd, std::uint64_t rows, double weight);
/// Shift of changed rows of different weights, in any order: the heaviest come last.
[[nodiscard]] double packed_shift(const NoisySgd& sgd, std::span<const double> weights);

/// The changed rows of one batch.
struct ChangedBatch {
  std::uint64_t batch = 0;  ///< place in the epoch, below N
  double weight = 0;        ///< sum of the gradient changes of its rows
};
/// Shift of changes at known places; a batch may occur more than once. Throws UsageError for a
/// batch that is not there.
[[nodiscard]] double placed_shift(const NoisySgd& sgd, std::span<const ChangedBatch> changes);

/// Distance after `epochs` >= 1 epochs from one start: min(shift (1 - c^{TN})/(1 - c^N), 2R) (Lemma
/// 3.5; Corollary 3.12 prints the series over epochs as (1 - c^T)/(1 - c), which is larger). c = 1:
/// min(T shift, 2R), as in Corollary 3.10.
[[nodiscard]] double burn_in_distance(const NoisySgd& sgd, double shift, std::uint64_t epochs);
/// Distance of the stationary laws, and of chains after any number of epochs from one start:
/// min(shift/(1 - c^N), 2R). Infinite for c = 1 without a projection.
[[nodiscard]] double stationary_distance(const NoisySgd& sgd, double shift);
/// Distance from which the next request of a sequence starts: min(c^{KN} before + own, 2R), where
/// `before` is what the last one started from, K >= 1 its epochs, `own` the distance of the next
/// one's change alone (Theorem 3.11).
[[nodiscard]] double following_distance(const NoisySgd& sgd, double before, std::uint64_t epochs, double own);

/// Least sigma whose noise float64 resolves: sqrt(2 eta) sigma >= 2^20 ulp of the largest
/// parameter. Accountants find far smaller ones at large n, which protect nothing. Throws
/// UsageError unless both are finite and above 0.
[[nodiscard]] double resolvable_sigma(double step_size, double largest_parameter);
/// Throws UsageError when sigma is below resolvable_sigma.
void require_resolvable(double sigma, double step_size, double largest_parameter);

}  // namespace unweave
