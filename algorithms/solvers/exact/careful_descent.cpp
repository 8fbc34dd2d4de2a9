// algorithms/solvers/exact/careful_descent.cpp - damped Newton steps in float64.
#include "algorithms/solvers/exact/careful_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "algorithms/learning/whole_preconditioner.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/row_sweep.h"
#include "algorithms/solvers/exact/exact_gradient.h"

namespace unweave {
namespace {

constexpr int kMostProducts = 2000;
constexpr int kMostSteps = 500;
constexpr double kSystemGain = 1e-9;  // what whole factors give at once
constexpr double kNear = 0.5;         // margins that move by less: steps shorten from here on, or are rounding
constexpr double kEasier = 10;        // mu falls by this, where steps for the present one have come so near
constexpr double kArrived = 1e-9;     // margins that move by less leave 1e-18 of themselves to the second order

/// How far a step moves margins at most, a system.
struct Reach {
  Vector most;

  template <class See>
  void see_members(const See& see) {
    see(most);
  }
  Reach& operator+=(const Reach& other) {
    most = most.cwiseMax(other.most);
    return *this;
  }
};

Vector reach_of(const Objective& objective, const Matrix& direction) {
  const std::size_t features = objective.rows.features, classes = objective.classes;
  const bool coupled = couples_classes(objective.head);
  const Reach zero{Vector::Zero(coupled ? 1 : direction.cols())};
  return sweep_rows<double>(objective.rows, zero,
                            [&](const double* block, std::size_t, std::size_t count, Reach& part) {
                              double* const image = block_buffer<double, BlockUse::margins>(count * classes);
                              multiply(block, direction.data(), image, count, features, classes, false);
                              for (std::size_t i = 0; i < count; ++i) {
                                const Eigen::Map<const Vector> row(image + i * classes, index_of(classes));
                                if (coupled)
                                  part.most[0] = std::max(part.most[0], row.maxCoeff() - row.minCoeff());
                                else
                                  part.most = part.most.cwiseMax(row.cwiseAbs());
                              }
                            })
      .most;
}

/// Inner products of the columns of each system.
Vector system_dots(bool coupled, const Matrix& a, const Matrix& b) {
  if (coupled) return Vector::Constant(1, a.cwiseProduct(b).sum());
  return a.cwiseProduct(b).colwise().sum();
}

Matrix scaled(bool coupled, const Matrix& direction, const Vector& scale) {
  if (coupled) return scale[0] * direction;
  return direction * scale.asDiagonal();
}

}  // namespace

std::size_t careful_bytes(const Objective& objective) {
  constexpr double kRounding = 0x1p-24;
  return objective.mu < kRounding * steepest_curvature(objective) ? whole_preconditioner_bytes(objective) : 0;
}

bool begins_with_care(const Objective& objective, std::size_t memory) {
  constexpr double kMostWork = 2e10;  // products and sums that form a Hessian
  const std::size_t bytes = careful_bytes(objective);
  const double width = static_cast<double>(objective.rows.features * objective.classes);
  const double unknowns = couples_classes(objective.head) ? width : static_cast<double>(objective.rows.features);
  return bytes > 0 && bytes <= memory && 2 * static_cast<double>(objective.rows.count) * width * unknowns <= kMostWork;
}

CarefulSystem::CarefulSystem(const Objective& objective, const Matrix& weights, std::size_t memory,
                             const WatchedStep& step)
    : objective_(objective), weights_(weights), step_(step) {
  const std::size_t whole = whole_preconditioner_bytes(objective);
  if (whole > 0 && whole <= memory) {
    preconditioner_ = make_whole_preconditioner(objective, weights);
    return;
  }
  const WorkingMemory working = working_memory_within(objective.rows, objective.classes, memory);
  preconditioner_ = make_preconditioner(HessianOperator(objective, weights), working.preconditioner);
}

CgResult CarefulSystem::solve(const Matrix& right, const Vector& tolerance) const {
  const auto apply = [&](const Matrix& direction, std::span<const std::size_t> classes) -> Matrix {
    step_.advance(1);
    if (classes.size() == objective_.classes) return curvature_action(objective_, weights_, direction).product;
    Matrix all = Matrix::Zero(weights_.rows(), weights_.cols()), out(direction.rows(), direction.cols());
    for (std::size_t j = 0; j < classes.size(); ++j) all.col(index_of(classes[j])) = direction.col(index_of(j));
    const Matrix product = curvature_action(objective_, weights_, all).product;
    for (std::size_t j = 0; j < classes.size(); ++j) out.col(index_of(j)) = product.col(index_of(classes[j]));
    return out;
  };
  return conjugate_gradient(apply, *preconditioner_, right, tolerance, kMostProducts, LastStep::measured);
}

NewtonResult descend_carefully(const Objective& objective, std::size_t memory) {
  const bool coupled = couples_classes(objective.head), bends = !constant_curvature(objective.head);
  const WatchedStep step("newton", 0, "passes");
  NewtonResult now;
  now.weights = Matrix::Zero(index_of(objective.rows.features), index_of(objective.classes));
  Objective easier = objective;
  if (bends) easier.mu = std::max(objective.mu, steepest_curvature(objective));
  const auto evaluate = [&](const Matrix& weights) {
    ++now.passes;
    step.advance(1);
    return gradient_with_error(easier, weights);
  };
  now.gradient = evaluate(now.weights);
  double shortest = std::numeric_limits<double>::infinity();
  for (int idle = 0; idle < 2 && now.steps < kMostSteps && now.gradient.norm > 0; ++now.steps) {
    const CarefulSystem system(easier, now.weights, memory, step);
    const CgResult cg =
        system.solve(-now.gradient.value, kSystemGain * system_norms(objective.head, now.gradient.value));
    now.passes += cg.passes + 1;
    if (!cg.solution.allFinite()) break;
    const Vector reach = reach_of(objective, cg.solution);
    const double longest = reach.maxCoeff();

    Matrix trial = now.weights + cg.solution;
    Gradient gradient = evaluate(trial);
    // Where the slope along the step is not positive at its end, the objective has fallen on all of
    // it.
    const Vector slope = system_dots(coupled, gradient.value, cg.solution);
    Vector scale = Vector::Ones(reach.size());
    for (Eigen::Index s = 0; s < scale.size(); ++s)
      if (bends && reach[s] > 1 && !(slope[s] <= 0)) scale[s] = std::log1p(reach[s]) / reach[s];
    if ((scale.array() < 1).any()) {
      trial = now.weights + scaled(coupled, cg.solution, scale);
      gradient = evaluate(trial);
    }
    now.weights = std::move(trial);
    now.gradient = std::move(gradient);
    if (easier.mu > objective.mu) {
      if (longest >= kNear) continue;
      easier.mu = easier.mu > kEasier * objective.mu ? easier.mu / kEasier : objective.mu;
      now.gradient = evaluate(now.weights);
      continue;
    }
    if (longest < kNear) idle = longest > 0.5 * shortest ? idle + 1 : 0;
    shortest = std::min(shortest, longest);
    if (longest < kArrived) break;
  }
  now.residual = now.gradient.norm + now.gradient.error;
  return now;
}

}  // namespace unweave
