// algorithms/learning/damped_step.cpp - conjugate gradients, with more damping until they do not get stuck.
#include "algorithms/learning/damped_step.h"

#include <algorithm>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/numerics/row_sweep.h"

namespace unweave {
namespace {

class NoPreconditioner final : public Preconditioner {
 public:
  [[nodiscard]] Matrix apply(const Matrix& residual, std::span<const std::size_t>) const override { return residual; }
  void refresh(const HessianOperator&) override {}
};

}  // namespace

DampedStep solve_damped(const std::function<Vector(const Vector&)>& hessian, const Vector& right, double damping) {
  constexpr double kTolerance = 1e-6, kTiniest = 1e-100;  // whose square is a number yet
  constexpr double kRaise = 4, kMostDamping = 1e100;
  constexpr int kMostProducts = 500;
  const Vector tolerance = Vector::Constant(1, std::max(kTolerance * right.norm(), kTiniest));
  DampedStep done;
  for (done.damping = damping;; done.damping *= kRaise) {
    const auto apply = [&](const Matrix& direction, std::span<const std::size_t>) -> Matrix {
      return hessian(direction.col(0)) + done.damping * direction.col(0);
    };
    const CgResult cg = conjugate_gradient(apply, NoPreconditioner(), right, tolerance, kMostProducts);
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
