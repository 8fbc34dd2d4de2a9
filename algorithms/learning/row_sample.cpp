// algorithms/learning/row_sample.cpp - sums the Gram matrix of a sample of rows.
#include "algorithms/learning/row_sample.h"

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/matrix.h"

namespace unweave {

Eigen::MatrixXd gram_of(const RowSample& sample) {
  const std::size_t features = sample.features();
  const FloatMatrix zero = FloatMatrix::Zero(index_of(features), index_of(features));
  const FloatMatrix gram =
      sample.sweep(zero, [&](const float* block, std::size_t, std::size_t count, FloatMatrix& part) {
        add_gram(block, part.data(), count, features);
      });
  return sample.spread() * gram.cast<double>();
}

}  // namespace unweave
