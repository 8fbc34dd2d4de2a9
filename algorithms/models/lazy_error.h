// algorithms/models/lazy_error.h - how far the training rows of a lazy embedding are from the exact
// ones.
#pragma once

#include <span>

#include "algorithms/privacy/residual_bounds.h"
#include "algorithms/propagation/embedding.h"

namespace unweave {

/// Bounds per column from the stale rows; exact() when there are none. delta = t - published in
/// units of 2^-s, P = D^-1 A. One level's error obeys e^l = P (e^{l-1} - delta^{l-1}) + rounding,
/// |rounding| <= 1 (two roundings by half a unit), hence
///   z_hat - z = D^{1-rho} sum_l w_l (sum_{t<l} -P^{l-t} delta^t + sum_{t<l} P^t rounding).
/// P^k = D^{-1/2} (D^{-1/2} A D^{-1/2})^k D^{1/2} with a symmetric factor of norm 1, and A D^{-1}
/// keeps sums, so
///   |D^{1-rho} P^k delta|_2 <= c sqrt(sum d delta^2),  c = max over the training rows of d^{1/2-rho}
///   |D^{1-rho} P^k delta|_1 <= sum d |delta|,
/// while P^t rounding stays within one unit: sqrt(sum d^{2-2rho}) and sum d^{1-rho} over the
/// training rows. Every block of rows that have several has columns of its own. Clipping moves no
/// two rows apart. Everything is rounded up.
[[nodiscard]] ApproximationError lazy_error(const Embedding& embedding, const Contents& contents,
                                            std::span<const double> weights, std::span<const NodeId> training);

/// The error for a user who reads rows: the largest 2-norm, over the columns, of z_hat - z over all
/// nodes, with the weights of the store. Instead of the rows' own degrees it takes bounds that need
/// no pass over them. 0 without stale rows.
[[nodiscard]] double lazy_error_bound(const Embedding& embedding, const Contents& contents);

}  // namespace unweave
