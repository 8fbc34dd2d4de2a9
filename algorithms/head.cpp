// algorithms/head.cpp - names and constants of the losses.
#include "algorithms/head.h"

#include <limits>
#include <string>

#include "storage/error.h"

namespace unweave {

Head parse_head(std::string_view name) {
  if (name == "logistic") return Head::kLogistic;
  if (name == "least-squares") return Head::kLeastSquares;
  throw UsageError("unknown head \"" + std::string(name) + "\"; use logistic or least-squares");
}

std::string_view name_of(Head head) noexcept {
  return head == Head::kLogistic ? "logistic" : "least-squares";
}

Smoothness smoothness(Head head) noexcept {
  if (head == Head::kLeastSquares) return {std::numeric_limits<double>::infinity(), 1, 0, 0};
  return {1, 0.25, 0.25, 1 / (6 * std::sqrt(3.0))};
}

}  // namespace unweave
