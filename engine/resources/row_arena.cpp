// engine/resources/row_arena.cpp - takes memory in chunks of large pages and hands it out row by
// row.
#include "engine/resources/row_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace unweave {
namespace {

constexpr std::size_t kLeastChunk = std::size_t{64} << 10;
constexpr std::size_t kArenaAlignment = std::size_t{2} << 20;

}  // namespace

RowArena::RowArena(std::size_t row_bytes) noexcept : row_bytes_(std::max(row_bytes, sizeof(std::byte*))) {}

void RowArena::grow() {
  // Twice as much each time, so that few rows do not take the memory of thousands, then large page
  // by large page.
  const std::size_t wanted =
      std::max<std::size_t>(row_bytes_, std::clamp<std::uint64_t>(bytes_, kLeastChunk, kArenaAlignment));
  const std::size_t page = wanted < kArenaAlignment ? kLeastChunk : kArenaAlignment;
  const std::size_t bytes = (wanted + page - 1) / page * page;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(page, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  chunks_.emplace_back(memory);
  if (page == kArenaAlignment) ::madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: small pages do as well
  bytes_ += bytes;
  next_ = memory;
  end_ = memory + bytes;
}

std::byte* RowArena::take() {
  const std::scoped_lock lock(mutex_);
  if (returned_ != nullptr) {
    std::byte* const row = returned_;
    std::memcpy(&returned_, row, sizeof returned_);
    return row;
  }
  if (static_cast<std::size_t>(end_ - next_) < row_bytes_) grow();
  next_ += row_bytes_;
  return next_ - row_bytes_;
}

void RowArena::give(std::byte* row) {
  const std::scoped_lock lock(mutex_);
  std::memcpy(row, &returned_, sizeof returned_);
  returned_ = row;
}

void RowArena::clear() noexcept {
  const std::scoped_lock lock(mutex_);
  chunks_.clear();
  bytes_ = 0;
  next_ = end_ = returned_ = nullptr;
}

std::uint64_t RowArena::bytes() const noexcept {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

}  // namespace unweave
