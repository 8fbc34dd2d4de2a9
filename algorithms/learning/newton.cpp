// algorithms/learning/newton.cpp - inexact damped Newton with measured residuals.
#include "algorithms/learning/newton.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/learning/dual_preconditioner.h"
#include "algorithms/learning/no_model_error.h"
#include "algorithms/learning/whole_preconditioner.h"
#include "algorithms/learning/working_memory.h"
#include "engine/resources/clock.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr int kMostCgPasses = 2000;
constexpr int kMostHalvings = 40;
constexpr int kRoughHalvings = 3;          // more would chase the rounding of float32, or are better spent on float64
constexpr double kFarForCurvatures = 0.5;  // margins that move so far change curvatures by up to e^0.5
constexpr double kFirstRough = 5e-4, kLeast = 2e-5;  // goals of the first system and of any, as parts of the gradient
constexpr std::size_t kSampledFeatures =
    512;                       // up to which sampled rows make a preconditioner of all directions, for less
constexpr double kTold = 0.1;  // the part of the way that lies behind when the time left is told
constexpr double kCheapWhole =
    64;                            // products that inverse Hessians may cost without asking how far products alone lead
constexpr double kWorn = 0.25;     // products with inverse Hessians of elsewhere, as a part of what new ones cost
constexpr double kRoughGoal = 10;  // float32 gradients are followed down to so many times their rounding

std::string scientific(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", x);
  return text;
}

/// Solves each class only as far as the quadratic remainder of the step lets the gradient fall: q_c
/// |g_c|^2, with q_c learnt from the previous step. Float32 products bound the accuracy of one step
/// below.
Vector forcing(const Vector& now, const Vector& before, double first, double floor) {
  constexpr double kMost = 0.1;
  Vector tolerance(now.size());
  for (Eigen::Index c = 0; c < now.size(); ++c) {
    const double rate =
        before.size() == 0 ? first : std::clamp(0.5 * now[c] * now[c] / (before[c] * before[c]), kLeast, kMost);
    tolerance[c] = std::max(rate * now[c], floor);
  }
  return tolerance;
}

/// True where the float error may be what keeps the gradient from falling.
bool at_noise(const Gradient& gradient) {
  return gradient.norm <= 1e3 * gradient.error;
}

/// The iterate and what may be kept from step to step.
class Descent {
 public:
  Descent(const Objective& objective, Matrix start, const NewtonOptions& options)
      : objective_(objective),
        options_(options),
        worth_(options.kept == nullptr ? 0 : options.kept->worth()),
        memory_(working_memory_within(objective.rows, objective.classes, options.memory, worth_)),
        curvatures_(curvatures_within(objective, memory_.curvatures)) {
    const std::size_t room = options.memory - std::min(options.memory, memory_.curvatures);
    const auto offer = [&](std::size_t bytes, double cost, auto* make) {
      if (!options.any_way || bytes == 0 || bytes > room || (whole_cost_ && *whole_cost_ <= cost)) return;
      whole_cost_ = cost;
      make_whole_ = make;
    };
    offer(whole_preconditioner_bytes(objective), whole_preconditioner_cost(objective), make_whole_preconditioner);
    offer(dual_preconditioner_bytes(objective), dual_preconditioner_cost(objective), make_dual_preconditioner);
    best_.weights = std::move(start);
    if (options.kept != nullptr) preconditioner_ = options.kept->take(objective);
  }

  /// Steps by float32 gradients until their rounding, or a tenth of what is asked for, is in sight:
  /// most of the way, at less than half the cost. Nothing that it finds is believed.
  void approach() {
    evaluate_ = rough_gradient;
    begin();
    while (best_.steps < options_.most_steps) {
      const double goal = std::max(kRoughGoal * best_.gradient.error, 0.1 * options_.tolerance);
      if (!(best_.gradient.norm > goal)) return;
      const Matrix direction = solve(goal / 2);
      if (!direction.allFinite()) return;  // float32 products overflowed: finish() starts from what is known
      if (best_.steps == 0 && is_short(direction)) {
        moved_ += reach_of(direction);
        best_.weights += direction;
        ++best_.steps;
        return;
      }
      if (!go(direction, goal / 2, kRoughHalvings)) return;
    }
  }

