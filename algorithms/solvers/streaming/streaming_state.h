// algorithms/solvers/streaming/streaming_state.h - what `streaming` keeps of the rows that it was
// trained on: sums, moments, no rows.
#pragma once

#include <vector>

#include "algorithms/learning/class_moments.h"
#include "algorithms/unlearning/model.h"

namespace unweave {

inline constexpr std::size_t kMostProjected = 256;  ///< dimensions of points

/// Points z = A (V^T x - a) of rows: V is features x k of nearly normal entries that a public key
/// gives, and a and A the mean and the inverse Cholesky factor of the covariance of V^T x at
/// training, fixed from then on.
class RowProjection {
 public:
  RowProjection(std::size_t features, std::size_t dimensions);

  void set_map(Vector center, Eigen::MatrixXd whitening);
  [[nodiscard]] std::size_t dimensions() const noexcept { return size_of(axes_.cols()); }
  [[nodiscard]] const Vector& center() const noexcept { return center_; }
  [[nodiscard]] const Eigen::MatrixXd& whitening() const noexcept { return whitening_; }
  /// V^T x.
  [[nodiscard]] Vector raw(std::span<const float> row) const;
  [[nodiscard]] Vector point(std::span<const float> row) const;

 private:
  Matrix axes_;
  Vector center_;
  Eigen::MatrixXd whitening_;
};

/// Points of one class: at training, those of rows that left or moved away, those of rows that
/// moved here.
struct ClassRecord {
  Moments start, removed, added;
  [[nodiscard]] Moments now() const { return changed(start, removed, added); }
};

struct StreamingState {
  RowProjection projection;
  Vector start;     ///< w_0
  Vector gradient;  ///< sum of the loss gradients of the training rows at w_0: n_0 G_0
  Vector left;      ///< S_t: the same of the rows that left, and of old values less new ones of the rows that moved
  Vector shift;     ///< sum of the forgetting gradients of rows as they left, by the shift of their batch
  std::vector<ClassRecord> classes;
  double start_rows = 0;          ///< n_0
  double rows = 0;                ///< n_t
  double removed_rows = 0;        ///< m_t
  double round = 0;               ///< t
  std::vector<double> forgotten;  ///< rows that left, features and label each; empty unless they are kept

  /// A new state, from one pass over the rows at w_0.
  StreamingState(const Network& network, const TrainingSet& set, Vector at, std::size_t dimensions);
  /// The state of a model. Throws UsageError where it holds no such state.
  StreamingState(const Network& network, const SolverState& stored);
  [[nodiscard]] SolverState stored() const;

  /// Gradients and moments follow the batch; reads rows of the change alone. Returns the sum that
  /// `shift` has grown by.
  Vector follow(const Network& network, const BatchChange& change, bool keep_rows);
  /// Sum over `set` of J^T delta at w_0, delta the gradient of KL(f, r) by the margins, r the
  /// posteriors f after the shift; 0 for a head without class probabilities.
  [[nodiscard]] Vector shift_gradient(const Network& network, const TrainingSet& set) const;
  /// The rows that were kept.
  [[nodiscard]] TrainingSet kept_rows(std::size_t features, const RowForm& form) const;
};

/// Margins of one row become the gradient of KL(f, r) by them, r_c in proportion to f_c exp(tau_c):
/// with p = f, p_c (sum_j p_j tau_j - tau_c).
void turn_to_softmax_shift(const Vector& tau, double* margins);
/// Turns margins into that gradient for each class against the rest, whose logarithms are `rest`:
/// p (1 - p) (rest_c - own_c).
void turn_to_logistic_shift(const Vector& own, const Vector& rest, double* margins);

}  // namespace unweave
