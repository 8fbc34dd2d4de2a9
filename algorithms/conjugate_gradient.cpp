// algorithms/conjugate_gradient.cpp - blocked preconditioned conjugate gradients.
#include "algorithms/conjugate_gradient.h"

#include <vector>

namespace unweave {
namespace {

using ColumnScalars = Eigen::Array<double, 1, Eigen::Dynamic>;

ColumnScalars column_dots(const Matrix& a, const Matrix& b) {
  return a.cwiseProduct(b).colwise().sum().array();
}

Matrix pick_columns(const Matrix& from, std::span<const std::size_t> picked) {
  Matrix out(from.rows(), index_of(picked.size()));
  for (std::size_t j = 0; j < picked.size(); ++j) out.col(index_of(j)) = from.col(index_of(picked[j]));
  return out;
}

}  // namespace

CgResult conjugate_gradient(const ClassOperator& apply, const Preconditioner& preconditioner, const Matrix& right,
                            const Vector& tolerance, int most_passes) {
  CgResult result{Matrix::Zero(right.rows(), right.cols()), 0};
  std::vector<std::size_t> classes;  // of the columns below, unfinished ones only
  for (std::size_t c = 0; c < size_of(right.cols()); ++c)
    if (right.col(index_of(c)).norm() > tolerance[index_of(c)]) classes.push_back(c);
  if (classes.empty()) return result;

  Matrix residual = pick_columns(right, classes);
  Matrix solution = Matrix::Zero(residual.rows(), residual.cols());
  Matrix direction = preconditioner.apply(residual, classes);
  ColumnScalars energy = column_dots(residual, direction);
  while (!classes.empty() && result.passes < most_passes) {
    const Matrix image = apply(direction, classes);
    ++result.passes;
    const ColumnScalars curvature = column_dots(direction, image);
    const ColumnScalars step = (curvature > 0).select(energy / curvature, ColumnScalars::Zero(energy.size()));
    solution.array() += direction.array().rowwise() * step;
    residual.array() -= image.array().rowwise() * step;

    std::vector<std::size_t> kept;
    for (std::size_t j = 0; j < classes.size(); ++j) {
      result.solution.col(index_of(classes[j])) = solution.col(index_of(j));
      const bool stuck = !(step[index_of(j)] > 0);  // no positive curvature left in float32: as good as finished
      if (!stuck && residual.col(index_of(j)).norm() > tolerance[index_of(classes[j])]) kept.push_back(j);
    }
    if (kept.size() < classes.size()) {
      residual = pick_columns(residual, kept);
      solution = pick_columns(solution, kept);
      direction = pick_columns(direction, kept);
      energy = ColumnScalars(pick_columns(Matrix(energy.matrix()), kept).array());
      for (std::size_t j = 0; j < kept.size(); ++j) classes[j] = classes[kept[j]];
      classes.resize(kept.size());
      if (classes.empty()) break;
    }
    const Matrix smoothed = preconditioner.apply(residual, classes);
    const ColumnScalars next = column_dots(residual, smoothed);
    direction.array().rowwise() *= next / energy;
    direction += smoothed;
    energy = next;
  }
  return result;
}

}  // namespace unweave
