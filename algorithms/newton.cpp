// algorithms/newton.cpp - inexact damped Newton with measured residuals.
#include "algorithms/newton.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "algorithms/conjugate_gradient.h"
#include "storage/error.h"

namespace unweave {
namespace {

constexpr int kMostCgPasses = 2000;
constexpr int kMostHalvings = 40;

std::string scientific(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", x);
  return text;
}

/// Solves each class only as far as the quadratic remainder of the step lets the gradient fall: q_c |g_c|^2, with q_c
/// learnt from the previous step. Float32 products bound the accuracy of one step below.
Vector forcing(const Vector& now, const Vector& before, double floor) {
  constexpr double kFirst = 0.004, kLeast = 2e-5, kMost = 0.1;
  Vector tolerance(now.size());
  for (Eigen::Index c = 0; c < now.size(); ++c) {
    const double rate =
        before.size() == 0 ? kFirst : std::clamp(0.5 * now[c] * now[c] / (before[c] * before[c]), kLeast, kMost);
    tolerance[c] = std::max(rate * now[c], floor);
  }
  return tolerance;
}

/// True where the float error may be what keeps the gradient from falling.
bool at_noise(const Gradient& gradient) {
  return gradient.norm <= 1e3 * gradient.error;
}

}  // namespace

NewtonResult minimise(const Objective& objective, Matrix start, const NewtonOptions& options) {
  if (!start.allFinite()) throw UsageError("the weights to start from are not finite; train the model again");
  if (!(options.tolerance > 0) || !std::isfinite(options.tolerance))
    throw UsageError("the gradient tolerance must be positive and finite");

  NewtonResult best;
  best.weights = std::move(start);
  best.gradient = gradient_with_error(objective, best.weights);
  best.passes = 1;
  std::unique_ptr<Preconditioner> preconditioner;
  const double columns = std::sqrt(static_cast<double>(objective.classes));
  Vector before;
  int idle = 0;  // steps in a row without gain; slow progress counts as none near the float error alone
  for (;;) {
    best.residual = best.gradient.norm + best.gradient.error;
    if (best.residual <= options.tolerance) return best;
    const bool noise = best.gradient.error >= options.tolerance && best.gradient.norm <= best.gradient.error;
    if (noise || idle >= 3 || best.steps >= options.most_steps) break;

    const HessianOperator hessian(objective, best.weights);
    if (!preconditioner) preconditioner = make_preconditioner(hessian);
    const double floor = 0.3 * std::max(options.tolerance - best.gradient.error, 0.1 * best.gradient.error) / columns;
    const CgResult cg = conjugate_gradient(
        [&](const Matrix& direction, std::span<const std::size_t> classes) {
          return hessian.apply(direction, classes);
        },
        *preconditioner, -best.gradient.value, forcing(best.gradient.class_norm, before, floor), kMostCgPasses);
    best.passes += cg.passes;

    Vector scale = Vector::Ones(index_of(objective.classes));
    Matrix trial = best.weights + cg.solution;
    Gradient gradient = gradient_with_error(objective, trial);
    ++best.passes;
    for (int halving = 0; halving < kMostHalvings; ++halving) {
      bool accepted = true;
      for (Eigen::Index c = 0; c < scale.size(); ++c) {
        const double enough = (1 - 1e-4 * scale[c]) * best.gradient.class_norm[c];
        if (gradient.class_norm[c] <= std::max({enough, floor, gradient.error})) continue;
        scale[c] /= 2;
        accepted = false;
      }
      if (accepted) break;
      trial = best.weights + cg.solution * scale.asDiagonal();
      gradient = gradient_with_error(objective, trial);
      ++best.passes;
    }
    ++best.steps;
    before = best.gradient.class_norm;
    const double reached = gradient.norm + gradient.error;
    const bool fell = reached < best.residual;
    idle = !fell || (reached > 0.9 * best.residual && at_noise(best.gradient)) ? idle + 1 : 0;
    if (scale.minCoeff() < 1) preconditioner.reset();  // a damped step changes the curvatures too much to keep it
    if (!fell) continue;
    best.weights = std::move(trial);
    best.gradient = std::move(gradient);
  }
  if (options.best_effort) return best;
  if (!at_noise(best.gradient))
    throw UsageError("the gradient norm fell only to " + scientific(best.gradient.norm) + " in " +
                     std::to_string(best.steps) + " Newton steps; use a larger --lambda or --tau, or train again");
  throw UsageError("a gradient norm of " + scientific(options.tolerance) +
                   " cannot be reached in float64 on these rows (reached " + scientific(best.gradient.norm) +
                   ", rounding error up to " + scientific(best.gradient.error) + "); use --tau " +
                   scientific(2.5 * best.residual) + " or larger");
}

}  // namespace unweave
