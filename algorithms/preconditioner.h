// algorithms/preconditioner.h - approximate inverses of the per-class Hessians Z^T S_c Z + mu I.
#pragma once

#include <memory>
#include <span>

#include "algorithms/objective.h"

namespace unweave {

class Preconditioner {
 public:
  virtual ~Preconditioner() = default;
  /// Column j of `residual` belongs to class classes[j]; returns the approximate inverse times each.
  [[nodiscard]] virtual Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const = 0;
};

/// The diagonal of each class. Costs half a Hessian product.
[[nodiscard]] std::unique_ptr<Preconditioner> make_diagonal_preconditioner(const HessianOperator& hessian);

/// V (s_c Lambda + mu)^-1 V^T with Z^T Z = V Lambda V^T and s_c the mean curvature of class c: one factorisation serves
/// all classes and all weights. Costs n F^2 + 10 F^3 multiply-adds and F^2 memory.
[[nodiscard]] std::unique_ptr<Preconditioner> make_spectral_preconditioner(const HessianOperator& hessian);

/// The spectral one where its cost is below that of the Hessian products that it saves, else the diagonal.
[[nodiscard]] std::unique_ptr<Preconditioner> make_preconditioner(const HessianOperator& hessian);

}  // namespace unweave
