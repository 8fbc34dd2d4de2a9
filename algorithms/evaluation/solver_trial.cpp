// algorithms/evaluation/solver_trial.cpp - a training and two batches on evenly spaced rows.
#include "algorithms/evaluation/solver_trial.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "algorithms/learning/network_pass.h"
#include "algorithms/learning/preconditioner.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/noiseless_learning.h"
#include "engine/resources/watcher.h"
#include "engine/resources/work_meter.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kFewestRows = 4;
constexpr double kMostTrialSeconds = 120;

double seconds_of(const std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Ends work that takes longer than a trial may: what would take hours is told of, and not done. It
/// asks whoever watches as well.
class TrialLimit final : public WorkMeter {
 public:
  explicit TrialLimit(WorkMeter* asked) : asked_(asked) {}
  void start(std::string_view step, std::uint64_t total, std::string_view unit) override {
    if (asked_ != nullptr) asked_->start(step, total, unit);
  }
  void note(const std::string& text) override {
    if (asked_ != nullptr) asked_->note(text);
  }
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

 protected:
  void add(std::uint64_t count) noexcept override {
    try {
      if (asked_ != nullptr) asked_->advance(count);
    } catch (const Cancelled&) {
      is_cancelled_ = true;
    }
    if (seconds_of(start_) > kMostTrialSeconds) is_over_ = true;
  }
  [[nodiscard]] bool cancelled() noexcept override { return is_cancelled_ || is_over_; }

 private:
  WorkMeter* const asked_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<bool> is_cancelled_ = false, is_over_ = false;
};

/// `count` of the keys, evenly spaced.
std::vector<NodeId> spaced(const std::vector<NodeId>& keys, std::size_t count) {
  std::vector<NodeId> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(keys[i * keys.size() / count]);
  return some;
}

TrainingSet rows_of(const RowUnits& units, const RowForm& form, std::span<const NodeId> keys) {
  TrainingSet set(form.features(units.width()), units.classes(), form);
  std::vector<float> values(keys.size() * set.features());
  units.rows(keys, values.data());
  spread_rows(values.data(), keys.size(), set.features(), form);
  std::vector<ClassId> labels;
  for (const NodeId key : keys) labels.push_back(static_cast<ClassId>(units.label(key)));
  set.append(keys, values, labels);
  return set;
}

/// Takes `count` rows out of a set, evenly spaced.
BatchChange remove_some(TrainingSet& set, std::size_t count) {
  BatchChange change(set.features(), set.classes(), set.form());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * set.size() / count;
    change.removed.append(set.nodes()[at], set.row(at), set.labels()[at]);
  }
  change.only_edges = false;
  set.apply(change);
  return change;
}

/// From seconds on the rows of a trial to those on all. Readings take longer with every row; what a
/// first batch takes beside them makes the preconditioner of a session, of no more rows than that
/// picks from.
void bring_to_all(SolverTrial& trial, std::size_t all) {
  constexpr std::size_t kPickedFrom = SampledForm{0, 0}.picked_from;
  const auto count = static_cast<double>(trial.rows);
  const double times = static_cast<double>(all) / count;
  const double picked = static_cast<double>(std::min(all, std::max(trial.rows, kPickedFrom))) / count;
  const double reading = trial.later_batch.seconds / std::max(1, trial.later_batch.passes);
  const double making = std::max(0.0, trial.batch.seconds - trial.batch.passes * reading);
  trial.training.seconds *= times;
  trial.later_batch.seconds *= times;
  trial.batch.seconds = (trial.batch.seconds - making) * times + making * picked;
}

/// What a learner sets aside for all rows of a store.
std::uint64_t memory_of(const LiveStore& store, const ModelRecord& record, MemoryBudget& budget) {
  const TrainingRows rows(store, record.rows, form_of(record), budget);
  Reservation layers;
  if (!record.options.hidden.empty())
    layers = reserve_passes(Network(shape_of(record.options, rows.set())), rows.set().size(), budget);
  const Reservation working =
      solver_entry(record.model.solver).reserve(record.options, record.model, rows.set(), budget);
  return rows.memory_bytes() + layers.bytes() + working.bytes();
}

}  // namespace

SolverTrial try_solver(const LiveStore& store, MemoryBudget& budget, std::string_view name,
                       const SolverOptions& options, const RowProgram& rows, std::size_t removed,
                       std::size_t most_rows) {
  std::unique_ptr<const RowUnits> units = row_units(store, rows);
  const std::vector<NodeId> keys = units->labelled(SplitName::train);
  if (keys.size() < kFewestRows)
    throw DataError(store.path().string() + ": has " + std::to_string(keys.size()) +
                    " training rows, too few for a trial");
  ModelRecord record;
  record.options = taken_options(name, options);
  record.model.solver = name;
  record.rows = rows;
  stand_on(record, store.embedding().spec());
  const RowForm form = form_of(record);
  const std::size_t count = std::min(keys.size(), std::max(most_rows, kFewestRows));
  SolverTrial trial;
  TrialLimit limit(WatchedBy::now());
  const WatchedBy watched(limit);
  const auto require_time = [&] {
    if (!limit.is_over()) return;
    throw UsageError("to read " + std::to_string(keys.size()) + " rows, and on " + std::to_string(count) +
                     " of them a training and two batches of " + std::string(name) + ", take more than " +
                     std::to_string(static_cast<int>(kMostTrialSeconds)) + " seconds; ask for fewer passes with " +
                     option("set") + ", or try them by training");
  };
  try {
    units.reset();  // a learner has its own
    trial.memory_bytes = memory_of(store, record, budget);
    units = row_units(store, rows);
  } catch (const Cancelled&) {
    require_time();
    throw;
  }
  const Reservation memory =
      budget.reserve(count * 2 * (form.features(units->width()) * sizeof(float) + 16), "rows of a trial");
  TrainingSet set = rows_of(*units, form, spaced(keys, count));
  const SolverEntry& entry = solver_entry(name);
  Reservation layers;
  if (!record.options.hidden.empty())
    layers = reserve_passes(Network(shape_of(record.options, set)), set.size(), budget);
  const Reservation working = entry.reserve(record.options, record.model, set, budget);
  const std::unique_ptr<Solver> solver = entry.make(record.options, {static_cast<std::size_t>(working.bytes()), {}});

  const double times = static_cast<double>(keys.size()) / static_cast<double>(count);
  const auto share = static_cast<std::size_t>(static_cast<double>(removed) / times);
  const std::size_t leaving = std::clamp<std::size_t>(share, 1, count / kFewestRows);
  const ApproximationError exact{};
  const auto cost = [&](const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    const StepReport report = work();
    return SolverCost{report.passes, seconds_of(start)};
  };
  trial.rows = count;
  Model model;
  try {
    trial.training = cost([&] {
      Fit fit = solver->fit(set, exact);
      model = std::move(fit.model);
      return std::move(fit.report);
    });
    for (SolverCost* const batch : {&trial.batch, &trial.later_batch}) {
      const BatchChange change = remove_some(set, leaving);
      *batch = cost([&] { return solver->absorb(model, set, change, exact); });
    }
  } catch (const Cancelled&) {
    require_time();
    throw;
  }
  bring_to_all(trial, keys.size());
  return trial;
}

}  // namespace unweave
