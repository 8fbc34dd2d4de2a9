// algorithms/learning/hessian_operator.cpp - float32 Hessian products for the iterations of
// conjugate gradients.
#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/learning/objective.h"
#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/row_sweep.h"

namespace unweave {
namespace {

FloatMatrix float_zero(std::size_t rows, std::size_t columns) {
  return FloatMatrix::Zero(index_of(rows), index_of(columns));
}

/// Probabilities of a row become p_c (1 - p_c). The complement of the likeliest class is the sum of
/// the others: a difference would be what float32 left of it.
void to_coupled_curvatures(float* row, std::size_t width) {
  const auto top = static_cast<std::size_t>(std::max_element(row, row + width) - row);
  const float likeliest = row[top];
  row[top] = 0;
  const float others = std::accumulate(row, row + width, 0.0F), sum = likeliest + others;
  for (std::size_t c = 0; c < width; ++c) row[c] *= (sum - row[c]) / sum;
  row[top] = likeliest * (others / sum);
}

}  // namespace

HessianOperator::HessianOperator(const Objective& objective, const Matrix& weights, const Curvatures* curvatures)
    : objective_(objective),
      weights_(weights.cast<float>()),
      curvatures_(curvatures != nullptr && curvatures->values != nullptr ? curvatures : nullptr) {}

FloatMatrix HessianOperator::columns(std::span<const std::size_t> classes) const {
  FloatMatrix picked(weights_.rows(), index_of(classes.size()));
  for (std::size_t j = 0; j < classes.size(); ++j) picked.col(index_of(j)) = weights_.col(index_of(classes[j]));
  return picked;
}

/// Those of row `first` and the ones after it.
const float* HessianOperator::kept_curvatures(std::size_t first) const noexcept {
  return curvatures_->values.get() + (first - objective_.rows.first) * objective_.classes;
}

/// `weights` are the columns of `classes`, read only where no curvatures are kept.
void HessianOperator::scale_by_curvatures(const float* block, std::size_t first, std::size_t count,
                                          std::span<const std::size_t> classes, const FloatMatrix& weights,
                                          float* values) const {
  const std::size_t width = classes.size();
  if (constant_curvature(objective_.head)) return;
  if (curvatures_ == nullptr) {
    float* const curvatures = block_buffer<float, BlockUse::curvatures>(count * width + kSlopeSlack);
    multiply(block, weights.data(), curvatures, count, objective_.rows.features, width, false);
    curvatures_in_place(objective_.head, curvatures, count, width);
    for (std::size_t k = 0; k < count * width; ++k) values[k] *= curvatures[k];
    return;
  }
  const float* row = kept_curvatures(first);
  if (width == objective_.classes) return scale_by(row, values, count * width);
  for (std::size_t i = 0; i < count; ++i, row += objective_.classes)
    for (std::size_t j = 0; j < width; ++j) values[i * width + j] *= row[classes[j]];
}

/// The probabilities of `count` rows in all classes, in a buffer of the calling thread.
const float* HessianOperator::probabilities(const float* block, std::size_t count) const {
  float* const out = block_buffer<float, BlockUse::margins>(count * objective_.classes + kSlopeSlack);
  multiply(block, weights_.data(), out, count, objective_.rows.features, objective_.classes, false);
  curvatures_in_place(objective_.head, out, count, objective_.classes);
  return out;
}

/// values_i = (diag(p_i) - p_i p_i^T) values_i for the rows of a block.
void HessianOperator::couple(const float* block, std::size_t first, std::size_t count, float* values) const {
  const std::size_t width = objective_.classes;
  if (curvatures_ != nullptr)
    center_by(kept_curvatures(first), values, count, width);
  else
    center_by(probabilities(block, count), values, count, width);
}

/// p_ic (1 - p_ic), the diagonal of what couple() multiplies by.
void HessianOperator::coupled_curvatures(const float* block, std::size_t first, std::size_t count, float* out) const {
  const std::size_t width = objective_.classes;
  if (curvatures_ != nullptr)
    std::copy_n(kept_curvatures(first), count * width, out);
  else
    std::copy_n(probabilities(block, count), count * width, out);
  for (std::size_t i = 0; i < count; ++i) to_coupled_curvatures(out + i * width, width);
}

Matrix HessianOperator::apply(const Matrix& direction, std::span<const std::size_t> classes) const {
  const std::size_t features = objective_.rows.features, width = classes.size();
  const FloatMatrix narrow = direction.cast<float>();
  const bool coupled = couples_classes(objective_.head);
  const FloatMatrix weights = curvatures_ == nullptr && !coupled ? columns(classes) : FloatMatrix();
  const FloatMatrix sum =
      sweep_rows<float>(objective_.rows, float_zero(features, width),
                        [&](const float* block, std::size_t first, std::size_t count, FloatMatrix& part) {
                          float* const image = block_buffer<float, BlockUse::product>(count * width + kSlopeSlack);
                          multiply(block, narrow.data(), image, count, features, width, false);
                          if (coupled)
                            couple(block, first, count, image);
                          else
                            scale_by_curvatures(block, first, count, classes, weights, image);
                          multiply_transposed(block, image, part.data(), features, count, width, true);
                        });
  Matrix image = sum.cast<double>();
  // Rows of a coupled image add up to 0; what rounding left there would be divided by mu.
  if (coupled) image.colwise() -= Vector(image.rowwise().mean());
  return image + objective_.mu * direction;
}

Matrix HessianOperator::diagonal() const {
  const std::size_t features = objective_.rows.features, width = objective_.classes;
  std::vector<std::size_t> all(width);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const FloatMatrix sum =
      sweep_rows<float>(objective_.rows, float_zero(features, width),
                        [&](const float* block, std::size_t first, std::size_t count, FloatMatrix& part) {
                          float* const squares = block_buffer<float, BlockUse::squares>(count * features);
                          std::transform(block, block + count * features, squares, [](float x) { return x * x; });
                          float* const curvature = block_buffer<float, BlockUse::product>(count * width + kSlopeSlack);
                          std::fill_n(curvature, count * width, 1.0F);
                          if (couples_classes(objective_.head))
                            coupled_curvatures(block, first, count, curvature);
                          else
                            scale_by_curvatures(block, first, count, all, weights_, curvature);
                          multiply_transposed(squares, curvature, part.data(), features, count, width, true);
                        });
  return (sum.cast<double>().array() + objective_.mu).matrix();
}

void HessianOperator::curvatures(const float* rows, std::size_t count, std::span<const std::size_t> classes,
                                 float* out) const {
  if (couples_classes(objective_.head)) {
    const float* all = probabilities(rows, count);
    std::vector<float> row(objective_.classes);
    for (std::size_t i = 0; i < count; ++i, all += row.size()) {
      std::copy_n(all, row.size(), row.data());
      to_coupled_curvatures(row.data(), row.size());
      for (std::size_t j = 0; j < classes.size(); ++j) out[i * classes.size() + j] = row[classes[j]];
    }
    return;
  }
  multiply(rows, columns(classes).data(), out, count, objective_.rows.features, classes.size(), false);
  curvatures_in_place(objective_.head, out, count, classes.size());
}

}  // namespace unweave
