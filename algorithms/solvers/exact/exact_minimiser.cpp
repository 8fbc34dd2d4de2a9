// algorithms/solvers/exact/exact_minimiser.cpp - approach in float64, then exact gradients and corrections until all is decided.
#include "algorithms/solvers/exact/exact_minimiser.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/learning/newton.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/solvers/exact/exact_gradient.h"
#include "algorithms/solvers/exact/grid_rounding.h"
#include "algorithms/solvers/exact/pair.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kNearEnough = 1e-6;  // |gradient| / mu from which the second order of the way left hardly matters
constexpr int kMostGradients = 4, kMostCorrections = 6;
constexpr int kFirstLevels = 2, kLaterLevels = 3;
constexpr double kMostGain =
    1e-3;  // what one correction leaves at best: on ill-conditioned rows float32 products reach little further
constexpr double kLeastGain = 0.01;
constexpr int kDoubtBits =
    5;  // a residual at its goal leaves 2^-4 weights undecided: one more correction in 16 costs less
constexpr double kAtFloor = 0.3;  // a residual this small beside its error: another correction would not help
constexpr int kMostCgPasses = 2000;

/// Corrections solve for residuals of any size in float32, scaled to about 1.
double scale_of(double norm) {
  return std::ldexp(1.0, -std::ilogb(norm));
}

class Refinement {
 public:
  Refinement(const Objective& objective, const ExactOptions& options, NewtonResult start)
      : objective_(objective),
        options_(options),
        memory_(working_memory_within(objective.rows, objective.classes, options.memory)),
        start_(std::move(start)),
        decided_(couples_classes(objective.head) ? 1 : objective.classes, false) {
    out_.weights = Matrix::Zero(start_.weights.rows(), start_.weights.cols());
    out_.start_norm = start_.residual;
    out_.newton_steps = start_.steps;
    out_.passes = start_.passes;
  }

  /// True when every weight is decided.
  bool run() {
    for (int attempt = 0; attempt < kMostGradients; ++attempt)
      if (refine(attempt)) return true;
    return false;
  }

  ExactMinimiser take() { return std::move(out_); }
  [[nodiscard]] const GridRounding& last() const noexcept { return last_; }
  /// The radius of a system that was not decided before.
  [[nodiscard]] double radius() const noexcept { return radius_; }

 private:
  /// One exact gradient and the corrections that it carries.
  bool refine(int attempt) {
    const ExactGradient gradient =
        exact_gradient(objective_, start_.weights, attempt == 0 ? kFirstLevels : kLaterLevels);
    ++out_.exact_gradients;
    ++out_.passes;
    step_.advance(1);
    const HessianOperator hessian(objective_, gradient.point, &start_.curvatures);
    if (!start_.preconditioner) start_.preconditioner = make_preconditioner(hessian, memory_.preconditioner);

    const double goal = objective_.mu * std::ldexp(1.0, -options_.grid_bits - kDoubtBits) /
                        static_cast<double>(std::max<Eigen::Index>(1, gradient.point.size()));
    Matrix correction = Matrix::Zero(gradient.point.rows(), gradient.point.cols());
    Matrix residual = gradient.value;
    for (int again = 0; again < kMostCorrections; ++again) {
      correction += correct(hessian, residual, goal);
      FirstOrder here = first_order(objective_, gradient, correction);
      ++out_.passes;
      step_.advance(1);
      if (settle(gradient.point, correction, kBoundSlack * (here.norm + here.error) / objective_.mu)) return true;
      residual = std::move(here.residual);
      if (at_floor(here)) break;
    }
    start_.weights = gradient.point + correction;
    return false;
  }

  /// Whether another correction would not help any system that is not decided.
  [[nodiscard]] bool at_floor(const FirstOrder& here) const {
    for (std::size_t s = 0; s < decided_.size(); ++s)
      if (!decided_[s] && !(here.norm[index_of(s)] <= kAtFloor * here.error[index_of(s)])) return false;
    return true;
  }

