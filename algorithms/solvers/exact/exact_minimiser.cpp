// algorithms/solvers/exact/exact_minimiser.cpp - approach in float64, then exact gradients and
// corrections until all is decided.
#include "algorithms/solvers/exact/exact_minimiser.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/learning/newton.h"
#include "algorithms/learning/no_model_error.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/solvers/exact/careful_descent.h"
#include "algorithms/solvers/exact/exact_gradient.h"
#include "algorithms/solvers/exact/grid_rounding.h"
#include "algorithms/solvers/exact/pair.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kNearEnough = 1e-6;  // |gradient| / mu from which the second order of the way left hardly matters
constexpr int kMostGradients = 4, kMostCorrections = 6;
constexpr int kMostCarefulGradients = 20;
constexpr double kLeastCarefulGain = 1e-8;  // what one correction in float64 leaves at best
constexpr int kFirstLevels = 2, kLaterLevels = 3;
constexpr double kMostGain = 1e-6;  // what one correction by float32 products leaves at best
constexpr double kLeastGain = 0.01;
constexpr int kDoubtBits =
    5;  // a residual at its goal leaves 2^-4 weights undecided: one more correction in 16 costs less
constexpr double kAtFloor = 0.3;  // a residual this small beside its error: another correction would not help
constexpr int kMostCgPasses = 2000;

/// Corrections solve for residuals of any size in float32, scaled to about 1.
double scale_of(double norm) {
  return std::ldexp(1.0, -std::ilogb(norm));
}

/// By which products corrections are found: float32 ones, or those of CarefulSystem.
enum class Steering { quick, careful };

class Refinement {
 public:
  Refinement(const Objective& objective, const ExactOptions& options, NewtonResult start, Steering steering)
      : objective_(objective),
        options_(options),
        steering_(steering),
        worth_(options.kept == nullptr ? 0 : options.kept->worth()),
        memory_(working_memory_within(objective.rows, objective.classes, options.memory, worth_)),
        start_(std::move(start)),
        decided_(couples_classes(objective.head) ? 1 : objective.classes, false) {
    if (steering == Steering::careful) sizes_ = column_sizes(objective.rows);
    out_.weights = Matrix::Zero(start_.weights.rows(), start_.weights.cols());
    out_.newton_steps = start_.steps;
    out_.passes = start_.passes;
    out_.gradients = start_.gradients;
    out_.rough_gradients = start_.rough_gradients;
    out_.products = start_.products;
  }

  /// True when every weight is decided.
  bool run() {
    const bool careful = steering_ == Steering::careful;
    double before = std::numeric_limits<double>::infinity();
    int idle = 0;  // exact gradients in a row that brought the minimiser little nearer
    for (int attempt = 0; attempt < (careful ? kMostCarefulGradients : kMostGradients) && idle < 3; ++attempt) {
      if (refine(attempt)) return true;
      if (careful) idle = radius_ < 0.5 * before ? 0 : idle + 1;
      before = std::min(before, radius_);
    }
    return false;
  }

  ExactMinimiser take() { return std::move(out_); }
  /// Null where none was needed.
  std::unique_ptr<Preconditioner> take_preconditioner() { return std::move(start_.preconditioner); }
  [[nodiscard]] const GridRounding& last() const noexcept { return last_; }
  /// The largest radius of a system that is not decided.
  [[nodiscard]] double radius() const noexcept { return radius_; }
  [[nodiscard]] int passes() const noexcept { return out_.passes; }

