// algorithms/updates/cold_files.h - what of a store's files the page cache has, as the planner
// charges it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "algorithms/updates/planner.h"
#include "engine/resources/clock.h"
#include "engine/resources/machine_profile.h"
#include "storage/types/file_entry.h"

namespace unweave {

struct Manifest;

/// Rates of a disk, and shares of files that have to come from it. Results of a stream never depend
/// on them.
class ColdFiles {
 public:
  explicit ColdFiles(MachineProfile machine) : machine_(std::move(machine)) {}

  /// Looks which parts of the files of this generation lie in memory: at a sample of each, and not
  /// again before a hundred times as long has passed as that takes.
  void look(const std::filesystem::path& store, const Manifest& manifest);
  /// What a push to `level`, 1 .. L, or a recomputation of it has to read. Nothing before look().
  [[nodiscard]] ColdReads reads(std::uint32_t level) const;
  [[nodiscard]] const MachineProfile& machine() const noexcept { return machine_; }

 private:
  struct Part {
    double bytes = 0, cold = 0;
  };
  [[nodiscard]] static Part part_of(const std::filesystem::path& store, const std::vector<FileEntry>& files);

  MachineProfile machine_;
  Part graph_, lists_;
  std::vector<Part> levels_;  ///< features, then sums of levels 1 .. L
  Clock::time_point next_look_{};
};

}  // namespace unweave
