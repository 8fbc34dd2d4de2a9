// algorithms/propagation/partition_sink.h - sums of all columns, written as partitions of the store
// as they are formed.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "algorithms/propagation/level_form.h"
#include "engine/state/level_image.h"

namespace unweave {

class PartitionSink final : public FileSink {
 public:
  /// `write_buffers`: their size. References must outlive this object. Throws ResourceError.
  PartitionSink(const std::filesystem::path& store, const Contents& contents, const SweepSpec& sweep,
                std::uint64_t write_buffers, MemoryBudget& budget);
  void put(std::uint32_t level, TileColumns columns, const SumRows& rows) override;
  /// From the partitions of that level, which are finished for it.
  [[nodiscard]] TileFill refill(std::uint32_t level, TileColumns columns) override;
  void spare(HugeBuffer memory) override { buffers_.add(std::move(memory)); }
  void finish() override;
  [[nodiscard]] LevelEntries name_files() override;

 private:
  void name_level(std::size_t index);

  std::filesystem::path store_;
  const Contents& contents_;
  const SweepSpec& sweep_;
  WriteBuffers buffers_;
  std::vector<std::unique_ptr<LevelImage>> images_;  ///< null once its files have names
  LevelEntries entries_;
};

}  // namespace unweave
