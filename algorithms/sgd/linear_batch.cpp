// algorithms/sgd/linear_batch.cpp - margins, slopes and curvatures of a batch.
#include "algorithms/sgd/linear_batch.h"

#include <algorithm>
#include <cmath>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/row_sweep.h"

namespace unweave {

LinearBatch::LinearBatch(const SgdRun& run, const SgdBatch& batch, const Vector& weights)
    : head_(run.network.shape().head) {
  const std::size_t count = batch.rows.size(), features = run.rows.features(), classes = run.rows.classes();
  rows_.resize(index_of(count), index_of(features));
  const Rows all = run.rows.rows();
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const float> row = run.rows.row(batch.rows[i]);
    std::copy(row.begin(), row.end(), rows_.row(index_of(i)).data());
    norms_.push_back(all.norms[batch.rows[i]]);
    labels_.push_back(all.labels[batch.rows[i]]);
  }
  margins_.resize(index_of(count), index_of(classes));
  if (count == 0) return;
  multiply(rows_.data(), weights.data(), margins_.data(), count, features, classes, false);
  slopes_ = curvatures_ = margins_;
  gram_.noalias() = rows_ * rows_.transpose();
  curvatures_in_place(head_, curvatures_.data(), count, classes);
  for (std::size_t i = 0; i < count; ++i) slopes_in_place(head_, slopes_.row(index_of(i)).data(), classes, labels_[i]);
}

double LinearBatch::curvature(std::size_t i, std::size_t c) const noexcept {
  return curvatures_(index_of(i), index_of(c));
}

void LinearBatch::bend(std::size_t i, double* image) const {
  multiply_by_curvatures(head_, curvatures_.row(index_of(i)).data(), image, 1, classes());
}

void LinearBatch::remainder(std::size_t i, const double* image, const double* bent, double* out) const {
  const double* const margins = margins_.row(index_of(i)).data();
  const double* const slopes = slopes_.row(index_of(i)).data();
  for (std::size_t c = 0; c < classes(); ++c) out[c] = margins[c] + image[c];
  slopes_in_place(head_, out, classes(), labels_[i]);
  for (std::size_t c = 0; c < classes(); ++c) out[c] -= slopes[c] + bent[c];
}

void LinearBatch::squared_norms(const double* remainders, std::size_t count, double* out) const {
  const std::size_t width = count * classes();
  double* const images = block_buffer<double, BlockUse::product>(size() * width);
  multiply(gram_.data(), remainders, images, size(), size(), width, false);
  const double gamma = rounding_gamma(2 * static_cast<double>(size() + rows_.cols()) + 8);
  for (std::size_t k = 0; k < count; ++k) {
    double square = 0, sum = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      double own = 0;
      for (std::size_t at = i * width + k * classes(); at < i * width + (k + 1) * classes(); ++at) {
        square += remainders[at] * images[at];
        own += remainders[at] * remainders[at];
      }
      sum += norms_[i] * std::sqrt(own);
    }
    out[k] += std::max(0.0, square) + gamma * sum * sum;
  }
}

}  // namespace unweave
