// algorithms/learning/preconditioner.h - approximate inverses of the Hessians Z^T S_c Z + mu I of
// single classes, which for softmax, with S_c = p_c (1 - p_c), are the diagonal blocks of its
// Hessian.
#pragma once

#include <memory>
#include <span>

#include "algorithms/learning/objective.h"

namespace unweave {

class Preconditioner {
 public:
  virtual ~Preconditioner() = default;
  /// Column j of `residual` belongs to class classes[j]; returns the approximate inverse times
  /// each.
  [[nodiscard]] virtual Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const = 0;
  /// Follows the weights of `hessian`, an operator on the same rows; what depends on the rows alone
  /// is kept.
  virtual void refresh(const HessianOperator& hessian) = 0;
  /// Whether apply() reads the rows that it was made for, which it must not outlive then.
  [[nodiscard]] virtual bool reads_rows() const noexcept { return false; }
};

/// The diagonal of each class. Costs half a Hessian product.
[[nodiscard]] std::unique_ptr<Preconditioner> make_diagonal_preconditioner(const HessianOperator& hessian);

/// V (s_c Lambda + mu)^-1 V^T with Z^T Z = V Lambda V^T and s_c the mean curvature of class c, both
/// from at most 32,768 rows: one factorisation serves all classes and all weights. Costs 2 F^2 a
/// row of these, 20 F^3 and F^2 memory.
[[nodiscard]] std::unique_ptr<Preconditioner> make_spectral_preconditioner(const HessianOperator& hessian);

/// The rows and directions that a sampled preconditioner is made of.
struct SampledForm {
  std::size_t directions;            ///< F, or the strongest ones of the rows
  std::size_t picks;                 ///< rows a class, at most
  std::size_t picked_from = 65'536;  ///< rows of which classes pick theirs
};

/// The inverse of each class's own Hessian on at most `picks` rows of those that it picks from,
/// drawn evenly along the class's curvature. Where the curvatures of a class vary little, only what
/// parts them from their mean is drawn, beside the mean times Z^T Z of as many rows as cost half a
/// Hessian product: a product then gains two or three digits. With fewer `directions` D than
/// features it is the inverse on about the D strongest directions of the rows, without that mean,
/// and beside them that of the class's average curvature there. Costs D^2 C a pick, and D^2 C
/// float64 of memory; with fewer directions 4 F D a row of 8,192, twice, and 2 F D a row of those
/// picked from.
[[nodiscard]] std::unique_ptr<Preconditioner> make_sampled_preconditioner(const HessianOperator& hessian,
                                                                          const SampledForm& form);
/// Memory that it takes on as many threads as are active while it is made or refreshed, at most.
[[nodiscard]] std::size_t sampled_preconditioner_bytes(const Rows& rows, std::size_t classes, const SampledForm& form);

/// Memory of the sampled preconditioner that make_preconditioner() makes of `bytes`, its making
/// included; 0 where it makes another one, which takes F C numbers or (of at most 512 features)
/// some 20 F^2.
[[nodiscard]] std::size_t preconditioner_bytes(const Rows& rows, std::size_t classes, std::size_t bytes,
                                               double worth = 0);

/// One of these by rows, features and classes: each but the diagonal where it costs less than the
/// Hessian products that it saves, and the sampled one where `bytes` hold it. `worth`: where it
/// will serve often, products that it may cost; it is then the strongest that costs no more. Where
/// the head couples the classes it is exact along what is equal in all of them.
[[nodiscard]] std::unique_ptr<Preconditioner> make_preconditioner(const HessianOperator& hessian, std::size_t bytes,
                                                                  double worth = 0);

}  // namespace unweave
