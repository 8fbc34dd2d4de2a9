// tests/algorithms/numerics/wiping_memory_test.cpp - matrices and their temporaries leave nothing
// in freed memory.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

#include "algorithms/numerics/matrix.h"

#if defined(__SANITIZE_ADDRESS__)
#define UNWEAVE_MAY_READ_FREED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNWEAVE_MAY_READ_FREED 0
#endif
#endif
#ifndef UNWEAVE_MAY_READ_FREED
#define UNWEAVE_MAY_READ_FREED 1
#endif

namespace unweave {
namespace {

#if UNWEAVE_MAY_READ_FREED

constexpr Eigen::Index kRows = 40, kColumns = 10;  // 3200 bytes: the heap keeps such a block mapped

/// How many of the values lie where a matrix was. The first words belong to the allocator.
template <class Dense>
std::size_t left_of(Dense* matrix, typename Dense::Scalar value) {
  // Volatile, so that no compiler follows the address to the read below, which it rightly warns of.
  volatile auto address = reinterpret_cast<std::uintptr_t>(matrix->data());
  const std::size_t count = size_of(matrix->size());
  delete matrix;
  const std::uintptr_t where = address;
  std::size_t left = 0;
  for (std::size_t i = 8; i < count; ++i) {
    typename Dense::Scalar found;
    std::memcpy(&found, reinterpret_cast<const void*>(where + i * sizeof(found)), sizeof found);
    left += found == value ? 1 : 0;
  }
  return left;
}

#endif

}  // namespace

TEST_SUITE("unit") {
#if UNWEAVE_MAY_READ_FREED
  TEST_CASE("the memory of a matrix is overwritten when it is freed") {
    CHECK(left_of(new Matrix(Matrix::Constant(kRows, kColumns, 1.25)), 1.25) == 0);
    CHECK(left_of(new FloatMatrix(FloatMatrix::Constant(kRows, kColumns, 1.25F)), 1.25F) == 0);
    CHECK(left_of(new Vector(Vector::Constant(kRows * kColumns, 1.25)), 1.25) == 0);
    // One that Eigen does not free by that function: the test can fail.
    using Fixed = Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>;
    CHECK(left_of(new Fixed(Fixed::Constant(kRows * kColumns, 77)), std::int64_t{77}) > 300);
  }
#endif

  TEST_CASE("resizing, moving and swapping keep what is there") {
    Matrix one = Matrix::Constant(3, 4, 2), two = Matrix::Constant(5, 6, 3);
    one.swap(two);
    CHECK(one.rows() == 5);
    CHECK(two(2, 3) == 2);
    Matrix moved = std::move(one);
    moved.conservativeResize(7, 6);
    CHECK(moved(4, 5) == 3);
    moved.resize(0, 0);
    CHECK(moved.size() == 0);
  }
}

}  // namespace unweave
