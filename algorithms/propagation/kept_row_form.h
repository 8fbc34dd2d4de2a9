// algorithms/propagation/kept_row_form.h - levels kept as rows of values, which sums become as they
// are formed.
#pragma once

#include <functional>

#include "algorithms/propagation/level_form.h"

namespace unweave {

/// Rows that a store keeps beside labels: those of all nodes, or of those with a label.
[[nodiscard]] std::uint64_t kept_rows_of(const Contents& contents, const PropagationSpec& spec);

class KeptRowForm final : public LevelForm {
 public:
  KeptRowForm(const Contents& contents, const PropagationSpec& spec, const SweepSpec& sweep)
      : contents_(contents), spec_(spec), sweep_(sweep) {}

  [[nodiscard]] const char* name() const noexcept override { return "the rows"; }
  [[nodiscard]] bool joins_tiles() const noexcept override { return false; }
  [[nodiscard]] std::vector<FileEntry> LevelFiles::*member() const noexcept override { return &LevelFiles::rows; }
  [[nodiscard]] TileForm tiles() const override;
  [[nodiscard]] StatePlan plan(std::uint64_t available) const override;
  [[nodiscard]] TilePlan plan_part(const SweepSpec& part, std::uint64_t available) const override;
  [[nodiscard]] std::uint64_t disk_bytes(const StatePlan& plan, std::uint64_t there,
                                         std::uint64_t missing) const override;
  [[nodiscard]] std::uint64_t joined_bytes(const StatePlan& plan) const override { return plan.disk_bytes; }
  [[nodiscard]] TileMemory tile_memory(const StatePlan& plan, std::uint64_t available) const override;
  [[nodiscard]] std::unique_ptr<FileSink> to_files(const std::filesystem::path& store, const StatePlan& plan,
                                                   MemoryBudget& budget) const override;
  [[nodiscard]] std::unique_ptr<LevelSink> to_tiles(const TileFolder& folder, TileWriter& writer, std::size_t width,
                                                    const StatePlan& plan) const override;
  /// All spans at once: rank 0 joins rows alone.
  [[nodiscard]] LevelEntries join(const std::filesystem::path& store, std::vector<FinishedTile>& tiles, RankShare spans,
                                  TileEnd end, const StatePlan& plan, MemoryBudget& budget) const override;

 private:
  [[nodiscard]] const RowMask* targets() const noexcept {
    return sweep_.wanted.empty() ? nullptr : &sweep_.wanted.back();
  }
  /// Values of a kept row.
  [[nodiscard]] std::uint32_t row_width() const noexcept;
  void plan_queue(std::uint64_t available, std::uint64_t converter, StatePlan& plan) const;

  const Contents& contents_;
  const PropagationSpec& spec_;
  const SweepSpec& sweep_;
};

}  // namespace unweave
