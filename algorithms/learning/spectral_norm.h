// algorithms/learning/spectral_norm.h - upper estimates of |Z|_2, the largest singular value of the
// training rows.
#pragma once

#include "algorithms/learning/training_set.h"

namespace unweave {

/// |Z|_F, a safe bound at no pass.
[[nodiscard]] double frobenius_norm(const Rows& rows);

/// min(|Z|_F, estimate / sqrt(0.9)), the estimate by 32 steps of Lanczos on Z^T Z from a fixed
/// pseudo-random start. A random start stays below (1 - 0.1) |Z|_2^2 with probability at most 1.65
/// sqrt(F) exp(-(2*32 - 1) sqrt(0.1)) = 4e-9 sqrt(F) (Kuczynski and Wozniakowski 1992, Theorem
/// 4.2); without the margin it would be a lower estimate.
[[nodiscard]] double spectral_norm_above(const Rows& rows);

}  // namespace unweave
