// algorithms/learning/damped_step.cpp - conjugate gradients, with more damping until they do not
// get stuck.
#include "algorithms/learning/damped_step.h"

#include <algorithm>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/numerics/row_sweep.h"

namespace unweave {

DampedStep solve_damped(const std::function<Vector(const Vector&)>& hessian, const Vector& right, double damping) {
  constexpr double kTolerance = 1e-6, kTiniest = 1e-100;  // whose square is a number yet
  constexpr double kRaise = 4, kMostDamping = 1e100;
  constexpr int kMostProducts = 500;
  const double tolerance = std::max(kTolerance * right.norm(), kTiniest);
  DampedStep done;
  for (done.damping = damping;; done.damping *= kRaise) {
    const auto apply = [&](const Vector& direction) -> Vector { return hessian(direction) + done.damping * direction; };
    const CgResult cg = conjugate_gradient(apply, right, tolerance, kMostProducts);
    done.products += cg.passes;
    done.step = cg.solution.col(0);
    if (!cg.stuck || done.damping > kMostDamping) break;
  }
  done.missing = (right - hessian(done.step) - done.damping * done.step).norm();
  ++done.products;
  return done;
}

Reservation reserve_products(std::size_t parameters, std::size_t rows, MemoryBudget& budget) {
  constexpr std::size_t kVectors = 8;
  return budget.reserve((2 * cut_rows(rows, 1).lanes + kVectors) * parameters * sizeof(double),
                        "Hessian products of a network");
}

}  // namespace unweave
