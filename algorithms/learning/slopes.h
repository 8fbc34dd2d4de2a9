// algorithms/learning/slopes.h - slopes and curvatures of the losses over whole blocks of margins,
// by the processor's vectors.
//
// The scalar twins are the functions of a row in head.h. Margins lie row-major, classes columns,
// without gaps; a buffer of them needs kSlopeSlack elements after its end, which are read, never
// used and never written.
#pragma once

#include <cstddef>

#include "algorithms/learning/head.h"
#include "algorithms/learning/heads/margin_block.h"

namespace unweave {

/// Turns margins into slopes in place, in float64. margin_error[c] * |z_i| bounds the error of
/// margin (i, c), or of a coupled head of its difference to the row's largest one; it and
/// class_squares, to which sum_i r_ic^2 is added, need the slack too. `curvatures`, where given,
/// receives count x classes: of a coupled head probabilities.
[[nodiscard]] SlopeSums slopes_in_place(const MarginBlock& block, const double* margin_error, double* margins,
                                        double* class_squares, float* curvatures);

/// Turns margins into slopes in float32, without sums and bounds.
void slopes_in_place(const MarginBlock& block, float* margins, float* curvatures);

/// Float32 margins, rows x classes, become curvatures in place, of a coupled head probabilities. A
/// one-vs-rest head may be given some of its classes.
void curvatures_in_place(Head head, float* margins, std::size_t rows, std::size_t classes);

/// Adds weight times the diagonal of a row's Hessian by its margins to sum[c], as its float32
/// slopes tell it: an estimate.
void add_curvatures(Head head, const float* slopes, std::size_t classes, double weight, double* sum);

/// values[k] *= curvatures[k].
void scale_by(const float* curvatures, float* values, std::size_t size);

/// values_ic = p_ic (values_ic - mean_i), mean_i the mean of row i weighted by its probabilities,
/// which need not quite sum to 1: the matrix by which a row is multiplied is symmetric and positive
/// semidefinite whatever they were rounded to. Both arrays need the slack.
void center_by(const float* probabilities, float* values, std::size_t rows, std::size_t classes);

}  // namespace unweave
