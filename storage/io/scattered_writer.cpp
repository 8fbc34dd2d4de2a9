// storage/io/scattered_writer.cpp - gathers the bytes of many threads in segments and hands over
// full ones.
#include "storage/io/scattered_writer.h"

#include <fcntl.h>

#include <algorithm>

#include "storage/io/stream_copy.h"

namespace unweave {
namespace {

constexpr std::uint64_t kLeastDirect = std::uint64_t{2} << 20;

std::shared_ptr<const File> direct_file(const std::filesystem::path& path, std::uint64_t expected_bytes) {
  if (expected_bytes < kLeastDirect) return nullptr;
  File file = File::open_direct(path);
  if (!file.is_open()) return nullptr;
  // Writes that make a file longer wait for each other; those into room that it has do not. A file
  // system without room tells of it with the writes, and one that cannot give it ahead does
  // without.
  (void)::fallocate(file.descriptor(), 0, 0, static_cast<off_t>(expected_bytes));
  return std::make_shared<const File>(std::move(file));
}

}  // namespace

ScatteredWriter::ScatteredWriter(const std::filesystem::path& path, std::uint64_t expected_bytes, WriteBehind& queue)
    : queue_(&queue),
      buffered_(std::make_shared<const File>(File::create(path))),
      direct_(direct_file(path, expected_bytes)) {}

void ScatteredWriter::put(std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::size_t size = queue_->segment_bytes();
  while (!bytes.empty()) {
    const std::uint64_t index = offset / size;
    const std::size_t at = offset % size;
    const std::size_t take = std::min(bytes.size(), size - at);
    std::unique_lock lock(*mutex_);
    Segment& segment = open_[index];
    // Whoever has the lock may wait here while others hold segments that are not full: there must
    // be more than those.
    if (segment.memory == nullptr) segment.memory = queue_->take();
    std::byte* const to = segment.memory + at;
    lock.unlock();
    stream_copy(to, bytes.first(take));
    lock.lock();
    segment.filled += take;
    segment.end = std::max(segment.end, at + take);
    if (segment.filled == size) {
      const Segment full = segment;
      open_.erase(index);
      lock.unlock();
      hand_over(index, full);
    }
    offset += take;
    bytes = bytes.subspan(take);
  }
}

void ScatteredWriter::finish() {
  const std::scoped_lock lock(*mutex_);
  for (const auto& [index, segment] : open_) hand_over(index, segment);
  open_.clear();
}

void ScatteredWriter::hand_over(std::uint64_t index, const Segment& segment) {
  queue_->write(direct_, buffered_, index * queue_->segment_bytes(), segment.memory, segment.end);
}

}  // namespace unweave