  /// A solution of H x = -residual, to `goal` where one solution can reach it, for the systems that are not decided.
  Matrix correct(const HessianOperator& hessian, const Matrix& residual, double goal) {
    const Vector norms = system_norms(objective_.head, residual);
    const double largest = norms.maxCoeff();
    if (!(largest > 0)) return Matrix::Zero(residual.rows(), residual.cols());
    const double scale = scale_of(largest);
    Vector tolerance(norms.size());
    for (Eigen::Index s = 0; s < norms.size(); ++s) {
      const double gain = std::clamp(norms[s] > 0 ? goal / norms[s] : kLeastGain, kMostGain, kLeastGain);
      tolerance[s] = decided_[size_of(s)] ? std::numeric_limits<double>::infinity() : gain * norms[s] * scale;
    }
    const Matrix right = -scale * residual;
    CgResult cg = conjugate_gradient(
        [&](const Matrix& direction, std::span<const std::size_t> classes) {
          step_.advance(1);
          return hessian.apply(direction, classes);
        },
        *start_.preconditioner, right, tolerance, kMostCgPasses, LastStep::measured);
    out_.passes += cg.passes;
    ++out_.corrections;
    if (!cg.solution.allFinite()) return Matrix::Zero(residual.rows(), residual.cols());
    return cg.solution / scale;
  }

  /// Keeps the weights of systems that are decided now and were not before; true when all are.
  bool settle(const Matrix& point, const Matrix& correction, const Vector& radius) {
    last_ = round_to_grid(point, correction, radius, options_.grid_bits);
    const double unit = std::ldexp(1.0, -options_.grid_bits);
    for (std::size_t s = 0; s < decided_.size(); ++s) {
      if (decided_[s]) continue;
      out_.doubts += last_.undecided[s];
      radius_ = radius[index_of(s)];
      if (last_.undecided[s] > 0) continue;
      decided_[s] = true;
      out_.radius = std::max(out_.radius, radius_);
      if (decided_.size() == 1)
        out_.weights = unit * last_.whole;
      else
        out_.weights.col(index_of(s)) = unit * last_.whole.col(index_of(s));
    }
    return std::find(decided_.begin(), decided_.end(), false) == decided_.end();
  }

  const Objective& objective_;
  const ExactOptions& options_;
  const WatchedStep step_{"exact", 0, "passes"};
  const WorkingMemory memory_;
  NewtonResult start_;
  std::vector<bool> decided_;
  GridRounding last_;
  double radius_ = 0;
  ExactMinimiser out_;
};

std::string scientific(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", x);
  return text;
}

[[noreturn]] void refuse(const Refinement& refinement) {
  const GridRounding& last = refinement.last();
  throw UsageError(
      "weight (" + std::to_string(last.feature) + ", " + std::to_string(last.of_class) + ") lies within " +
      scientific(refinement.radius()) +
      " of a boundary of the grid and cannot be rounded; declare another grid from now on, by training with " +
      option("set", "grid=..."));
}

}  // namespace

ExactMinimiser minimise_exactly(const Objective& objective, Matrix start, const ExactOptions& options) {
  NewtonOptions newton;
  newton.tolerance = std::max(kNearEnough * objective.mu, std::numeric_limits<double>::min());
  newton.best_effort = true;
  newton.memory = options.memory;
  const bool from_nothing = start.isZero(0);
  const Matrix nothing = Matrix::Zero(start.rows(), start.cols());
  {
    Refinement refinement(objective, options, minimise(objective, std::move(start), newton));
    if (refinement.run()) return refinement.take();
    if (from_nothing) refuse(refinement);
  }
  // The start may depend on removed data. So an error comes only of data on which learning from nothing fails too.
  return minimise_exactly(objective, nothing, options);
}

}  // namespace unweave