 private:
  /// One exact gradient and the corrections that it carries.
  bool refine(int attempt) {
    const bool careful = steering_ == Steering::careful;
    const ExactGradient gradient =
        exact_gradient(objective_, start_.weights, attempt == 0 && !careful ? kFirstLevels : kLaterLevels, sizes());
    if (attempt == 0) out_.start_norm = (system_norms(objective_.head, gradient.value) + gradient.error).norm();
    ++out_.exact_gradients;
    ++out_.passes;
    step_.advance(1);
    const HessianOperator hessian(objective_, gradient.point, &start_.curvatures);
    std::optional<CarefulSystem> system;
    if (careful)
      system.emplace(objective_, gradient.point, options_.memory, step_);
    else if (!start_.preconditioner)
      start_.preconditioner = make_preconditioner(hessian, memory_.preconditioner, worth_);
    const auto solve = [&](const Matrix& right, const Vector& tolerance) {
      if (system) return system->solve(right, tolerance);
      return conjugate_gradient(
          [&](const Matrix& direction, std::span<const std::size_t> classes) {
            step_.advance(1);
            return hessian.apply(direction, classes);
          },
          *start_.preconditioner, right, tolerance, kMostCgPasses, LastStep::measured);
    };

    const double goal = objective_.mu * std::ldexp(1.0, -options_.grid_bits - kDoubtBits) /
                        static_cast<double>(std::max<Eigen::Index>(1, gradient.point.size()));
    Matrix correction = Matrix::Zero(gradient.point.rows(), gradient.point.cols());
    Matrix residual = gradient.value;
    for (int again = 0; again < kMostCorrections; ++again) {
      correction += correct(solve, residual, goal);
      FirstOrder here = first_order(objective_, gradient, correction, sizes());
      ++out_.passes;
      step_.advance(1);
      if (settle(gradient.point, correction, kBoundSlack * (here.norm + here.error) / objective_.mu)) return true;
      residual = std::move(here.residual);
      if (at_floor(here)) break;
    }
    start_.weights = gradient.point + correction;
    return false;
  }

  [[nodiscard]] const Vector* sizes() const noexcept { return steering_ == Steering::careful ? &sizes_ : nullptr; }

  /// Whether another correction would not help any system that is not decided.
  [[nodiscard]] bool at_floor(const FirstOrder& here) const {
    for (std::size_t s = 0; s < decided_.size(); ++s)
      if (!decided_[s] && !(here.norm[index_of(s)] <= kAtFloor * here.error[index_of(s)])) return false;
    return true;
  }

  /// A solution of H x = -residual, to `goal` where one solution can reach it, for the systems that
  /// are not decided.
  template <class Solve>
  Matrix correct(const Solve& solve, const Matrix& residual, double goal) {
    const double most_gain = steering_ == Steering::careful ? kLeastCarefulGain : kMostGain;
    const Vector norms = system_norms(objective_.head, residual);
    const double largest = norms.maxCoeff();
    if (!(largest > 0)) return Matrix::Zero(residual.rows(), residual.cols());
    const double scale = scale_of(largest);
    Vector tolerance(norms.size());
    for (Eigen::Index s = 0; s < norms.size(); ++s) {
      const double gain = std::clamp(norms[s] > 0 ? goal / norms[s] : kLeastGain, most_gain, kLeastGain);
      tolerance[s] = decided_[size_of(s)] ? std::numeric_limits<double>::infinity() : gain * norms[s] * scale;
    }
    const CgResult cg = solve(-scale * residual, tolerance);
    out_.passes += cg.passes + cg.readings;
    out_.products += cg.products;
    ++out_.corrections;
    if (!cg.solution.allFinite()) return Matrix::Zero(residual.rows(), residual.cols());
    return cg.solution / scale;
  }

  /// Keeps the weights of systems that are decided now and were not before; true when all are.
  bool settle(const Matrix& point, const Matrix& correction, const Vector& radius) {
    last_ = round_to_grid(point, correction, radius, options_.grid_bits);
    const double unit = std::ldexp(1.0, -options_.grid_bits);
    radius_ = 0;
    for (std::size_t s = 0; s < decided_.size(); ++s) {
      if (decided_[s]) continue;
      out_.doubts += last_.undecided[s];
      if (last_.undecided[s] > 0) {
        if (!(radius[index_of(s)] <= radius_)) radius_ = radius[index_of(s)];  // what is no number is the largest
        continue;
      }
      decided_[s] = true;
      out_.radius = std::max(out_.radius, radius[index_of(s)]);
      if (decided_.size() == 1)
        out_.weights = unit * last_.whole;
      else
        out_.weights.col(index_of(s)) = unit * last_.whole.col(index_of(s));
    }
    return std::find(decided_.begin(), decided_.end(), false) == decided_.end();
  }

