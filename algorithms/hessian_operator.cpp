// algorithms/hessian_operator.cpp - float32 Hessian products for the iterations of conjugate gradients.
#include <cmath>
#include <numeric>

#include "algorithms/blas.h"
#include "algorithms/objective.h"
#include "algorithms/row_sweep.h"

namespace unweave {
namespace {

std::vector<std::size_t> all_classes(std::size_t classes) {
  std::vector<std::size_t> all(classes);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

FloatMatrix float_zero(std::size_t rows, std::size_t columns) {
  return FloatMatrix::Zero(index_of(rows), index_of(columns));
}

}  // namespace

HessianOperator::HessianOperator(const Objective& objective, const Matrix& weights, std::size_t cache_bytes)
    : objective_(objective), weights_(weights.cast<float>()) {
  const std::size_t entries = objective.rows.count * objective.classes;
  if (objective.head == Head::kLeastSquares || entries > cache_bytes / sizeof(float)) return;
  std::vector<float> values(entries);
  const std::vector<std::size_t> all = all_classes(objective.classes);
  static_cast<void>(
      sweep_rows<float>(objective.rows, 0, [&](const float* block, std::size_t first, std::size_t count, int&) {
        curvature_of_block(block, first, count, all, weights_, values.data() + first * objective_.classes);
      }));
  cache_ = std::move(values);
}

FloatMatrix HessianOperator::columns(std::span<const std::size_t> classes) const {
  FloatMatrix picked(weights_.rows(), index_of(classes.size()));
  for (std::size_t j = 0; j < classes.size(); ++j) picked.col(index_of(j)) = weights_.col(index_of(classes[j]));
  return picked;
}

void HessianOperator::curvature_of_block(const float* block, std::size_t first, std::size_t count,
                                         std::span<const std::size_t> classes, const FloatMatrix& weights,
                                         float* out) const {
  const std::size_t width = classes.size();
  if (objective_.head == Head::kLeastSquares) {
    std::fill_n(out, count * width, 1.0F);
  } else if (!cache_.empty()) {
    const float* row = cache_.data() + first * objective_.classes;
    for (std::size_t i = 0; i < count; ++i, row += objective_.classes)
      for (std::size_t j = 0; j < width; ++j) out[i * width + j] = row[classes[j]];
  } else {
    multiply(block, weights.data(), out, count, objective_.rows.features, width, false);
    Eigen::Map<Eigen::ArrayXf> margins(out, index_of(count * width));
    margins = (-margins.abs()).exp();
    margins /= (1.0F + margins).square();
  }
}

Matrix HessianOperator::apply(const Matrix& direction, std::span<const std::size_t> classes) const {
  const std::size_t features = objective_.rows.features, width = classes.size();
  const FloatMatrix narrow = direction.cast<float>();
  const bool recompute = cache_.empty() && objective_.head == Head::kLogistic;
  const FloatMatrix weights = recompute ? columns(classes) : FloatMatrix();
  const FloatMatrix sum =
      sweep_rows<float>(objective_.rows, float_zero(features, width),
                        [&](const float* block, std::size_t first, std::size_t count, FloatMatrix& part) {
                          std::vector<float> image(count * width), curvature(count * width);
                          multiply(block, narrow.data(), image.data(), count, features, width, false);
                          curvature_of_block(block, first, count, classes, weights, curvature.data());
                          for (std::size_t k = 0; k < image.size(); ++k) image[k] *= curvature[k];
                          multiply_transposed(block, image.data(), part.data(), features, count, width, true);
                        });
  return sum.cast<double>() + objective_.mu * direction;
}

Matrix HessianOperator::diagonal() const {
  const std::size_t features = objective_.rows.features, width = objective_.classes;
  const std::vector<std::size_t> all = all_classes(width);
  const FloatMatrix sum = sweep_rows<float>(
      objective_.rows, float_zero(features, width),
      [&](const float* block, std::size_t first, std::size_t count, FloatMatrix& part) {
        std::vector<float> squares(block, block + count * features), curvature(count * width);
        for (float& x : squares) x *= x;
        curvature_of_block(block, first, count, all, weights_, curvature.data());
        multiply_transposed(squares.data(), curvature.data(), part.data(), features, count, width, true);
      });
  return (sum.cast<double>().array() + objective_.mu).matrix();
}

Vector HessianOperator::mean_curvature() const {
  const std::size_t width = objective_.classes;
  const std::vector<std::size_t> all = all_classes(width);
  const Vector sum =
      sweep_rows<float>(objective_.rows, Vector(Vector::Zero(index_of(width + 1))),
                        [&](const float* block, std::size_t first, std::size_t count, Vector& part) {
                          std::vector<float> curvature(count * width);
                          curvature_of_block(block, first, count, all, weights_, curvature.data());
                          for (std::size_t i = 0; i < count; ++i) {
                            const double square = objective_.rows.norms[first + i] * objective_.rows.norms[first + i];
                            for (std::size_t c = 0; c < width; ++c)
                              part[index_of(c)] += square * static_cast<double>(curvature[i * width + c]);
                            part[index_of(width)] += square;
                          }
                        });
  const double weight = sum[index_of(width)];
  return weight > 0 ? Vector(sum.head(index_of(width)) / weight) : Vector(Vector::Zero(index_of(width)));
}

}  // namespace unweave
