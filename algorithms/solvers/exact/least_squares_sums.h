// algorithms/solvers/exact/least_squares_sums.h - least squares in closed form: the sums over rows
// that its minimiser is a function of, kept while rows change (THEOREMS.md, X9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "algorithms/learning/objective.h"
#include "algorithms/solvers/exact/exact_minimiser.h"

namespace unweave {

/// Z^T Z and Z^T Y in pairs, Y the targets -1 and 1, with bounds of their errors. What depends on
/// rows that left is rounding, far below what is published; all the same it stays in memory, as
/// long as a session does.
class LeastSquaresSums {
 public:
  /// Whether an objective is one that these serve: least squares of at most 512 features.
  [[nodiscard]] static bool serve(const Objective& objective) noexcept;
  /// Memory that the sums take, their making and the minimisation included.
  [[nodiscard]] static std::size_t bytes(const Rows& rows, std::size_t classes);

  /// The sums over all rows of an objective; where ranks share these, all must make them together.
  /// One reading of them and 6 (F + C) / C products.
  explicit LeastSquaresSums(const Objective& objective);
  /// Follows a batch. The rows that it tells of are read, and no others. Not where ranks share
  /// rows.
  void follow(const BatchChange& change);
  /// Whether the sums are over these rows, by their number and hashes of all their bytes and
  /// labels: who follows batches need not be believed. Not where ranks share rows.
  [[nodiscard]] bool are_of(const Rows& rows) const;

  /// The minimiser of the objective with this mu: a factor, and corrections by residuals in pairs
  /// until every rounding is proved. Nothing where the sums, or float64, do not prove all.
  [[nodiscard]] std::optional<ExactMinimiser> minimise(double mu, int grid_bits) const;

 private:
  void add(const Rows& rows, double sign);

  std::size_t features_, classes_;
  std::size_t rows_ = 0;
  std::uint64_t hashes_ = 0;  // the sum of those of the rows
  Matrix high_, low_;         // F x (F + C): Z^T Z, Z^T Y
  Vector error_;              // F + C: >= |column - what it is|_2
};

}  // namespace unweave
