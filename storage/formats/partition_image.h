// storage/formats/partition_image.h - one state partition written by many threads, rows in any
// order: the same bytes as a StatePartitionWriter's.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "storage/formats/sealed_image.h"
#include "storage/formats/state_file.h"

namespace unweave {

class PartitionImage {
 public:
  /// `members` has one bit a node of the range, or is empty when every node has a row. The queue
  /// must outlive this object.
  PartitionImage(const std::filesystem::path& store, std::uint32_t level, NodeRange range, std::uint32_t columns,
                 std::vector<std::uint64_t> members, WriteBehind& queue);

  /// Rows of consecutive members, `columns` sums each; those at `wide_positions` are zeros here and
  /// wide rows there. Each row once, from any thread. The call with the last of the rows hands the
  /// rest of the file to the queue.
  void put(std::span<const NodeId> nodes, const std::int32_t* sums, std::span<const std::uint32_t> wide_positions,
           const std::int64_t* wide_sums);
  /// Gives the file its name, after all rows are there and the queue was drained. Not yet durable:
  /// see sync_files().
  FileEntry publish() { return image_.publish(); }

 private:
  void finish();

  std::uint32_t level_;
  std::vector<std::uint64_t> members_;  ///< empty when every node has a row
  MemberRanks ranks_;
  StateLayout layout_;
  SealedImage image_;
  std::atomic<std::uint64_t> rows_done_ = 0;
  std::mutex mutex_;  ///< guards wide_
  std::map<NodeId, std::vector<std::int64_t>> wide_;
};

}  // namespace unweave
