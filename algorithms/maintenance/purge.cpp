// algorithms/maintenance/purge.cpp - folds what a store holds into new files and forgets everything
// else.
#include "algorithms/maintenance/purge.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/evaluation/regularisation.h"
#include "algorithms/live/feed_registry.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/released_files.h"
#include "algorithms/live/stepwise_fold.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/new_nodes.h"
#include "algorithms/maintenance/purge_plan.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/propagation/level0.h"
#include "algorithms/registry/registry.h"
#include "engine/generations/store_purge.h"
#include "engine/ingest/compaction.h"
#include "engine/ingest/feature_builder.h"
#include "engine/ingest/growth.h"
#include "engine/state/level_indexes.h"
#include "storage/formats/level_files.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/message.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

/// The levels of an exact embedding without overlays and indexes.
std::vector<LevelFiles> fold_levels(const LiveStore& store, WorkMeter& meter) {
  const Embedding& embedding = store.embedding();
  std::vector<LevelFiles> files = store.manifest().levels;
  meter.start("sums", embedding.levels(), "levels");
  embedding.checkpoint(store.path(), true, files, store.budget(), [&] { meter.advance(1); });
  for (LevelFiles& one : files) drop_files(one, FileRole::index);
  return files;
}

/// The log of certificates outlives the models, which hold their newest certificate too.
void log_certificates(const std::filesystem::path& store, const Manifest& manifest) {
  for (const ModelSummary& model : list_models(store)) {
    if (!model.damage.empty()) continue;
    try {
      const ModelRecord record = load_model(store, model.name);
      require_recorded_logs(store, manifest, model.name, false);
      if (fit_of_log(store, record) == LogFit::follows) complete_log(store, record);
    } catch (const DataError&) {  // the log is cut or another one's, and stays as it is
    }
  }
}

/// Models that a purge has kept and not certified.
std::vector<std::string> uncertified_models(const fs::path& store) {
  std::vector<std::string> names;
  for (const ModelSummary& model : list_models(store))
    if (model.damage.empty() && model.id.empty()) names.push_back(model.name);
  return names;
}

void count_bytes(const Manifest& before, const Manifest& after, PurgeReport& report) {
  std::set<std::string> known;
  for (const FileEntry& entry : before.files()) known.insert(entry.path);
  for (const FileEntry& entry : after.files())
    (known.contains(entry.path) ? report.bytes_kept : report.bytes_written) += entry.bytes;
}

/// Bytes of the files of `before` that `after` does not name.
std::uint64_t bytes_that_went(const Manifest& before, const Manifest& after) {
  std::set<std::string> left;
  for (const FileEntry& entry : after.files()) left.insert(entry.path);
  std::uint64_t bytes = 0;
  for (const FileEntry& entry : before.files()) bytes += left.contains(entry.path) ? 0 : entry.bytes;
  return bytes;
}

class Purge {
 public:
  Purge(const std::filesystem::path& store, const PurgeOptions& options, MemoryBudget& budget, WorkMeter& meter,
        std::optional<WriterLock> lock)
      : store_(store), options_(options), budget_(budget), meter_(meter) {
    const PurgeState state = purge_state(store);  // before it is opened, which ends a purge that was decided
    live_.emplace(store, std::move(lock), budget);
    before_ = live_->manifest();
    report_.requests = live_->sequence();
    report_.nodes_added = added_nodes(store, before_, options.nodes, options.names);
    unasked_ = !options.always && state == PurgeState::none && report_.requests == 0 && report_.nodes_added == 0;
    // An order may still be that of a graph before an earlier purge, which kept it.
    report_.nothing = unasked_ && (!before_.order_file || options.keep_order);
    report_.standardized = before_.standardized;
    report_.propagated = live_->propagated();
    report_.has_order = before_.order_file.has_value();
    if (!report_.nothing) ask_feeds();
  }

