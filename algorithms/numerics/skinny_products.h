// algorithms/numerics/skinny_products.h - products of a tall or wide matrix with one of few
// columns, one a class.
//
// A library for matrices of any shape packs both of them first, which costs a matrix of few columns
// as much as the product.
#pragma once

#include <cstddef>

namespace unweave {

/// Most columns for which these are the faster ones.
inline constexpr std::size_t kMostSkinnyColumns = 512;

/// out (m x n) = A * b, or out += when `add`: element (i, j) of A (m x k) lies at a[i * row_step +
/// j * inner_step], and b (k x n) and out are row-major and dense. Each element is one chain of k
/// products in their order, whichever vector extension there is, fused where the processor can. One
/// thread.
void multiply_skinny(const float* a, std::size_t row_step, std::size_t inner_step, const float* b, float* out,
                     std::size_t m, std::size_t k, std::size_t n, bool add);
void multiply_skinny(const double* a, std::size_t row_step, std::size_t inner_step, const double* b, double* out,
                     std::size_t m, std::size_t k, std::size_t n, bool add);

}  // namespace unweave
