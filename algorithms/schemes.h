// algorithms/schemes.h - propagation weights w_0 .. w_L of the known schemes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace unweave {

/// Weights of `scheme` for L = levels: sgc (0, .., 0, 1), ppr:A w_l = A (1 - A)^l, heat:T w_l = e^-T T^l / l!, gpr (the
/// given weights). Not rescaled. With `weights` given, their number must be L + 1 and the scheme gpr or empty.
/// Throws UsageError. Sources: Wu et al., SGC, ICML 2019; Gasteiger et al., APPNP, ICLR 2019 and GDC, NeurIPS 2019;
/// Chien et al., GPR-GNN, ICLR 2021.
[[nodiscard]] std::vector<double> scheme_weights(const std::string& scheme, std::uint32_t levels,
                                                 const std::vector<double>& weights);

}  // namespace unweave
