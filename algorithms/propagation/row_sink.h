// algorithms/propagation/row_sink.h - rows of values, written as files of the store as the sums are
// formed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/propagation/level_form.h"
#include "algorithms/propagation/row_converter.h"
#include "engine/state/rows_level.h"
#include "storage/codec/half.h"
#include "storage/io/write_behind.h"

namespace unweave {

/// The queue of the files of whole rows. Without segments there is none.
class RowQueue {
 public:
  /// The memory that so many segments take.
  [[nodiscard]] static std::uint64_t bytes(const KeptForm& kept, std::uint64_t segments);
  /// Throws ResourceError.
  RowQueue(const KeptForm& kept, std::uint64_t segments, MemoryBudget& budget);
  [[nodiscard]] WriteBehind* get() noexcept { return queue_ ? &*queue_ : nullptr; }
  void drain() {
    if (queue_) queue_->drain();
  }

 private:
  HugeBuffer memory_;
  std::optional<WriteBehind> queue_;
};

/// Values in the bits in which they are kept.
class KeptBits {
 public:
  KeptBits(const Contents& contents, const KeptForm& kept) : contents_(contents), kept_(kept) {}
  /// Throws DataError for a value that 16 bits do not hold, with node, level and column.
  [[nodiscard]] std::span<const std::byte> of(std::uint32_t level, TileColumns some, std::span<const NodeId> nodes,
                                              std::span<const float> values);

 private:
  const Contents& contents_;
  const KeptForm& kept_;
  std::vector<Half> halves_;
};

class RowSink final : public FileSink {
 public:
  /// `targets`: the rows that are kept, or null for all. References must outlive this object.
  /// Throws ResourceError.
  RowSink(const std::filesystem::path& store, const Contents& contents, const PropagationSpec& spec,
          const RowMask* targets, const StatePlan& plan, MemoryBudget& budget);
  void put(std::uint32_t level, TileColumns columns, const SumRows& rows) override;
  void end(std::uint32_t level, TileColumns columns, const LevelProof& proof) override;
  [[nodiscard]] LevelEntries name_files() override;
  /// Puts the rows of an embedding without hops, of all nodes.
  void put_features();

 private:
  const Contents& contents_;
  std::uint32_t first_level_;  ///< that is kept
  Reservation converting_;
  RowQueue queue_;
  std::vector<std::unique_ptr<RowsLevelImage>> images_;
  RowConverter converter_;
};

}  // namespace unweave
