// algorithms/propagation/tile_writer.cpp - opens images of tiles, and names them once they are
// written.
#include "algorithms/propagation/tile_writer.h"

#include <chrono>
#include <utility>

namespace unweave {
namespace {

constexpr std::int64_t kMomentMillis = 200;

}  // namespace

bool TileWriter::has_moment_passed() noexcept {
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  std::int64_t next = next_moment_.load(std::memory_order_relaxed);
  return now >= next && next_moment_.compare_exchange_strong(next, now + kMomentMillis);
}

TileImage& TileWriter::at(std::size_t index, TileColumns columns) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<TileImage>& image = open_[index];
  if (!image) image = std::make_unique<TileImage>(folder_.path(), form_.shape(index, columns), folder_.text(), queue_);
  return *image;
}

void TileWriter::finish(std::size_t index, TileColumns columns, std::span<const std::byte> proof) {
  at(index, columns).finish(norms_(columns), proof);
  std::unique_lock lock(mutex_);
  std::unique_ptr<TileImage> image = std::move(open_[index]);
  lock.unlock();
  const std::scoped_lock publishing(publishing_);
  finished_.push_back(std::move(image));
}

void TileWriter::publish_written() {
  if (folder_.kept() && has_moment_passed()) publish(false);
}

void TileWriter::publish_all() {
  queue_.drain();
  publish(true);
}

void TileWriter::publish(bool all) {
  std::unique_lock publishing(publishing_, std::defer_lock);
  if (all)
    publishing.lock();
  else if (!publishing.try_lock())
    return;
  std::erase_if(finished_, [&](const std::unique_ptr<TileImage>& image) {
    if (!image->is_written()) return false;
    queue_.require_written();
    image->publish();
    return true;
  });
}

}  // namespace unweave
