// algorithms/learning/removal_step.cpp - the system of a removal, its right side from the rows that
// changed.
#include "algorithms/learning/removal_step.h"

#include <vector>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/learning/working_memory.h"

namespace unweave {
namespace {

/// Rows that a batch changed, with the sign they have in "before minus after".
struct SignedObjective {
  double sign;
  Objective objective;
};

std::vector<SignedObjective> parts_of(const RemovalProblem& problem) {
  std::vector<SignedObjective> parts;
  for (const auto& [sign, rows] :
       {std::pair{1.0, &problem.change.removed}, {1.0, &problem.change.moved_from}, {-1.0, &problem.change.moved_to}})
    if (rows->size() > 0)
      parts.push_back({sign, {rows->rows(), problem.after.classes, problem.after.head, 0, nullptr}});
  return parts;
}

}  // namespace

RemovalStep solve_removal(const RemovalProblem& problem, double relative, double enough, std::size_t bytes) {
  const Matrix& weights = problem.weights;
  const double mu_lost = problem.mu_before - problem.after.mu;
  const double shift = problem.damping + (problem.hessian_before ? mu_lost : 0);
  const std::vector<SignedObjective> parts = parts_of(problem);
  RemovalStep done;
  done.right = mu_lost * weights;
  for (const SignedObjective& part : parts)
    done.right += part.sign * gradient_with_error(part.objective, weights).value;

  const WorkingMemory memory = working_memory_within(problem.after.rows, problem.after.classes, bytes);
  // No kept curvatures: their 8 bits cost another round, with its float64 pass, and a round has few
  // products to spare.
  const HessianOperator hessian(problem.after, weights);
  std::vector<HessianOperator> corrections;
  if (problem.hessian_before)
    for (const SignedObjective& part : parts) corrections.emplace_back(part.objective, weights);
  const ClassOperator apply = [&](const Matrix& direction, std::span<const std::size_t> classes) {
    Matrix product = hessian.apply(direction, classes);
    product += shift * direction;
    for (std::size_t i = 0; i < corrections.size(); ++i)
      product += parts[i].sign * corrections[i].apply(direction, classes);
    return product;
  };

  // Float32 products steer, float64 measures; a few rounds of refinement make the solver error
  // negligible.
  constexpr int kRounds = 4, kMostPasses = 500;
  const auto norms_of = [&](const Matrix& matrix) -> Vector {
    if (couples_classes(problem.after.head)) return Vector::Constant(1, matrix.norm());
    return matrix.colwise().norm().transpose();
  };
  const Vector tolerance = (relative * norms_of(done.right).array()).max(enough).matrix();
  const std::unique_ptr<Preconditioner> preconditioner = make_preconditioner(hessian, memory.preconditioner);
  done.step = Matrix::Zero(weights.rows(), weights.cols());
  done.missing = done.right;
  for (int round = 0; round < kRounds; ++round) {
    const CgResult cg = conjugate_gradient(apply, *preconditioner, done.missing, 0.5 * tolerance, kMostPasses);
    done.step += cg.solution;
    done.undamped = curvature_action(problem.after, weights, done.step);
    done.missing = done.right - done.undamped.product - shift * done.step;
    if (problem.hessian_before)
      for (const SignedObjective& part : parts)
        done.missing -= part.sign * curvature_action(part.objective, weights, done.step).product;
    done.passes += cg.passes + 1;
    if ((norms_of(done.missing).array() <= tolerance.array()).all()) break;
  }
  return done;
}

}  // namespace unweave
