// algorithms/learning/damped_step.h - a Newton step where the Hessian need not be positive
// definite, as that of a network.
#pragma once

#include <functional>

#include "algorithms/numerics/matrix.h"
#include "engine/resources/memory.h"

namespace unweave {

inline constexpr double kNetworkDamping = 0.01;  ///< as Qiao et al. have it

struct DampedStep {
  Vector step;
  double damping = 0;  ///< that was used
  double missing = 0;  ///< |right - (H + damping I) step|
  int products = 0;    ///< with H
};

/// Solves (H + damping I) step = right by conjugate gradients to 1e-6 of the right side, in at most
/// 500 products with the symmetric matrix H. A direction along which H + damping I does not curve
/// upward multiplies the damping by 4, and they start again: with the damping that is used no
/// direction was met that shows the sum indefinite.
[[nodiscard]] DampedStep solve_damped(const std::function<Vector(const Vector&)>& hessian, const Vector& right,
                                      double damping);

/// Sets aside what products with the Hessian of a network on `rows` rows take, two sums a lane, and
/// the vectors of conjugate gradients. Throws ResourceError.
[[nodiscard]] Reservation reserve_products(std::size_t parameters, std::size_t rows, MemoryBudget& budget);

}  // namespace unweave
