// algorithms/learning/conjugate_gradient.h - preconditioned conjugate gradients for all classes at
// once.
#pragma once

#include <functional>
#include <span>

#include "algorithms/learning/preconditioner.h"

namespace unweave {

/// Column j of the argument belongs to class classes[j]; returns the matrix of that class times it.
/// Where classes are coupled all are always there.
using ClassOperator = std::function<Matrix(const Matrix&, std::span<const std::size_t>)>;

/// Whether a step of the preconditioner that can be expected to be enough is taken without a
/// product that would tell.
enum class LastStep { expected, measured };

/// Asked now and then, after so many passes, of which part of the way is left (1: all, in digits of
/// the residual): whether to end there.
using GiveUp = std::function<bool(int passes, double left)>;

struct CgResult {
  Matrix solution;      ///< F x C; zero where the right-hand side met its tolerance already
  int passes = 0;       ///< products with the rows
  int readings = 0;     ///< by the preconditioner
  double products = 0;  ///< the passes, where a product of some classes counts by their share
  bool stuck = false;   ///< a class ended at a direction along which its matrix does not curve upward
  bool given_up = false;
};

/// Solves A_c x_c = b_c for every class until the recursive residual |b_c - A_c x_c|_2 <=
/// tolerance[c], or until one more step of the preconditioner alone can be expected to bring it
/// there. Each class has its own scalars; a finished class leaves the product. A tolerance of one
/// number is for one system over all columns together. The recursion drifts from the true residual
/// by the operator's rounding: measure the result where it matters.
[[nodiscard]] CgResult conjugate_gradient(const ClassOperator& apply, const Preconditioner& preconditioner,
                                          const Matrix& right, const Vector& tolerance, int most_passes,
                                          LastStep last = LastStep::expected, const GiveUp& give_up = {});

/// Solves A x = b without a preconditioner, in at most `most_passes` products. No step is taken
/// without a product.
[[nodiscard]] CgResult conjugate_gradient(const std::function<Vector(const Vector&)>& apply, const Vector& right,
                                          double tolerance, int most_passes);

}  // namespace unweave
