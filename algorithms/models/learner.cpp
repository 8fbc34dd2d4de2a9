// algorithms/models/learner.cpp - the steps of a model, each made durable before it is reported.
#include "algorithms/models/learner.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "algorithms/learning/network_pass.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/models/model_name.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/privacy/accounting/head_constants.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/release.h"
#include "algorithms/updates/request_status.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/plain_text.h"

namespace unweave {
namespace {

/// Options far from their defaults may overflow a solver's arithmetic. A residual bound is infinite
/// also where none is known.
void check_finite(const Model& model, const StepReport& report) {
  bool finite = model.published.allFinite() && std::isfinite(report.budget) &&
                (report.certified ? std::isfinite(report.residual_bound) : !std::isnan(report.residual_bound));
  for (const auto& [name, value] : report.terms.values()) finite = finite && std::isfinite(value);
  if (!finite)
    throw UsageError(model.solver + ": a number of this release is beyond float64; train with options nearer to the " +
                     "defaults");
}

/// What every row's loss obeys on the ball of the published weights, where that is a number:
/// nothing follows from it. ReLU has no such numbers.
void add_network_constants(const ModelRecord& record, StepReport& report) {
  if (!record.model.network) return;
  const NetworkShape& shape = *record.model.network;
  if (shape.activation == Activation::kRelu) return;
  const bool filtered = shape.blocks > 1;
  const PublicConstants given{.row_norm = filtered ? record.clip : std::hypot(record.clip, 1),
                              .radius = record.model.published.norm(),
                              .lambda = record.options.lambda,
                              .classes = shape.classes};
  if (!std::isfinite(given.radius) || shape.classes < 2) return;
  const LossConstants constants = network_constants(
      given, shape.hidden, shape.activation == Activation::kTanh ? tanh_bounds() : smelu_bounds(kSmeluHalfWidth),
      filtered);
  if (!std::isfinite(constants.smoothness) || !std::isfinite(constants.gradient)) return;
  report.terms.add(
      {{"radius", given.radius}, {"smoothness", constants.smoothness}, {"gradient_bound", constants.gradient}});
}

/// Throws UsageError before any row is read.
ModelRecord with_right_options(ModelRecord record) {
  require_options(record.model.solver, record.options);
  return record;
}

/// A model of this solver before its first training.
ModelRecord untrained(const LiveStore& store, std::string_view solver, const SolverOptions& options,
                      const RowProgram& rows) {
  ModelRecord record;
  record.options = taken_options(solver, options);
  record.options.standardized = store.manifest().standardized;
  record.options.data_order = store.manifest().order_file.has_value();
  record.rows = rows;
  record.model.solver = solver;
  stand_on(record, store.embedding().spec());
  return record;
}

/// Throws ResourceError.
SolverAtWork solver_at_work(const std::filesystem::path& store, const ModelRecord& record, const TrainingSet& rows,
                            MemoryBudget& budget) {
  const SolverEntry& entry = solver_entry(record.model.solver);
  SolverAtWork work;
  if (!record.options.hidden.empty())
    work.layers_memory = reserve_passes(Network(shape_of(record.options, rows)), rows.size(), budget);
  work.working_memory = entry.reserve(record.options, record.model, rows, budget);
  work.solver = entry.make(record.options,
                           {static_cast<std::size_t>(work.working_memory.bytes()), folder_of(store, name_of(record))});
  return work;
}

/// Whether stale rows must be published first: only for weighted sums of levels is there a bound of
/// what they change.
bool needs_published(const LiveStore& store, const RowProgram& program) {
  return !program.only_levels() && store.embedding().stale_rows() > 0;
}

ApproximationError approximation_of(const LiveStore& store, const RowProgram& program, const TrainingSet& rows) {
  if (needs_published(store, program)) throw std::logic_error("rows are made of stale values");
  ApproximationError error = lazy_error(store.embedding(), store.contents(), program.weights, rows.nodes());
  error.lazy = store.lazy();
  return error;
}

/// Training on rows that ranks share, on each of them.
Fit fit_over_ranks(const SolverAtWork& work, const LiveStore& store, const ModelRecord& record,
                   const TrainingSet& rows) {
  const bool is_ready = !needs_published(store, record.rows);
  Fit fit = is_ready ? work->fit(rows, approximation_of(store, record.rows, rows)) : Fit();
  if (!is_ready || fit.report.flush_needed)
    throw UsageError(store.path().string() +
                     ": rows that a lazy stream left stale must be published first, which several ranks do not do; "
                     "stream a batch without " +
                     option("r-max") + ", or train on one rank");
  return fit;
}

/// The key that signs the certificates of a solver: the store's own, made where none is needed yet,
/// or the one given.
SigningKey key_of(const std::filesystem::path& store, std::string_view solver, const std::filesystem::path& given) {
  if (!given.empty()) return SigningKey::read(given);
  if (has_entry(signing_key_file(store))) return SigningKey::of_store(store);
  const std::filesystem::path log = public_log(store, solver);
  if (const std::optional<std::string> line = last_line(log)) {
    static_cast<void>(place_after(*line, log));  // where they are no certificates at all, a key would not help
    throw UsageError(log.string() + ": the key that signs these certificates is not in the store; give it with " +
                     option("key", "FILE"));
  }
  return SigningKey::of_store(store);
}

}  // namespace

Learner::Learner(StoreWriter& store, MemoryBudget& budget, ModelRecord record, ReleaseContext context, Ranks* ranks)
    : store_(store),
      budget_(budget),
      record_(with_right_options(std::move(record))),
      context_(std::move(context)),
      rows_(store, record_.rows, form_of(record_), budget, ranks),
      key_(key_of(store.path(), name_of(record_), context_.key)) {
  for (ModelSummary& present : list_models(store.path()))
    if (present.damage.empty() && !present.id.empty()) present_models_.push_back(std::move(present));
  make_solver();
  if (!context_.receipts.empty()) receipts_.emplace(context_.receipts);
}

void Learner::make_solver() {
  solver_ = {};  // its memory first
  Reservation work = store_.hold_work_room();
  const auto make = [&] { solver_ = solver_at_work(store_.path(), record_, rows(), budget_); };
  try {
    make();
  } catch (const ResourceError&) {  // what a solver cannot do without comes before what spares it a file
    work.release();
    if (!rows_.leave_memory()) throw;
    work = store_.hold_work_room();
    make();
  }
}

Learner Learner::open(StoreWriter& store, MemoryBudget& budget, std::string_view name, ReleaseContext context,
                      std::optional<std::uint64_t> seed) {
  ModelRecord record = load_model(store.path(), name);
  check_propagation(record, store.manifest(), store.path());
  if (record.model.sequence > store.sequence())
    throw DataError(store.path().string() + ": the model of " + std::string(name) +
                    " has absorbed requests that the store does not hold; run " + train_command(store.path(), name) +
                    " again");
  // A killed writer may have left its model in memory alone. Nothing follows from it before it has
  // come to stay.
  sync_model(store.path(), name);
  require_recorded_logs(store.path(), store.manifest(), name, false);
  if (fit_of_log(store.path(), record) != LogFit::follows) refuse_log(store.path(), name);
  complete_log(store.path(), record);
  if (record.certificate.empty()) {
    Choices choices = choices_in_log(store.path(), name);
    record.options.lambda_chosen = std::move(choices.lambda);
    record.options.weights_chosen = std::move(choices.weights);
  }
  record.options.seed = seed;
  record.options.data_order = store.manifest().order_file.has_value();
  static_cast<void>(key_of(store.path(), name, context.key));  // a key that is missing is not the model's fault
  const auto opened = [&] {
    try {
      Learner learner(store, budget, std::move(record), std::move(context));
      learner.solver_->require_state(learner.model());
      learner.solver_->tidy(learner.model());
      return learner;
    } catch (const UsageError& error) {  // about what a file holds, not about what the user asked for
      throw DataError(model_file(store.path(), name).string() + ": " + error.message());
    }
  };
  Learner learner = opened();
  learner.follow_log();
  store.note_release(released_files(store.path(), name));
  // Those that a killed writer did not come to. In another file they would tell one requester of
  // another one's requests.
  if (learner.receipts_ && printable(learner.record_.receipts_file) == learner.receipts_path())
    learner.receipts_->add(learner.record_);
  return learner;
}

Learner Learner::train(StoreWriter& store, MemoryBudget& budget, std::string_view solver, const SolverOptions& options,
                       const RowProgram& rows_of, ReleaseContext context, std::string_view given, const StartOn& start,
                       Ranks* ranks) {
  const std::string_view name = given.empty() ? solver : given;
  require_model_name(name, solver);
  require_log_of(store.path(), name, solver);
  if (ranks != nullptr) require_over_ranks(solver, options);
  ModelRecord record = untrained(store, solver, options, rows_of);
  if (name != solver) record.name = name;
  const bool goes_on = require_recorded_logs(store.path(), store.manifest(), name, true);
  Learner learner(store, budget, std::move(record), std::move(context), ranks);
  std::optional<ModelRecord> before;
  try {
    before = load_model(store.path(), name);
  } catch (const UsageError&) {  // there is none yet
  } catch (const DataError&) {   // nobody can read it any more
  }
  const LogFit fit_before = before ? fit_of_log(store.path(), *before) : LogFit::none;
  if (fit_before == LogFit::lacks_lines) refuse_log(store.path(), name);
  if (fit_before == LogFit::follows) complete_log(store.path(), *before);
  learner.follow_log();
  // A canonical model is a function of the present rows, and W = 0 is that of none, which a stream
  // comes to as well.
  const bool has_none = learner.rows().size() == 0 && !solver_entry(solver).canonical && !learner.context_.may_be_empty;
  if (has_none && rows_of.pair)
    throw DataError(
        store.path().string() +
        ": there is no training row, so a model would say nothing: no edge is one to learn from; import the "
        "data with a larger share in " +
        option("pairs"));
  if (has_none)
    throw DataError(store.path().string() +
                    ": there is no training row, so a model would say nothing: no node of the training split has a "
                    "label and is still there; import the data with " +
                    option("split", "train=F") + " and " + option("labels", "F") + " that fit together");
  Fit fit = learner.fit(start);
  learner.record_.model = std::move(fit.model);
  if (!goes_on) store.forget_release(released_paths(store.path(), name));  // before there is another log
  learner.release(std::move(fit.report), {});
  learner.settle();
  return learner;
}

TrainedAlong train_along(const LiveStore& store, MemoryBudget& budget, std::string_view solver,
                         const SolverOptions& options, const RowProgram& rows_of, Ranks& ranks) {
  require_over_ranks(solver, options);
  ModelRecord record = with_right_options(untrained(store, solver, options, rows_of));
  TrainingRows rows(store, record.rows, form_of(record), budget, &ranks);
  const SolverAtWork work = solver_at_work(store.path(), record, rows.set(), budget);
  record.model = fit_over_ranks(work, store, record, rows.set()).model;
  return {std::move(record), std::move(rows)};
}

Fit Learner::fit(const StartOn& start) {
  if (rows().ranks() != nullptr) return fit_over_ranks(solver_, store_, record_, rows());
  if (needs_published(store_, record_.rows)) static_cast<void>(flush_rows());
  if (start) {
    if (!approximation().exact()) static_cast<void>(flush_rows());
    return solver_->fit_from(start(rows()), rows());
  }
  Fit fit = solver_->fit(rows(), approximation());
  if (!fit.report.flush_needed) return fit;
  static_cast<void>(flush_rows());
  return solver_->fit(rows(), approximation());
}

std::optional<StepReport> Learner::catch_up() {
  if (record_.model.sequence == store_.sequence() && !record_.certificate.empty()) return std::nullopt;
  Missed missed = missed_requests();
  StepReport report = restart();
  return release(std::move(report), std::move(missed.requests));
}

StepReport Learner::restart() {
  const auto attempt = [&] {
    if (solver_->has_place_for(record_.model, rows())) return solver_->catch_up(record_.model, rows(), approximation());
    const std::uint64_t releases = record_.model.releases, sequence = record_.model.sequence;
    Fit fit = solver_->fit(rows(), approximation());
    if (fit.report.flush_needed) return std::move(fit.report);
    record_.model = std::move(fit.model);
    record_.model.releases = releases + 1;
    record_.model.sequence = sequence;
    fit.report.retrained = true;
    return std::move(fit.report);
  };
  if (needs_published(store_, record_.rows)) static_cast<void>(flush_rows());
  StepReport report = attempt();
  if (!report.flush_needed) return report;
  static_cast<void>(flush_rows());
  return attempt();
}

StepReport Learner::absorb(const BatchReport& batch, std::span<const Request> requests) {
  std::vector<NodeId> touched;
  for (const NodeChange& node : batch.changes.nodes) touched.push_back(node.node);
  BatchChange change = rows_.follow(batch.update, solver_->reads_moved_rows(), touched);
  if (!change.begins_anew && needs_published(store_, record_.rows)) rows_.append(change, flush_rows());
  change.adaptive = context_.adaptive;
  change.only_edges = batch.changes.only_edges();
  StepReport report;
  if (change.begins_anew) {
    make_solver();
    report = restart();
  } else {
    report = solver_->absorb(record_.model, rows(), change, approximation());
    if (report.flush_needed) {
      rows_.append(change, flush_rows());
      report = solver_->absorb(record_.model, rows(), change, approximation());
    }
  }
  std::vector<std::string> lines;
  const NodeNames& names = store_.contents().order().names();
  if (receipts_)
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const RequestStatus status = batch.changes.statuses.at(i);
      lines.push_back(outcome_of(names.text_of(requests[i], names_nobody(status)), status,
                                 batch.times.empty() ? batch.time : batch.times.at(i)));
    }
  return release(std::move(report), std::move(lines));
}