  PurgeReport run() {
    if (report_.nothing) {
      certify_rest();
      return report_;
    }
    if (options_.names)
      new_names_.emplace(read_new_names(store_, before_, *options_.names, live_->contents().order().names(),
                                        report_.nodes_added, budget_,
                                        meter_));  // a wrong file is told before any model is touched
    keep_models();
    opened_ = before_ = live_->manifest();
    log_certificates(store_, before_);
    require_purge_room(*live_, options_);
    try {
      begin_purge(store_);
      build();
      if (report_.nothing) {
        abandon_purge(store_);
        certify_rest();
        return report_;
      }
      meter_.start("removal", 0, "files");
      count_bytes(opened_, after_, report_);
      report_.bytes_removed += commit_purge(store_, before_, after_);
    } catch (...) {
      abandon();
      throw;
    }
    if (!report_.kept_models.empty()) {
      StoreWriter purged(store_, std::move(lock_), budget_);
      certify_models(purged, report_.kept_models);
      lock_.emplace(std::move(purged).give_lock());
    }
    report_.times_left = level_times(store_);  // once more: certificates and the removed mark are later
    return report_;
  }

 private:
  /// After a failure. What this cannot remove either, the next writer can.
  void abandon() const noexcept {
    try {
      abandon_purge(store_);
    } catch (const std::exception&) {
    }
  }

  /// Rows of removed nodes may be in copies that follow the store.
  void ask_feeds() const {
    if (options_.without_feeds) return forget_feeds(store_);
    const std::vector<std::string> lags = lagging_feeds(store_, live_->sequence());
    if (lags.empty()) return;
    throw DataError(lags.front() +
                    (lags.size() > 1 ? "; and " + std::to_string(lags.size() - 1) + " more like this" : "") +
                    "; purge then, or at once with " + option("without-feeds"));
  }

  [[nodiscard]] ReleaseContext context() const { return {true, options_.program, {}, options_.key, {}}; }

  /// Calls body(name) for one model; where it cannot be done, the model is among `faults`. Returns
  /// whether it was done.
  template <class Body>
  static bool attempt(const std::string& name, std::vector<ModelFault>& faults, const Body& body) {
    try {
      body(name);
      return true;
    } catch (const UsageError& error) {
      faults.push_back({name, error.message()});
    } catch (const DataError& error) {
      faults.push_back({name, error.message()});
    }
    return false;
  }

  /// Brings all canonical models up to date: then they know of the present contents alone. Throws
  /// ResourceError.
  void keep_models() {
    for (const ModelSummary& model : list_models(store_)) {
      if (!model.damage.empty() || !solver_entry(model.solver).canonical) continue;
      const auto bring_up = [&](const std::string& name) {
        // Older programs kept its history in the file itself.
        const bool has_history = !model.id.empty() && !has_entry(release_file(store_, name));
        const ModelRecord record = load_model(store_, name);
        check_propagation(record, live_->manifest(), store_);
        if (const std::optional<double> lambda = lambda_of_purged(*live_, record, options_))
          return train_with(record, name, *lambda);
        if (model.sequence == live_->sequence() && !has_history) return;
        Learner learner = Learner::open(*live_, budget_, name, context(), {});
        if (!learner.catch_up()) save_model(store_, learner.record());
        learner.settle();
      };
      if (attempt(model.name, report_.lost_models, bring_up)) report_.kept_models.push_back(model.name);
    }
  }

  /// As somebody would who trains on the purged store and gives no lambda.
  void train_with(const ModelRecord& record, const std::string& name, double lambda) {
    SolverOptions options = record.options;
    options.lambda = lambda;
    options.lambda_chosen = kDefaultLambda;
    static_cast<void>(Learner::train(*live_, budget_, record.model.solver, options, record.rows, context(), name));
    report_.new_lambdas.push_back({name, record.options.lambda, lambda});
  }

