// algorithms/numerics/wiping_memory.h - the memory of Eigen's matrices is overwritten before it is
// given back.
//
// Iterates without noise, gradients and directions pass through temporaries that nobody names.
// Eigen 3.4 frees the storage of every dense object that is not of a fixed size by one function,
// which is specialised here for float64 and float32. Every file that includes Eigen must see these
// specialisations first: it includes matrix.h (tests/layering_test.cmake). Out of reach are buffers
// in which a BLAS library or Eigen packs pieces of operands, what conservativeResize() leaves, and
// vectors of the standard library, such as the state that a model's file holds anyway.
#pragma once

#include <strings.h>

#include <Eigen/Core>
#include <cstddef>

namespace Eigen::internal {

template <>
inline void conditional_aligned_delete_auto<double, true>(double* values, std::size_t count) {
  if (values != nullptr) explicit_bzero(values, count * sizeof(double));
  conditional_aligned_free<true>(values);
}

template <>
inline void conditional_aligned_delete_auto<float, true>(float* values, std::size_t count) {
  if (values != nullptr) explicit_bzero(values, count * sizeof(float));
  conditional_aligned_free<true>(values);
}

}  // namespace Eigen::internal
