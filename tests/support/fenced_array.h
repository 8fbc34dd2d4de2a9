// tests/support/fenced_array.h - arrays that end where memory does.
#pragma once

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace unweave::testing {

/// `size` elements that end where a page begins that can be read at most: a write after the end
/// kills the test.
template <class T>
class FencedArray {
 public:
  FencedArray(std::size_t size, bool readable_after, T value)
      : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        bytes_((size * sizeof(T) + page_ - 1) / page_ * page_ + page_),
        memory_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(memory_ != MAP_FAILED);
    std::byte* const end = static_cast<std::byte*>(memory_) + bytes_ - page_;
    REQUIRE(::mprotect(end, page_, readable_after ? PROT_READ : PROT_NONE) == 0);
    data_ = reinterpret_cast<T*>(end) - size;
    std::fill_n(data_, size, value);
  }
  FencedArray(const FencedArray&) = delete;
  FencedArray& operator=(const FencedArray&) = delete;
  ~FencedArray() { ::munmap(memory_, bytes_); }

  [[nodiscard]] T* data() const noexcept { return data_; }

 private:
  std::size_t page_, bytes_;
  void* memory_;
  T* data_ = nullptr;
};

}  // namespace unweave::testing
