// tests/support/slow_network.h - the loss of one row under a network, by a loop over scalars in
// extended precision.
#pragma once

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <span>
#include <vector>

#include "algorithms/learning/network.h"
#include "algorithms/numerics/matrix.h"

namespace unweave::testing {

inline long double slow_activation(Activation activation, long double u) {
  if (activation == Activation::kTanh) return std::tanh(u);
  if (activation == Activation::kRelu) return u < 0 ? 0 : u > 256 ? 256 : u;
  const long double b = 0.5L;
  return u < -b ? 0 : u > b ? u : (u + b) * (u + b) / (4 * b);
}

/// Margins of one row by the definition, in extended precision.
inline std::vector<long double> slow_margins(const NetworkShape& shape, const Vector& at, std::span<const float> row) {
  const std::size_t inputs = shape.features / shape.blocks, filter = size_of(at.size()) - shape.blocks;
  std::vector<long double> values(inputs, 0);
  for (std::size_t f = 0; f < shape.features; ++f)
    values[f % inputs] += static_cast<long double>(row[f]) *
                          (shape.blocks > 1 ? static_cast<long double>(at[index_of(filter + f / inputs)]) : 1);
  std::vector<std::size_t> widths = shape.hidden;
  widths.push_back(shape.classes);
  Eigen::Index next = 0;
  for (std::size_t l = 0; l < widths.size(); ++l) {
    if (!shape.hidden.empty()) values.push_back(1);
    std::vector<long double> out(widths[l], 0);
    for (const long double value : values)
      for (long double& sum : out) sum += value * static_cast<long double>(at[next++]);
    if (l + 1 < widths.size())
      for (long double& u : out) u = slow_activation(shape.activation, u);
    values = out;
  }
  REQUIRE(next == (shape.blocks > 1 ? index_of(filter) : at.size()));
  return values;
}

inline long double slow_row_loss(const NetworkShape& shape, const Vector& at, const TrainingSet& set, std::size_t i) {
  const std::vector<long double> m = slow_margins(shape, at, set.row(i));
  long double loss = 0, partition = 0;
  for (std::size_t c = 0; c < m.size(); ++c) {
    const long double y = set.labels()[i] == c ? 1 : -1;
    if (shape.head == Head::kLogistic) loss += std::log(1 + std::exp(-y * m[c]));
    if (shape.head == Head::kLeastSquares) loss += (m[c] - y) * (m[c] - y) / 2;
    partition += std::exp(m[c]);
  }
  return shape.head == Head::kSoftmax ? std::log(partition) - m[set.labels()[i]] : loss;
}

/// Mean loss by the definition, and differences of it.
inline long double slow_mean(const NetworkShape& shape, const Vector& at, const TrainingSet& rows) {
  long double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) sum += slow_row_loss(shape, at, rows, i);
  return sum / static_cast<long double>(rows.size());
}

inline Vector slow_gradient(const NetworkShape& shape, const Vector& at, const TrainingSet& rows) {
  Vector out(at.size());
  for (Eigen::Index j = 0; j < at.size(); ++j) {
    Vector up = at, down = at;
    up[j] += 1e-5;
    down[j] -= 1e-5;
    out[j] = static_cast<double>((slow_mean(shape, up, rows) - slow_mean(shape, down, rows)) / 2e-5L);
  }
  return out;
}

/// Rows and columns [first, first + size) of the Hessian.
inline Eigen::MatrixXd slow_block(const NetworkShape& shape, const Vector& at, const TrainingSet& rows,
                                  Eigen::Index first, Eigen::Index size) {
  const auto loss = [&](Eigen::Index i, double a, Eigen::Index j, double b) {
    Vector moved = at;
    moved[first + i] += a;
    moved[first + j] += b;
    return slow_mean(shape, moved, rows);
  };
  Eigen::MatrixXd out(size, size);
  constexpr double h = 1e-4;
  for (Eigen::Index i = 0; i < size; ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      out(i, j) = out(j, i) = static_cast<double>(
          (loss(i, h, j, h) - loss(i, h, j, -h) - loss(i, -h, j, h) + loss(i, -h, j, -h)) / (4e-8L));
  return out;
}

}  // namespace unweave::testing
