// algorithms/numerics/blas.h - row-major matrix products, one thread a call: by BLIS, or of few
// columns by skinny_products.h.
//
// Parallelism is over row blocks above (row_sweep.h); a call that split itself would make sums
// depend on threads. Assumption used by error bounds: an entry of a product of inner length K is a
// sum of K rounded products in some order.
#pragma once

#include <cstddef>

namespace unweave {

/// Name of BLIS's kernels in use, as "skx"; "generic" where BLIS knows none for the processor.
[[nodiscard]] const char* product_kernels();

/// out (m x n) = a (m x k) * b (k x n), or out += when `add`. All row-major and dense.
void multiply(const double* a, const double* b, double* out, std::size_t m, std::size_t k, std::size_t n, bool add);
void multiply(const float* a, const float* b, float* out, std::size_t m, std::size_t k, std::size_t n, bool add);

/// out (m x n) = a^T * b with a (k x m) and b (k x n), or out += when `add`.
void multiply_transposed(const double* a, const double* b, double* out, std::size_t m, std::size_t k, std::size_t n,
                         bool add);
void multiply_transposed(const float* a, const float* b, float* out, std::size_t m, std::size_t k, std::size_t n,
                         bool add);

/// Adds the lower triangle of a^T a, a (k x n), to that of `out` (n x n); what lies above stays as
/// it is.
void add_gram(const float* a, float* out, std::size_t k, std::size_t n);

}  // namespace unweave