ApproximationError Learner::approximation() const {
  return approximation_of(store_, record_.rows, rows());
}

BatchChange Learner::flush_rows() {
  const UpdateReport update = store_.publish_stale();
  // A model that has absorbed published rows must not meet the stale ones again after a crash.
  store_.checkpoint();
  return rows_.follow(update, solver_->reads_moved_rows());
}

std::string Learner::receipts_path() const {
  // As the model's file can hold it, whatever its bytes are.
  return printable(std::filesystem::absolute(resolved(context_.receipts)).lexically_normal().string());
}

void Learner::note_other(const ModelSummary& other) {
  const auto known = std::find_if(present_models_.begin(), present_models_.end(),
                                  [&](const ModelSummary& one) { return one.name == other.name; });
  if (known == present_models_.end())
    present_models_.push_back(other);
  else
    *known = other;
}

ModelSummary Learner::summary() const {
  return {name_of(record_),
          record_.model.solver,
          release_id(record_),
          weights_digest(record_),
          record_.model.sequence,
          record_.model.releases,
          {}};
}

void Learner::settle() {
  if (logged_) logged_->sync();
  logged_.reset();
}

Learner::Missed Learner::missed_requests() const {
  const Manifest& manifest = store_.manifest();
  const std::uint64_t first = record_.model.sequence + 1, last = store_.sequence();
  if (!receipts_ || !manifest.journal || manifest.sequence >= first) return {};
  for (std::uint64_t sequence = first; sequence <= last; ++sequence)
    if (!store_.journal_status(sequence)) return {};
  const auto visit = [&](const auto& use) {
    std::uint64_t sequence = manifest.sequence;
    static_cast<void>(read_journal(store_.path(), *manifest.journal, sequence, [&](const JournalBatch& batch) {
      for (const Request& request : batch.requests)  // those behind the last one are acknowledged, and wait
        if (++sequence >= first && sequence <= last) use(request, sequence, batch.time);
    }));
  };
  std::uint64_t text = 0;
  visit([&](const Request& request, std::uint64_t, Millis) { text += text_bytes({&request, 1}); });
  Missed missed;
  try {
    missed.room = store_.reserve_batch(last - record_.model.sequence, text);
  } catch (const ResourceError&) {  // what is acknowledged is forgotten, with receipts or without
    return {};
  }
  const NodeNames& names = store_.contents().order().names();
  visit([&](const Request& request, std::uint64_t sequence, Millis time) {
    const RequestStatus status = store_.journal_status(sequence).value();
    missed.requests.push_back(outcome_of(names.text_of(request, names_nobody(status)), status, time));
  });
  return missed;
}

