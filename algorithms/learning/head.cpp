// algorithms/learning/head.cpp - names of the heads, and what the kinds of heads share.
#include "algorithms/learning/head.h"

#include <algorithm>
#include <string>

#include "storage/io/error.h"
#include "storage/io/nearest_name.h"

namespace unweave {

Head parse_head(std::string_view name) {
  for (const HeadEntry* entry : kHeadEntries)
    if (entry->name == name) return entry->key;
  throw UsageError("unknown head \"" + std::string(name) + "\"; use " + one_of(names_of_heads()));
}

std::vector<std::string_view> names_of_heads() {
  std::vector<std::string_view> names;
  for (const HeadEntry* entry : kHeadEntries) names.push_back(entry->name);
  return names;
}

std::string_view name_of(Head head) noexcept {
  return entry_of(head).name;
}

bool couples_classes(Head head) noexcept {
  return entry_of(head).couples_classes;
}

void probabilities_in_place(Head head, double* margins, std::size_t classes) noexcept {
  entry_of(head).probabilities(margins, classes);
}

double strong_convexity(double lambda, std::size_t rows) noexcept {
  return lambda * static_cast<double>(std::max<std::size_t>(1, rows));
}

void multiply_by_curvatures(Head head, const double* curvatures, double* values, std::size_t rows, std::size_t classes,
                            std::size_t directions) noexcept {
  const bool coupled = couples_classes(head);
  if (!coupled && directions == 1) {
    for (std::size_t k = 0; k < rows * classes; ++k) values[k] *= curvatures[k];
    return;
  }
  for (std::size_t i = 0; i < rows; ++i, curvatures += classes) {
    // Relative to the likeliest class the mean is a sum over the others, with no cancellation where
    // a row is sure.
    const std::size_t top =
        coupled ? static_cast<std::size_t>(std::max_element(curvatures, curvatures + classes) - curvatures) : 0;
    for (std::size_t k = 0; k < directions; ++k, values += classes) {
      const double own = coupled ? values[top] : 0;
      double mean = 0;
      if (coupled)
        for (std::size_t c = 0; c < classes; ++c) mean += curvatures[c] * (values[c] - own);
      for (std::size_t c = 0; c < classes; ++c) values[c] = curvatures[c] * ((values[c] - own) - mean);
    }
  }
}

}  // namespace unweave
