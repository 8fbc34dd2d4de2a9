// algorithms/learning/dual_preconditioner.h - the inverse Hessian itself, for systems of few rows.
#pragma once

#include <cstddef>
#include <memory>

#include "algorithms/learning/objective.h"
#include "algorithms/learning/preconditioner.h"

namespace unweave {

/// The inverse Hessian of each class at `weights`, by the Cholesky factor of a system of rows in
/// place of features: with R the roots of the curvatures, (Z'R²Z + mu I)^-1 = (I - Z'R (mu I +
/// RZZ'R)^-1 RZ) / mu (Woodbury), in float64. refresh() does nothing. It reads the rows whenever it
/// is applied, which must outlive it. The head must not couple the classes, and ranks must not
/// share the rows.
[[nodiscard]] std::unique_ptr<Preconditioner> make_dual_preconditioner(const Objective& objective,
                                                                       const Matrix& weights);

/// Memory that it takes on as many threads as are active while it is made; 0 where it is not for
/// these rows: factors would take more than 256 MiB, or the head couples the classes, or ranks
/// share the rows.
[[nodiscard]] std::size_t dual_preconditioner_bytes(const Objective& objective);
/// About how many Hessian products it costs to make one.
[[nodiscard]] double dual_preconditioner_cost(const Objective& objective);

}  // namespace unweave
