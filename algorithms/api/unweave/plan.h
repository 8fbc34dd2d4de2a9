// algorithms/api/unweave/plan.h - what work is going to take, beside what there is. Nothing is
// changed.
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

#include "algorithms/evaluation/reports.h"
#include "algorithms/learning/rank_passes.h"
#include "algorithms/live/reports.h"
#include "algorithms/maintenance/reports.h"
#include "algorithms/unlearning/account.h"
#include "algorithms/updates/batch_changes.h"
#include "algorithms/updates/update_report.h"
#include "storage/types/propagation_spec.h"
#include "storage/types/request.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// How fast a propagation will be, from the rates of this machine
/// (engine/resources/machine_profile.h), what lies in the page cache, and a sample of lists.
struct PropagationPace {
  std::optional<double> sweep_arc_features_per_second;  ///< rate of the threads, where they need not wait
  double disk_bytes_per_second = 0;                     ///< at which sums are written
  double seconds = 0;
  bool waits_for_disk = false;                       ///< the sweep does; else it waits for sums of rows in memory
  PropagationSeconds parts;                          ///< what `seconds` adds up
  double graph_resident = 1, features_resident = 1;  ///< shares of the files that lie in the page cache
};

/// What a propagation takes. Bytes of disk and memory are those at a time.
struct PropagationForecast {
  std::vector<std::uint64_t> rows;  ///< rows kept at levels 1 .. L
  std::uint64_t arcs = 0;           ///< arcs to sum, self loops included
  /// Rows and arcs were counted; else they come from a sample
  /// (algorithms/propagation/field_estimate.h) with these standard errors, and so does what follows
  /// from them.
  bool exact = true;
  std::vector<double> rows_error;
  double arcs_error = 0;
  std::uint64_t tiles = 1;         ///< column tiles
  std::uint64_t tile_columns = 0;  ///< columns of a tile; the last one may be narrower
  std::uint64_t memory_bytes = 0, memory_available_bytes = 0;
  /// The parts of memory_bytes: buffers of a tile, of the threads that sum, and of sums on their
  /// way to the disk.
  std::uint64_t tile_bytes = 0, worker_bytes = 0, write_buffer_bytes = 0;
  std::uint64_t state_bytes = 0;    ///< bytes of sums
  std::uint64_t feature_bytes = 0;  ///< bytes of the features that they come from
  std::uint64_t cone_bytes = 0;     ///< bytes of counts and lists of targets, at most
  std::uint64_t disk_bytes = 0, disk_free_bytes = 0;
  std::uint64_t bytes_read = 0, bytes_written = 0;

  /// Absent where there are no levels, or where no rates of the machine can be had.
  std::optional<PropagationPace> pace;

  [[nodiscard]] bool fits() const noexcept { return disk_bytes <= disk_free_bytes; }
};

enum class RowCount {
  automatic,  ///< exact where that takes about a second, else estimated
  exact,      ///< a pass over the graph a level
};

/// Reads a sample of lists, and where the rates of the machine are not kept yet, measures them.
/// Throws UsageError, DataError where there are no features, ResourceError.
[[nodiscard]] PropagationForecast forecast_propagation(const Reader& reader, const PropagationSpec& spec,
                                                       RowCount count = RowCount::automatic);

/// What the propagation takes when so many ranks share it, by columns or by rows
/// (algorithms/live/rank_propagation.h), each with the budget of the reader's resources. Throws
/// UsageError where they cannot, ResourceError.
[[nodiscard]] RankPlan forecast_ranks(const Reader& reader, const PropagationSpec& spec, std::size_t ranks,
                                      bool by_rows);

/// What so many ranks say to each other for a batch of these requests. Throws UsageError where they
/// cannot stream the store.
[[nodiscard]] RankCalls forecast_rank_batch(const Reader& reader, std::span<const Request> requests, std::size_t ranks);

/// A training whose rows so many ranks share. How many passes there are depends on the rows.
struct RankTrainingForecast {
  std::size_t rows = 0, most_rows_of_a_rank = 0;
  std::size_t row_width = 0;    ///< numbers of a row, without an intercept
  std::uint64_t row_bytes = 0;  ///< rows of a rank take at most so much, with it
  RankPasses passes;
};

/// Throws UsageError for a solver that trains alone and for a program of rows that is to be chosen
/// or that the store does not serve, DataError where there are no features or no labels.
[[nodiscard]] RankTrainingForecast forecast_rank_training(const Reader& reader, std::string_view solver,
                                                          const SolverOptions& options, std::size_t ranks,
                                                          const RowChoice& rows = {});

struct StreamForecast {
  BatchChanges first;  ///< what the first batch changes, which stands for all
  StreamPlan plan;
  std::uint64_t stale_rows = 0;  ///< published before it, and not in the plan
  std::uint64_t memory_available_bytes = 0, disk_free_bytes = 0;

  [[nodiscard]] bool fits_memory() const noexcept { return plan.memory_bytes <= memory_available_bytes; }
  [[nodiscard]] bool fits() const noexcept { return plan.disk_bytes <= disk_free_bytes; }
};

/// Forecasts `batches` >= 1 batches like `first`. The reader's sums stay behind: it is of no
/// further use. Throws ResourceError, DataError.
[[nodiscard]] StreamForecast forecast_stream(Reader&& reader, std::span<const Request> first, std::uint64_t batches);

struct PurgeForecast {
  PurgePlan plan;
  std::uint64_t disk_free_bytes = 0;

  [[nodiscard]] bool fits() const noexcept { return plan.disk_bytes() <= disk_free_bytes; }
};

[[nodiscard]] PurgeForecast forecast_purge(const Reader& reader, const PurgeOptions& options);

/// What requests to a solver cost: from public numbers alone, but for a trial.
struct UnlearningForecast {
  std::size_t rows = 0;         ///< training rows of the store
  std::size_t row_width = 0;    ///< numbers of a row, without an intercept
  std::uint64_t row_bytes = 0;  ///< all rows take so much, with it
  /// A solver has an account of its requests, or its training makes files, or what it costs depends
  /// on the data, on some of which it was tried.
  std::variant<UnlearningPlan, TrainingNeeds, SolverTrial> answer;
  std::uint64_t disk_free_bytes = 0;
  bool has_edges = false;                        ///< rows move with a removal, which is not in these figures
  std::shared_ptr<const SolverOptions> options;  ///< with lambda as it was chosen
};

/// Keeps no model; solvers without an account are tried on some thousand rows, from which `removed`
/// at a time leave. Throws UsageError for options out of range, for LambdaChoice::by_validation,
/// and for a program of rows that is to be chosen or that the store does not serve; DataError where
/// there are no features or no labels.
[[nodiscard]] UnlearningForecast forecast_unlearning(const Reader& reader, std::string_view solver,
                                                     SolverOptions options, LambdaChoice lambda, std::size_t removed,
                                                     const RowChoice& rows = {});
/// Throws ResourceError where a training would refuse for want of disk.
void require_disk(const Reader& reader, const TrainingNeeds& needs);

/// Takes requests in the order of a stream, and counts how many training rows each batch removes.
class RemovedRows {
 public:
  /// `batch`: requests of a batch. The reader outlives this object. Throws UsageError where it is
  /// 0.
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
