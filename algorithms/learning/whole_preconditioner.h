// algorithms/learning/whole_preconditioner.h - the inverse Hessian itself, for systems small enough to be factorised whole.
#pragma once

#include <cstddef>
#include <memory>

#include "algorithms/learning/preconditioner.h"

namespace unweave {

/// The inverse, by the Cholesky factor of every system's Hessian at `weights` in float64: of each class, of a head that
/// couples them of all classes together. Where rounding leaves a Hessian indefinite, that of one with more on its diagonal.
/// It stays that of `weights`: refresh() does nothing. Ranks must not share the rows. Costs 2 F^2 C a row, of a coupled head
/// F^2 C^2, and C F^3 / 3, or (F C)^3 / 3.
[[nodiscard]] std::unique_ptr<Preconditioner> make_whole_preconditioner(const Objective& objective,
                                                                        const Matrix& weights);

/// Memory that it takes on as many threads as are active while it is made; 0 where it is not for these rows: factors would
/// take more than 64 MiB, or ranks share the rows.
[[nodiscard]] std::size_t whole_preconditioner_bytes(const Objective& objective);
/// About how many Hessian products it costs to make one.
[[nodiscard]] double whole_preconditioner_cost(const Objective& objective);

}  // namespace unweave
