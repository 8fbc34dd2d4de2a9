// tests/support/slow_replay.h - the exact network again, slowly: loops over 64-bit whole numbers,
// one row after another, in the order in which they stand.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/learning/training_set.h"

namespace unweave::testing {

inline std::uint64_t slow_mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9;
  x ^= x >> 27;
  x *= 0x94D049BB133111EB;
  return x ^ x >> 31;
}

inline std::uint64_t slow_key(std::uint64_t k, std::uint64_t use) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
  return slow_mix(slow_mix(k + kGolden) + use * kGolden);
}

/// exp of a number up to 0: x = k ln 2 + r, a series of 13 terms, a power of two.
inline double slow_exp(double x) {
  std::array<double, 14> series{1.0};
  for (int i = 1; i < 14; ++i) series.at(i) = series.at(i - 1) / i;
  if (x < -80) x = -80;
  const double k = std::rint(x * 1.4426950408889634);
  const double r = (x - k * 0.693145751953125) - k * 1.4286068203094172e-06;
  double sum = series[13];
  for (int i = 12; i >= 0; --i) sum = sum * r + series.at(i);
  return std::ldexp(sum, static_cast<int>(k));
}

/// How often numbers were kept within their limits.
struct SlowLimits {
  std::size_t weights = 0, units = 0, back_first = 0, back_above = 0;
};

class SlowReplay {
 public:
  using Table = std::vector<std::vector<std::int64_t>>;

