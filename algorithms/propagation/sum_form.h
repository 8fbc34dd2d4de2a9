// algorithms/propagation/sum_form.h - levels kept as their exact sums, in partitions.
#pragma once

#include "algorithms/propagation/level_form.h"

namespace unweave {

class SumForm final : public LevelForm {
 public:
  SumForm(const Contents& contents, const SweepSpec& sweep) : contents_(contents), sweep_(sweep) {}

  [[nodiscard]] const char* name() const noexcept override { return "the sums"; }
  [[nodiscard]] bool joins_tiles() const noexcept override { return true; }
  [[nodiscard]] std::vector<FileEntry> LevelFiles::*member() const noexcept override { return &LevelFiles::partitions; }
  [[nodiscard]] TileForm tiles() const override;
  [[nodiscard]] StatePlan plan(std::uint64_t available) const override;
  /// Plans tiles in whichever of two ways moves fewer bytes: with two buffers, of which one is
  /// summed into while the other is read; or with one, which leaves room for wider tiles and is
  /// filled anew for each level from the files of the sums of the level before.
  [[nodiscard]] TilePlan plan_part(const SweepSpec& part, std::uint64_t available) const override;
  [[nodiscard]] std::uint64_t disk_bytes(const StatePlan& plan, std::uint64_t there,
                                         std::uint64_t missing) const override;
  [[nodiscard]] std::uint64_t joined_bytes(const StatePlan& plan) const override { return plan.state_bytes; }
  [[nodiscard]] TileMemory tile_memory(const StatePlan& plan, std::uint64_t available) const override;
  [[nodiscard]] std::unique_ptr<FileSink> to_files(const std::filesystem::path& store, const StatePlan& plan,
                                                   MemoryBudget& budget) const override;
  [[nodiscard]] std::unique_ptr<LevelSink> to_tiles(const TileFolder& folder, TileWriter& writer, std::size_t width,
                                                    const StatePlan& plan) const override;
  [[nodiscard]] LevelEntries join(const std::filesystem::path& store, std::vector<FinishedTile>& tiles, RankShare spans,
                                  TileEnd end, const StatePlan& plan, MemoryBudget& budget) const override;

 private:
  void share_memory(std::uint64_t written, std::uint64_t available, StatePlan& plan) const;

  const Contents& contents_;
  const SweepSpec& sweep_;
};

}  // namespace unweave
