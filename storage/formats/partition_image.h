// storage/formats/partition_image.h - one state partition written by many threads, rows in any order: the same bytes as a
// StatePartitionWriter's.
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
  /// `members` has one bit a node of the range, or is empty when every node has a row. The queue must outlive this object.
  PartitionImage(const std::filesystem::path& store, std::uint32_t level, NodeRange range, std::uint32_t columns,
                 std::vector<std::uint64_t> members, WriteBehind& queue);

  /// Rows of consecutive members, `columns` sums each; those at `wide_positions` are zeros here and wide rows there. Each
  /// row once, from any thread. The call with the last of the rows hands the rest of the file to the queue.
  void put(std::span<const NodeId> nodes, const std::int32_t* sums, std::span<const std::uint32_t> wide_positions,
           const std::int64_t* wide_sums);
  /// Gives the file its name, after all rows are there and the queue was drained. Not yet durable: see sync_files().
  FileEntry publish() { return image_.publish(); }
  /// Whether all rows are there and written, or failed to be, which the queue tells.
  [[nodiscard]] bool is_written() const noexcept { return is_complete_.load() && image_.is_written(); }
  /// Makes the file durable, after is_written(), and only then gives it its name.
  FileEntry publish_durable() {
    FileEntry entry = image_.entry();
    image_.publish_as(store_ / entry.path);
    return entry;
  }

 private:
  void finish();

  std::filesystem::path store_;
  std::uint32_t level_;
  std::vector<std::uint64_t> members_;  ///< empty when every node has a row
  MemberRanks ranks_;
  StateLayout layout_;
  SealedImage image_;
  std::atomic<std::uint64_t> rows_done_ = 0;
  std::atomic<bool> is_complete_ = false;
  std::mutex mutex_;  ///< guards wide_
  std::map<NodeId, std::vector<std::int64_t>> wide_;
};

}  // namespace unweave
