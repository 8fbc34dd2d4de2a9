// algorithms/propagation/propagation.h - a propagation of present contents that was planned, ready
// to be run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "algorithms/propagation/run.h"

namespace unweave {

/// Owns what a PropagationJob refers to: the plan with its masks, the sweep, the form and the first
/// level.
class Propagation {
 public:
  /// What a sweep may be given beside the plan.
  struct With {
    ColumnNorms* norms = nullptr;             ///< gets all features
    const BlockSource* last_lists = nullptr;  ///< see SweepSpec
    const RowShare* share = nullptr;          ///< see SweepSpec
    std::size_t most_columns = 0;             ///< see SweepSpec
  };
  /// References must outlive this object; `spec` has levels.
  Propagation(const std::filesystem::path& store, const Contents& contents, const PropagationSpec& spec,
              PropagationPlan plan, MemoryBudget& budget, const With& with);
  Propagation(const Propagation&) = delete;
  Propagation& operator=(const Propagation&) = delete;

  [[nodiscard]] const PropagationPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] const PropagationJob& job() const noexcept { return job_; }
  /// Has rows told to `progress` as they are summed: how many so far, of how many in all where the
  /// columns are cut into `parts` of which each is a run of its own. An empty function is told
  /// nothing.
  void watch(std::function<void(std::uint64_t done, std::uint64_t total)> progress, std::uint64_t parts = 1);

 private:
  PropagationPlan plan_;
  SweepSpec sweep_;
  std::unique_ptr<LevelForm> form_;
  PropagationJob job_;
};

}  // namespace unweave
