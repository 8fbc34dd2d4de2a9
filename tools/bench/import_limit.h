// tools/bench/import_limit.h - how close an import comes to the machine's limit, while it goes on and in the end.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string_view>

#include "engine/ingest/store_import.h"
#include "engine/resources/clock.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "tools/bench/bench_import.h"
#include "tools/cli/step_progress.h"

namespace unweave {

/// bench import of an R-MAT graph of about as many edges (2^18 to 2^24), as their number or the size of a file of 32-bit
/// ids tells, with as much of the budget for each, in the folder of the store that is to be. Its ratio says how close an
/// import comes, its limit what bounds one. Throws ResourceError, UsageError where the folder holds something else.
[[nodiscard]] ImportBench measure_import_limit(const std::filesystem::path& store, const ImportOptions& options,
                                               MemoryBudget& budget);

/// Draws the steps of an import, beside the limit those that it bounds: the reading of edges and their graph.
class ImportMeter final : public WorkMeter {
 public:
  /// `shown` outlives this object.
  ImportMeter(StepProgress& shown, const std::optional<ImportBench>& limit) : shown_(shown), limit_(limit) {}

  void start(std::string_view step, std::uint64_t total, std::string_view unit) override;
  /// Seconds of the steps that the limit bounds; the last step so far goes on until now.
  [[nodiscard]] double bounded_seconds() const;

 protected:
  void add(std::uint64_t count) noexcept override;

 private:
  [[nodiscard]] double limit_of(std::string_view step, std::uint64_t total) const;

  StepProgress& shown_;
  std::optional<ImportBench> limit_;
  bool is_bounded_ = false, counts_edges_ = false;  ///< whether the present step is, or does
  Clock::time_point start_ = Clock::now();
  double seconds_ = 0;  ///< time of bounded steps before it
  std::atomic<std::uint64_t> edges_ = 0;
};

}  // namespace unweave
