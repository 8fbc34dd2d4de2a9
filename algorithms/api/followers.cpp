// algorithms/api/followers.cpp - opens the models that follow a stream, and takes their steps.
#include "algorithms/api/followers.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "algorithms/api/internals.h"
#include "algorithms/learning/no_model_error.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/models/training_terms.h"
#include "algorithms/registry/registry.h"
#include "engine/resources/clock.h"
#include "engine/resources/watcher.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "unweave/version.h"

namespace unweave {
inline namespace v0 {
namespace {

/// Tells whoever watches of a batch that is acknowledged, which nobody can cancel any more.
class Uncancelled final : public WorkMeter {
 public:
  explicit Uncancelled(WorkMeter& told) : told_(told) {}
  void start(std::string_view step, std::uint64_t total, std::string_view unit) override {
    told_.start(step, total, unit);
  }
  void note(const std::string& text) override { told_.note(text); }

 protected:
  void add(std::uint64_t count) noexcept override { told_.tell(count); }

 private:
  WorkMeter& told_;
};

const std::string& name_in_store(const ModelSelection& selected) {
  return selected.name ? *selected.name : *selected.solver;
}

}  // namespace

std::vector<ModelSelection> selected_models(const StreamOptions& options) {
  std::vector<ModelSelection> selected;
  const auto add = [&](const ModelSelection& one) {
    if (!one.name && !one.solver) return;
    if (one.solver) static_cast<void>(solver_entry(*one.solver));
    for (const ModelSelection& other : selected)
      if (name_in_store(other) == name_in_store(one))
        throw UsageError("the model " + name_in_store(one) + " is to follow the stream twice; name each once");
    selected.push_back(one);
  };
  add(options.model);
  for (const ModelSelection& one : options.more_models) add(one);
  return selected;
}

void Followers::open() {
  const std::vector<ModelSelection> selected = selected_models(options_);
  if (selected.size() > 1) require_exact_rows();
  if (selected.empty()) return;
  const WatchedBy watched(resources_.meter());
  static_cast<void>(store_.settle());  // what an earlier session may have put off
  is_alone_ = selected.size() == 1;
  for (const ModelSelection& one : selected) {
    followers_.push_back({one, name_in_store(one)});
    open(followers_.back());
    tell_others(followers_.size() - 1);
  }
}

/// Stale rows that one model publishes would be other rows than those that the next one has read.
void Followers::require_exact_rows() const {
  const std::string remedy = "; let one model follow, or stream without " + option("r-max");
  if (options_.mode.r_max > 0)
    throw UsageError(store_.path().string() + ": several models follow a stream whose rows are exact" + remedy);
  if (store_.propagated() && store_.embedding().stale_rows() > 0)
    throw UsageError(store_.path().string() + ": " + std::to_string(store_.embedding().stale_rows()) +
                     " rows are stale, which an earlier stream has left, and several models follow exact rows alone; "
                     "stream one batch with one model first, without " +
                     option("r-max"));
}

void Followers::open(Follower& follower) {
  if (!options_.service) return open_learner(follower);
  try {
    // What a journal has changed must not keep a service from starting in the memory in which it
    // acknowledged it.
    try {
      open_learner(follower);
    } catch (const ResourceError&) {
      room_.lend();
      store_.fold();
      room_.take();
      open_learner(follower);
    }
    follower.stuck.clear();
  } catch (const NoModelError& error) {  // nor must rows that a sender has chosen
    follower.stuck = error.message();
  }
}

/// Throws NoModelError.
void Followers::open_learner(Follower& follower) {
  const ReleaseContext context{options_.adaptive, std::string(version()), {}, options_.key, receipts_of(follower.name)};
  if (train_purged(follower, context)) return;
  Learner learner = Learner::open(store_, resources_.memory(), follower.name, context, options_.seed);
  require_solver(follower.selected, learner.record());
  const Clock::time_point start = Clock::now();
  follower.missed = learner.catch_up();
  follower.seconds_catch_up = seconds_since(start);
  follower.without_receipts = learner.without_receipts();
  follower.learner.emplace(std::move(learner));
}

/// Trains a model again that a purge has removed, where the options ask for it; false where there
/// is nothing to do.
bool Followers::train_purged(Follower& follower, const ReleaseContext& context) {
  const std::string& name = follower.name;
  if (!options_.train_purged || has_entry(model_file(store_.path(), name))) return false;
  require_no_recorded_model(store_.path(), store_.manifest(), name);  // it is lost, and not removed
  const std::optional<TrainingTerms> terms = terms_in_log(store_.path(), name);
  if (!terms) return false;
  SolverOptions how = terms->options;
  how.seed = options_.seed;
  ReleaseContext of_stream = context;
  of_stream.may_be_empty = true;  // rows come back by later requests
  follower.learner.emplace(
      Learner::train(store_, resources_.memory(), terms->solver, how, terms->rows, of_stream, name));
  require_solver(follower.selected, follower.learner->record());
  store_.record();
  follower.is_new = true;
  // Its first certificate covers no request.
  if (!options_.receipts.empty()) follower.without_receipts = store_.sequence();
  return true;
}

/// The file of receipts of one of them.
std::filesystem::path Followers::receipts_of(const std::string& model) const {
  if (options_.receipts.empty() || is_alone_) return options_.receipts;
  std::filesystem::path file = options_.receipts;
  return file += "." + model;
}

void Followers::absorb(std::span<const Request> requests, BatchOutcome& outcome) {
  if (followers_.empty()) return;
  Uncancelled meter(resources_.meter());
  const WatchedBy watched(meter);
  for (std::size_t i = 0; i < followers_.size(); ++i) outcome.steps.push_back(step(i, outcome.batch, requests));
  const ModelStep& first = outcome.steps.front();
  outcome.step = first.report;
  outcome.seconds_unlearn = first.seconds_unlearn;
  outcome.seconds_catch_up = first.seconds_catch_up;
}

ModelStep Followers::step(std::size_t place, const BatchReport& batch, std::span<const Request> requests) {
  Follower& follower = followers_[place];
  ModelStep step;
  const Clock::time_point start = Clock::now();
  step.name = follower.name;
  step.solver = follower.selected.solver.value_or(follower.name);
  const bool was_stuck = !follower.learner;
  if (was_stuck)
    open(follower);  // which absorbs what it has missed
  else
    step.report = absorb(follower, batch, requests);
  step.stuck = follower.stuck;
  step.seconds_unlearn = seconds_since(start);
  if (!follower.learner) return step;
  step.solver = follower.learner->record().model.solver;
  tell_others(place);
  if (was_stuck) {
    step.report = follower.learner->last_step();  // it tells of catching up, or of a training anew
  } else if (follower.missed) {
    step.report.retrained |= follower.missed->retrained;
    step.report.passes += follower.missed->passes;
  }
  step.without_receipts = std::exchange(follower.without_receipts, 0);
  if (!follower.missed) return step;
  step.seconds_catch_up = follower.seconds_catch_up;
  follower.missed.reset();
  return step;
}

/// In a service a model that the rows do not have any more is left as it was, and opened again at
/// the next batch.
StepReport Followers::absorb(Follower& follower, const BatchReport& batch, std::span<const Request> requests) {
  try {
    return follower.learner->absorb(batch, requests);
  } catch (const NoModelError& error) {
    if (!options_.service) throw;
    follower.learner.reset();
    follower.stuck = error.message();
    return {};
  }
}

/// One of the models has released.
void Followers::tell_others(std::size_t place) {
  if (!followers_[place].learner) return;
  const ModelSummary released = followers_[place].learner->summary();
  for (std::size_t i = 0; i < followers_.size(); ++i)
    if (i != place && followers_[i].learner) followers_[i].learner->note_other(released);
}

void Followers::settle() {
  for (Follower& follower : followers_)
    if (follower.learner) follower.learner->settle();
}

std::vector<std::string> Followers::names() const {
  std::vector<std::string> names;
  for (const Follower& follower : followers_) names.push_back(follower.name);
  return names;
}

std::vector<std::string> Followers::trained_again() const {
  std::vector<std::string> names;
  for (const Follower& follower : followers_)
    if (follower.is_new) names.push_back(follower.name);
  return names;
}

std::vector<std::pair<std::string, std::string>> Followers::stuck() const {
  std::vector<std::pair<std::string, std::string>> stuck;
  for (const Follower& follower : followers_)
    if (!follower.learner) stuck.emplace_back(follower.name, follower.stuck);
  return stuck;
}

bool Followers::caught_up() const noexcept {
  return std::any_of(followers_.begin(), followers_.end(), [](const Follower& one) { return one.missed.has_value(); });
}

const Learner* Followers::learner(std::size_t model) const {
  return model < followers_.size() && followers_[model].learner ? &*followers_[model].learner : nullptr;
}

}  // namespace v0
}  // namespace unweave