  SlowReplay(std::size_t features, const std::vector<std::size_t>& hidden, std::size_t classes, std::uint64_t key)
      : key_(key) {
    std::vector<std::size_t> widths{features};
    widths.insert(widths.end(), hidden.begin(), hidden.end());
    widths.push_back(classes);
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
      Table w(widths[l] + 1, std::vector<std::int64_t>(widths[l + 1], 0));
      const double deviation = std::sqrt((l == 0 ? 2.0 : 1.0) / static_cast<double>(widths[l]));
      for (std::size_t i = 0; i < widths[l]; ++i)
        for (std::size_t j = 0; j < widths[l + 1]; ++j) {
          const std::uint64_t bits = slow_key(slow_key(key, l), i * widths[l + 1] + j);
          const double uniform = std::ldexp(static_cast<double>(bits >> 11), -53) - 0.5;
          w[i][j] = static_cast<std::int64_t>(std::rint(uniform * std::sqrt(12.0) * deviation * 262144));
        }
      weights.push_back(w);
      mean_.emplace_back(w.size(), std::vector<double>(widths[l + 1], 0.0));
    }
    square_ = mean_;
  }

  /// All steps of a training whose batches go by node.
  void train(const TrainingSet& rows, std::uint64_t steps, double rate, double lambda, std::uint64_t batches = 1) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      std::vector<std::size_t> taken;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint64_t hash = slow_key(slow_key(slow_key(key_, 1ULL << 32), step / batches), rows.nodes()[i]);
        if (batches == 1 || hash % batches == step % batches) taken.push_back(i);
      }
      move(gradient(rows, taken), taken.size(), rate, lambda);
    }
  }

  /// All weights as a model publishes them, in units of 2^-18.
  [[nodiscard]] std::vector<std::int64_t> flat() const {
    std::vector<std::int64_t> out;
    for (const Table& layer : weights)
      for (const auto& row : layer) out.insert(out.end(), row.begin(), row.end());
    return out;
  }

  std::vector<Table> weights;  ///< one table a layer, the bias its last row
  SlowLimits limits;

 private:
  static std::int64_t rounded(std::int64_t x, int bits) {
    return std::llrint(std::ldexp(static_cast<double>(x), -bits));
  }
  static std::int64_t within(std::int64_t x, std::int64_t most, std::size_t& hits) {
    if (x > -most && x < most) return x;
    ++hits;
    return x > 0 ? most : -most;
  }

  std::vector<Table> gradient(const TrainingSet& rows, const std::vector<std::size_t>& taken) {
    std::vector<Table> sums = weights;
    for (Table& layer : sums)
      for (auto& row : layer) row.assign(row.size(), 0);
    for (const std::size_t i : taken) add_row(rows.row(i), rows.labels()[i], sums);
    return sums;
  }

  void add_row(std::span<const float> row, ClassId label, std::vector<Table>& sums) {
    const std::size_t layers = weights.size();
    Table inputs(layers), outputs(layers);
    for (const float x : row) inputs[0].push_back(std::llrint(std::ldexp(static_cast<double>(x), 14)));
    for (std::size_t l = 0; l < layers; ++l) {
      inputs[l].push_back(l == 0 ? 1 << 14 : 1 << 12);
      outputs[l].assign(weights[l][0].size(), 0);
      for (std::size_t j = 0; j < outputs[l].size(); ++j)
        for (std::size_t f = 0; f < inputs[l].size(); ++f) outputs[l][j] += inputs[l][f] * weights[l][f][j];
      if (l + 1 == layers) break;
      for (const std::int64_t a : outputs[l])
        inputs[l + 1].push_back(within(rounded(a > 0 ? a : 0, l == 0 ? 20 : 18), 1 << 20, limits.units));
    }
    std::vector<std::int64_t> back = slopes(outputs[layers - 1], label);
    for (std::size_t l = layers; l-- > 0;) {
      for (std::size_t f = 0; f < inputs[l].size(); ++f)
        for (std::size_t j = 0; j < back.size(); ++j) sums[l][f][j] += inputs[l][f] * back[j];
      if (l == 0) return;
      std::vector<std::int64_t> next(outputs[l - 1].size(), 0);
      for (std::size_t f = 0; f < next.size(); ++f) {
        if (outputs[l - 1][f] <= 0) continue;
        std::int64_t sum = 0;
        for (std::size_t j = 0; j < back.size(); ++j) sum += back[j] * weights[l][f][j];
        next[f] = within(rounded(sum, 18), l == 1 ? 1 << 24 : 1 << 20, l == 1 ? limits.back_first : limits.back_above);
      }
      back = next;
    }
  }

  static std::vector<std::int64_t> slopes(const std::vector<std::int64_t>& margins, ClassId label) {
    std::int64_t largest = margins[0];
    for (const std::int64_t m : margins) largest = m > largest ? m : largest;
    std::vector<double> e;
    for (const std::int64_t m : margins)
      e.push_back(slow_exp(std::ldexp(static_cast<double>(m), -30) - std::ldexp(static_cast<double>(largest), -30)));
    double sum = e[0];
    for (std::size_t c = 1; c < e.size(); ++c) sum = sum + e[c];
    std::vector<std::int64_t> out;
    for (std::size_t c = 0; c < e.size(); ++c) {
      const double p = e[c] / sum;
      out.push_back(std::llrint((c == label ? p - 1 : p) * 1048576));
    }
    return out;
  }

  void move(const std::vector<Table>& sums, std::size_t count, double rate, double lambda) {
    first_ *= 0.9;
    second_ *= 0.999;
    const double n = count == 0 ? 1 : static_cast<double>(count);
    for (std::size_t l = 0; l < weights.size(); ++l)
      for (std::size_t f = 0; f < weights[l].size(); ++f)
        for (std::size_t j = 0; j < weights[l][f].size(); ++j) {
          std::int64_t& w = weights[l][f][j];
          double &m = mean_[l][f][j], &v = square_[l][f][j];
          const double mean = std::ldexp(static_cast<double>(sums[l][f][j]), l == 0 ? -34 : -32) / n;
          const double g = mean + lambda * std::ldexp(static_cast<double>(w), -18);
          m = 0.9 * m + 0.1 * g;
          v = 0.999 * v + 0.001 * (g * g);
          const double step = rate * (m / (1 - first_)) / (std::sqrt(v / (1 - second_)) + 1e-8);
          w = within(std::llrint(static_cast<double>(w) - step * 262144), 1 << 22, limits.weights);
        }
  }

  std::uint64_t key_;
  std::vector<std::vector<std::vector<double>>> mean_, square_;
  double first_ = 1, second_ = 1;
};

}  // namespace unweave::testing
