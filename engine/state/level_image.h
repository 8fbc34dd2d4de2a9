// engine/state/level_image.h - all partitions of one level, written by the threads of a sweep while
// it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/graph/row_mask.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "storage/formats/partition_image.h"
#include "storage/io/types.h"

namespace unweave {

/// Buffers on their way to the disk.
class WriteBuffers {
 public:
  /// A size for `written` bytes in all: room for a quarter, which is what a disk is behind by when
  /// half as fast as the sweep that fills the first half of them, or for their share of what is
  /// available; but enough for the threads of the process to go on.
  [[nodiscard]] static std::uint64_t size_for(std::uint64_t written, std::uint64_t available);
  /// The memory that buffers of a size take.
  [[nodiscard]] static std::uint64_t charge(std::uint64_t size);
  /// Throws ResourceError.
  WriteBuffers(std::uint64_t size, MemoryBudget& budget);
  /// More room.
  void add(HugeBuffer memory);
  [[nodiscard]] WriteBehind& queue() noexcept { return queue_; }

 private:
  HugeBuffer memory_;
  std::vector<HugeBuffer> more_;
  Reservation chunks_;  ///< for the chunks of sealed images
  WriteBehind queue_;
};

class LevelImage {
 public:
  /// `wanted`: the rows of the level, or null for all; it and the queue must outlive this object.
  /// `spans`: the partitions that are written here.
  LevelImage(const std::filesystem::path& store, std::uint32_t level, std::uint32_t columns, NodeId nodes,
             const RowMask* wanted, WriteBehind& queue, RankShare spans);

  /// Whole rows of consecutive wanted nodes of one partition, as SumRows gives them; each row once,
  /// from any thread.
  void put(std::span<const NodeId> nodes, const std::int32_t* sums, std::span<const std::uint32_t> wide_positions,
           const std::int64_t* wide_sums);
  /// Makes the partitions that have no rows, after all puts.
  void finish();
  /// Names the files, one a span, after the queue was drained; they are not yet durable. Spans of
  /// others have no name.
  [[nodiscard]] std::vector<FileEntry> publish();

 private:
  PartitionImage& at(std::size_t span);

  std::filesystem::path store_;
  std::uint32_t level_;
  std::uint32_t columns_;
  NodeId nodes_;
  const RowMask* wanted_;
  WriteBehind& queue_;
  RankShare spans_;
  std::mutex mutex_;  ///< guards the opening of partitions
  std::vector<std::unique_ptr<PartitionImage>> partitions_;
};

}  // namespace unweave
