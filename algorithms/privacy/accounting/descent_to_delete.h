// algorithms/privacy/accounting/descent_to_delete.h - noise and steps of Descent-to-Delete, as
// published.
//
// Neel, Roth, Sharifi-Malvajerdi, "Descent-to-Delete: Gradient-Based Methods for Machine
// Unlearning", ALT 2021: projected full-batch gradient descent without noise, contracting by gamma
// = (L - m)/(L + m) a step; a deletion of one row runs more steps on the new data and releases the
// parameters plus N(0, sigma^2 I). Distances are in units of the parameters; counts are of steps,
// each one pass over the rows. Adjacency: one row added or removed. The paper takes epsilon to be
// O(ln(1/delta)). Functions throw UsageError for an epsilon that is not finite and above 0, a delta
// outside (0, 1), a count of 0, and where no finite noise or no count up to 2^53 will do.
#pragma once

#include <cstdint>

namespace unweave {

class DescentToDelete {
 public:
  /// n >= 1 rows; a row's loss is m-strongly convex, 0 < m <= smoothness L, and its gradient
  /// changes by at most 2M when a row is replaced. Throws UsageError otherwise.
  DescentToDelete(std::uint64_t rows, double strong_convexity, double smoothness, double gradient_bound);

  /// Steps T of learning before requests of I = `steps` steps: I + ln(R m n / M)/ln(1/gamma), R > 0
  /// the radius of the projection.
  [[nodiscard]] std::uint64_t learning_steps(std::uint64_t steps, double radius) const;

  /// Theorem 9: the parameters without noise are kept as a secret state, from which the next
  /// request continues. sigma = 4 sqrt(2) M gamma^I / (m n (1 - gamma^I) (sqrt(ln(1/delta) +
  /// epsilon) - sqrt(ln(1/delta)))).
  [[nodiscard]] double state_sigma(std::uint64_t steps, double epsilon, double delta) const;

  /// Theorem 28: nothing but the released parameters, of `dimension` d >= 1, is kept. The I that it
  /// needs at least: ln(sqrt(2d)/(1 - gamma) / (sqrt(l + epsilon) - sqrt l)) / ln(1/gamma), l = 2
  /// ln(2/delta).
  [[nodiscard]] std::uint64_t private_steps(std::uint64_t dimension, double epsilon, double delta) const;
  /// Steps of request i = 1, 2, ...: I + ln(ln(4 d i / delta)) / ln(1/gamma), the second part
  /// rounded up.
  [[nodiscard]] std::uint64_t private_request_steps(std::uint64_t steps, std::uint64_t dimension, std::uint64_t request,
                                                    double delta) const;
  /// sigma = 8 M gamma^I / (m n (1 - gamma^I) (sqrt(l + 3 epsilon) - sqrt(l + 2 epsilon))).
  [[nodiscard]] double private_sigma(std::uint64_t steps, double epsilon, double delta) const;

 private:
  [[nodiscard]] double sensitivity(std::uint64_t steps) const;  // 8 M gamma^I / (m n (1 - gamma^I))
  [[nodiscard]] std::uint64_t steps_for(double log_ratio) const;

  double minimiser_distance_;  // 2M / (m n)
  double log_rate_;            // ln gamma, -infinity for m = L
  double one_minus_rate_;
};

}  // namespace unweave
