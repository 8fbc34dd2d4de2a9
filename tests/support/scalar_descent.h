// tests/support/scalar_descent.h - gradient descent on one number, where the bounds of unlearning
// are met with equality.
//
// Sample i has the gradient c theta + a_i. With a_i = +G for rows that disappear and -G for the
// rest, every replaced slot moves the gradient by 2 G the same way, and every step stretches
// distances by exactly 1 - eta c: strongly convex with L = mu = c > 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace unweave::testing {

struct ScalarData {
  double curvature = 0;
  std::vector<double> before;  ///< a_i of the n rows of D; the first `removed` of them disappear
  std::vector<double> after;   ///< a_i of the rows that remain, in order, as D' has them
  std::size_t removed = 0;
};

/// n rows of which m disappear and `moved` more change their gradient by `change`.
inline ScalarData scalar_data(double curvature, std::size_t n, std::size_t m, double gradient, std::size_t moved = 0,
                              double change = 0) {
  ScalarData data{curvature, std::vector<double>(n, -gradient), std::vector<double>(n - m, -gradient), m};
  for (std::size_t i = 0; i < m; ++i) data.before[i] = gradient;
  for (std::size_t i = m; i < m + moved; ++i) data.before[i] += change;
  return data;
}

/// One batch of D, and the batch of D' that is coupled with it: rows that remain stay, others are
/// drawn anew.
struct CoupledMeans {
  double before = 0;
  double after = 0;
};

inline CoupledMeans draw_coupled(const ScalarData& data, std::size_t batch, std::mt19937_64& random) {
  std::uniform_int_distribution<std::size_t> any(0, data.before.size() - 1), kept(0, data.after.size() - 1);
  CoupledMeans mean;
  for (std::size_t slot = 0; slot < batch; ++slot) {
    const std::size_t i = any(random);
    mean.before += data.before[i] / static_cast<double>(batch);
    mean.after += data.after[i < data.removed ? kept(random) : i - data.removed] / static_cast<double>(batch);
  }
  return mean;
}

/// Exact gradients of all rows.
inline CoupledMeans full_means(const ScalarData& data) {
  CoupledMeans mean;
  for (const double a : data.before) mean.before += a / static_cast<double>(data.before.size());
  for (const double a : data.after) mean.after += a / static_cast<double>(data.after.size());
  return mean;
}

/// |unlearnt - retrained| of one run; batch 0 means exact gradients. `descend`: unlearning goes on
/// from theta_T, its learning steps K + 1 .. T coupled with retraining's 1 .. T - K, else from
/// theta_(T-K). Start at `start`.
inline double scalar_distance(const ScalarData& data, double size, std::size_t batch, std::size_t steps,
                              std::size_t unlearning_steps, bool descend, double start, std::mt19937_64& random) {
  const auto draw = [&] { return batch == 0 ? full_means(data) : draw_coupled(data, batch, random); };
  double learnt = start, retrained = start;
  const auto move = [&](double& theta, double offset) { theta -= size * (data.curvature * theta + offset); };
  if (descend)
    for (std::size_t t = 0; t < unlearning_steps; ++t) move(learnt, draw().before);
  for (std::size_t t = unlearning_steps; t < steps; ++t) {
    const CoupledMeans mean = draw();
    move(learnt, mean.before);
    move(retrained, mean.after);
  }
  for (std::size_t t = 0; t < unlearning_steps; ++t) {
    const double offset = draw().after;
    move(learnt, offset);
    move(retrained, offset);
  }
  return std::abs(learnt - retrained);
}

/// `trials` such distances, in ascending order.
inline std::vector<double> scalar_distances(const ScalarData& data, double size, std::size_t batch, std::size_t steps,
                                            std::size_t unlearning_steps, bool descend, double start,
                                            std::size_t trials) {
  std::mt19937_64 random(1000 * steps + unlearning_steps);
  std::vector<double> distances(trials);
  for (double& d : distances) d = scalar_distance(data, size, batch, steps, unlearning_steps, descend, start, random);
  std::sort(distances.begin(), distances.end());
  return distances;
}

/// Mean of samples, and five standard errors of it.
struct SampleMean {
  double value = 0;
  double margin = 0;
};

inline SampleMean mean_of(const std::vector<double>& samples) {
  const double count = static_cast<double>(samples.size());
  double sum = 0, squares = 0;
  for (const double x : samples) sum += x;
  for (const double x : samples) squares += (x - sum / count) * (x - sum / count);
  return {sum / count, 5 * std::sqrt(squares) / count + 1e-12 * sum / count};
}

}  // namespace unweave::testing
