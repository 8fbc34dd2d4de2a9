// algorithms/privacy/accounting/hessian_free.h - how far first-order removal from a run of SGD is
// from a run without the rows, and what its statistics cost.
//
// Qiao, Zhang, Tang, Wei, "Hessian-Free Online Certified Unlearning", ICLR 2025. A step on the
// filled slots of a batch is Phi(w) = w - share sum_i (grad loss_i(w) + lambda w), share = eta_t /
// |B_t|; rows x_i, |x_i| <= X.
#pragma once

#include <cstdint>

#include "algorithms/learning/head.h"

namespace unweave {

/// What holds at every step of a run of a linear head. Derived from public numbers but for
/// `weights`.
struct RunConstants {
  double lambda = 0;
  double row_norm = 1;   ///< X
  double curvature = 0;  ///< >= the Hessian of a row's loss by its margins
  double third = 0;      ///< |slopes(m + z) - slopes(m) - curvature(m) z| <= third |z|^2 / 2
  double slope = 0;      ///< >= |slopes(0)|
  double gamma = 0;      ///< relative error of a sum of products of the longest kind in a step, times sqrt(F C)
  double weights = 0;    ///< >= |w_t| along the run that was learnt
};

/// Constants of a head with `classes` outputs, batches of `batch` rows of `features` numbers.
[[nodiscard]] RunConstants run_constants(Head head, double lambda, double row_norm, std::uint64_t features,
                                         std::uint64_t classes, std::uint64_t batch);

/// One step on `rows` filled slots with |X X^T| <= gram.
class StepBounds {
 public:
  StepBounds(const RunConstants& constants, double share, std::uint64_t rows, double gram) noexcept;
  /// >= Lipschitz constant of the step without `removed` of the rows.
  [[nodiscard]] double contraction(std::uint64_t removed) const noexcept;
  /// >= what float64 does to a step of the run, of a run without some rows, of a vector and of its
  /// distance, whose sizes sum to `size` (THEOREMS.md, Lemma 13).
  [[nodiscard]] double rounding(double size) const noexcept;

 private:
  RunConstants constants_;
  double share_, rows_, gram_;
};

/// Distance of w_T + sum of any vectors from the run without their rows, from the norms of their
/// gradients alone, step by step (THEOREMS.md, Lemma 12).
class RemovalAccount {
 public:
  explicit RemovalAccount(const RunConstants& constants) noexcept : constants_(constants) {}
  /// A step on `rows` filled slots, `removed` of them of removed rows, whose gradient norms sum to
  /// `injected`.
  void advance(double share, std::uint64_t rows, std::uint64_t removed, double injected) noexcept;
  /// >= |sum of the vectors| now.
  [[nodiscard]] double size() const noexcept { return size_; }
  [[nodiscard]] double distance() const noexcept { return distance_; }

 private:
  RunConstants constants_;
  double size_ = 0;
  double distance_ = 0;
};

/// The numbers of Theorem 4 as it is printed.
struct PrintedRun {
  double step_size = 0;            ///< eta
  double decay = 1;                ///< q
  double gradient = 0;             ///< G
  double rho = 1;                  ///< >= |I - eta_t H_t|
  std::uint64_t steps = 0;         ///< T
  std::uint64_t epoch_steps = 1;   ///< B
  std::uint64_t batch = 1;         ///< |B|
  std::uint64_t batch_number = 0;  ///< b(u)
};
/// Theorem 4 (Eq. 56) times the number of removed rows. It bounds nothing (a Taylor remainder is
/// missing): for comparison.
[[nodiscard]] double printed_distance(const PrintedRun& run, std::uint64_t removed);

/// Multiply-adds of the statistics of n rows: forward 2 E n^2 d; backward 2 E n d w, w the d of one
/// propagator or the F of one a class. (A visit needs only products that the step forms anyway: E n
/// d w less than the paper's form.)
struct StatisticsCost {
  double forward = 0;
  double backward = 0;
};
[[nodiscard]] StatisticsCost statistics_cost(std::uint64_t epochs, std::uint64_t rows, std::uint64_t records,
                                             std::uint64_t parameters, std::uint64_t propagator_width);

}  // namespace unweave
