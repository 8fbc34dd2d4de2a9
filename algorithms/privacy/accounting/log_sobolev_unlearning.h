// algorithms/privacy/accounting/log_sobolev_unlearning.h - full-batch Langevin unlearning by its log-Sobolev analysis.
//
// Chien, Wang, Chen, Li, "Langevin Unlearning: A New Perspective of Noisy Gradient Descent for Machine Unlearning",
// NeurIPS 2024 ("LU"). The iteration is noisy_sgd.h with b = n, here started from a law with log-Sobolev constant
// 2 sigma^2 / m, N(x0, (2 sigma^2 / m) I) say, which every later law keeps. Learning without end is Renyi private for S
// replaced rows,
//   eps_0(alpha) <= 4 alpha S^2 M^2 / (m sigma^2 n^2),
// and K epochs on the new data shrink the divergence of order alpha by exp(-eta m K / alpha). The start is smaller by
// 2 m eta than the one of langevin.h, the decay slower by 2 alpha: it compares well for one row and one epoch.
//
// All functions: sgd has full batches and m > 0, S is in [1, n], K >= 1, delta in (0, 1); else UsageError. Epsilons are
// minima over all orders, to about 9 digits from above.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/privacy/accounting/noisy_sgd.h"

namespace unweave {

/// Epsilon after one request of S = `rows` rows and K = `epochs` epochs.
[[nodiscard]] double log_sobolev_epsilon(const NoisySgd& sgd, std::uint64_t rows, std::uint64_t epochs, double sigma,
                                         double delta);

/// Least sigma for it, to about 9 digits from above. Throws UsageError where no finite sigma will do.
[[nodiscard]] double log_sobolev_sigma(const NoisySgd& sgd, std::uint64_t rows, std::uint64_t epochs, double epsilon,
                                       double delta);

/// Least epochs K_1, K_2, ... of `requests` requests of S rows each, every release at (epsilon, delta):
///   eps_s(alpha) = exp(-eta m K_s / alpha) (alpha - 1/2)/(alpha - 1) (eps_0(2 alpha) + eps_{s-1}(2 alpha)),
/// by the weak triangle inequality; the order doubles at every request, so only few are affordable. Throws UsageError
/// where more than 2^53 epochs are needed.
[[nodiscard]] std::vector<std::uint64_t> log_sobolev_epochs(const NoisySgd& sgd, std::uint64_t rows,
                                                            std::uint64_t requests, double sigma, double epsilon,
                                                            double delta);

}  // namespace unweave
