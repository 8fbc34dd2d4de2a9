// algorithms/propagation/schemes.h - propagation weights w_0 .. w_L of the known schemes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace unweave {

/// In powers, the terms of T_12 come to 19,601 times its largest value, and so do the roundings of
/// the levels: with kLeastChebyshevBits of scale that is 7e-5.
inline constexpr std::uint32_t kMostChebyshev = 12, kLeastChebyshevBits = 28;

/// Weights of `scheme` for L = levels: sgc (0, .., 0, 1), ppr:A w_l = A (1 - A)^l and w_L = (1 -
/// A)^L as APPNP's recursion H <- (1 - A) P H + A X from H = X has them, so that they sum to 1,
/// heat:T w_l = e^-T T^l / l!, not rescaled, gpr (the given weights). PROPAGATION.md beside has
/// them all. With `weights` given, their number must be L + 1 and the scheme gpr or empty.
///
/// chebyshev, L at most kMostChebyshev, are (L + 1)^2: a block T_k(L^) X / sqrt(L + 1) for each k,
/// whose filter is left to the model; L^ = -D^-1/2 A D^-1/2 is the Laplacian scaled to [-1, 1] by
/// its largest eigenvalue 2, the factor keeps the length of rows. ChebNetII's coefficients 2 / (L +
/// 1) sum_j gamma_j T_k(x_j) of gamma_0 .. gamma_L, the filter's values at the nodes x_j of
/// T_(L+1), half of it for k = 0, are all coefficients: a model learns them as they are.
///
/// stack are (L + 1)^2, too: a block t^l / sqrt(L + 1) for each level.
///
/// Throws UsageError. Sources: Wu et al., SGC, ICML 2019; Gasteiger et al., APPNP, ICLR 2019 and
/// GDC, NeurIPS 2019; Chien et al., GPR-GNN, ICLR 2021; He, Wei and Wen, ChebNetII, NeurIPS 2022.
[[nodiscard]] std::vector<double> scheme_weights(const std::string& scheme, std::uint32_t levels,
                                                 const std::vector<double>& weights);

/// Blocks of a row that these weights make side by side: 1, or L + 1 of chebyshev and stack.
[[nodiscard]] inline std::size_t blocks_of(const std::vector<double>& weights, std::uint32_t levels) noexcept {
  return weights.size() / (std::size_t{levels} + 1);
}

}  // namespace unweave
