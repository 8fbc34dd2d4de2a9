// algorithms/numerics/blas.cpp - the only file that knows BLIS.
#include "algorithms/numerics/blas.h"

#include <blis.h>

namespace unweave {
namespace {

void use_one_thread() {
  static const bool done = (bli_thread_set_num_threads(1), true);
  static_cast<void>(done);
}

int dim(std::size_t n) {
  return static_cast<int>(n);
}

}  // namespace

void multiply(const double* a, const double* b, double* out, std::size_t m, std::size_t k, std::size_t n, bool add) {
  use_one_thread();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0, a, dim(k), b, dim(n),
              add ? 1.0 : 0.0, out, dim(n));
}

void multiply(const float* a, const float* b, float* out, std::size_t m, std::size_t k, std::size_t n, bool add) {
  use_one_thread();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0F, a, dim(k), b, dim(n),
              add ? 1.0F : 0.0F, out, dim(n));
}

void multiply_transposed(const double* a, const double* b, double* out, std::size_t m, std::size_t k, std::size_t n,
                         bool add) {
  use_one_thread();
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0, a, dim(m), b, dim(n),
              add ? 1.0 : 0.0, out, dim(n));
}

void multiply_transposed(const float* a, const float* b, float* out, std::size_t m, std::size_t k, std::size_t n,
                         bool add) {
  use_one_thread();
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0F, a, dim(m), b, dim(n),
              add ? 1.0F : 0.0F, out, dim(n));
}

void add_gram(const float* a, float* out, std::size_t k, std::size_t n) {
  use_one_thread();
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, dim(n), dim(k), 1.0F, a, dim(n), 1.0F, out, dim(n));
}

}  // namespace unweave
