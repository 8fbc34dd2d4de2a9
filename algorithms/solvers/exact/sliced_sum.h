// algorithms/solvers/exact/sliced_sum.h - sums Z^T R over rows without rounding but for what slices
// leave, and what that is at most (THEOREMS.md, X5).
#pragma once

#include "algorithms/numerics/rows.h"
#include "algorithms/solvers/exact/exact_products.h"
#include "algorithms/solvers/exact/pair.h"

namespace unweave {

/// Sums of the sizes of rows, one for each system of columns: a column, or where they are coupled
/// all together.
class RowSums {
 public:
  RowSums(bool coupled, std::size_t columns) : coupled_(coupled), columns_(columns) {}

  [[nodiscard]] std::size_t systems() const noexcept { return coupled_ ? 1 : columns_; }
  /// sum[s] += factor |values|_s of a row.
  void add(const double* values, double factor, Vector& sum) const;

 private:
  bool coupled_;
  std::size_t columns_;
};

/// A sum over rows, or over some of them.
struct SlicedSum {
  Matrix high, low;  ///< F x columns: exact products, in pairs
  Matrix tail;       ///< what lies below slices, in float64
  Vector absolute;   ///< a system: sum_i |z_i| |r_i|_s
  Vector below;      ///< sum_i |z_i| |t_i|_s, t what lies below the slices of r
  Vector rest;       ///< sum_i |rest of z_i| |r_i|_s

  template <class See>
  void see_members(const See& see) {
    see(high);
    see(low);
    see(tail);
    see(absolute);
    see(below);
    see(rest);
  }
  SlicedSum& operator+=(const SlicedSum& other);
  /// Entry k in pairs, tail and all.
  [[nodiscard]] Pair at(Eigen::Index k) const {
    return unweave::add(Pair{high.data()[k], low.data()[k]}, Pair{tail.data()[k], 0});
  }
};

/// Adds blocks of rows to such sums.
class SlicedSummation {
 public:
  /// |z_ij| <= 2^row_exponent, |r_ic| <= 2^exponent; r is cut into `levels` slices.
  SlicedSummation(const Rows& rows, std::size_t columns, bool coupled, int row_exponent, int exponent, int levels)
      : rows_(rows),
        columns_(columns),
        row_exponent_(row_exponent),
        exponent_(exponent),
        levels_(levels),
        sums_(coupled, columns) {}

  [[nodiscard]] SlicedSum zero() const;
  /// Numbers of the scratch that add() works on.
  [[nodiscard]] static std::size_t scratch(std::size_t count, std::size_t features, std::size_t columns, int levels);
  /// The block of `count` rows from `first` on, cut into slices, and its r in pairs, count x
  /// columns.
  void add(const RowSlices& z, std::size_t first, std::size_t count, const double* high, const double* low,
           double* scratch, SlicedSum& part) const;
  /// A system: >= |column of the sum, in pairs with its tail - what it is|_s, without rounding of
  /// the pair to one number.
  [[nodiscard]] Vector error(const SlicedSum& total) const;

 private:
  Rows rows_;
  std::size_t columns_;
  int row_exponent_, exponent_, levels_;
  RowSums sums_;
};

/// >= the norm of what slices of a row leave.
[[nodiscard]] double rest_norm(const RowSlices& z, std::size_t row, std::size_t count, std::size_t features);

}  // namespace unweave
