// algorithms/learner.cpp - the steps of a model, each made durable before it is reported.
#include "algorithms/learner.h"

#include <cmath>
#include <string>

#include "algorithms/lazy_error.h"
#include "storage/error.h"

namespace unweave {
namespace {

/// Options far from their defaults may overflow a solver's arithmetic. A residual bound is infinite also where none is known.
void check_finite(const Model& model, const StepReport& report) {
  bool finite = model.published.allFinite() && std::isfinite(report.budget) &&
                (report.certified ? std::isfinite(report.residual_bound) : !std::isnan(report.residual_bound));
  for (const auto& [name, value] : report.terms) finite = finite && std::isfinite(value);
  if (!finite)
    throw UsageError(model.solver + ": a number of this release is beyond float64; train with options nearer to the " +
                     "defaults");
}

}  // namespace

Learner::Learner(LiveStore& store, MemoryBudget& budget, ModelRecord record, ReleaseContext context)
    : store_(store),
      record_(std::move(record)),
      context_(std::move(context)),
      solver_(make_solver(record_.model.solver, record_.options)),
      rows_(store, record_.weights, record_.clip, budget) {
  for (const ModelSummary& present : list_models(store.path()))
    if (present.damage.empty()) context_.withdraw.push_back(present.id);
  working_memory_ = solver_->reserve(record_.model, rows(), budget);
  solver_->set_working_memory(static_cast<std::size_t>(working_memory_.bytes()));
  solver_->set_folder(folder_of(store.path(), record_.model.solver));
}

Learner Learner::open(LiveStore& store, MemoryBudget& budget, std::string_view solver, ReleaseContext context,
                      std::optional<std::uint64_t> seed) {
  static_cast<void>(make_solver(solver, {}));  // an unknown name is told before a missing model
  ModelRecord record = load_model(store.path(), solver);
  check_propagation(record, store.manifest(), store.path());
  if (record.model.sequence > store.sequence())
    throw DataError(store.path().string() + ": the model of " + std::string(solver) +
                    " has absorbed requests that the store does not hold; run `unweave train` again");
  // A killed writer may have left its model in memory alone. Nothing follows from it before it has come to stay.
  sync_model(store.path(), solver);
  log_certificate(store.path(), record).sync();
  record.options.seed = seed;
  record.options.data_order = store.manifest().order_file.has_value();
  Learner learner(store, budget, std::move(record), std::move(context));
  learner.solver_->tidy(learner.model());
  return learner;
}

Learner Learner::train(LiveStore& store, MemoryBudget& budget, std::string_view solver, const SolverOptions& options,
                       const std::vector<double>& weights, ReleaseContext context) {
  ModelRecord record;
  record.options = options;
  record.options.standardized = store.manifest().standardized;
  record.options.data_order = store.manifest().order_file.has_value();
  record.weights = weights;
  record.model.solver = solver;
  stand_on(record, store.embedding().spec());
  Learner learner(store, budget, std::move(record), std::move(context));
  try {
    log_certificate(store.path(), load_model(store.path(), solver)).sync();
  } catch (const UsageError&) {  // there is none yet
  } catch (const DataError&) {   // nobody can read it any more
  }
  Fit fit = learner.solver_->fit(learner.rows(), learner.approximation());
  if (fit.report.flush_needed) {
    static_cast<void>(learner.flush_rows());
    fit = learner.solver_->fit(learner.rows(), learner.approximation());
  }
  learner.record_.model = std::move(fit.model);
  learner.release(std::move(fit.report));
  learner.settle();
  return learner;
}

std::optional<StepReport> Learner::catch_up() {
  if (record_.model.sequence == store_.sequence()) return std::nullopt;
  StepReport report = solver_->catch_up(record_.model, rows(), approximation());
  if (report.flush_needed) {
    static_cast<void>(flush_rows());
    report = solver_->catch_up(record_.model, rows(), approximation());
  }
  return release(std::move(report));
}

StepReport Learner::absorb(const BatchReport& batch) {
  BatchChange change = rows_.follow(batch.update, solver_->reads_moved_rows());
  change.adaptive = context_.adaptive;
  change.only_edges = batch.changes.nodes_removed == 0 && batch.changes.features_removed == 0;
  StepReport report = solver_->absorb(record_.model, rows(), change, approximation());
  if (report.flush_needed) {
    rows_.append(change, flush_rows());
    report = solver_->absorb(record_.model, rows(), change, approximation());
  }
  return release(std::move(report));
}

ApproximationError Learner::approximation() const {
  return lazy_error(store_.embedding(), store_.contents(), record_.weights, rows().nodes());
}

BatchChange Learner::flush_rows() {
  const UpdateReport update = store_.flush();
  // A model that has absorbed published rows must not meet the stale ones again after a crash.
  store_.checkpoint();
  return rows_.follow(update, solver_->reads_moved_rows());
}

void Learner::settle() {
  if (logged_) logged_->sync();
  logged_.reset();
}

StepReport Learner::release(StepReport report) {
  if (report.flush_needed) throw std::logic_error("a solver refused the exact embedding");
  check_finite(record_.model, report);
  record_.model.sequence = store_.sequence();
  record_.certificate = make_certificate(record_, report, context_);
  settle();
  save_model(store_.path(), record_);
  logged_.emplace(log_certificate(store_.path(), record_));
  solver_->tidy(record_.model);
  // Each certificate names the release that it replaces; those before are named by the certificates before.
  const std::string own = record_.model.solver + "-";
  std::erase_if(context_.withdraw, [&](const std::string& id) { return id.starts_with(own); });
  context_.withdraw.push_back(release_id(record_.model));
  last_step_ = report;
  return report;
}

}  // namespace unweave
