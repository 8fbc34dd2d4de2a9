// algorithms/solvers/exact/exact_products.cpp - slices and their products.
#include "algorithms/solvers/exact/exact_products.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/whole_products.h"
#include "algorithms/solvers/exact/pair.h"

namespace unweave {
namespace {

/// Calls use(first feature, width) for every run of features.
template <class Use>
void for_each_run(std::size_t features, const Use& use) {
  for (std::size_t first = 0; first < features; first += kInnerLength)
    use(first, std::min(kInnerLength, features - first));
}

/// 2^(exponent - 20 (s + 1)) for slices s of weights or slopes.
std::vector<double> units_of(int exponent, int levels) {
  std::vector<double> units;
  for (int s = 1; s <= levels; ++s) units.push_back(std::ldexp(1.0, exponent - kWeightBits * s));
  return units;
}

/// Adds a product, rows x (levels classes), to pairs, rows x classes.
void accumulate_product(const double* product, std::size_t rows, std::size_t classes, const std::vector<double>& units,
                        double* high, double* low) {
  for (std::size_t i = 0; i < rows; ++i, high += classes, low += classes)
    for (const double unit : units) {
      for (std::size_t c = 0; c < classes; ++c) accumulate(high[c], low[c], unit * product[c]);
      product += classes;
    }
}

}  // namespace

int exponent_above(double largest, int least) {
  if (!(largest > 0)) return least;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::max(exponent, -100);
}

void slice_rows(const float* rows, std::size_t count, std::size_t features, int exponent, RowSlices& out) {
  const double up1 = std::ldexp(1.0, kRowBits - exponent), down1 = std::ldexp(1.0, exponent - kRowBits);
  const double up2 = std::ldexp(1.0, 2 * kRowBits - exponent), down2 = std::ldexp(1.0, exponent - 2 * kRowBits);
  double left = 0;
  for_each_run(features, [&](std::size_t first, std::size_t width) {
    for (std::size_t i = 0; i < count; ++i) {
      const float* const row = rows + i * features + first;
      const std::size_t at = count * first + i * width;
      for (std::size_t j = 0; j < width; ++j) {
        const double z = static_cast<double>(row[j]);
        const double one = whole_of(z * up1), below = z - one * down1, two = whole_of(below * up2);
        const double rest = below - two * down2;
        out.whole[at + j] = z;
        out.first[at + j] = one;
        out.second[at + j] = two;
        out.rest[at + j] = rest;
        left = std::max(left, std::abs(rest));
      }
    }
  });
  out.has_rest = left > 0;
}

SlicedWeights slice_weights(const Matrix& weights, int levels) {
  constexpr int kOfZeros = -60;  // any will do
  SlicedWeights out;
  const Eigen::Index classes = weights.cols();
  out.levels = levels;
  out.exponent = exponent_above(weights.size() == 0 ? 0 : weights.cwiseAbs().maxCoeff(), kOfZeros);
  // With more than 53 bits a weight is the sum of its slices itself, hence no trick instead of
  // rint.
  out.value = weights.unaryExpr([&](double w) {
    return std::ldexp(std::rint(std::ldexp(w, kWeightBits * levels - out.exponent)),
                      out.exponent - kWeightBits * levels);
  });
  out.slices.resize(weights.rows(), levels * classes);
  Matrix rest = out.value;
  for (int s = 1; s <= levels; ++s) {
    const double up = std::ldexp(1.0, kWeightBits * s - out.exponent);
    auto slice = out.slices.middleCols((s - 1) * classes, classes);
    slice = (rest * up).unaryExpr([](double x) { return whole_of(x); });
    rest -= slice / up;
  }
  return out;
}

void slice_slopes(const double* high, const double* low, std::size_t count, std::size_t classes, int exponent,
                  int levels, double* slices, double* rest) {
  for (std::size_t i = 0; i < count; ++i, high += classes, low += classes, rest += classes) {
    std::copy_n(high, classes, rest);
    for (int s = 1; s <= levels; ++s, slices += classes) {
      const double up = std::ldexp(1.0, kWeightBits * s - exponent), down = std::ldexp(1.0, exponent - kWeightBits * s);
      for (std::size_t c = 0; c < classes; ++c) {
        slices[c] = whole_of(rest[c] * up);
        rest[c] -= slices[c] * down;
      }
    }
    for (std::size_t c = 0; c < classes; ++c) rest[c] += low[c];
  }
}

void add_margins(const double* part, std::size_t count, std::size_t features, const double* slices, std::size_t classes,
                 int levels, int exponent, double* product, double* high, double* low) {
  const std::vector<double> units = units_of(exponent, levels);
  const std::size_t width = units.size() * classes;
  for_each_run(features, [&](std::size_t first, std::size_t length) {
    multiply(part + count * first, slices + first * width, product, count, length, width, false);
    accumulate_product(product, count, classes, units, high, low);
  });
}

void add_gradients(const double* part, std::size_t count, std::size_t features, const double* slices,
                   std::size_t classes, int levels, int exponent, double* product, double* high, double* low) {
  const std::vector<double> units = units_of(exponent, levels);
  for_each_run(features, [&](std::size_t first, std::size_t length) {
    multiply_transposed(part + count * first, slices, product, length, count, units.size() * classes, false);
    accumulate_product(product, length, classes, units, high + first * classes, low + first * classes);
  });
}

void add_product(const double* part, std::size_t count, std::size_t features, const double* b, std::size_t columns,
                 double* out) {
  for_each_run(features, [&](std::size_t first, std::size_t length) {
    multiply(part + count * first, b + first * columns, out, count, length, columns, true);
  });
}

void add_transposed_product(const double* part, std::size_t count, std::size_t features, const double* b,
                            std::size_t columns, double* product, double* out) {
  // Through a temporary, so that the summation tree is the one whose depth is charged whatever the
  // BLAS does.
  for_each_run(features, [&](std::size_t first, std::size_t length) {
    multiply_transposed(part + count * first, b, product, length, count, columns, false);
    for (std::size_t k = 0; k < length * columns; ++k) out[first * columns + k] += product[k];
  });
}

}  // namespace unweave
