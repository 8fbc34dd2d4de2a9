// tests/support/exact_reference.h - the pinned small problems of correctly rounded training, and
// their minimisers in 80 decimal digits by code that shares nothing with the project's but the
// data.
#pragma once

#include <algorithm>
#include <boost/multiprecision/cpp_dec_float.hpp>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/learning/objective.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/solvers/exact/exact_slopes.h"

namespace unweave::testing {

using Decimal = boost::multiprecision::number<boost::multiprecision::cpp_dec_float<80>, boost::multiprecision::et_off>;
/// A number for every feature of every class.
using DecimalColumns = std::vector<std::vector<Decimal>>;

/// The heads that correctly rounded training takes.
inline std::vector<Head> exact_heads() {
  std::vector<Head> heads;
  std::copy_if(kHeads.begin(), kHeads.end(), std::back_inserter(heads), has_exact_slopes);
  return heads;
}

class SplitMix {
 public:
  explicit SplitMix(std::uint64_t state) : state_(state) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t x = (state_ ^ (state_ >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t state_;
};

/// 40 rows of 8 features without clipping, node i for row i, whose entries reach over fourteen
/// binary orders: z = (top 24 bits of x - 2^23) 2^-(25 + s), s = 2 (x mod 16) where x has bit 4,
/// else 0; after a row's features its label, the next x mod `used`. `without` names rows that are
/// left out.
inline TrainingSet tiny_rows(std::uint64_t seed, std::size_t classes = 3, const std::vector<std::size_t>& without = {},
                             std::uint64_t used = 3) {
  constexpr std::size_t kRows = 40, kFeatures = 8;
  SplitMix draw(seed);
  TrainingSet set(kFeatures, classes, RowForm(std::numeric_limits<double>::infinity()));
  for (std::size_t i = 0; i < kRows; ++i) {
    std::vector<float> row;
    for (std::size_t j = 0; j < kFeatures; ++j) {
      const std::uint64_t x = draw.next();
      const int shift = 25 + ((x & 16) != 0 ? 2 * static_cast<int>(x % 16) : 0);
      row.push_back(static_cast<float>(std::ldexp(static_cast<double>(x >> 40) - 0x1p23, -shift)));
    }
    const auto label = static_cast<ClassId>(draw.next() % used);
    if (std::find(without.begin(), without.end(), i) == without.end()) set.append(static_cast<NodeId>(i), row, label);
  }
  return set;
}

inline DecimalColumns as_decimals(const Matrix& weights) {
  DecimalColumns out(size_of(weights.cols()));
  for (Eigen::Index c = 0; c < weights.cols(); ++c)
    for (Eigen::Index j = 0; j < weights.rows(); ++j) out[size_of(c)].emplace_back(weights(j, c));
  return out;
}

/// Slopes of one row from its margins, and the curvatures by them: diagonal, or probabilities.
struct DecimalRow {
  std::vector<Decimal> slopes, curvatures;
};
inline DecimalRow decimal_row(Head head, const std::vector<Decimal>& margins, std::size_t label) {
  const std::size_t classes = margins.size();
  DecimalRow out{std::vector<Decimal>(classes), std::vector<Decimal>(classes, Decimal(1))};
  if (head == Head::kSoftmax) {
    const Decimal most = *std::max_element(margins.begin(), margins.end());
    Decimal sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += out.curvatures[c] = exp(Decimal(margins[c] - most));
    for (std::size_t c = 0; c < classes; ++c) {
      out.curvatures[c] /= sum;
      out.slopes[c] = out.curvatures[c] - (c == label ? 1 : 0);
    }
    return out;
  }
  for (std::size_t c = 0; c < classes; ++c) {
    const Decimal target = c == label ? 1 : -1;
    if (head == Head::kLeastSquares) {
      out.slopes[c] = margins[c] - target;
      continue;
    }
    const Decimal wrong = 1 / (1 + exp(Decimal(target * margins[c])));
    out.slopes[c] = -target * wrong;
    out.curvatures[c] = wrong * (1 - wrong);
  }
  return out;
}

inline std::vector<Decimal> decimal_margins(const Rows& rows, std::size_t i, const DecimalColumns& weights) {
  std::vector<Decimal> margins;
  for (const auto& column : weights) {
    Decimal sum = 0;
    for (std::size_t j = 0; j < rows.features; ++j) sum += Decimal(rows.values[i * rows.features + j]) * column[j];
    margins.push_back(sum);
  }
  return margins;
}

inline DecimalColumns decimal_gradient(const Objective& objective, const DecimalColumns& weights) {
  const Rows& rows = objective.rows;
  DecimalColumns out = weights;
  for (auto& column : out)
    for (Decimal& x : column) x *= Decimal(objective.mu);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const DecimalRow row = decimal_row(objective.head, decimal_margins(rows, i, weights), rows.labels[i]);
    for (std::size_t c = 0; c < out.size(); ++c)
      for (std::size_t j = 0; j < rows.features; ++j)
        out[c][j] += Decimal(rows.values[i * rows.features + j]) * row.slopes[c];
  }
  return out;
}

/// Solves a x = b for a positive definite a, which is overwritten.
inline std::vector<Decimal> solve_decimals(DecimalColumns a, std::vector<Decimal> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = i + 1; k < n; ++k) {
      const Decimal factor = a[k][i] / a[i][i];
      if (factor == 0) continue;
      for (std::size_t j = i; j < n; ++j) a[k][j] -= factor * a[i][j];
      b[k] -= factor * b[i];
    }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

/// Hessian over all classes, class c's feature j at c F + j.
inline DecimalColumns decimal_hessian(const Objective& objective, const DecimalColumns& weights) {
  const Rows& rows = objective.rows;
  const std::size_t features = rows.features, classes = weights.size(), size = features * classes;
  DecimalColumns out(size, std::vector<Decimal>(size));
  for (std::size_t k = 0; k < size; ++k) out[k][k] = Decimal(objective.mu);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const DecimalRow row = decimal_row(objective.head, decimal_margins(rows, i, weights), rows.labels[i]);
    for (std::size_t c = 0; c < classes; ++c)
      for (std::size_t d = 0; d < classes; ++d) {
        Decimal factor = c == d ? row.curvatures[c] : Decimal(0);
        if (objective.head == Head::kSoftmax) factor -= row.curvatures[c] * row.curvatures[d];
        if (factor == 0) continue;
        for (std::size_t j = 0; j < features; ++j)
          for (std::size_t l = 0; l < features; ++l)
            out[c * features + j][d * features + l] +=
                factor * Decimal(rows.values[i * features + j]) * Decimal(rows.values[i * features + l]);
      }
  }
  return out;
}

/// W* to more than 55 digits by Newton's method, from a start that is near.
inline DecimalColumns decimal_minimiser(const Objective& objective, const Matrix& start) {
  DecimalColumns weights = as_decimals(start);
  for (int step = 0; step < 30; ++step) {
    const DecimalColumns gradient = decimal_gradient(objective, weights);
    Decimal largest = 0;
    std::vector<Decimal> right;
    for (const auto& column : gradient)
      for (const Decimal& x : column) {
        right.push_back(-x);
        largest = std::max(largest, Decimal(abs(x)));
      }
    if (largest < Decimal("1e-62")) break;
    const std::vector<Decimal> way = solve_decimals(decimal_hessian(objective, weights), right);
    for (std::size_t k = 0; k < way.size(); ++k)
      weights[k / objective.rows.features][k % objective.rows.features] += way[k];
  }
  return weights;
}

/// Numbers of grid steps, rounded to nearest.
inline Matrix rounded_steps(const DecimalColumns& weights, int bits) {
  Matrix out(index_of(weights.front().size()), index_of(weights.size()));
  for (std::size_t c = 0; c < weights.size(); ++c)
    for (std::size_t j = 0; j < weights[c].size(); ++j)
      out(index_of(j), index_of(c)) = static_cast<double>(round(ldexp(weights[c][j], bits)));
  return out;
}

/// |a - b| of the columns, one number a system: over all columns together where `joint`.
inline std::vector<Decimal> column_distances(const DecimalColumns& a, const DecimalColumns& b, bool joint) {
  std::vector<Decimal> out;
  for (std::size_t c = 0; c < a.size(); ++c) {
    if (c == 0 || !joint) out.emplace_back(0);
    for (std::size_t j = 0; j < a[c].size(); ++j) out.back() += (a[c][j] - b[c][j]) * (a[c][j] - b[c][j]);
  }
  for (Decimal& x : out) x = sqrt(x);
  return out;
}

}  // namespace unweave::testing
