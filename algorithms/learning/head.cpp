// algorithms/learning/head.cpp - names and constants of the losses.
#include "algorithms/learning/head.h"

#include <limits>
#include <string>

#include "storage/io/error.h"

namespace unweave {

Head parse_head(std::string_view name) {
  if (name == "logistic") return Head::kLogistic;
  if (name == "least-squares") return Head::kLeastSquares;
  if (name == "softmax") return Head::kSoftmax;
  throw UsageError("unknown head \"" + std::string(name) + "\"; use logistic, least-squares or softmax");
}

std::string_view name_of(Head head) noexcept {
  switch (head) {
    case Head::kLeastSquares:
      return "least-squares";
    case Head::kSoftmax:
      return "softmax";
    case Head::kLogistic:
      break;
  }
  return "logistic";
}

Smoothness smoothness(Head head) noexcept {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (head == Head::kLeastSquares) return {kNone, 1, 0, 0};
  // diag(p) - p p^T: by Gershgorin at most 2 max p (1 - p).
  if (head == Head::kSoftmax) return {1, 0.5, kNone, kNone};
  return {1, 0.25, 0.25, 1 / (6 * std::sqrt(3.0))};
}

double strong_convexity(double lambda, std::size_t rows) noexcept {
  return lambda * static_cast<double>(std::max<std::size_t>(1, rows));
}

double row_loss(Head head, const double* margins, std::size_t classes, std::size_t label) noexcept {
  double sum = 0;
  if (couples_classes(head)) {
    const double largest = *std::max_element(margins, margins + classes);
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(margins[c] - largest);
    return std::log(sum) + (largest - margins[label]);
  }
  for (std::size_t c = 0; c < classes; ++c) {
    const double target = c == label ? 1 : -1, off = margins[c] - target;
    sum += head == Head::kLogistic ? logistic_loss(margins[c], target) : off * off / 2;
  }
  return sum;
}

void softmax_in_place(double* margins, std::size_t classes) noexcept {
  const double largest = *std::max_element(margins, margins + classes);
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += margins[c] = std::exp(margins[c] - largest);
  for (std::size_t c = 0; c < classes; ++c) margins[c] /= sum;
}

void probabilities_in_place(Head head, double* margins, std::size_t classes) noexcept {
  if (couples_classes(head)) return softmax_in_place(margins, classes);
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    margins[c] = head == Head::kLogistic ? 1 / (1 + std::exp(-margins[c])) : std::clamp((margins[c] + 1) / 2, 0.0, 1.0);
    sum += margins[c];
  }
  for (std::size_t c = 0; c < classes; ++c) margins[c] = sum > 0 ? margins[c] / sum : 1 / static_cast<double>(classes);
}

void slopes_in_place(Head head, double* margins, std::size_t classes, std::size_t label) noexcept {
  if (couples_classes(head)) {
    softmax_in_place(margins, classes);
    margins[label] -= 1;
    return;
  }
  for (std::size_t c = 0; c < classes; ++c) margins[c] = derivatives(head, margins[c], c == label ? 1 : -1).slope;
}

}  // namespace unweave
