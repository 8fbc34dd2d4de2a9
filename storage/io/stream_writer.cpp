// storage/io/stream_writer.cpp - fills one aligned buffer while the other is written past the page
// cache.
#include "storage/io/stream_writer.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace unweave {
namespace {

constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kLeastDirectEnd = std::size_t{256} << 10;  // below it a copy takes less than waiting for the disk

std::byte* allocate(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

/// Returns whether the descriptor now has the flag as wanted.
bool set_direct(int descriptor, bool on) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && ::fcntl(descriptor, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

}  // namespace

StreamWriter::StreamWriter(File file)
    : file_(std::make_unique<File>(std::move(file))), filling_(allocate(kBufferBytes)) {}

StreamWriter::~StreamWriter() {
  if (in_flight_.valid()) in_flight_.wait();
}

void StreamWriter::wait() {
  if (in_flight_.valid()) in_flight_.get();
}

void StreamWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t take = std::min(bytes.size(), kBufferBytes - filled_);
    std::memcpy(filling_.get() + filled_, bytes.data(), take);
    filled_ += take;
    bytes = bytes.subspan(take);
    if (filled_ == kBufferBytes) write_full_buffer();
  }
}

void StreamWriter::try_direct() {
  if (tried_direct_) return;
  direct_ = set_direct(file_->descriptor(), true);
  tried_direct_ = true;
}

void StreamWriter::write_full_buffer() {
  wait();
  try_direct();
  if (!writing_) writing_.reset(allocate(kBufferBytes));
  std::swap(filling_, writing_);
  const std::span<const std::byte> bytes(writing_.get(), filled_);
  in_flight_ =
      std::async(std::launch::async, [file = file_.get(), at = written_, bytes] { file->write_at(at, bytes); });
  written_ += filled_;
  filled_ = 0;
}

File StreamWriter::finish() {
  wait();
  std::size_t done = 0;
  if (filled_ >= kLeastDirectEnd) try_direct();
  if (direct_) {
    if (filled_ >= kLeastDirectEnd) {
      done = filled_ / kAlignment * kAlignment;
      file_->write_at(written_, {filling_.get(), done});
    }
    set_direct(file_->descriptor(), false);
  }
  file_->write_at(written_ + done, {filling_.get() + done, filled_ - done});
  written_ += filled_;
  filled_ = 0;
  return std::move(*file_);
}

}  // namespace unweave
