// algorithms/api/unweave/plan.h - what work is going to take, beside what there is. Nothing is changed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "algorithms/maintenance/purge_plan.h"
#include "algorithms/unlearning/account.h"
#include "algorithms/updates/stream_plan.h"
#include "storage/formats/journal.h"
#include "storage/formats/manifest.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// How fast a propagation will be, from a sample of the work on this machine.
struct PropagationPace {
  std::optional<double> sweep_arc_features_per_second;
  double disk_bytes_per_second = 0;
  double seconds = 0;
  bool waits_for_disk = false;  ///< else for sums of rows in memory
};

/// What a propagation takes. Bytes of disk and memory are those at a time.
struct PropagationForecast {
  std::vector<std::uint64_t> rows;  ///< rows kept at levels 1 .. L
  std::uint64_t arcs = 0;           ///< arcs to sum, self loops included
  std::uint64_t tiles = 1;          ///< column tiles
  std::uint64_t tile_columns = 0;   ///< columns of a tile; the last one may be narrower
  std::uint64_t memory_bytes = 0, memory_available_bytes = 0;
  /// The parts of memory_bytes: buffers of a tile, of the threads that sum, and of sums on their way to the disk.
  std::uint64_t tile_bytes = 0, worker_bytes = 0, write_buffer_bytes = 0;
  std::uint64_t state_bytes = 0;    ///< bytes of sums
  std::uint64_t feature_bytes = 0;  ///< bytes of the features that they come from
  std::uint64_t cone_bytes = 0;     ///< bytes of counts and lists of targets, at most
  std::uint64_t disk_bytes = 0, disk_free_bytes = 0;
  std::uint64_t bytes_read = 0, bytes_written = 0;

  /// It is not measured where the disk has no room, or where there are no levels.
  std::optional<PropagationPace> pace;

  [[nodiscard]] bool fits() const noexcept { return disk_bytes <= disk_free_bytes; }
};

/// Sums a sample of the rows, and writes half of the free disk, 128 MiB at most, to an unlinked temporary file. Throws
/// UsageError, DataError where there are no features, ResourceError.
[[nodiscard]] PropagationForecast forecast_propagation(const Reader& reader, const PropagationSpec& spec);

struct StreamForecast {
  BatchChanges first;  ///< what the first batch changes, which stands for all
  StreamPlan plan;
  std::uint64_t stale_rows = 0;  ///< published before it, and not in the plan
  std::uint64_t memory_available_bytes = 0, disk_free_bytes = 0;

  [[nodiscard]] bool fits_memory() const noexcept { return plan.memory_bytes <= memory_available_bytes; }
  [[nodiscard]] bool fits() const noexcept { return plan.disk_bytes <= disk_free_bytes; }
};

/// Forecasts `batches` >= 1 batches like `first`. The reader's sums stay behind: it is of no further use. Throws ResourceError,
/// DataError.
[[nodiscard]] StreamForecast forecast_stream(Reader&& reader, std::span<const Request> first, std::uint64_t batches);

struct PurgeForecast {
  PurgePlan plan;
  std::uint64_t disk_free_bytes = 0;

  [[nodiscard]] bool fits() const noexcept { return plan.disk_bytes() <= disk_free_bytes; }
};

[[nodiscard]] PurgeForecast forecast_purge(const Reader& reader, const PurgeOptions& options);

/// What requests to a solver cost, from public numbers alone.
struct UnlearningForecast {
  std::size_t rows = 0;  ///< training rows of the store
  /// A solver either has an account of its requests, or its training makes files.
  std::variant<UnlearningPlan, TrainingNeeds> answer;
  std::uint64_t disk_free_bytes = 0;
  bool has_edges = false;                        ///< rows move with a removal, which is not in these figures
  std::shared_ptr<const SolverOptions> options;  ///< with lambda as it was chosen
};

/// Names of the solvers whose requests can be estimated, joined by commas.
[[nodiscard]] std::string solvers_with_forecast();
/// Trains nothing. Throws UsageError for another solver, for options out of range, and for LambdaChoice::by_validation;
/// DataError where there are no features or no labels.
[[nodiscard]] UnlearningForecast forecast_unlearning(const Reader& reader, std::string_view solver,
                                                     SolverOptions options, LambdaChoice lambda);
/// Throws ResourceError where a training would refuse for want of disk.
void require_disk(const Reader& reader, const TrainingNeeds& needs);

/// Takes requests in the order of a stream, and counts how many training rows each batch removes.
class RemovedRows {
 public:
  /// `batch`: requests of a batch. The reader outlives this object. Throws UsageError where it is 0.
  RemovedRows(const Reader& reader, std::uint64_t batch);
  void take(const Request& request);
  /// How many rows each batch so far removes.
  [[nodiscard]] const std::vector<std::uint64_t>& of_batches() const noexcept { return rows_; }

 private:
  const Reader* reader_;
  std::uint64_t batch_, number_ = 0;
  std::set<NodeId> removed_;
  std::vector<std::uint64_t> rows_;
};

}  // namespace v0
}  // namespace unweave
