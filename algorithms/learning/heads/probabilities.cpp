// algorithms/learning/heads/probabilities.cpp - computes softmax without overflow, its logarithm
// and its curvatures.
#include "algorithms/learning/heads/probabilities.h"

#include <algorithm>
#include <cmath>

namespace unweave {

void softmax_in_place(double* margins, std::size_t classes) noexcept {
  const double largest = *std::max_element(margins, margins + classes);
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += margins[c] = std::exp(margins[c] - largest);
  for (std::size_t c = 0; c < classes; ++c) margins[c] /= sum;
}

void log_softmax_in_place(double* margins, std::size_t classes) noexcept {
  const double largest = *std::max_element(margins, margins + classes);
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += std::exp(margins[c] - largest);
  for (std::size_t c = 0; c < classes; ++c) margins[c] -= largest + std::log(sum);
}

void add_probability_curvatures(const float* slopes, std::size_t classes, double weight, double* sum) noexcept {
  for (std::size_t c = 0; c < classes; ++c)
    sum[c] += weight * static_cast<double>(std::abs(slopes[c]) - slopes[c] * slopes[c]);
}

}  // namespace unweave
