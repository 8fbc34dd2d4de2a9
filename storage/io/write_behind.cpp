// storage/io/write_behind.cpp - the threads that write filled segments and make them free again.
#include "storage/io/write_behind.h"

#include <cassert>
#include <new>
#include <system_error>
#include <utility>

#include "storage/io/error.h"

namespace unweave {

WriteBehind::WriteBehind(std::span<std::byte> memory, std::size_t segment_bytes) : segment_bytes_(segment_bytes) {
  assert(segment_bytes % kAlignment == 0 && memory.size() >= segment_bytes);
  add(memory);
  try {
    threads_.reserve(kThreads);
    for (std::size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) throw ResourceError("the system gives no thread for writing files; end other programs");
  } catch (const std::bad_alloc&) {
    if (threads_.empty()) throw;  // some will do
  }
}

WriteBehind::~WriteBehind() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    waiting_.clear();
  }
  given_.notify_all();
}

void WriteBehind::add(std::span<std::byte> memory) {
  {
    const std::scoped_lock lock(mutex_);
    for (std::size_t at = 0; at + segment_bytes_ <= memory.size(); at += segment_bytes_)
      free_.push_back(memory.data() + at);
  }
  freed_.notify_all();
}

std::byte* WriteBehind::take() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return failure_ || !free_.empty(); });
  if (failure_) std::rethrow_exception(failure_);
  std::byte* const segment = free_.back();  // the one freed last, which may still be in a cache
  free_.pop_back();
  return segment;
}

void WriteBehind::write(std::shared_ptr<const File> direct, std::shared_ptr<const File> buffered, std::uint64_t offset,
                        std::byte* segment, std::size_t bytes) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back({std::move(direct), std::move(buffered), offset, segment, bytes});
  }
  given_.notify_one();
}

void WriteBehind::require_written() {
  const std::scoped_lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void WriteBehind::drain() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return failure_ || (waiting_.empty() && under_way_ == 0); });
  if (failure_) std::rethrow_exception(failure_);
}

void WriteBehind::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Write one = std::move(waiting_.front());
    waiting_.pop_front();
    ++under_way_;
    const bool failed = failure_ != nullptr;
    lock.unlock();
    std::exception_ptr failure;
    try {
      const std::size_t whole = one.direct ? one.bytes / kAlignment * kAlignment : 0;
      if (!failed && whole > 0) one.direct->write_at(one.offset, {one.segment, whole});
      if (!failed && whole < one.bytes)
        one.buffered->write_at(one.offset + whole, {one.segment + whole, one.bytes - whole});
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    free_.push_back(one.segment);
    --under_way_;
    freed_.notify_all();
  }
}

}  // namespace unweave