  /// Steps by float64 gradients with their error bound until the tolerance holds; false when it
  /// cannot be reached.
  bool finish() {
    evaluate_ = gradient_with_error;
    before_ = Vector();  // what float32 gradients taught near their rounding is nothing to go by
    begin();
    const int last = best_.steps + options_.most_steps;
    int idle = 0;  // steps in a row without gain; slow progress counts as none near the float error alone
    for (;;) {
      const Gradient& now = best_.gradient;
      if (residual() <= options_.tolerance) return true;
      const bool noise = now.error >= options_.tolerance && now.norm <= now.error;
      if (noise || idle >= 3 || best_.steps >= last) return false;
      const double before = residual();
      const bool near = at_noise(now);
      const double goal = 0.3 * std::max(options_.tolerance - now.error, 0.1 * now.error);
      const Matrix direction = solve(goal);
      if (options_.measured_by_caller && should_suffice(direction)) {
        best_.weights += direction;
        ++best_.steps;
        curvatures_here_ = false;
        return true;
      }
      const bool fell = go(direction, goal, kMostHalvings);
      if (!fell || residual() > 0.9 * before) last_step_ = LastStep::measured;
      idle = !fell || (residual() > 0.9 * before && near) ? idle + 1 : 0;
    }
  }

  NewtonResult take() {
    best_.residual = residual();
    best_.preconditioner = std::move(preconditioner_);
    best_.curvatures = std::move(curvatures_);
    return std::move(best_);
  }
  [[nodiscard]] const NewtonResult& best() const noexcept { return best_; }
  [[nodiscard]] double residual() const noexcept { return best_.gradient.norm + best_.gradient.error; }

 private:
  Gradient evaluate(const Matrix& weights) {
    ++best_.passes;
    ++(evaluate_ == rough_gradient ? best_.rough_gradients : best_.gradients);
    Gradient gradient = evaluate_(objective_, weights, &curvatures_);
    step_.advance(1);
    return gradient;
  }

  void begin() {
    best_.gradient = evaluate(best_.weights);
    curvatures_here_ = true;
    tell();
  }

  /// The number of passes is not known before; the gradient is what tells how far there is to go,
  /// and its digits how long.
  void tell() {
    if (!step_.watched()) return;
    if (!(first_residual_ > 0)) first_residual_ = residual();
    std::string text = "gradient " + scientific(residual()) + ", to come to " + scientific(options_.tolerance);
    const double done =
        std::log(first_residual_ / residual()) / std::log(first_residual_ / std::min(options_.tolerance, residual()));
    if (done > kTold && done < 1)
      text +=
          ", about " + std::to_string(std::llround(std::ceil(seconds_since(start_) * (1 - done) / done))) + " s left";
    step_.note(text);
  }

  /// What a step solves and damps: each class, or all at once where the head couples them.
  [[nodiscard]] std::size_t systems() const noexcept {
    return couples_classes(objective_.head) ? 1 : objective_.classes;
  }
  [[nodiscard]] Vector system_norms(const Gradient& gradient) const {
    if (systems() == objective_.classes) return gradient.class_norm;
    return Vector::Constant(1, gradient.class_norm.norm());
  }
  [[nodiscard]] double floor_of(double goal) const { return goal / std::sqrt(static_cast<double>(systems())); }

