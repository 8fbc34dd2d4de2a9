// algorithms/sgd/linear_batch.h - the rows of one step of SGD on a linear head, and its Hessian on
// many directions at once.
//
// Directions stand side by side: column k * classes + c of a features x (count classes) matrix is
// class c of direction k. A product with all rows of the batch is then one matrix product.
// One-vs-rest heads may also take a single class.
#pragma once

#include <vector>

#include "algorithms/sgd/sgd_run.h"

namespace unweave {

class LinearBatch {
 public:
  /// At these weights, features x classes row-major.
  LinearBatch(const SgdRun& run, const SgdBatch& batch, const Vector& weights);

  [[nodiscard]] std::size_t size() const noexcept { return size_of(rows_.rows()); }
  [[nodiscard]] std::size_t classes() const noexcept { return size_of(slopes_.cols()); }
  [[nodiscard]] const Matrix& rows() const noexcept { return rows_; }  ///< size x features
  /// Slopes of the loss by the margins, size x classes.
  [[nodiscard]] const Matrix& slopes() const noexcept { return slopes_; }
  /// Largest sum of magnitudes of a row of rows() rows()^T: bounds its norm.
  [[nodiscard]] double gram_bound() const noexcept {
    return gram_.size() == 0 ? 0 : gram_.cwiseAbs().rowwise().sum().maxCoeff();
  }
  [[nodiscard]] double row_norm(std::size_t i) const noexcept { return norms_[i]; }

  /// Images of directions, size x (count classes) numbers, become the Hessian of each row's loss by
  /// its margins times them.
  void bend(std::size_t i, double* image) const;                                ///< all classes of one direction
  [[nodiscard]] double curvature(std::size_t i, std::size_t c) const noexcept;  ///< for one-vs-rest heads
  /// slopes(m + image) - slopes(m) - bend(image), of one row and direction; `bent` is bend(image).
  void remainder(std::size_t i, const double* image, const double* bent, double* out) const;

  /// Adds |rows()^T remainders|_F^2 of each direction, and what its rounding may hide, to `out`;
  /// remainders are size x (count classes).
  void squared_norms(const double* remainders, std::size_t count, double* out) const;

 private:
  Head head_;
  Matrix rows_;
  Matrix margins_;
  Matrix slopes_;
  Matrix curvatures_;  // for a coupled head, its probabilities
  Matrix gram_;
  std::vector<double> norms_;
  std::vector<ClassId> labels_;
};

}  // namespace unweave