  /// An earlier purge may have been cut before it came to that.
  void certify_rest() {
    report_.certified_models = uncertified_models(store_);
    certify_models(*live_, report_.certified_models);
    if (!report_.certified_models.empty()) report_.times_left = level_times(store_);
  }

  /// Publishes kept models on the rows that there are: a proof that owes nothing to what was there
  /// before.
  void certify_models(StoreWriter& live, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto certify = [&](const std::string&) {
        const Hash kept = weights_digest(load_model(store_, name));
        Learner learner = Learner::open(live, budget_, name, context(), {});
        static_cast<void>(learner.catch_up());
        learner.settle();
        if (weights_digest(learner.record()) != kept)
          throw DataError(
              model_file(store_, name).string() +
              ": its weights were others than those of the rows of the store; it was damaged or forged, and "
              "has been learnt anew: fetch the weights from here again wherever they went");
      };
      try {
        attempt(name, report_.uncertified_models, certify);
      } catch (const ResourceError& error) {  // all is erased, which is what was asked
        report_.uncertified_models.push_back({name, error.message()});
      }
    }
    if (!names.empty()) live.record();
  }

  void build() {
    if (live_->propagated()) {
      report_.stale_rows = live_->embedding().stale_rows();
      meter_.start("stale rows", report_.stale_rows, "rows");
      static_cast<void>(live_->publish_stale());
    }
    const NameList* const new_names = new_names_ ? &*new_names_ : nullptr;
    meter_.start("digest", 0, "nodes");
    Manifest grown = before_;
    grown.take_users(before_.user_nodes() + static_cast<NodeId>(report_.nodes_added));
    report_.digest = content_digest(grown, live_->contents(), report_.propagated ? &live_->embedding() : nullptr,
                                    budget_, new_names);
    if (goes_in_steps(*live_, options_)) fold_in_steps();
    // An order that is computed anew may put new nodes anywhere, and copies of them move others.
    const bool extends = report_.nodes_added > 0 && spans_stay(before_.nodes, grown.nodes) &&
                         before_.layers.copies() == 1 && (!before_.order_file || options_.keep_order);
    after_ = compact_contents(
        store_, before_, live_->contents(), extends ? before_.nodes : grown.nodes, extends ? nullptr : new_names,
        options_.keep_order, &report_.order_reason, [&] { return signed_zeros(); }, budget_, meter_);
    report_.order_changed = after_.order_file != before_.order_file;
    report_.nothing = unasked_ && !report_.order_changed;
    if (report_.nothing) return;
    note_gone_models();
    if (options_.before_removal) {
      std::vector<std::string> names;
      for (const ModelFault& gone : report_.gone_models) names.push_back(gone.name);
      options_.before_removal(names);
    }
    std::vector<LevelFiles> folded;
    if (report_.propagated && !report_.order_changed && (report_.nodes_added == 0 || extends))
      folded = fold_levels(*live_, meter_);
    if (extends) {
      after_.propagation = before_.propagation;
      after_.levels = std::move(folded);
      after_ = grow_generation(store_, after_, grown.nodes, new_names, budget_, meter_);
      folded = std::exchange(after_.levels, {});
      report_.order_changed = after_.order_file != before_.order_file;
    }
    lock_.emplace(std::move(*live_).give_lock());
    live_.reset();

    const Reservation opened = reserve_contents(store_, after_, budget_);
    const Contents contents(store_, after_);
    Reservation rows;
    std::optional<Embedding> embedding;
    if (report_.propagated) {
      add_levels(contents, std::move(folded));
      rows = reserve_embedding(store_, after_, budget_);
      embedding.emplace(store_, after_, contents);
    }
    for (const std::string& name : report_.kept_models) record_release(store_, released_files(store_, name), after_);
    meter_.start("digest", 0, "nodes");
    if (content_digest(after_, contents, embedding ? &*embedding : nullptr, budget_) != report_.digest)
      throw DataError(
          store_.string() +
          ": one of its files disagrees with the others, so that the purged store would hold something else; "
          "it stays as it was: run " +
          operation("verify " + shell_word(store_.string()) + ' ' + option("rebuild")) +
          ", which names the file, and " + operation("repair") + ", or restore the file from a copy");
  }

  /// Spans whose features have zeros with signs. One pass over the features tells of them and of
  /// the constants of the columns, which no part of a purge changes but another order, which
  /// computes them anew.
  std::optional<std::vector<bool>> signed_zeros() {
    const Contents& contents = live_->contents();
    if (features_stand_) return std::nullopt;
    if (before_.feature_layout.sparse) return std::vector<bool>(before_.feature_files.size());  // which have no zeros
    meter_.start("norms of columns", 0, "rows");
    if (!report_.propagated) return find_signed_zeros(contents.features(), budget_);
    measured_ = *before_.propagation;
    return survey_columns(contents, *measured_);
  }

  /// Leaves a store that has the same contents, nothing of which lies beside shards, features and
  /// sums.
  void fold_in_steps() {
    std::vector<bool> zeros;
    if (before_.features > 0) zeros = signed_zeros().value();
    features_stand_ = true;
    live_->checkpoint();
    Manifest manifest = live_->manifest();
    lock_.emplace(std::move(*live_).give_lock());
    live_.reset();
    static_cast<void>(
        fold_stepwise(store_, std::move(manifest), zeros, options_.step_bytes.value_or(kFoldStep), budget_, meter_));
    live_.emplace(store_, std::move(lock_), budget_);
    lock_.reset();
    before_ = live_->manifest();
    report_.bytes_removed += bytes_that_went(opened_, before_);
  }

  void note_gone_models() {
    for (const ModelSummary& model : list_models(store_)) {
      const auto& kept = report_.kept_models;
      if (std::find(kept.begin(), kept.end(), model.name) != kept.end()) continue;
      const auto is_this = [&](const ModelFault& fault) { return fault.name == model.name; };
      const auto lost = std::find_if(report_.lost_models.begin(), report_.lost_models.end(), is_this);
      report_.gone_models.push_back(
          lost != report_.lost_models.end()
              ? *lost
              : ModelFault{
                    model.name,
                    "it goes with every purge, since its weights may tell of what was removed; train it again by " +
                        train_command(store_, model.name)});
    }
  }

  void add_levels(const Contents& contents, std::vector<LevelFiles> folded) {
    PropagationSpec spec = *before_.propagation;
    if (folded.empty()) {
      PropagateReport ignored;
      std::uint64_t shown = 0;
      meter_.start("sums", 0, "rows");
      folded = build_first_levels(
          store_, contents, spec, budget_,
          [&](const PropagateProgress& progress) {
            meter_.advance(progress.done - std::exchange(shown, progress.done));
          },
          ignored);
    } else {
      if (measured_) {
        spec = *std::move(measured_);
      } else {
        meter_.start("norms of columns", 0, "rows");
        measure_columns(contents, spec);
      }
      if (spec.kept.has_sums()) LevelIndexes::write(store_, contents, spec, folded);
    }
    after_.propagation = std::move(spec);
    after_.levels = std::move(folded);
  }

  const std::filesystem::path& store_;
  const PurgeOptions& options_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
  std::optional<StoreWriter> live_;
  std::optional<NameList> new_names_;
  std::optional<WriterLock> lock_;
  Manifest opened_, before_, after_;         ///< as the purge found it, before its last step and after it
  std::optional<PropagationSpec> measured_;  ///< that of the store, with the constants of the present columns
  bool features_stand_ = false;              ///< signed zeros went in steps
  bool unasked_ = false;                     ///< no request was made
  PurgeReport report_;
};

}  // namespace

PurgeReport purge_store(const std::filesystem::path& store, const PurgeOptions& options, MemoryBudget& budget,
                        WorkMeter& meter, std::optional<WriterLock> lock) {
  return Purge(store, options, budget, meter, std::move(lock)).run();
}

}  // namespace unweave
