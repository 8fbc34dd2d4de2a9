// algorithms/api/evaluate.cpp - the figures of a model, of the retrained one beside it and of the
// one before it.
#include "unweave/evaluate.h"

#include <algorithm>
#include <array>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/efficacy.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/links.h"
#include "algorithms/evaluation/metrics.h"
#include "algorithms/evaluation/model_comparison.h"
#include "algorithms/evaluation/trend_attack.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/registry/registry.h"
#include "engine/resources/watcher.h"

namespace unweave {
inline namespace v0 {
namespace {

/// What the model is compared with: one that has never seen anything but the present data. A run
/// over slots is made again over those that are left. Returns nothing where the embedding is too
/// far from the exact one.
std::optional<ModelRecord> retrained_of(const ModelRecord& record, const LiveStore& store, MemoryBudget& budget) {
  const TrainingRows rows(store, record.rows, form_of(record), budget);
  if (!record.rows.only_levels() && store.embedding().stale_rows() > 0) return std::nullopt;
  const ApproximationError lazy =
      lazy_error(store.embedding(), store.contents(), record.rows.weights, rows.set().nodes());
  ModelRecord retrained = record;
  if (kind_of(record.model).follows_run) {
    const auto solver = make_solver(record.model.solver, record.options);
    return solver->catch_up(retrained.model, rows.set(), lazy).flush_needed ? std::nullopt : std::optional(retrained);
  }
  const SolverEntry& own = solver_entry(record.model.solver);
  const SolverEntry& reference =
      own.noisy ? retraining_solver() : own;  // without noise the solver's own training is it
  SolverOptions& options = retrained.options;
  options.bound = BoundRule::kCorrected;  // a model trained again has no other
  if (&reference != &own)
    std::erase_if(options.parameters, [&](const auto& given) {
      const auto known = reference.parameters().listed();
      return options.hidden.empty() || std::none_of(known.begin(), known.end(), [&](const Parameter& parameter) {
               return parameter.name == given.first;
             });
    });
  Fit fresh = make_solver(reference.name, options)->fit(rows.set(), lazy);
  if (fresh.report.flush_needed) return std::nullopt;
  retrained.model = std::move(fresh.model);
  return retrained;
}

struct Shown {
  ModelRecord record;
  std::optional<double> seconds;  ///< that making it took, of what was made to be shown
};

/// A model, and after it the weights that its solver wants to be seen beside it, as models of other
/// names.
std::vector<Shown> with_references(const ModelRecord& record, const LiveStore& store, MemoryBudget& budget) {
  std::vector<Shown> shown{{record, {}}};
  const SolverEntry& entry = solver_entry(record.model.solver);
  if (entry.references == nullptr) return shown;
  const TrainingRows rows(store, record.rows, form_of(record), budget);
  const Reservation memory = reserve_working_memory(rows.set().rows(), rows.set().classes(), budget);
  for (NamedWeights& reference :
       entry.references(record.model, record.options, rows.set(), static_cast<std::size_t>(memory.bytes()))) {
    shown.push_back({record, reference.seconds});
    shown.back().record.model.solver += ", " + reference.name;
    if (!record.name.empty()) shown.back().record.name += ", " + reference.name;
    shown.back().record.model.published = std::move(reference.weights);
  }
  return shown;
}

/// How near the published weights are to the retrained model's; with an original model also in
/// units of how far they have come.
void add_weight_distances(Comparison& comparison, const Model& model, const Model* retrained, const Model* original) {
  const Matrix& mine = model.published;
  if (retrained != nullptr) {
    comparison.retrained_distance = (mine - retrained->published).norm();
    comparison.retrained_cosine = cosine(mine, retrained->published);
  }
  if (original == nullptr) return;
  const Matrix step = mine - original->published;
  WayFromBefore& from = comparison.from_before.emplace();
  from.distance = step.norm();
  if (retrained == nullptr) return;
  const Matrix whole = retrained->published - original->published;
  if (whole.norm() > 0) from.distance_ratio = (mine - retrained->published).norm() / whole.norm();
  from.step_cosine = cosine(step, whole);
}

/// Whether the losses of the forgotten rows moved from the original model's as retraining moves
/// them.
LossChanges loss_changes(const LiveStore& before, const EfficacyTests& tests, const ModelRecord& model,
                         const ModelRecord& retrained, const ModelRecord& original) {
  const std::unique_ptr<const RowUnits> units = row_units(before, model.rows);
  std::vector<double> mine = losses_of(*units, model, tests.forgotten());
  std::vector<double> theirs = losses_of(*units, retrained, tests.forgotten());
  const std::vector<double> old = losses_of(*units, original, tests.forgotten());
  for (std::size_t i = 0; i < old.size(); ++i) {
    mine[i] -= old[i];
    theirs[i] -= old[i];
  }
  return {pearson(mine, theirs), spearman(mine, theirs)};
}

bool has_model(const std::filesystem::path& store, const std::string& name) {
  const std::vector<ModelSummary> models = list_models(store);
  return std::any_of(models.begin(), models.end(), [&](const ModelSummary& model) { return model.name == name; });
}

}  // namespace

struct Evaluator::Impl {
  Impl(const Reader& of, const Reader* copy, EvaluateOptions how)
      : resources(Internals::resources(of)),
        store(Internals::store(of)),
        before(copy != nullptr ? &Internals::store(*copy) : nullptr),
        budget(Internals::resources(of).memory()),
        options(std::move(how)) {
    if (options.nodes) {
      require_ids(copy != nullptr ? *copy : of, *options.nodes);
      const Contents& contents = store_of_nodes().contents();
      nodes.emplace();
      for (const NodeId node : *options.nodes) {
        const NodeId position = contents.order().position(node);
        if (contents.label(position) != kNoLabel) nodes->push_back(position);
      }
    }
    if (options.negatives) {
      for (const Edge& pair : *options.negatives) {
        const std::array<NodeId, 2> ends{pair.u, pair.v};
        require_ids(of, ends);
      }
    }
    if (before != nullptr) require_copy(*before, store);
  }

  [[nodiscard]] const LiveStore& store_of_nodes() const { return before != nullptr ? *before : store; }

  [[nodiscard]] SplitMetrics split_metrics(const RowUnits& units, const ModelRecord& record) const {
    SplitMetrics metrics;
    metrics.by_class = options.by_class || shape_of(record.model).classes <= kFewClasses;
    const auto of = [&](SplitName split) { return metrics_of(units, record, units.labelled(split), metrics.by_class); };
    metrics.train = of(SplitName::train);
    metrics.valid = of(SplitName::valid);
    metrics.test = of(SplitName::test);
    return metrics;
  }

  [[nodiscard]] SplitLinks split_links(const PairUnits& units, const ModelRecord& record) const {
    const std::vector<Edge>* const given = options.negatives ? &*options.negatives : nullptr;
    const auto of = [&](PairRole role) { return link_figures(units, record, role, given); };
    return {of(PairRole::label), of(PairRole::valid), of(PairRole::test)};
  }

  /// A copy's model may have been trained with other options.
  [[nodiscard]] static const ModelRecord* fitting(const ModelRecord& record, const std::optional<ModelRecord>& other) {
    return other && comparable(record.model, other->model) ? &*other : nullptr;
  }

  [[nodiscard]] Comparison compare(const ModelRecord& record) const {
    const ModelRecord *fresh = fitting(record, retrained), *old = fitting(record, original);
    Comparison comparison;
    add_weight_distances(comparison, record.model, fresh != nullptr ? &fresh->model : nullptr,
                         old != nullptr ? &old->model : nullptr);
    if (fresh == nullptr) return comparison;
    const std::unique_ptr<const RowUnits> units = row_units(store, record.rows);
    comparison.train = likeness(*units, record, *fresh, units->labelled(SplitName::train));
    comparison.test = likeness(*units, record, *fresh, units->labelled(SplitName::test));
    if (tests) comparison.forgotten = likeness(*row_units(*before, record.rows), record, *fresh, tests->forgotten());
    if (old != nullptr) comparison.loss_changes = loss_changes(*before, *tests, record, *fresh, *old);
    return comparison;
  }

  [[nodiscard]] ModelEvaluation evaluation_of(const Shown& shown, bool present) const {
    const ModelRecord& record = shown.record;
    ModelEvaluation evaluation;
    evaluation.name = name_of(record);
    evaluation.solver = record.model.solver;
    evaluation.sequence = record.model.sequence;
    evaluation.outdated = record.model.sequence != store.sequence();
    evaluation.present = present;
    evaluation.classes = shape_of(record.model).classes;
    evaluation.seconds = shown.seconds;
    const std::unique_ptr<const RowUnits> units_of_model = row_units(store, record.rows);
    evaluation.metrics = split_metrics(*units_of_model, record);
    if (const auto* const pairs = dynamic_cast<const PairUnits*>(units_of_model.get()))
      evaluation.links = split_links(*pairs, record);
    if (nodes) {
      const std::unique_ptr<const RowUnits> units = row_units(store_of_nodes(), record.rows);
      evaluation.accuracy_nodes = accuracy_of(*units, *nodes, predict(*units, record, *nodes));
    }
    if (tests)
      evaluation.forgetting = {tests->forgotten().size(),
                               tests->vanished_classes(),
                               tests->attack_rows(),
                               tests->seed(),
                               tests->of(record),
                               edges->of(record, present ? store : *before),
                               retrained ? std::optional(edges->of(*retrained, store)) : std::nullopt};
    if (options.retrain) evaluation.comparison = compare(record);
    return evaluation;
  }

  std::vector<ModelEvaluation> evaluate(const ModelRecord& record) {
    const std::string& name = name_of(record);
    check_propagation(record, store.manifest(), store.path());
    if (options.nodes) require_rows_of_nodes(record.rows, option("nodes"));
    if (options.negatives) require_links(record);
    if (before != nullptr && !edges) {
      check_propagation(record, before->manifest(), before->path());
      edges.emplace(*before, store, options.attack_rows, options.seed);
    }
    if (before != nullptr && (!tests || tests->unit() != record.rows.unit()))
      tests.emplace(*before, store, record.rows, options.attack_rows, options.seed);
    original.reset();
    retrained.reset();
    if (before != nullptr && has_model(before->path(), name)) original = load_model(before->path(), name);
    if (original) check_propagation(*original, store.manifest(), store.path());
    if (tests) tests->set_original(original ? &*original : nullptr);
    if (options.retrain) {
      const WatchedBy watched(resources.meter());
      retrained = retrained_of(record, store, budget);
    }
    std::vector<ModelEvaluation> evaluations;
    if (original) evaluations.push_back(evaluation_of({*original, {}}, false));
    for (const Shown& one : with_references(record, store, budget)) evaluations.push_back(evaluation_of(one, true));
    return evaluations;
  }

  Resources& resources;
  const LiveStore& store;
  const LiveStore* before;
  MemoryBudget& budget;
  EvaluateOptions options;
  std::optional<std::vector<NodeId>> nodes;  // positions of the nodes that have a label
  std::optional<EfficacyTests> tests;
  std::optional<TrendAttack> edges;
  std::optional<ModelRecord> original, retrained;  // for the model at hand
};

Evaluator::Evaluator(const Reader& store, const Reader* before, EvaluateOptions options)
    : impl_(std::make_unique<Impl>(store, before, std::move(options))) {}
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator::~Evaluator() = default;

std::vector<ModelEvaluation> Evaluator::evaluate(const StoredModel& model) {
  return impl_->evaluate(Internals::record(model));
}

}  // namespace v0
}  // namespace unweave
