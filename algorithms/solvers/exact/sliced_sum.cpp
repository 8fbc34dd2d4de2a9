// algorithms/solvers/exact/sliced_sum.cpp - adds blocks, and bounds what is not exact of them.
#include "algorithms/solvers/exact/sliced_sum.h"

#include <algorithm>
#include <cmath>

#include "algorithms/numerics/row_sweep.h"
#include "algorithms/solvers/exact/pair.h"

namespace unweave {
namespace {

std::size_t product_numbers(std::size_t count, std::size_t features, std::size_t columns, int levels) {
  return std::max(count, std::min(features, kInnerLength)) * columns * static_cast<std::size_t>(levels);
}

}  // namespace

void RowSums::add(const double* values, double factor, Vector& sum) const {
  if (coupled_) {
    double squares = 0;
    for (std::size_t c = 0; c < columns_; ++c) squares += values[c] * values[c];
    sum[0] += factor * std::sqrt(squares);
    return;
  }
  double* const out = sum.data();
  for (std::size_t c = 0; c < columns_; ++c) out[c] += factor * std::abs(values[c]);
}

SlicedSum& SlicedSum::operator+=(const SlicedSum& other) {
  for (Eigen::Index k = 0; k < high.size(); ++k) {
    // By two steps: a sum of two pairs would not be exact.
    accumulate(high.data()[k], low.data()[k], other.high.data()[k]);
    accumulate(high.data()[k], low.data()[k], other.low.data()[k]);
  }
  tail += other.tail;
  absolute += other.absolute;
  below += other.below;
  rest += other.rest;
  return *this;
}

SlicedSum SlicedSummation::zero() const {
  const Matrix zero = Matrix::Zero(index_of(rows_.features), index_of(columns_));
  const Vector none = Vector::Zero(index_of(sums_.systems()));
  return {zero, zero, zero, none, none, none};
}

std::size_t SlicedSummation::scratch(std::size_t count, std::size_t features, std::size_t columns, int levels) {
  return count * columns * (static_cast<std::size_t>(levels) + 2) + product_numbers(count, features, columns, levels);
}

void SlicedSummation::add(const RowSlices& z, std::size_t first, std::size_t count, const double* high,
                          const double* low, double* scratch, SlicedSum& part) const {
  const std::size_t features = rows_.features, entries = count * columns_;
  double *const below = scratch, *const held = below + entries, *const slices = held + entries;
  double* const product = slices + entries * static_cast<std::size_t>(levels_);
  slice_slopes(high, low, count, columns_, exponent_, levels_, slices, below);
  for (std::size_t i = 0; i < count; ++i) {
    const double norm = rows_.norms[first + i];
    sums_.add(high + i * columns_, norm, part.absolute);
    sums_.add(below + i * columns_, norm, part.below);
    if (z.has_rest) sums_.add(high + i * columns_, rest_norm(z, i, count, features), part.rest);
  }
  add_gradients(z.first, count, features, slices, columns_, levels_, row_exponent_ - kRowBits + exponent_, product,
                part.high.data(), part.low.data());
  add_gradients(z.second, count, features, slices, columns_, levels_, row_exponent_ - 2 * kRowBits + exponent_, product,
                part.high.data(), part.low.data());
  add_transposed_product(z.whole, count, features, below, columns_, product, part.tail.data());
  if (!z.has_rest) return;
  // Times the slices of r: the row times what lies below them is there.
  for (std::size_t k = 0; k < entries; ++k) held[k] = high[k] - below[k];
  add_transposed_product(z.rest, count, features, held, columns_, product, part.tail.data());
}

Vector SlicedSummation::error(const SlicedSum& total) const {
  const RowCut cut = cut_rows(rows_.count, rows_.features);
  const double lanes = static_cast<double>(cut.lanes);
  const double blocks =
      std::ceil(static_cast<double>(cut.lane_rows) / std::max(1.0, static_cast<double>(cut.block_rows)));
  const double depth = static_cast<double>(cut.block_rows) + 2 * blocks + lanes + 4;  // two products a block
  const double bits = 2 * kRowBits + kWeightBits * levels_ + std::log2(std::max(1.0, static_cast<double>(rows_.count)));
  const double sum_error = bits <= kExactBits ? 0 : 10 * kUnitSquare * (2 * levels_ * blocks + 2 * lanes);
  return rounding_gamma(depth) * (total.below + total.rest) + kUnitRoundoff * (total.below + 3 * total.rest) +
         (sum_error + 0x1p-102) * total.absolute;
}

double rest_norm(const RowSlices& z, std::size_t row, std::size_t count, std::size_t features) {
  if (!z.has_rest) return 0;
  double squares = 0;
  for (std::size_t first = 0; first < features; first += kInnerLength) {
    const std::size_t width = std::min(kInnerLength, features - first);
    const double* const rest = z.rest + count * first + row * width;
    for (std::size_t j = 0; j < width; ++j) squares += rest[j] * rest[j];
  }
  return kBoundSlack * std::sqrt(squares) + 1e-300;
}

}  // namespace unweave
