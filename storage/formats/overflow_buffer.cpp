// storage/formats/overflow_buffer.cpp - keeps bytes in memory, and in a temporary file once they
// pass the limit.
#include "storage/formats/overflow_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace unweave {
namespace {

std::span<const char> as_chars(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

OverflowBuffer::OverflowBuffer(std::filesystem::path directory, std::uint64_t memory_limit)
    : directory_(std::move(directory)), memory_limit_(memory_limit) {}

void OverflowBuffer::append(std::span<const std::byte> bytes) {
  if (!spool_ && size_ + bytes.size() > memory_limit_) spill();
  if (spool_) {
    spool_->append(as_chars(bytes));
    size_ += bytes.size();
    return;
  }
  while (!bytes.empty()) {
    const std::size_t at = static_cast<std::size_t>(size_ % kChunkBytes);
    if (at == 0) chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kChunkBytes));
    const std::size_t take = std::min(bytes.size(), kChunkBytes - at);
    std::memcpy(chunks_.back().get() + at, bytes.data(), take);
    bytes = bytes.subspan(take);
    size_ += take;
  }
}

void OverflowBuffer::spill() {
  spool_.emplace(directory_);
  std::uint64_t left = size_;
  for (auto& chunk : chunks_) {
    const std::size_t take = static_cast<std::size_t>(std::min<std::uint64_t>(left, kChunkBytes));
    spool_->append(as_chars({chunk.get(), take}));
    chunk.reset();
    left -= take;
  }
  chunks_.clear();
}

void OverflowBuffer::copy_to(SealedWriter& out, std::uint64_t offset, std::uint64_t length) {
  while (length > 0) {
    const std::size_t at = static_cast<std::size_t>(offset % kChunkBytes);
    const std::size_t take = static_cast<std::size_t>(std::min<std::uint64_t>(length, kChunkBytes - at));
    if (spool_) {
      read_buffer_.resize(take);
      spool_->read(offset, {reinterpret_cast<char*>(read_buffer_.data()), take});
      out.append(read_buffer_);
    } else {
      out.append({chunks_[static_cast<std::size_t>(offset / kChunkBytes)].get() + at, take});
    }
    offset += take;
    length -= take;
  }
}

}  // namespace unweave
