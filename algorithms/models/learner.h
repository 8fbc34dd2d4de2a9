// algorithms/models/learner.h - one solver's model at work on an open store: training, following
// batches, catching up.
//
// A step is over when model and certificate are durable. The model file holds its certificate, and
// replaces the one before it atomically: after a crash the model is either the one before the step,
// which catch_up() brings to the present, or the one after it, which is never drawn again. The log
// of certificates gets a line a step, which need not be durable before the step is reported, but
// before the next model replaces the one that holds its certificate too.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/certificate.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/receipts.h"
#include "algorithms/models/signing_key.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/unlearning/solver.h"
#include "engine/resources/memory.h"

namespace unweave {

/// Gives the weights that a training goes on from. The rows are those that it will have, and exact.
using StartOn = std::function<GivenWeights(const TrainingSet& rows)>;

/// A solver with the memory that it works with.
struct SolverAtWork {
  Reservation layers_memory;   ///< for the passes of a network
  Reservation working_memory;  ///< for the solver
  std::unique_ptr<Solver> solver;
  const Solver* operator->() const noexcept { return solver.get(); }
};

/// A model as a rank has it that shares its training rows with the rank that keeps it.
struct TrainedAlong {
  ModelRecord record;  ///< without a certificate
  TrainingRows rows;
};
/// What the other ranks than rank 0 do in Learner::train(): all of it that needs their rows.
/// Nothing is written, and the store may be a reader's. Throws what that one throws.
[[nodiscard]] TrainedAlong train_along(const LiveStore& store, MemoryBudget& budget, std::string_view solver,
                                       const SolverOptions& options, const RowProgram& rows, Ranks& ranks);

class Learner {
 public:
  /// Opens the model of this name. Throws UsageError when it was never trained or its certificates
  /// are signed by another key; DataError when store, model and log of certificates do not belong
  /// together. `seed` is for tests. The store must outlive the learner and be a writer's.
  static Learner open(StoreWriter& store, MemoryBudget& budget, std::string_view name, ReleaseContext context,
                      std::optional<std::uint64_t> seed);
  /// Trains from nothing on the present rows; `weights` are those of Z, L + 1 numbers. The model
  /// replaces an earlier one of the same name, which is the solver's unless one is `given`. With a
  /// `start` it trains from there instead of from nothing, after every stale row was published.
  /// Throws what TrainingRows, the start and the solver throw. With `ranks` this is rank 0 of a
  /// training whose rows they share, and the others call train_along(). Throws UsageError for a
  /// solver that cannot, and where stale rows would have to be published first.
  static Learner train(StoreWriter& store, MemoryBudget& budget, std::string_view solver, const SolverOptions& options,
                       const RowProgram& rows, ReleaseContext context, std::string_view given = {},
                       const StartOn& start = {}, Ranks* ranks = nullptr);

  /// Brings a model that lags behind the store to the present, or one that a purge has kept to a
  /// certificate; none where the model has both.
  std::optional<StepReport> catch_up();
  /// After store.apply() with this report: unlearns the batch. The model must have been up to date
  /// before it. Where the context asks for receipts they are those of `requests`, the batch, and
  /// durable on return.
  StepReport absorb(const BatchReport& batch, std::span<const Request> requests = {});
  /// Another model that follows the same stream has released: where it lags behind the store, this
  /// one's next certificate asks to withdraw it.
  void note_other(const ModelSummary& other);
  /// What list_models() tells of this one.
  [[nodiscard]] ModelSummary summary() const;
  /// Makes the log of certificates durable. Whoever has time calls it after a step was reported;
  /// else the next step does.
  void settle();

  [[nodiscard]] const ModelRecord& record() const noexcept { return record_; }
  [[nodiscard]] const Model& model() const noexcept { return record_.model; }
  [[nodiscard]] const TrainingSet& rows() const noexcept { return rows_.set(); }
  /// The key under which its certificates are signed.
  [[nodiscard]] std::string public_key() const { return key_.public_key(); }
  /// Requests that its last release was the first to cover, and that got no receipts although these
  /// were asked for.
  [[nodiscard]] std::uint64_t without_receipts() const noexcept { return without_receipts_; }
  /// The report of the last step of this learner.
  [[nodiscard]] const StepReport& last_step() const noexcept { return last_step_; }

 private:
  Learner(StoreWriter& store, MemoryBudget& budget, ModelRecord record, ReleaseContext context, Ranks* ranks = nullptr);
  /// Memory and solver for the rows that there are.
  void make_solver();
  /// Brings the model to rows that it does not lead to: by catching up, or, where the solver has no
  /// place for some of them, by training from nothing.
  StepReport restart();
  [[nodiscard]] ApproximationError approximation() const;
  [[nodiscard]] Fit fit(const StartOn& start);
  /// Publishes every stale row and returns what that changed.
  BatchChange flush_rows();
  /// `requests`: all since the last release with their outcomes, or none where they are not known
  /// or nobody asks for receipts.
  StepReport release(StepReport report, std::vector<std::string> requests);
  struct Missed {
    std::vector<std::string> requests;  ///< with their outcomes
    Reservation room;                   ///< theirs, and that of their receipts
  };
  /// Those that the model has not absorbed; none unless the journal still has all of them, and
  /// there is room for their receipts.
  [[nodiscard]] Missed missed_requests() const;
  /// Absolute path of the file that receipts go to.
  [[nodiscard]] std::string receipts_path() const;
  /// Releases that still show what the present one forgot: other models that lag behind, and the
  /// one that it replaces.
  [[nodiscard]] std::vector<std::string> replaced_releases() const;
  /// Finds the end of the log. Throws UsageError when another key signs it.
  void follow_log();
  /// The members of a certificate that say where in the log it goes, and which requests it covers:
  /// those after `after`.
  [[nodiscard]] nlohmann::ordered_json place_in_log(std::uint64_t after, std::vector<std::string> requests);

  StoreWriter& store_;
  MemoryBudget& budget_;
  ModelRecord record_;
  ReleaseContext context_;
  std::vector<ModelSummary> present_models_;  // those of the store when the learner was made
  TrainingRows rows_;
  SolverAtWork solver_;
  StepReport last_step_;
  SigningKey key_;
  LogPlace place_;                           // where the log ends, with the last certificate
  std::optional<LoggedCertificate> logged_;  // the last step's certificate
  std::optional<ReceiptFile> receipts_;
  std::uint64_t without_receipts_ = 0;
};

}  // namespace unweave
