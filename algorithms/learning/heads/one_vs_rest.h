// algorithms/learning/heads/one_vs_rest.h - rows of margins under a loss of one margin and one
// target: the scalar half of a one-vs-rest head.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "algorithms/learning/heads/margin_block.h"

namespace unweave {

/// Derivatives of l by the margin, with the error that kPointwiseUlps states.
struct Pointwise {
  double slope;
  double curvature;
};

/// Loss is a type with static functions
///   double loss(double margin, double target)     l
///   Pointwise at(double margin, double target)    its derivatives; the second is the same for both targets
///   double probability(double margin)             of the class by itself, in [0, 1]
/// The functions of a row are those of HeadEntry.
template <class Loss>
struct OneVsRest {
  static double row_loss(const double* margins, std::size_t classes, std::size_t label) noexcept {
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += Loss::loss(margins[c], c == label ? 1 : -1);
    return sum;
  }

  static void slopes(double* margins, std::size_t classes, std::size_t label) noexcept {
    for (std::size_t c = 0; c < classes; ++c) margins[c] = Loss::at(margins[c], c == label ? 1 : -1).slope;
  }

  static void curvatures(double* margins, std::size_t rows, std::size_t classes) noexcept {
    for (std::size_t k = 0; k < rows * classes; ++k) margins[k] = Loss::at(margins[k], 1).curvature;
  }

  /// Each class's own probability divided by their sum, all alike where that is 0.
  static void probabilities(double* margins, std::size_t classes) noexcept {
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += margins[c] = Loss::probability(margins[c]);
    for (std::size_t c = 0; c < classes; ++c)
      margins[c] = sum > 0 ? margins[c] / sum : 1 / static_cast<double>(classes);
  }

  static void log_probabilities(double* margins, std::size_t classes) noexcept {
    probabilities(margins, classes);
    for (std::size_t c = 0; c < classes; ++c) margins[c] = std::log(margins[c]);
  }

  /// Float32 slopes of a block: of_other_classes(count x classes) makes all margins slopes of
  /// classes that are not the row's; the slope of the row's own, which is near -1 or cancels, comes
  /// of its margin in float64.
  template <class OtherClasses>
  static void rough_slopes(const MarginBlock& block, float* margins, const OtherClasses& of_other_classes) {
    std::vector<float> own(block.count);
    const auto place = [&](std::size_t i) { return i * block.classes + block.labels[i]; };
    for (std::size_t i = 0; i < block.count; ++i) own[i] = margins[place(i)];
    of_other_classes(block.count * block.classes);
    for (std::size_t i = 0; i < block.count; ++i)
      margins[place(i)] = static_cast<float>(Loss::at(static_cast<double>(own[i]), 1).slope);
  }
};

}  // namespace unweave