  /// Newton direction, with the systems solved to `goal` together at the best.
  Matrix solve(double goal) {
    // Where a rejected trial overwrote the curvatures, products form them again.
    const HessianOperator hessian(objective_, best_.weights, curvatures_here_ ? &curvatures_ : nullptr);
    if (!preconditioner_ && whole_cost_ && *whole_cost_ <= kCheapWhole && objective_.rows.features > kSampledFeatures)
      factorise();
    else if (!preconditioner_)
      preconditioner_ = make_preconditioner(hessian, memory_.preconditioner, worth_);
    if (moved_ > kFarForCurvatures && !constant_curvature(objective_.head)) {
      if (whole_at_ && best_.products - *whole_at_ > kWorn * *whole_cost_) {
        factorise();
      } else if (!whole_at_ && options_.kept == nullptr) {
        preconditioner_->refresh(hessian);
        moved_ = 0;
      }
    }
    const double first = evaluate_ == rough_gradient ? kFirstRough : kLeast;
    const Vector tolerance = forcing(system_norms(best_.gradient), before_, first, floor_of(goal));
    for (;;) {
      CgResult cg = conjugate_gradient(
          [&](const Matrix& direction, std::span<const std::size_t> classes) {
            step_.advance(1);
            return hessian.apply(direction, classes);
          },
          *preconditioner_, -best_.gradient.value, tolerance, kMostCgPasses, last_step_,
          [&](int passes, double left) { return costs_more_than_whole(passes, left); });
      best_.passes += cg.passes + cg.readings;
      best_.products += cg.products;
      if (!cg.given_up) return std::move(cg.solution);
      factorise();
    }
  }

  void factorise() {
    preconditioner_.reset();  // its memory first
    preconditioner_ = make_whole_(objective_, best_.weights);
    whole_at_ = best_.products;
    moved_ = 0;
  }

  /// Whether the products of this system and of those to come, as slow as it has been so far, are
  /// going to cost more than the inverse Hessians themselves.
  [[nodiscard]] bool costs_more_than_whole(int passes, double left) const {
    constexpr double kSystemsToCome = 2;
    // Conjugate gradients speed up on their way, so that what is left is guessed once as much as
    // half of that was spent.
    if (whole_at_)
      return moved_ > kFarForCurvatures && !constant_curvature(objective_.head) &&
             best_.products + passes - *whole_at_ > kWorn * *whole_cost_;
    return whole_cost_ && best_.products + passes > *whole_cost_ / 2 &&
           kSystemsToCome * passes * left > *whole_cost_ * (1 - left);
  }

  /// No margin moves by more than this along `direction`.
  [[nodiscard]] double reach_of(const Matrix& direction) const {
    const Rows& rows = objective_.rows;
    const double longest = rows.count == 0 ? 0 : *std::max_element(rows.norms, rows.norms + rows.count);
    return longest * direction.colwise().norm().maxCoeff();
  }

  /// True for a step so short that the next one should end at the tolerance: where margins move by
  /// r, a step leaves a gradient of about r / 2 of the one before, and the next that part of its
  /// square. A row and a step are seldom parallel.
  [[nodiscard]] bool is_short(const Matrix& direction) const {
    const double reach = reach_of(direction) / std::sqrt(static_cast<double>(objective_.rows.features));
    return reach * reach * reach * best_.gradient.norm / 8 <= 0.3 * options_.tolerance;
  }

  /// True for a step of which the gradient that it leaves is expected to be within the tolerance,
  /// or within what float64 can tell: the part that systems were solved to, and half of what
  /// margins move by.
  [[nodiscard]] bool should_suffice(const Matrix& direction) const {
    const double moved = reach_of(direction) / std::sqrt(static_cast<double>(objective_.rows.features));
    const double left = (kLeast + moved / 2) * best_.gradient.norm;
    return std::isfinite(left) && left <= std::max(options_.tolerance, best_.gradient.error);
  }

