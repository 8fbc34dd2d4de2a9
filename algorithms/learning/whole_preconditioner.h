// algorithms/learning/whole_preconditioner.h - the inverse Hessian itself, for systems small enough
// to be factorised whole.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "algorithms/learning/preconditioner.h"

namespace unweave {

/// The inverse, by the Cholesky factor of every system's Hessian at `weights`: of each class, of a
/// head that couples them of all classes together, and of least squares once for all. In float32
/// sums and float64 factors where mu is large enough for that, else in float64. Where rounding
/// leaves a Hessian indefinite, that of one with more on its diagonal. It stays that of `weights`:
/// refresh() does nothing. Ranks must not share the rows. Costs F^2 C a row, in float64 2 F^2 C, of
/// a coupled head 2 F^2 C^2, and C F^3 / 3, or (F C)^3 / 3.
[[nodiscard]] std::unique_ptr<Preconditioner> make_whole_preconditioner(const Objective& objective,
                                                                        const Matrix& weights);

/// Memory that it takes on as many threads as are active while it is made; 0 where it is not for
/// these rows: factors would take more than 256 MiB, or ranks share the rows.
[[nodiscard]] std::size_t whole_preconditioner_bytes(const Objective& objective);
/// About how many Hessian products it costs to make one.
[[nodiscard]] double whole_preconditioner_cost(const Objective& objective);

/// Second derivatives of the losses by their margins at `weights`, n x C; of a coupled head
/// probabilities.
[[nodiscard]] std::vector<double> curvatures_at(const Objective& objective, const Matrix& weights);

// What costs are counted in. A float32 product of few columns runs at the speed at which rows are
// read, that of 16 and more at that of the multipliers; float64 at half of it, and its factors at
// an eighth.
inline constexpr double kDoubleWork = 2, kFactorWork = 8;
/// Work of a Hessian product of all classes, in float32 operations at full speed.
[[nodiscard]] double product_work(const Objective& objective);

}  // namespace unweave