  const Objective& objective_;
  const ExactOptions& options_;
  const Steering steering_;
  const WatchedStep step_{"exact", 0, "passes"};
  const double worth_;  // products that a preconditioner may cost
  const WorkingMemory memory_;
  NewtonResult start_;
  std::vector<bool> decided_;
  Vector sizes_;  // sizes of the columns, which careful steering looks at
  GridRounding last_;
  double radius_ = 0;
  ExactMinimiser out_;
};

std::string scientific(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", x);
  return text;
}

/// Weights on a boundary are a matter of chance, as long as the radius has come down to where few
/// would be undecided.
[[noreturn]] void refuse(const Objective& objective, const ExactOptions& options, const Refinement& refinement,
                         int passes) {
  const GridRounding& last = refinement.last();
  const double grid = std::ldexp(1.0, -options.grid_bits), radius = refinement.radius();
  if (radius * static_cast<double>(last.whole.size()) <= std::ldexp(grid, 1 - kDoubtBits))
    throw NoModelError(
        "weight (" + std::to_string(last.feature) + ", " + std::to_string(last.of_class) + ") lies within " +
        scientific(radius) +
        " of a boundary of the grid and cannot be rounded; declare another grid from now on, by training with " +
        option("set", "grid=..."));
  const std::string known = std::isfinite(radius) ? "is known to within " + scientific(radius) + " alone"
                                                  : std::string("is not known to any accuracy");
  throw NoModelError("the training has not converged: after " + std::to_string(passes) +
                     " readings of the rows the minimiser " + known + ", and the grid has steps of " +
                     scientific(grid) + "; " + option("lambda") + " times the number of rows is " +
                     scientific(objective.mu) + ": train with a larger " + option("lambda"));
}

/// Whether training is said to converge from any start (exact.md). Where it is not, the start,
/// which may depend on removed data, is not used, so that whether there is a model is a function of
/// the data, too.
bool is_well_posed(const Objective& objective) {
  constexpr double kLeastMu = 1e-10, kSquaredNorm = 2;
  double longest = 0;
  for (std::size_t i = 0; i < objective.rows.count; ++i) longest = std::max(longest, objective.rows.norms[i]);
  return objective.mu >= kLeastMu * std::max(1.0, longest * longest / kSquaredNorm);
}

/// Newton's method in float32 and float64 from a start, and corrections by float32 products.
NewtonResult approach(const Objective& objective, Matrix start, const ExactOptions& options) {
  NewtonOptions newton;
  newton.tolerance = std::max(kNearEnough * objective.mu, std::numeric_limits<double>::min());
  newton.best_effort = true;
  newton.measured_by_caller = true;
  newton.any_way = true;
  newton.memory = options.memory;
  newton.kept = options.kept;
  return minimise(objective, std::move(start), newton);
}

}  // namespace

ExactMinimiser minimise_exactly(const Objective& objective, Matrix start, const ExactOptions& options) {
  if (!start.allFinite()) throw UsageError("the weights to start from are not finite; train the model again");
  const Matrix nothing = Matrix::Zero(start.rows(), start.cols());
  int passes = 0;
  if (!begins_with_care(objective, options.memory)) {
    if (!is_well_posed(objective)) start = nothing;
    // Where a start that may depend on removed data does not lead, 0 may: an error comes of the
    // present data alone.
    for (const bool again : {false, true}) {
      if (again && start.isZero(0)) break;
      Refinement quick(objective, options, approach(objective, again ? nothing : start, options), Steering::quick);
      if (quick.run()) {
        ExactMinimiser found = quick.take();
        if (options.kept != nullptr) options.kept->keep(quick.take_preconditioner(), objective, found.products);
        return found;
      }
      passes += quick.passes();
    }
  }
  Refinement careful(objective, options, descend_carefully(objective, options.memory), Steering::careful);
  if (careful.run()) return careful.take();
  refuse(objective, options, careful, passes + careful.passes());
}

}  // namespace unweave
