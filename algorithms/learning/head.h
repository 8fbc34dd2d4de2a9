// algorithms/learning/head.h - losses of a row by its margins m_c = z.w_c, and their constants:
// what everybody asks of a head.
//
// The heads themselves lie in heads/, a file each; heads/head_entry.h says which kinds there are
// and what an entry holds, and heads/registry.h which heads. Nobody else names one, but where a
// certain loss is meant.
#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "algorithms/learning/head_name.h"
#include "algorithms/learning/heads/logistic.h"       // for logistic_at() and
#include "algorithms/learning/heads/probabilities.h"  // softmax_in_place(), by which streaming shifts classes
#include "algorithms/learning/heads/registry.h"

namespace unweave {

/// True when the Hessian of a row's loss by its margins is the identity, whatever they are.
[[nodiscard]] inline bool constant_curvature(Head head) noexcept {
  return entry_of(head).constant_curvature;
}

/// True when the loss is -ln of a model's probability of the targets, so that margins are its
/// log-odds.
[[nodiscard]] inline bool has_probabilities(Head head) noexcept {
  return entry_of(head).has_probabilities;
}

[[nodiscard]] inline const Smoothness& smoothness(Head head) noexcept {
  return entry_of(head).smoothness;
}

/// True when smoothness(head).slope is finite; where it is not, bounds need slopes that were
/// measured.
[[nodiscard]] inline bool has_bounded_slope(Head head) noexcept {
  return std::isfinite(smoothness(head).slope);
}

/// The sum of the losses of all rows z_i under the columns w_c of W, as certificates print it.
[[nodiscard]] inline std::string_view loss_text(Head head) noexcept {
  return entry_of(head).loss_text;
}

/// mu of a training set: lambda * n, and lambda when no row is left, so that the minimiser is 0 and
/// not undefined.
[[nodiscard]] double strong_convexity(double lambda, std::size_t rows) noexcept;

/// Loss of one row with these margins, over all its classes. label < classes.
[[nodiscard]] inline double row_loss(Head head, const double* margins, std::size_t classes,
                                     std::size_t label) noexcept {
  return entry_of(head).row_loss(margins, classes, label);
}

/// Margins of one row become its slopes dl/dm_c. label < classes.
inline void slopes_in_place(Head head, double* margins, std::size_t classes, std::size_t label) noexcept {
  entry_of(head).slopes(margins, classes, label);
}

/// Margins, rows x classes, become what the Hessians of the rows' losses by them are made of: of a
/// one-vs-rest head their diagonals, of a coupled one the probabilities p of diag(p) - p p^T.
inline void curvatures_in_place(Head head, double* margins, std::size_t rows, std::size_t classes) noexcept {
  entry_of(head).curvatures(margins, rows, classes);
}

/// Multiplies values, rows x directions x classes, by the Hessians of the rows' losses by their
/// margins: `curvatures` are what curvatures_in_place() made of these, rows x classes.
void multiply_by_curvatures(Head head, const double* curvatures, double* values, std::size_t rows, std::size_t classes,
                            std::size_t directions = 1) noexcept;

/// Margins of one row become the logarithms of these, which of heads with probabilities stay finite
/// where those vanish in float64. classes > 0.
inline void log_probabilities_in_place(Head head, double* margins, std::size_t classes) noexcept {
  entry_of(head).log_probabilities(margins, classes);
}

}  // namespace unweave