void Learner::follow_log() {
  const std::filesystem::path file = public_log(store_.path(), name_of(record_));
  if (const std::optional<std::string> last = last_line(file)) place_ = place_after(*last, file);
  if (place_.number > 0 && place_.public_key != key_.public_key()) {
    const std::string whose =
        file.string() + ": these certificates are signed by the key whose public half is " + place_.public_key;
    const std::string anew = ", or move model and certificates of " + name_of(record_) + " away to begin anew";
    if (!context_.key.empty()) throw UsageError(whose + "; give that one with " + option("key") + anew);
    throw DataError(whose + ", and " + signing_key_file(store_.path()).string() +
                    " is another; restore it from a copy" + anew);
  }
}

std::vector<std::string> Learner::replaced_releases() const {
  std::vector<std::string> ids;
  for (const ModelSummary& model : present_models_)
    if (model.sequence < store_.sequence() && model.name != name_of(record_)) ids.push_back(model.id);
  if (place_.number > 0) ids.push_back(place_.release);  // also of a model that is gone: the log still knows it
  return ids;
}

nlohmann::ordered_json Learner::place_in_log(std::uint64_t after, std::vector<std::string> requests) {
  const Model& model = record_.model;
  // Not the stream of numbers that the noise comes from.
  RandomSource random = record_.options.seed ? RandomSource::from_seed(*record_.options.seed, ~model.releases)
                                             : RandomSource::from_system();
  const auto draw = [&] { return to_hex(draw_hash(random)); };
  record_.release_key = draw();
  if (place_.number == 0) place_.log = place_.digest = draw();
  record_.receipt_secret = requests.empty() ? "" : draw();
  record_.receipts_file = requests.empty() ? "" : receipts_path();
  record_.requests = std::move(requests);
  nlohmann::ordered_json batch;
  if (model.releases > 1) {
    batch = {{"first", after + 1}, {"last", model.sequence}, {"root", nullptr}};
    if (!record_.requests.empty()) batch["root"] = to_hex(tree_of(record_).root());
  }
  return {{"format", kCertificateFormat}, {"log", place_.log}, {"number", place_.number + 1},
          {"previous", place_.digest},    {"batch", batch},    {"nonce", draw()}};
}

