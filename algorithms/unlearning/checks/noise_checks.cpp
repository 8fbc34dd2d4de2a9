// algorithms/unlearning/checks/noise_checks.cpp - published weights against the grid and the spread
// of their noise.
//
// Where the noise puts published weights. With W~ the finished iterate, k = round(W~ / g) and X
// discrete Gaussian noise of variance S in grid steps, P = g (k + X), so that for any other
// near-minimiser V of the same objective
//
//   P - V = g X + b,   |b| <= |W~ - W*| + |V - W*| + |g k - W~| <= (r + r_V) / mu + g sqrt(N) / 2,
//
// r and r_V bounds of the two gradients (Lemma 1 of THEOREMS.md; r is the certificate's), N the
// coordinates. Poisson summation gives X_j^2 / S the moment generating function (1 - 2 s)^(-1/2) of
// chi-square with one degree of freedom, up to a factor below 1 + 1e-60 as long as the tilted
// variance S / (1 - 2 s) is far above 1; S >= 2^40. Chernoff's bound needs nothing else: for Q =
// |X|^2 / S and x on its side of 1, with s = (1 - 1/x) / 2,
//
//   P[Q >= x N], P[Q <= x N] <= exp(-(N / 2) (x - 1 - ln x)).
//
// With the exponent 21.5 on each side a true release falls outside with probability 2 e^-21.5 <
// 1e-9, for any N. (The better known N + 2 sqrt(N t) + 2 t of Laurent and Massart follows from it;
// its lower side says nothing for N < 4 t.) The tilted variance is S x, at least 2^40 e^-22.5 > 100
// for N >= 2. For N = 1 the factor from below would not hold, and is not used: x < 1e-19 puts it
// below the half grid step that is taken off.
#include "algorithms/unlearning/checks/noise_checks.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kExponent = 21.5;  // a false alarm on one side has probability e^-21.5

}  // namespace

NoiseFactors noise_factors(double coordinates) {
  const double wanted = 2 * kExponent / coordinates;
  // x - 1 - ln x exceeds `wanted` at `out` and falls to 0 at `in`; the answer errs outwards.
  const auto solve = [&](double out, double in) {
    for (int i = 0; i < 200; ++i) {
      const double middle = (out + in) / 2;
      (middle - 1 - std::log(middle) > wanted ? out : in) = middle;
    }
    return out;
  };
  return {solve(std::exp(-wanted - 1), 1), solve(2 + 2 * wanted, 1)};
}

void check_grid(const Matrix& published, const OutputNoise& noise, Statements& say) {
  const Matrix steps = published / noise.grid;  // exact: the grid is a power of two
  for (Eigen::Index i = 0; i < steps.size(); ++i)
    if (std::nearbyint(steps.data()[i]) != steps.data()[i])
      return say.wrong("published weight " + std::to_string(i) + " is " + text_of_json(Json(published.data()[i])) +
                       ", off the grid of " + text_of_json(Json(noise.grid)));
}

void check_spread(const Matrix& published, const Matrix& centre, const std::string& centre_name,
                  const OutputNoise& noise, double shift, Statements& say) {
  const double distance = (published - centre).norm();
  const auto coordinates = static_cast<double>(published.size());
  const NoiseFactors factors = noise_factors(coordinates);
  // The last term covers float64 here and in the publication of grid integers above 2^53.
  shift += noise.grid * std::sqrt(coordinates) / 2 + 0x1p-49 * (published.norm() + centre.norm());
  const double spread = noise.sigma * std::sqrt(coordinates);
  const double least = spread * std::sqrt(factors.low) - shift, most = spread * std::sqrt(factors.high) + shift;
  if (distance >= least && distance <= most) return;
  say.wrong("the published weights stand " + text_of_json(Json(distance)) + " from " + centre_name +
            " on the present rows; noise of sigma " + text_of_json(Json(noise.sigma)) + " on " +
            std::to_string(published.size()) + " weights puts them between " +
            text_of_json(Json(std::max(0.0, least))) + " and " + text_of_json(Json(most)));
}

double norm_outside_span(const TrainingSet& rows, Matrix weights) {
  constexpr int kRounds = 60;
  const Rows& all = rows.rows();
  const Eigen::Map<const FloatMatrix> z(all.values, index_of(all.count), index_of(all.features));
  for (Eigen::Index c = 0; c < weights.cols(); ++c) {
    Vector rest = weights.col(c);
    Eigen::VectorXf image = z * rest.cast<float>(), direction = image;
    double size = image.squaredNorm();
    for (int round = 0; round < kRounds && size > 0; ++round) {
      const Vector step = (z.transpose() * direction).cast<double>();
      const double length = size / step.squaredNorm();
      if (!std::isfinite(length)) break;
      const Vector next = rest - length * step;
      if (!(next.norm() < rest.norm())) break;
      rest = next;
      image = z * rest.cast<float>();
      const double smaller = image.squaredNorm();
      direction = image + static_cast<float>(smaller / size) * direction;
      size = smaller;
    }
    weights.col(c) = rest;
  }
  return weights.norm();
}

std::size_t most_directions(const TrainingSet& rows) {
  std::vector<bool> seen(rows.features());
  const Rows& all = rows.rows();
  for (std::size_t i = 0; i < all.count * all.features; ++i)
    if (all.values[i] != 0) seen[i % all.features] = true;
  return std::min<std::size_t>(all.count, static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true)));
}

}  // namespace unweave
