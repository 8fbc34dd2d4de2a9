#include "engine/row_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace unweave {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

void RowArena::grow() {
  const std::size_t row_bytes = std::max<std::size_t>(1, columns_) * sizeof(std::int32_t);
  const std::size_t bytes = (row_bytes + kHugePage - 1) / kHugePage * kHugePage;
  auto* memory = static_cast<std::int32_t*>(std::aligned_alloc(kHugePage, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  chunks_.emplace_back(memory);
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: small pages do as well
  chunk_rows_ = bytes / row_bytes;
  used_ = 0;
}

std::int32_t* RowArena::take() {
  const std::scoped_lock lock(mutex_);
  if (!free_.empty()) {
    std::int32_t* row = free_.back();
    free_.pop_back();
    return row;
  }
  if (used_ == chunk_rows_) grow();
  return chunks_.back().get() + used_++ * columns_;
}

void RowArena::give(std::int32_t* row) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(row);
}

void RowArena::clear() noexcept {
  const std::scoped_lock lock(mutex_);
  chunks_.clear();
  free_.clear();
  chunk_rows_ = used_ = 0;
}

}  // namespace unweave
