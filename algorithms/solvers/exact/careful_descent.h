// algorithms/solvers/exact/careful_descent.h - the way to the minimiser where float32 products and
// falling gradients do not lead there: by float64 products, whole factors where they fit, and steps
// that need no comparison of values.
#pragma once

#include <memory>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/learning/newton.h"
#include "algorithms/learning/objective.h"
#include "engine/resources/watcher.h"

namespace unweave {

/// Memory of the whole factors that careful descent takes, where what float32 products round may
/// exceed mu; else, and where factors are not for these rows, 0.
[[nodiscard]] std::size_t careful_bytes(const Objective& objective);

/// Whether a training is best begun by careful descent: it takes whole factors, `memory` holds
/// them, and one of them costs no more than a few seconds. Depends on the rows and the memory
/// alone.
[[nodiscard]] bool begins_with_care(const Objective& objective, std::size_t memory);

/// Newton's systems at one point by float64 products.
class CarefulSystem {
 public:
  /// `memory`: bytes for a whole factor or another preconditioner, which the caller has set aside.
  /// `step` advances with every product. All are borrowed.
  CarefulSystem(const Objective& objective, const Matrix& weights, std::size_t memory, const WatchedStep& step);

  /// Solves H x = right, each system to its tolerance on the residual.
  [[nodiscard]] CgResult solve(const Matrix& right, const Vector& tolerance) const;

 private:
  const Objective& objective_;
  const Matrix& weights_;
  const WatchedStep& step_;
  std::unique_ptr<Preconditioner> preconditioner_;
};

/// Newton's method from 0 by CarefulSystem and float64 gradients, for a mu that begins as large as
/// any curvature and falls tenfold, whenever a step moves margins by less than 1/2, down to the
/// objective's: so no step leads far from where curvatures are known. It ends when steps no longer
/// shorten. A step along which no margin, of a coupled head no difference of two, moves by more
/// than R is scaled by ln(1 + R) / R unless R <= 1 or the slope at its end is not positive: the
/// objective then falls, the third derivative being at most the second times that movement (Sun and
/// Tran-Dinh 2019). Differences of values or gradients, which rounding drowns where curvatures
/// range over ten orders, decide nothing. Without preconditioner and curvatures in the result.
[[nodiscard]] NewtonResult descend_carefully(const Objective& objective, std::size_t memory);

}  // namespace unweave