  /// One Newton step along `direction`, halved system by system until it helps or the system is at
  /// its share of `goal`, at most so many times; true when the residual fell.
  bool go(const Matrix& direction, double goal, int most_halvings) {
    const double floor = floor_of(goal);
    const Vector here = system_norms(best_.gradient);
    Vector scale = Vector::Ones(here.size());
    Matrix trial = best_.weights + direction;
    Gradient gradient = evaluate(trial);
    for (int halving = 0; halving < most_halvings; ++halving) {
      bool accepted = true;
      const Vector there = system_norms(gradient);
      for (Eigen::Index c = 0; c < scale.size(); ++c) {
        const double enough = (1 - 1e-4 * scale[c]) * here[c];
        if (there[c] <= std::max({enough, floor, gradient.error})) continue;
        scale[c] /= 2;
        accepted = false;
      }
      if (accepted) break;
      trial = best_.weights;
      if (systems() == objective_.classes)
        trial += direction * scale.asDiagonal();
      else
        trial += direction * scale[0];
      gradient = evaluate(trial);
    }
    ++best_.steps;
    before_ = here;
    curvatures_here_ = gradient.norm + gradient.error < residual();
    if (!curvatures_here_) return false;
    moved_ += reach_of(trial - best_.weights);
    best_.weights = std::move(trial);
    best_.gradient = std::move(gradient);
    tell();
    return true;
  }

  const Objective& objective_;
  const NewtonOptions& options_;
  const WatchedStep step_{"newton", 0, "passes"};
  const Clock::time_point start_ = Clock::now();
  double first_residual_ = 0;
  const double worth_;  // products that a preconditioner may cost
  const WorkingMemory memory_;
  Gradient (*evaluate_)(const Objective&, const Matrix&, Curvatures*) = nullptr;
  NewtonResult best_;
  Curvatures curvatures_;
  bool curvatures_here_ = false;  // they are those at the best weights
  std::unique_ptr<Preconditioner> preconditioner_;
  std::optional<double> whole_cost_;  // products that inverse Hessians cost; none where they have no room
  std::unique_ptr<Preconditioner> (*make_whole_)(const Objective&, const Matrix&) = nullptr;  // the cheaper way to them
  std::optional<double> whole_at_;           // products before the ones that are there were made
  LastStep last_step_ = LastStep::expected;  // until a step has gained little
  double moved_ = 0;                         // margins, at most, since the preconditioner saw the weights
  Vector before_;                            // norms of the gradient before the last step, one a system
};

[[noreturn]] void refuse(const Descent& descent, double tolerance) {
  const NewtonResult& best = descent.best();
  if (!at_noise(best.gradient))
    throw NoModelError("the gradient norm fell only to " + scientific(best.gradient.norm) + " in " +
                       std::to_string(best.steps) + " Newton steps; use a larger " + option("lambda") + " or " +
                       option("tau") + ", or train again");
  throw NoModelError("a gradient norm of " + scientific(tolerance) +
                     " cannot be reached in float64 on these rows (reached " + scientific(best.gradient.norm) +
                     ", rounding error up to " + scientific(best.gradient.error) + "); use " +
                     option("tau", scientific(2.5 * descent.residual())) + " or larger");
}

}  // namespace

NewtonResult minimise(const Objective& objective, Matrix start, const NewtonOptions& options) {
  if (!start.allFinite()) throw UsageError("the weights to start from are not finite; train the model again");
  if (!(options.tolerance > 0) || !std::isfinite(options.tolerance))
    throw UsageError("the gradient tolerance must be positive and finite");

  const bool from_nothing = start.isZero(0);
  const Eigen::Index features = start.rows(), classes = start.cols();
  {
    Descent descent(objective, std::move(start), options);
    descent.approach();
    if (descent.finish() || options.best_effort) return descent.take();
    if (from_nothing) refuse(descent, options.tolerance);
  }
  // The start may depend on removed data. So an error comes only of data on which learning from
  // nothing fails too.
  return minimise(objective, Matrix::Zero(features, classes), options);
}

}  // namespace unweave