namespace {

/// Whether the newest certificate says that noise came from a seed.
bool is_of_seed(const ModelRecord& record) {
  return !record.certificate.empty() &&
         parse_json<nlohmann::ordered_json>(record.certificate).value("for_tests", false);
}

}  // namespace

StepReport Learner::release(StepReport report, std::vector<std::string> requests) {
  if (report.flush_needed) throw std::logic_error("a solver refused the exact embedding");
  check_finite(record_.model, report);
  // Theorems that go on from a run need the noise of all of it to be fresh: a seed stays in what
  // follows, up to a training anew.
  if (!report.retrained && !solver_entry(record_.model.solver).canonical && is_of_seed(record_))
    report.for_tests = true;
  withdraw_claims_of_seed(report);
  add_network_constants(record_, report);
  const std::uint64_t after = std::exchange(record_.model.sequence, store_.sequence());
  without_receipts_ = receipts_ && requests.empty() && record_.model.releases > 1 ? record_.model.sequence - after : 0;
  context_.lazy = store_.lazy();
  // By the full minute, since how long a step took may depend on what was removed. A release from a
  // given seed shows nothing but what is given.
  context_.time = record_.options.seed ? "" : minute_text(present_time());
  context_.withdraw = replaced_releases();
  nlohmann::ordered_json certificate = place_in_log(after, std::move(requests));
  certificate.update(certificate_fields(record_, report, context_));
  seal_certificate(record_, std::move(certificate), key_);
  settle();
  save_model(store_.path(), record_);
  place_ = place_after(record_.certificate, public_log(store_.path(), name_of(record_)));
  logged_.emplace(store_.path(), record_);
  ReleasedFiles files = released_paths(store_.path(), name_of(record_));
  for (std::size_t i = 0; i < files.logs.size(); ++i) files.logs[i].bytes = logged_->bytes()[i];
  files.canonical = solver_entry(record_.model.solver).canonical;
  store_.note_release(files);
  if (receipts_) receipts_->add(record_);
  record_.requests = {};  // the model file has them
  solver_->tidy(record_.model);
  last_step_ = report;
  return report;
}

}  // namespace unweave
