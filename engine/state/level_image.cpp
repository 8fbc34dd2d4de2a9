// engine/state/level_image.cpp - sizes the buffers for writes, and finishes the partitions of a
// level as their rows come.
#include "engine/state/level_image.h"

#include <algorithm>
#include <utility>

#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "storage/formats/store_layout.h"

namespace unweave {
namespace {

constexpr std::uint64_t kLeastSegment = std::uint64_t{16} << 10;
constexpr std::uint64_t kMostSegment = std::uint64_t{1} << 20;  // a disk is as fast with this as with more

/// More than the threads of a sweep, or those that put tiles together, can have partly filled at a
/// time.
std::uint64_t least_segments() {
  return 8 * active_threads() + 16;
}

std::uint64_t segment_bytes(std::uint64_t bytes) {
  return std::clamp(bytes / least_segments() / kLeastSegment * kLeastSegment, kLeastSegment, kMostSegment);
}

/// Memory for chunks that come in parts.
std::uint64_t chunk_bytes() {
  return least_segments() / 2 * kSealedChunkBytes;
}

}  // namespace

std::uint64_t WriteBuffers::size_for(std::uint64_t written, std::uint64_t available) {
  const std::uint64_t most = std::min(written / 4, memory_shares::kWriteBuffers.of(available));
  const std::uint64_t segment = segment_bytes(most);
  return std::max(least_segments(), (most + segment - 1) / segment) * segment;
}

std::uint64_t WriteBuffers::charge(std::uint64_t size) {
  return HugeBuffer::charge(size) + chunk_bytes();
}

WriteBuffers::WriteBuffers(std::uint64_t size, MemoryBudget& budget)
    : memory_(size, budget, "buffers of writes"),
      chunks_(budget.reserve(chunk_bytes(), "chunks of files being written")),
      queue_({memory_.data(), memory_.size()}, segment_bytes(memory_.size())) {
  // Memory that was never touched costs more than the sums that go there.
  parallel_ranges(0, memory_.size(), kMostSegment, [&](std::size_t begin, std::size_t end) {
    std::fill_n(memory_.data() + begin, end - begin, std::byte{0});
  });
}

void WriteBuffers::add(HugeBuffer memory) {
  more_.push_back(std::move(memory));
  queue_.add({more_.back().data(), more_.back().size()});
}

LevelImage::LevelImage(const std::filesystem::path& store, std::uint32_t level, std::uint32_t columns, NodeId nodes,
                       const RowMask* wanted, WriteBehind& queue, RankShare spans)
    : store_(store),
      level_(level),
      columns_(columns),
      nodes_(nodes),
      wanted_(wanted),
      queue_(queue),
      spans_(spans),
      partitions_(num_spans(nodes)) {}

PartitionImage& LevelImage::at(std::size_t span) {
  const std::scoped_lock lock(mutex_);
  if (partitions_[span]) return *partitions_[span];
  const NodeRange range = span_range(nodes_, span);
  std::vector<std::uint64_t> members;
  if (wanted_ != nullptr) members = wanted_->members(range);
  partitions_[span] = std::make_unique<PartitionImage>(store_, level_, range, columns_, std::move(members), queue_);
  return *partitions_[span];
}

void LevelImage::put(std::span<const NodeId> nodes, const std::int32_t* sums,
                     std::span<const std::uint32_t> wide_positions, const std::int64_t* wide_sums) {
  at(nodes.front() / span_nodes(nodes_)).put(nodes, sums, wide_positions, wide_sums);
}

void LevelImage::finish() {
  for (std::size_t span = spans_.begin; span < spans_.end; ++span) at(span);
}

std::vector<FileEntry> LevelImage::publish() {
  std::vector<FileEntry> entries(partitions_.size());
  for (std::size_t span = spans_.begin; span < spans_.end; ++span) entries[span] = partitions_[span]->publish();
  return entries;
}

}  // namespace unweave
