// algorithms/numerics/blas.cpp - chooses kernels by shape, and is the only file that knows BLIS.
#include "algorithms/numerics/blas.h"

#include <blis.h>

#include <cstdlib>
#include <string>

#include "algorithms/numerics/skinny_products.h"

namespace unweave {
namespace {

/// BLIS 0.9 takes AMD's processors since Zen 4 for unknown ones, and multiplies without vectors: a
/// seventh of the speed on Zen 5. They have all that its AVX-512 kernels need. What the user has
/// chosen stays.
bool choose_kernels() noexcept {
#if defined(__x86_64__) && defined(BLIS_CONFIG_SKX)
  __builtin_cpu_init();
  const bool has_vectors = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  // BLIS 0.9 understands the number alone.
  if (__builtin_cpu_is("amd") && has_vectors)
    ::setenv("BLIS_ARCH_TYPE", std::to_string(static_cast<int>(BLIS_ARCH_SKX)).c_str(), 0);
#endif
  // Packages of Python ask every BLAS that a process has loaded about itself (threadpoolctl, for
  // scikit-learn), and BLIS ends the process where it is asked before it was used.
  bli_init();
  return true;
}

/// As the program is loaded, before there are threads that may read the environment.
[[maybe_unused]] const bool kernels_are_chosen = choose_kernels();

void use_one_thread() {
  static const bool done = (bli_thread_set_num_threads(1), true);
  static_cast<void>(done);
}

int dim(std::size_t n) {
  return static_cast<int>(n);
}

/// One column is a product with a vector, which is read at the speed of memory.
bool is_skinny(std::size_t n) {
  return n > 1 && n <= kMostSkinnyColumns;
}

}  // namespace

const char* product_kernels() {
  use_one_thread();
  return bli_arch_string(bli_arch_query_id());
}

void multiply(const double* a, const double* b, double* out, std::size_t m, std::size_t k, std::size_t n, bool add) {
  if (is_skinny(n)) return multiply_skinny(a, k, 1, b, out, m, k, n, add);
  use_one_thread();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0, a, dim(k), b, dim(n),
              add ? 1.0 : 0.0, out, dim(n));
}

void multiply(const float* a, const float* b, float* out, std::size_t m, std::size_t k, std::size_t n, bool add) {
  if (is_skinny(n)) return multiply_skinny(a, k, 1, b, out, m, k, n, add);
  use_one_thread();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0F, a, dim(k), b, dim(n),
              add ? 1.0F : 0.0F, out, dim(n));
}

void multiply_transposed(const double* a, const double* b, double* out, std::size_t m, std::size_t k, std::size_t n,
                         bool add) {
  if (is_skinny(n)) return multiply_skinny(a, 1, m, b, out, m, k, n, add);
  use_one_thread();
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0, a, dim(m), b, dim(n),
              add ? 1.0 : 0.0, out, dim(n));
}

void multiply_transposed(const float* a, const float* b, float* out, std::size_t m, std::size_t k, std::size_t n,
                         bool add) {
  if (is_skinny(n)) return multiply_skinny(a, 1, m, b, out, m, k, n, add);
  use_one_thread();
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0F, a, dim(m), b, dim(n),
              add ? 1.0F : 0.0F, out, dim(n));
}

void add_gram(const float* a, float* out, std::size_t k, std::size_t n) {
  use_one_thread();
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, dim(n), dim(k), 1.0F, a, dim(n), 1.0F, out, dim(n));
}

}  // namespace unweave
